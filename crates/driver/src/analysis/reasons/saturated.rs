//! Saturation: numbers lie outside of the grid. The smallest and the largest number that was observed give a grid on which
//! none does.

use crate::report::{LossCode, LossReason};

use super::{Facts, reason};

/// From this fraction of the numbers on, saturation is a reason.
const CLIPPED: f64 = 0.001;

pub(super) fn find(facts: &Facts<'_>) -> Vec<LossReason> {
    let found = facts.tensors.iter().filter_map(|tensor| {
        let ([low, high], [least, most]) = (tensor.grid?, tensor.seen);
        let clipped = tensor.clipped.filter(|&clipped| clipped >= CLIPPED)?;
        let text = format!(
            "{:.2} % of `{}` saturate: the grid is [{low:.3}, {high:.3}], and [{least:.3}, {most:.3}] was seen",
            100.0 * clipped,
            tensor.tensor
        );
        let toml = facts.tensor_rule(&tensor.tensor, "observer = \"minmax\"");
        Some(reason(LossCode::Saturation.name(), text, toml))
    });
    found.collect()
}
