//! The means of the work, apart from its inputs: threads, an instruction set, limits, and an observer of the progress.
//! None of them changes a bit of any result.

use std::{num::NonZeroUsize, ops::ControlFlow, panic::resume_unwind, sync::Mutex, thread, time::Instant};

use serde::Serialize;
use strait_execute::ExecuteError;
use strait_kernels::Context;

use crate::{diagnostic::Diagnostic, failure, limits::Limits, stop::Stop};

/// Somebody who watches the work and may stop it. Methods are called from one thread at a time.
pub trait Progress: Sync {
    /// A phase begins; `total` is the number of its steps, where it has any.
    fn begin(&self, phase: &str, total: Option<usize>) {
        let _ = (phase, total);
    }

    /// So many steps of the phase are done.
    fn advance(&self, done: usize) {
        let _ = done;
    }

    /// The phase is over.
    fn end(&self) {}

    /// Something worth knowing.
    fn say(&self, text: &str) {
        let _ = text;
    }

    /// A warning or a note: the work goes on.
    fn remark(&self, found: &Diagnostic) {
        let _ = found;
    }

    /// True if the work is to stop as soon as possible.
    fn interrupted(&self) -> bool {
        false
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// Cost of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// Its name; with the target's id where there is one phase for each.
    pub name: String,
    /// Duration in seconds.
    pub seconds: f64,
    /// The most memory that the process had in use at any time up to the phase's end; absent where the system does not
    /// tell.
    pub peak_bytes: Option<u64>,
}

/// See the module.
pub struct Session<'a> {
    /// Number of samples that run at a time.
    pub threads: NonZeroUsize,
    /// The instruction set.
    pub context: Context,
    /// Limits on memory and operations of runs.
    pub limits: Limits,
    /// True where commands that a configuration names may be started.
    pub commands: bool,
    progress: &'a dyn Progress,
    phases: Mutex<Vec<Phase>>,
}

impl<'a> Session<'a> {
    /// A session without phases yet.
    pub fn new(threads: NonZeroUsize, context: Context, progress: &'a dyn Progress) -> Session<'a> {
        Session {
            threads,
            context,
            limits: Limits::default(),
            commands: false,
            progress,
            phases: Mutex::default(),
        }
    }

    /// The same, with other limits than those of the machine.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Session<'a> {
        Session { limits, ..self }
    }

    /// The same, in which commands of a configuration may be started or not.
    #[must_use]
    pub fn with_commands(self, commands: bool) -> Session<'a> {
        Session { commands, ..self }
    }

    /// Does `work` as a phase of so many steps; `work` is given what to call with the number of steps done.
    ///
    /// # Errors
    /// Those of `work`, and [`Stop::Interrupted`] where the phase need not begin.
    pub fn phase<T>(
        &self,
        name: &str,
        total: Option<usize>,
        work: impl FnOnce(&mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        if self.progress.interrupted() {
            return Err(Stop::Interrupted);
        }
        self.progress.begin(name, total);
        let begun = Instant::now();
        let result = work(&mut |done| {
            self.progress.advance(done);
            if self.progress.interrupted() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let phase = Phase {
            name: name.to_owned(),
            seconds: begun.elapsed().as_secs_f64(),
            peak_bytes: peak_bytes(),
        };
        self.phases
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(phase);
        self.progress.end();
        result
    }

    /// Does both, at the same time where the session has threads for it.
    ///
    /// # Errors
    /// Those of `first`, or else those of `second`; a thread that cannot be made.
    pub fn both<T: Send>(
        &self,
        first: impl FnOnce() -> Result<T, Stop> + Send,
        second: impl FnOnce() -> Result<T, Stop>,
    ) -> Result<[T; 2], Stop> {
        let (first, second) = if self.threads.get() == 1 {
            (first()?, second())
        } else {
            thread::scope(|scope| {
                let beside = thread::Builder::new().spawn_scoped(scope, first);
                let beside = beside.map_err(|error| failure::execute(ExecuteError::Threads(error.to_string())))?;
                let second = second();
                let first = beside.join().unwrap_or_else(|panic| resume_unwind(panic))?;
                Ok::<_, Stop>((first, second))
            })?
        };
        Ok([first, second?])
    }

    /// Says something worth knowing.
    pub fn say(&self, text: &str) {
        self.progress.say(text);
    }

    /// Tells of a warning or a note.
    pub fn remark(&self, found: &Diagnostic) {
        self.progress.remark(found);
    }

    /// The phases that are over, in their order.
    pub fn phases(&self) -> Vec<Phase> {
        self.phases
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone()
    }
}

/// The most memory that this process has had in use so far.
#[cfg(target_os = "linux")]
fn peak_bytes() -> Option<u64> {
    crate::limits::machine::field(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

#[cfg(not(target_os = "linux"))]
fn peak_bytes() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Interrupts after so many looks.
    struct After(AtomicUsize);

    impl Progress for After {
        fn interrupted(&self) -> bool {
            self.0.fetch_sub(1, Ordering::SeqCst) == 0
        }
    }

    #[test]
    fn phases_are_recorded_in_their_order() {
        let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
        let one = session.phase("one", None, |_| Ok(1));
        let two = session.phase("two", Some(3), |_| Err::<(), _>(Stop::Defect("x".into())));
        assert_eq!((one, two), (Ok(1), Err(Stop::Defect("x".into()))));
        let phases = session.phases();
        assert_eq!(
            phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(),
            ["one", "two"]
        );
        assert_eq!(phases[0].peak_bytes.is_some(), cfg!(target_os = "linux"));
    }

    #[test]
    fn two_works_give_the_same_whatever_the_number_of_threads() {
        for threads in 1..3 {
            let session = Session::new(NonZeroUsize::new(threads).unwrap(), Context::detect(), &Silent);
            let bad = |text: &str| Err(Stop::Defect(text.into()));
            assert_eq!(session.both(|| Ok(1), || Ok(2)), Ok([1, 2]));
            assert_eq!(
                session.both(|| bad("first"), || Ok(2)),
                Err(Stop::Defect("first".into()))
            );
            assert_eq!(
                session.both(|| Ok(1), || bad("second")),
                Err(Stop::Defect("second".into()))
            );
            assert_eq!(
                session.both::<i32>(|| bad("first"), || bad("second")),
                Err(Stop::Defect("first".into()))
            );
        }
    }

    #[test]
    fn an_interruption_is_seen_between_phases_and_between_steps() {
        let after = After(AtomicUsize::new(2));
        let session = Session::new(NonZeroUsize::MIN, Context::detect(), &after);
        let flows = session.phase("one", None, |step| Ok([step(1), step(2)])).unwrap();
        assert_eq!(flows, [ControlFlow::Continue(()), ControlFlow::Break(())]);
        let after = After(AtomicUsize::new(0));
        let session = Session::new(NonZeroUsize::MIN, Context::detect(), &after);
        assert_eq!(session.phase("one", None, |_| Ok(())), Err(Stop::Interrupted));
    }
}
