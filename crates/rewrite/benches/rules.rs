//! Cost of all rules over graphs of 1,000, 10,000 and 100,000 nodes: `cargo bench -p strait-rewrite`. It is linear, and at
//! 100,000 nodes it takes less than onnx's shape inference, 1.5 CPU seconds.

#![allow(clippy::unwrap_used, reason = "a measurement may panic")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::Random;
use std::time::Instant;
use strait_rewrite::canonical;

/// Nodes, and the most seconds.
const MARKS: [(usize, f64); 3] = [(1_000, 0.015), (10_000, 0.15), (100_000, 1.5)];
const ROUNDS: usize = 3;

fn main() {
    println!("{:>10} {:>10} {:>10}", "nodes", "rewrites", "seconds");
    let mut missed = false;
    for (nodes, most) in MARKS {
        let module = common::module(&mut Random(1), nodes);
        let run = || {
            let mut module = module.clone();
            let main = module.main;
            let began = Instant::now();
            let done = canonical().run(&mut module, main).unwrap();
            (began.elapsed().as_secs_f64(), done.applied.len())
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
