//! The means of the work, apart from its inputs: threads, an instruction set, limits, and an observer of the progress.
//! None of them changes a bit of any result.

use std::{
    num::NonZeroUsize,
    ops::ControlFlow,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use serde::Serialize;
use strait_compile::{CompileError, Means, Watch};
use strait_execute::{MOST_THREADS, PlanOptions, Threads};
use strait_kernels::Context;

use crate::{
    diagnostic::Diagnostic,
    limits::{self, Demand, Limits},
    stop::Stop,
    table,
};

/// Number of operations of all samples together above which the number is reported.
const WORTH_SAYING: u64 = 10_000_000_000_000;

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
    phases: Mutex<Phases>,
}

/// The phases that have begun, each inside of the one before, and those that are over.
#[derive(Default)]
struct Phases {
    begun: Vec<(String, Instant)>,
    over: Vec<Phase>,
}

/// The number of threads for a session: so many as are wanted, or as the machine has, or fewer where the system has no more for
/// this process or more would not help. That is said.
pub fn threads(wanted: Option<NonZeroUsize>, progress: &dyn Progress) -> NonZeroUsize {
    let wanted = wanted.unwrap_or_else(Threads::available);
    let obtainable = Threads::obtainable(wanted);
    if obtainable < wanted {
        let why = match obtainable.get() {
            MOST_THREADS => "more do not make it faster",
            _ => "the system has no more for this process",
        };
        let threads = table::count(obtainable.get(), "thread");
        progress.say(&format!(
            "{wanted} threads are wanted, and {threads} do the work: {why}"
        ));
    }
    obtainable
}

impl<'a> Session<'a> {
    /// A session without phases yet.
    pub fn new(threads: NonZeroUsize, context: Context, progress: &'a dyn Progress) -> Session<'a> {
        Session {
            threads,
            context,
            limits: limits::of_machine(),
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
        let watch: &dyn Watch = self;
        watch.step(name, total, work)
    }

    /// The means of runs.
    pub(crate) fn means(&self) -> Means<'static> {
        Means {
            threads: self.threads,
            limits: self.limits,
            options: PlanOptions {
                context: self.context,
                ..PlanOptions::default()
            },
        }
    }

    /// Number of `samples` that may run at a time ([`Limits::admit`]). Work that takes long is told.
    ///
    /// # Errors
    /// Not even one fits; or one takes more operations than is allowed.
    pub(crate) fn admit(&self, demand: &Demand, samples: usize) -> Result<NonZeroUsize, Stop> {
        let at_a_time = self.limits.admit(demand, self.threads).map_err(CompileError::from)?;
        self.admitted(demand, samples);
        Ok(at_a_time)
    }

    /// Says something worth knowing.
    pub fn say(&self, text: &str) {
        self.progress.say(text);
    }

    /// Tells of a warning or a note.
    pub fn remark(&self, found: &Diagnostic) {
        self.progress.remark(found);
    }

    fn noted(&self) -> MutexGuard<'_, Phases> {
        // A list is whole after each statement.
        self.phases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The phases that are over, in their order.
    pub fn phases(&self) -> Vec<Phase> {
        self.noted().over.clone()
    }
}

impl Watch for Session<'_> {
    fn begin(&self, name: &str, total: Option<usize>) {
        self.progress.begin(name, total);
        self.noted().begun.push((name.to_owned(), Instant::now()));
    }

    fn advance(&self, done: usize) {
        self.progress.advance(done);
    }

    /// Tells of work that takes long.
    fn admitted(&self, demand: &Demand, samples: usize) {
        if demand.operations().saturating_mul(samples as u64) > WORTH_SAYING {
            let busiest = demand.busiest();
            self.say(&format!(
                "{} of about {} operations each, most of them ({}) in `{}`: this takes a while",
                table::count(samples, "sample"),
                table::figure(demand.operations()),
                table::figure(busiest.amount),
                busiest.node
            ));
        }
    }

    fn end(&self) {
        let mut phases = self.noted();
        let over = phases.begun.pop().map(|(name, begun)| Phase {
            name,
            seconds: begun.elapsed().as_secs_f64(),
            peak_bytes: peak_bytes(),
        });
        phases.over.extend(over);
        self.progress.end();
    }

    fn interrupted(&self) -> bool {
        self.progress.interrupted()
    }
}

/// Shows the steps of the compiler as phases of a session, with the target that they are for.
pub(crate) struct Steps<'a> {
    pub(crate) session: &'a Session<'a>,
    pub(crate) target: &'a str,
}

impl Watch for Steps<'_> {
    fn begin(&self, step: &str, total: Option<usize>) {
        self.session.begin(&format!("{step} ({})", self.target), total);
    }

    fn advance(&self, done: usize) {
        self.session.advance(done);
    }

    fn admitted(&self, demand: &Demand, samples: usize) {
        self.session.admitted(demand, samples);
    }

    fn end(&self) {
        self.session.end();
    }

    fn interrupted(&self) -> bool {
        self.session.interrupted()
    }
}

/// The most memory that this process has had in use so far.
#[cfg(target_os = "linux")]
fn peak_bytes() -> Option<u64> {
    crate::machine::field(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
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
