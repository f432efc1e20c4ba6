//! Shows how far the work is: a bar on a terminal for whatever takes longer than a second, a line every ten seconds
//! elsewhere. A thread of its own looks at the time, so that the work only counts.

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
use strait_driver::session::Progress;

use crate::console;

/// How often the thread looks.
const TICK: Duration = Duration::from_millis(100);

/// What is over sooner is not shown on a terminal.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// How often a line is written elsewhere.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Watches one command. Dropping it takes the bar away.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    ticker: Option<JoinHandle<()>>,
    interrupted: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Shared {
    phase: Mutex<Option<Phase>>,
    done: AtomicUsize,
    over: AtomicBool,
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
    /// Begins to watch. An interrupt of the user sets `interrupted`; a second one ends the process.
    pub(crate) fn new() -> Watch {
        let interrupted = Arc::new(AtomicBool::new(false));
        let code = i32::from(crate::exit::INTERRUPTED);
        // In this order: the second interrupt finds the flag that the first one has set. Where a handler cannot be
        // installed, an interrupt ends the process as it does by default.
        let _ =
            signal_hook::flag::register_conditional_shutdown(signal_hook::consts::SIGINT, code, interrupted.clone())
                .and_then(|_| signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted.clone()));
        let shared = Arc::new(Shared {
            phase: Mutex::default(),
            done: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            terminal: std::io::stderr().is_terminal(),
        });
        let ticking = shared.clone();
        // Without the thread nothing is shown, and nothing else is lost.
        let ticker = std::thread::Builder::new()
            .name("progress".into())
            .spawn(move || ticking.tick())
            .ok();
        Watch {
            shared,
            ticker,
            interrupted,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
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
        console::explain(text);
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Phase>> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) {
        while !self.over.load(Ordering::Relaxed) {
            std::thread::park_timeout(TICK);
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
