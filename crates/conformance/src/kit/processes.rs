//! The same library in several processes: its table, and what it computes, may be another one there.

use super::lines::{Group, Line};
use std::{sync::Arc, thread};
use strait_plugin_host::{Library, LoadError, PluginError, register};
use strait_target::{Options, Registry, Target};

/// Further processes of a library.
pub(super) struct Processes(Vec<Library>);

/// Their number.
const OTHERS: usize = 3;

impl Processes {
    /// Starts them, with a line about what the library says of itself there.
    pub(super) fn start(library: &Library) -> (Processes, Line) {
        let mut line = Line::new(Group::Interface, "the same table in each process");
        let mut others = Vec::new();
        for at in 0..OTHERS {
            // A number of a process is spent on each thread: so the numbers of these are even and odd.
            for _ in 0..at {
                let _ = thread::spawn(|| {}).join();
            }
            match library.again() {
                Ok(other) => others.push(other),
                Err(PluginError::Load {
                    error: error @ LoadError::Changed(..),
                    ..
                }) => line.find(error.to_string()),
                Err(error) => line.find(format!("it loads in one process and not in another: {error}")),
            }
        }
        let line = line.checked(format!("{} processes", 1 + OTHERS));
        (Processes(others), line)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Library> {
        self.0.iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The target of one of them.
    pub(super) fn into_target(self, options: &Options) -> Option<Arc<dyn Target>> {
        let library = self.0.into_iter().last()?;
        let mut registry = Registry::default();
        // Whatever stops it has stopped the target of the first process, too, or is told of these.
        register(&mut registry, Arc::new(library)).ok()?.target(options).ok()
    }
}
