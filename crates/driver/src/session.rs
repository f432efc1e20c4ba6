//! The resources of the work, apart from its inputs: threads, an instruction set, limits, and an observer of the
//! progress. Results do not depend on them.

use std::{
    num::NonZeroUsize,
    ops::ControlFlow,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde::Serialize;
use strait_compile::{CompileError, Means, Watch};
use strait_container::{Digest, sha256};
use strait_exchange::{Exchange, ExchangeError, Follower};
use strait_execute::{ExecuteError, MOST_THREADS, PlanOptions, Threads};
use strait_kernels::Context;

use crate::{
    diagnostic::Diagnostic,
    limits::{self, Demand, Limits},
    stop::Stop,
    table,
};

pub use strait_exchange::Share;

/// If all samples together need more operations than this, the user is told how many they need.
const WORTH_SAYING: u64 = 10_000_000_000_000;

/// Observes the progress of the work and may stop it. Methods are called from one thread at a time.
pub trait Progress: Sync {
    /// A phase begins. `total` is the number of its steps, if it has any.
    fn begin(&self, phase: &str, total: Option<usize>) {
        let _ = (phase, total);
    }

    /// Called when `done` steps of the phase are done.
    fn advance(&self, done: usize) {
        let _ = done;
    }

    /// The phase is over.
    fn end(&self) {}

    /// Gets a text that the user may want to know.
    fn say(&self, text: &str) {
        let _ = text;
    }

    /// Gets a warning or a note. The work goes on after it.
    fn remark(&self, found: &Diagnostic) {
        let _ = found;
    }

    /// True if the work should stop as soon as possible.
    fn interrupted(&self) -> bool {
        false
    }
}

/// A [`Progress`] that shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// How much time and memory a phase took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// Name of the phase, with the target's id if there is one phase for each target.
    pub name: String,
    /// Duration in seconds.
    pub seconds: f64,
    /// The peak memory of the process up to the end of the phase, in bytes. `None` if the system does not tell.
    pub peak_bytes: Option<u64>,
}

/// The phases as lines for people.
pub fn shown(phases: &[Phase]) -> String {
    let line = |phase: &Phase| {
        let peak = phase.peak_bytes.map_or_else(String::new, |bytes| {
            format!(", at most {} of memory so far", table::bytes(bytes))
        });
        format!("{}: {:.2} s{peak}", phase.name, phase.seconds)
    };
    phases.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The resources of the work, apart from its inputs. Results do not depend on them.
pub struct Session<'a> {
    /// At most this many samples run at the same time.
    pub threads: NonZeroUsize,
    /// The instruction set that kernels use.
    pub context: Context,
    /// Limits on memory and operations of runs.
    pub limits: Limits,
    /// True if commands that a configuration names may be run.
    pub commands: bool,
    exchange: Option<Exchange<'a>>,
    progress: &'a dyn Progress,
    phases: Mutex<Phases>,
}

/// Shows an exchange as progress.
struct Follows<'a>(&'a dyn Progress);

impl Follower for Follows<'_> {
    fn advance(&self, done: usize) {
        self.0.advance(done);
    }

    fn say(&self, text: &str) {
        self.0.say(text);
    }

    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}

/// The phases that are running, each inside the one before it, and the phases that are over.
#[derive(Default)]
struct Phases {
    begun: Vec<(String, Instant)>,
    over: Vec<Phase>,
}

/// Returns the number of threads for a session: `wanted`, or by default the number of threads that the machine can run
/// at once. If the system does not allow this process so many threads, or if more threads would not make the work
/// faster, the number is smaller, and the user is told.
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
    /// A session in which no phase has begun yet.
    pub fn new(threads: NonZeroUsize, context: Context, progress: &'a dyn Progress) -> Session<'a> {
        Session {
            threads,
            context,
            limits: limits::of_machine(),
            commands: false,
            exchange: None,
            progress,
            phases: Mutex::default(),
        }
    }

    /// Replaces the limits of the machine by `limits`.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Session<'a> {
        Session { limits, ..self }
    }

    /// Sets whether commands that a configuration names may be run.
    #[must_use]
    pub fn with_commands(self, commands: bool) -> Session<'a> {
        Session { commands, ..self }
    }

    /// Shares the work on samples with other processes, each of which has another share of them. They exchange their results
    /// through files in `folder`. `patience` is how long this process waits for another one that delivers nothing.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn with_share(self, share: Share, folder: &Path, patience: Duration) -> Result<Session<'a>, Stop> {
        let exchange = Exchange::new(folder, share, patience, Follows(self.progress));
        let exchange = exchange.map_err(ExecuteError::from)?;
        Ok(Session {
            exchange: Some(exchange),
            ..self
        })
    }

    /// The exchange with the processes that have the other shares of the samples.
    pub(crate) fn exchange(&self) -> Option<&Exchange<'_>> {
        self.exchange.as_ref()
    }

    /// Makes sure that the processes that have the other shares have the same. `facts` are names and digests.
    ///
    /// # Errors
    /// If they do not, or deliver nothing.
    pub(crate) fn agree(&self, step: &str, facts: &[(String, Digest)]) -> Result<(), Stop> {
        let Some(exchange) = &self.exchange else { return Ok(()) };
        let version = sha256(env!("CARGO_PKG_VERSION").as_bytes());
        let mut all = vec![("version of Strait", version.0)];
        all.extend(facts.iter().map(|(name, digest)| (name.as_str(), digest.0)));
        self.phase(step, None, |_| match exchange.agree(step, &all) {
            Err(ExchangeError::Stopped) => Err(Stop::Interrupted),
            agreed => Ok(agreed.map_err(ExecuteError::from)?),
        })
    }

    /// Runs `work` as a phase with `total` steps. `work` gets a function, which it calls to tell how many steps are
    /// done.
    ///
    /// # Errors
    /// The errors of `work`, and [`Stop::Interrupted`] if the work should stop before the phase begins.
    pub fn phase<T>(
        &self,
        name: &str,
        total: Option<usize>,
        work: impl FnOnce(&mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let watch: &dyn Watch = self;
        watch.step(name, total, work)
    }

    /// Returns the number of threads, the limits and the plan options with which graphs are run.
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

    /// Returns how many of `samples` samples may run at a time ([`Limits::admit`]). If the work will take long, the
    /// user is told.
    ///
    /// # Errors
    /// If not even one sample fits, or one sample needs more operations than allowed.
    pub(crate) fn admit(&self, demand: &Demand, samples: usize) -> Result<NonZeroUsize, Stop> {
        let at_a_time = self.limits.admit(demand, self.threads).map_err(CompileError::from)?;
        self.admitted(demand, samples);
        Ok(at_a_time)
    }

    /// Reports something worth knowing.
    pub fn say(&self, text: &str) {
        self.progress.say(text);
    }

    /// Reports a warning or a note.
    pub fn remark(&self, found: &Diagnostic) {
        self.progress.remark(found);
    }

    fn noted(&self) -> MutexGuard<'_, Phases> {
        // The list is complete after every statement, so it can be used even if another thread panicked while it held
        // the lock.
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

    /// If the run will take long, tells the user how many operations it needs.
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

/// Shows the steps of the compiler as phases of a session. The name of each phase contains the target's name.
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

/// The peak memory of this process so far, in bytes.
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

    /// A [`Progress`] that reports an interrupt after `interrupted` was called this many times.
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
