//! Reads those parts of this process's state that calls of a library could change.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;

use crate::conduct::Traces;

impl Traces {
    /// Reads the current state of this process.
    pub(super) fn now() -> Traces {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(|value| value.trim().to_owned())
        };
        let number = |name: &str| {
            let text = field(name).unwrap_or_default();
            text.split(' ')
                .next()
                .and_then(|number| number.parse().ok())
                .unwrap_or(0)
        };
        let mut settings = BTreeMap::from([("the arithmetic of floats".to_owned(), floats())]);
        for (name, of) in [
            ("SigBlk", "the signals that are blocked"),
            ("SigIgn", "the signals that are ignored"),
            ("SigCgt", "the signals that have handlers"),
        ] {
            settings.extend(field(name).map(|value| (of.to_owned(), signals(&value))));
        }
        settings.extend(field("Umask").map(|value| ("the mask of new files".to_owned(), value)));
        let folder = std::env::current_dir();
        settings.extend(folder.map(|path| ("the working folder".to_owned(), path.display().to_string())));
        Traces {
            known: !status.is_empty(),
            process: std::process::id(),
            threads: number("Threads"),
            files: fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64),
            children: children(),
            // The value is in KiB.
            memory: number("RssAnon") * 1024,
            settings,
        }
    }
}

/// The signals in a mask, except those that the C library uses for its threads.
fn signals(mask: &str) -> String {
    let mask = u64::from_str_radix(mask, 16).unwrap_or(0);
    let its = (1..=64).filter(|signal| mask >> (signal - 1) & 1 == 1 && ![32, 33].contains(signal));
    let its: Vec<String> = its.map(|signal| signal.to_string()).collect();
    match its.is_empty() {
        true => "none".to_owned(),
        false => its.join(", "),
    }
}

fn children() -> u64 {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    tasks.map(|task| of(task).split_whitespace().count() as u64).sum()
}

/// The rounding direction of floating-point arithmetic, and whether subnormal numbers are flushed to zero.
fn floats() -> String {
    let little = black_box(f64::EPSILON / 8.0);
    let rounding = match (black_box(1.0) + little > 1.0, black_box(-1.0) - little < -1.0) {
        (true, false) => "up",
        (false, true) => "down",
        _ if black_box(1.0) - little < 1.0 => "towards zero",
        _ => "to the nearest",
    };
    let result = black_box(f32::MIN_POSITIVE) * black_box(0.5) == 0.0;
    let operand = black_box(f32::from_bits(1)) * black_box(2f32.powi(100)) == 0.0;
    let small = match (result, operand) {
        (false, false) => "kept",
        (true, false) => "flushed to zero in results",
        (false, true) => "taken as zero in operands",
        (true, true) => "flushed to zero",
    };
    format!("rounding {rounding}, subnormal numbers {small}")
}
