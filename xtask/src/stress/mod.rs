//! `cargo xtask stress`: lets many processes write, read, verify and replace artifacts in the same folder and use the
//! same cache at once.

mod worker;

use crate::{Command, Outcome, Stop, workspace};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use worker::{Setting, Worker};

pub(crate) const COMMAND: Command = Command {
    name: "stress",
    summary: "many processes on one artifact and one cache, for two minutes",
    help: HELP,
    run,
};

const HELP: &str = "
Compiles the model in the repository on two sets of calibration samples, each by itself: these are the two whole artifacts.
Then, for two minutes and at the same time:

  writers    compile into one folder with one cache, from a file of samples that swappers exchange
  readers    run, evaluate and inspect that folder, and a link that swappers turn from one artifact to the other
  verifiers  verify both
  swappers   exchange the samples by a rename, write over them in place, and turn the link

Every result has to be that of one of the two, every error one of those that are true, and nothing may be left behind. Not a part
of `cargo xtask test`, for its time.

Usage: cargo xtask stress [--seconds N]
";

fn run(arguments: &[String]) -> Outcome {
    let seconds = match arguments {
        [] => 120,
        [option, seconds] if option == "--seconds" => {
            let number = seconds.parse::<u64>();
            number.map_err(|_| Stop::Usage("--seconds needs a whole number".into()))?
        }
        _ => return Err(Stop::Usage("stress takes --seconds N alone; see --help".into())),
    };
    let strait = workspace::build_strait("quick")?;
    let folder = workspace::target().join("stress");
    let _ = std::fs::remove_dir_all(&folder);
    let setting = Setting::new(&strait, &folder)?;
    let over = AtomicBool::new(false);
    let counts: Vec<(Worker, AtomicUsize, AtomicUsize)> = Worker::ALL
        .iter()
        .map(|&worker| (worker, AtomicUsize::new(0), AtomicUsize::new(0)))
        .collect();
    let faults = std::thread::scope(|scope| {
        let workers: Vec<_> = counts
            .iter()
            .map(|(worker, done, errors)| {
                let (setting, over) = (&setting, &over);
                scope.spawn(move || {
                    let mut faults = Vec::new();
                    for round in 0.. {
                        if over.load(Ordering::Relaxed) || faults.len() > 3 {
                            break;
                        }
                        match worker.once(setting, round) {
                            Ok(true) => done.fetch_add(1, Ordering::Relaxed),
                            Ok(false) => errors.fetch_add(1, Ordering::Relaxed),
                            Err(fault) => {
                                faults.push(format!("{}: {fault}", worker.name()));
                                0
                            }
                        };
                    }
                    faults
                })
            })
            .collect();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(seconds) && workers.iter().all(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_millis(100));
        }
        over.store(true, Ordering::Relaxed);
        let panicked = |_| vec!["a worker panicked".to_owned()];
        let workers = workers.into_iter();
        workers
            .flat_map(|worker| worker.join().unwrap_or_else(panicked))
            .collect::<Vec<String>>()
    });
    for (worker, done, errors) in &counts {
        let [done, errors] = [done, errors].map(|count| count.load(Ordering::Relaxed));
        println!("{:<28} {done:>6} results, {errors:>6} true errors", worker.name());
    }
    let mut faults = faults;
    faults.extend(setting.left_behind()?);
    if faults.is_empty() {
        println!("every result was one of the two whole ones, every error true, and nothing is left behind");
        return Ok(());
    }
    Err(Stop::Failed(faults.join("\n")))
}
