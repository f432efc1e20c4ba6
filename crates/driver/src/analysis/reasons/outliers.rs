//! Outliers: a few numbers are so large that the others get few codes.
//!
//! Let m be the magnitude that 99.9 % of the numbers do not exceed, and r the largest magnitude on the grid. If r/m is at
//! least [`TIMES`], log2(r/m) bits of the codes are only for one number in a thousand. A range that is chosen by the mean
//! squared error leaves the outliers out if that is better.

use crate::report::{LossCode, LossReason};

use super::{Facts, reason};

/// From this ratio on, outliers are a reason. It is a loss of two bits.
const TIMES: f64 = 4.0;

pub(super) fn find(facts: &Facts<'_>) -> Vec<LossReason> {
    let found = facts.tensors.iter().filter_map(|tensor| {
        let reach = tensor.grid?.into_iter().map(f64::abs).fold(0.0, f64::max);
        let times = reach / tensor.most;
        (tensor.most > 0.0 && times >= TIMES).then(|| {
            let text = format!(
                "0.1 % of `{}` take {:.1} of its bits: they reach {:.3}, all others stay within {:.3}",
                tensor.tensor,
                times.log2(),
                reach,
                tensor.most
            );
            let toml = facts.tensor_rule(&tensor.tensor, "observer = \"mse\"");
            reason(LossCode::Outliers.name(), text, toml)
        })
    });
    found.collect()
}
