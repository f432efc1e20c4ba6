//! Measures how long one layer of 200,000 outputs takes when all hypotheses are tried, with and without wrong values.
//! The limit `MARK` is meant for a machine that does nothing else. Run it with `cargo bench -p strait-identify`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Numbers, layer, once, recorded, twice};
use std::time::{Duration, Instant};
use strait_identify::identify;
use strait_requantize::Rounding;

/// Longest time that one layer may take.
const MARK: Duration = Duration::from_secs(5);

fn main() {
    let numbers = &mut Numbers::new(1);
    let layers = [
        ("two roundings", twice(numbers)),
        ("31 bits, half up", once(31, Rounding::HalfUp, numbers)),
        ("a power of two, half away", once(1, Rounding::HalfAway, numbers)),
    ];
    for (name, form) in layers {
        for wrong in [0, 20, 200, 2000] {
            let mut pairs = recorded(&form, 200_000, numbers);
            for _ in 0..wrong {
                let at = numbers.between(0, pairs.len() as i64 - 1) as usize;
                pairs[at].1 = numbers.between(-128, 127) as i32;
            }
            let layer = layer(&form, &pairs);
            let start = Instant::now();
            let answer = identify("bench", &layer).unwrap();
            let took = start.elapsed();
            println!(
                "{name}, {wrong} changed: {:.3} s, {} explain it",
                took.as_secs_f64(),
                answer.explained.len()
            );
            assert!(took < MARK, "{name} takes more than {MARK:?}");
        }
    }
}
