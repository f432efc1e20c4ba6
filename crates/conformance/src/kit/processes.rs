//! Runs the same library in several processes, to find out whether its table or its results differ between processes.

use super::lines::{Group, Line};
use std::{sync::Arc, thread};
use strait_plugin_host::{Library, LoadError, PluginError, register};
use strait_target::{Options, Registry, Target};

/// Additional processes that have loaded the same library.
pub(super) struct Processes(Vec<Library>);

/// The number of additional processes.
const OTHERS: usize = 3;

/// At most this many processes are started. New processes are started until some have an even process id and some an
/// odd one.
const MOST: usize = 8;

impl Processes {
    /// Starts the processes. Also returns a line of the report that says whether the library describes itself in the
    /// same way in all of them.
    pub(super) fn start(library: &Library, options: &Options) -> (Processes, Line) {
        let mut line = Line::new(Group::Interface, "the same table in each process");
        let is_odd = |library: &Library| library.traces(options).ok().map(|[_, now]| now.process % 2 == 1);
        let first = is_odd(library);
        let (mut others, mut varied) = (Vec::new(), first.is_none());
        for at in 0..MOST {
            if at >= OTHERS && varied {
                break;
            }
            // On Linux, threads and processes get their ids from the same sequence. So starting threads changes whether
            // the id of the next process is even.
            for _ in 0..at % 3 {
                let _ = thread::spawn(|| {}).join();
            }
            match library.again() {
                Ok(other) => {
                    varied |= is_odd(&other) != first;
                    others.push(other);
                }
                Err(PluginError::Load {
                    error: error @ LoadError::Changed(..),
                    ..
                }) => {
                    line.find(error.to_string());
                    varied = true;
                }
                Err(error) => line.find(format!("it loads in one process and not in another: {error}")),
            }
        }
        // The last process may be the only one with an even id, or the only one with an odd id. So the last processes
        // are kept.
        let others = others.split_off(others.len().saturating_sub(OTHERS));
        let line = line.checked(format!("{} processes", 1 + OTHERS));
        (Processes(others), line)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Library> {
        self.0.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The target from one of the additional processes.
    pub(super) fn into_target(self, options: &Options) -> Option<Arc<dyn Target>> {
        let library = self.0.into_iter().last()?;
        let mut registry = Registry::default();
        // An error here has already been reported, either for the first process or for the additional ones.
        register(&mut registry, Arc::new(library)).ok()?.target(options).ok()
    }
}
