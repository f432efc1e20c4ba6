//! Shows what the algorithms of `[optimize]` have done.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use strait_compile::Choice;
use strait_report::{Optimized, OptimizedRanges};

use crate::table;

use super::Shown;

impl Display for Shown<'_, Optimized> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(optimized) = self;
        if let Some(moved) = &optimized.moved {
            write!(f, "{}", Shown(moved))?;
        }
        if let Some(ranges) = &optimized.ranges {
            write!(f, "{}", Shown(ranges))?;
        }
        if let Some(observer) = &optimized.weights {
            writeln!(f, "ranges of weights by the observer {observer}")?;
        }
        let done = [
            (Choice::Repair, "fitted and rounded together"),
            (Choice::Round, "rounded together"),
            (Choice::Bias, "bias corrected"),
            (Choice::Nearest, "as they were"),
        ];
        let done = done.into_iter().filter_map(|(choice, what)| {
            let count = optimized.count(choice);
            (count > 0).then(|| format!("{count} {what}"))
        });
        if !optimized.layers.is_empty() {
            let layers = table::count(optimized.layers.len(), "layer");
            writeln!(f, "optimised {layers}: {}", done.collect::<Vec<_>>().join(", "))?;
        }
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for layer in &optimized.untouched {
            reasons.entry(&layer.reason).or_default().push(&layer.layer);
        }
        for (reason, layers) in reasons {
            let first = layers.first().copied().unwrap_or_default();
            let more = match layers.len() {
                1 => String::new(),
                count => format!(" and {} more", count - 1),
            };
            writeln!(f, "not optimised: {first}{more}: {reason}")?;
        }
        Ok(())
    }
}

impl Display for Shown<'_, OptimizedRanges> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(ranges) = self;
        let decibels = |error: f64| format!("{:.1} dB", -10.0 * error.max(1e-30).log10());
        let [before, after] = ranges.error.map(decibels);
        let own = match ranges.tensors.len() {
            0 => String::new(),
            count => format!(", {} by others", table::count(count, "tensor")),
        };
        writeln!(
            f,
            "ranges by the observer {}{own}: the outputs are at {after}, and were at {before}",
            ranges.observer
        )
    }
}
