//! The time that one layer of 200,000 outputs takes, all hypotheses tried: marks that hold on a quiet machine.
//! `cargo bench -p strait-identify`
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Numbers, once, record, twice};
use std::time::{Duration, Instant};
use strait_identify::identify;
use strait_requantize::Rounding;

/// Time that one layer may take.
const MARK: Duration = Duration::from_secs(5);

fn main() {
    let numbers = &mut Numbers::new(1);
    let layers = [
        ("two roundings", twice(numbers)),
        ("31 bits, half up", once(31, Rounding::HalfUp, numbers)),
        ("a power of two, half away", once(1, Rounding::HalfAway, numbers)),
    ];
    for (name, form) in layers {
        let layer = record(&form, 200_000, numbers);
        let start = Instant::now();
        let answer = identify("bench", &layer).unwrap();
        let took = start.elapsed();
        println!(
            "{name}: {:.3} s, {} explain it",
            took.as_secs_f64(),
            answer.explained.len()
        );
        assert!(took < MARK, "{name} takes more than {MARK:?}");
    }
}
