//! Measures the time of all rules on graphs of 1,000, 10,000 and 100,000 nodes: `cargo bench -p strait-rewrite`. The
//! time must grow linearly. For 100,000 nodes it must be below the time of onnx's shape inference, 1.5 CPU seconds.

#![allow(clippy::unwrap_used, reason = "a measurement may panic")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::Random;
use std::time::Instant;
use strait_rewrite::canonical;

/// Numbers of nodes, each with the largest number of CPU seconds that the rules may take.
const MARKS: [(usize, f64); 3] = [(1_000, 0.015), (10_000, 0.15), (100_000, 1.5)];
const ROUNDS: usize = 3;

/// Returns the CPU seconds that this thread has used, if the system counts them. Other programs on the machine do not
/// affect this number. If the system does not count them, returns the time since `since`.
fn seconds(since: Instant) -> f64 {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = counted.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| since.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn main() {
    let start = Instant::now();
    println!("{:>10} {:>10} {:>10}", "nodes", "rewrites", "CPU s");
    let mut missed = false;
    for (nodes, most) in MARKS {
        let module = common::module(&mut Random(1), nodes);
        let run = || {
            let mut module = module.clone();
            let main = module.main;
            let began = seconds(start);
            let done = canonical().run(&mut module, main).unwrap();
            (seconds(start) - began, done.applied.len())
        };
        let best = (0..ROUNDS).map(|_| run()).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        println!("{nodes:>10} {:>10} {:>10.3}", best.1, best.0);
        missed |= best.0 > most;
    }
    if missed {
        println!("a mark is missed: {MARKS:?}");
        std::process::exit(1);
    }
}
