//! Shows the progress of the work, and handles signals that ask the program to end.
//!
//! On a terminal, work that takes longer than a second gets a progress bar. If there is no terminal, a line is printed
//! every ten seconds. A separate thread checks the time and shows the progress, so that the work itself only has to
//! count its steps.
//!
//! A signal to end (an interrupt, a hangup or a termination) asks the work to stop between two steps. If the work does
//! not stop within some seconds, or if a second signal arrives, the process ends at once. In both cases nothing
//! incomplete is left behind.

use std::{
    io::IsTerminal,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::{
    SigId,
    consts::{SIGINT, SIGTERM},
};
use strait_driver::{
    diagnostic::{Diagnostic, Severity},
    session::Progress,
};

use crate::{console, volume};

/// The thread checks the time and the signals at this interval.
const TICK: Duration = Duration::from_millis(100);

/// Work that ends sooner than this is not shown on a terminal.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// If there is no terminal, a line is printed at this interval.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How long the work may take to stop by itself after a signal.
const PATIENCE: Duration = Duration::from_secs(3);

/// The signals that ask the program to end. Windows has no hangup.
const ENDS: &[i32] = &[
    SIGINT,
    SIGTERM,
    #[cfg(unix)]
    SIGHUP,
];

/// Watches one command. When it is dropped, the progress bar is removed.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    ticker: Option<JoinHandle<()>>,
    signals: Vec<SigId>,
}

#[derive(Debug)]
struct Shared {
    phase: Mutex<Option<Phase>>,
    done: AtomicUsize,
    over: AtomicBool,
    /// True if a signal has arrived that the thread has not handled yet.
    signalled: Arc<AtomicBool>,
    interrupted: AtomicBool,
    terminal: bool,
}

#[derive(Debug)]
struct Phase {
    name: String,
    total: Option<usize>,
    begun: Instant,
    shown: Instant,
    bar: Option<ProgressBar>,
}

impl Watch {
    /// Starts the thread that shows the progress and watches for interrupts.
    pub(crate) fn new() -> Watch {
        let shared = Arc::new(Shared {
            phase: Mutex::default(),
            done: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            signalled: Arc::default(),
            interrupted: AtomicBool::new(false),
            terminal: std::io::stderr().is_terminal(),
        });
        let ticking = shared.clone();
        let ticker = std::thread::Builder::new()
            .name("progress".into())
            // The size of the stack is set here, so that RUST_MIN_STACK has no influence.
            .stack_size(1 << 20)
            .spawn(move || ticking.tick())
            .ok();
        // If the thread cannot be started, no progress is shown, and no handlers are installed: a signal then ends the
        // process.
        let signals = ticker.as_ref().map_or_else(Vec::new, |_| listen(&shared.signalled));
        Watch {
            shared,
            ticker,
            signals,
        }
    }
}

/// Installs handlers that set the flag when a signal to end arrives.
fn listen(signalled: &Arc<AtomicBool>) -> Vec<SigId> {
    let heeded = heeded().into_iter();
    heeded
        .filter_map(|signal| signal_hook::flag::register(signal, signalled.clone()).ok())
        .collect()
}

/// The signals that ask the program to end, except those that the parent process wants to be ignored (`nohup`).
fn heeded() -> Vec<i32> {
    let ignored = std::fs::read_to_string("/proc/self/status").map_or(0, |status| ignored_in(&status));
    let heeded = ENDS.iter().copied();
    heeded.filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}

/// Reads the ignored signals from a line such as `SigIgn: 0000000000000001`, which has a bit for each signal.
fn ignored_in(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Ends the process in the middle of its work, after its temporary files have been removed.
fn give_up() -> ! {
    strait_driver::stop::leave_nothing();
    console::explain("interrupted");
    std::process::exit(crate::exit::INTERRUPTED.into())
}

impl Drop for Watch {
    fn drop(&mut self) {
        for signal in self.signals.drain(..) {
            signal_hook::low_level::unregister(signal);
        }
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            let _ = ticker.join();
        }
        self.end();
    }
}

impl Progress for Watch {
    fn begin(&self, phase: &str, total: Option<usize>) {
        let now = Instant::now();
        self.shared.done.store(0, Ordering::Relaxed);
        *self.shared.lock() = Some(Phase {
            name: phase.to_owned(),
            total,
            begun: now,
            shown: now,
            bar: None,
        });
    }

    fn advance(&self, done: usize) {
        self.shared.done.store(done, Ordering::Relaxed);
    }

    fn end(&self) {
        if let Some(bar) = self.shared.lock().take().and_then(|phase| phase.bar) {
            bar.finish_and_clear();
        }
    }

    fn say(&self, text: &str) {
        if !volume::is_quiet() {
            console::explain(text);
        }
    }

    fn remark(&self, found: &Diagnostic) {
        if found.severity != Severity::Note || !volume::is_quiet() {
            console::rendered(&found.render(volume::has_colours(&std::io::stderr())));
        }
    }

    fn interrupted(&self) -> bool {
        self.shared.interrupted.load(Ordering::Relaxed) || self.shared.signalled.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Phase>> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) {
        let mut interrupted = None;
        while !self.over.load(Ordering::Relaxed) {
            std::thread::park_timeout(TICK);
            if self.signalled.swap(false, Ordering::Relaxed) && self.interrupted.swap(true, Ordering::Relaxed) {
                give_up();
            }
            if self.interrupted.load(Ordering::Relaxed)
                && interrupted.get_or_insert_with(Instant::now).elapsed() > PATIENCE
            {
                give_up();
            }
            if volume::is_quiet() {
                continue;
            }
            if let Some(phase) = self.lock().as_mut() {
                let done = self.done.load(Ordering::Relaxed);
                if self.terminal {
                    phase.draw(done);
                } else if phase.shown.elapsed() >= LINE_EVERY {
                    phase.shown = Instant::now();
                    console::explain(&phase.line(done));
                }
            }
        }
    }
}

impl Phase {
    fn draw(&mut self, done: usize) {
        if self.begun.elapsed() < SHOWN_AFTER {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(self.total.map(|total| total as u64), ProgressDrawTarget::stderr());
            let template = match self.total {
                Some(_) => "{msg} [{bar:30}] {pos} of {len}, {elapsed}",
                None => "{msg} {spinner} {elapsed}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_elapsed(self.begun.elapsed());
            bar.set_message(self.name.clone());
            bar
        });
        bar.set_position(done as u64);
        bar.tick();
    }

    fn line(&self, done: usize) -> String {
        let seconds = self.begun.elapsed().as_secs();
        match self.total {
            Some(total) => format!("{}: {done} of {total}, {seconds} s", self.name),
            None => format!("{}: {seconds} s", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_are_to_be_ignored_are_told_by_their_bits() {
        let hangup = ignored_in("Name:\tstrait\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n");
        assert_eq!((hangup & 1, hangup >> (SIGTERM - 1) & 1), (1, 0));
        assert_eq!(ignored_in(""), 0);
    }

    #[test]
    fn a_line_says_how_far_the_work_is() {
        let now = Instant::now();
        let phase = |total| Phase {
            name: "observe".into(),
            total,
            begun: now,
            shown: now,
            bar: None,
        };
        assert_eq!(phase(Some(32)).line(7), "observe: 7 of 32, 0 s");
        assert_eq!(phase(None).line(0), "observe: 0 s");
    }
}
