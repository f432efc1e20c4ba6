//! Shows which scale was moved between layers.

use std::fmt::{self, Display};

use strait_report::MovedScale;

use crate::table;

use super::Shown;

impl Display for Shown<'_, MovedScale> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(moved) = self;
        let used: Vec<_> = moved.pairs.iter().filter(|pair| pair.used).collect();
        let decibels = |error: f64| format!("{:.1} dB", -10.0 * error.max(1e-30).log10());
        match moved.error.filter(|_| !used.is_empty()) {
            Some(error) => {
                let [before, after] = error.map(decibels);
                let added = used.iter().filter(|pair| pair.added.is_some()).count();
                let added = match added {
                    0 => String::new(),
                    count => format!(", with {} added", table::count(count, "node")),
                };
                let places = table::count(used.len(), "place");
                writeln!(
                    f,
                    "moved scale between layers at {places}{added}: the outputs are at {after}, and were at {before}"
                )
            }
            None if moved.pairs.is_empty() => writeln!(f, "moved no scale between layers: at no place do factors help"),
            None => writeln!(
                f,
                "moved no scale between layers: the outputs of the model would not come closer to the float model's"
            ),
        }
    }
}
