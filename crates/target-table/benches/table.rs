//! Measures how long it takes to read and check a table with all its overlays, on one thread.
//!
//! `cargo bench -p strait-target` prints one line for each table. It ends with an error if a table takes longer than
//! `SECONDS`.

use std::{hint::black_box, process::ExitCode, time::Instant};
use strait_target::Table;

/// The longest time that one table may take, in seconds.
const SECONDS: f64 = 0.000_5;

const TABLES: [(&str, &str); 5] = [
    (
        "generic-int8",
        include_str!("../../../targets/generic-int8/target.toml"),
    ),
    ("sima-mla", include_str!("../../../targets/sima-mla/target.toml")),
    ("ascend", include_str!("../../../targets/ascend/target.toml")),
    ("acme-npu2", include_str!("../../../configs/targets/acme-npu2.toml")),
    ("esp-dl", include_str!("../../../configs/targets/esp-dl.toml")),
];

fn main() -> ExitCode {
    let mut missed = false;
    for (name, text) in TABLES {
        let seconds = |_| {
            let start = Instant::now();
            black_box(Table::parse(name, black_box(text)).is_ok());
            start.elapsed().as_secs_f64()
        };
        let mut all: Vec<f64> = (0..200).map(seconds).collect();
        all.sort_by(f64::total_cmp);
        let (least, median) = (
            all.first().copied().unwrap_or_default(),
            all.get(100).copied().unwrap_or_default(),
        );
        missed |= median > SECONDS;
        println!(
            "{name}: {:.3} ms, {:.3} at best, of {} bytes; the mark is {} ms",
            median * 1e3,
            least * 1e3,
            text.len(),
            SECONDS * 1e3
        );
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
