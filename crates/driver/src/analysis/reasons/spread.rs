//! Channel spread: all channels of the weights share one scale, although their magnitudes differ much. A scale for each
//! channel fits all of them.

use crate::report::{LossCode, LossReason};

use super::{Facts, reason};

/// From this ratio of the largest channel to the median on, the spread is a reason. Half of the channels lose three bits.
const TIMES: f64 = 8.0;

pub(super) fn find(facts: &Facts<'_>) -> Vec<LossReason> {
    let wide = facts.weights.filter(|weights| weights.per_tensor);
    let found = wide.and_then(|weights| {
        let times = weights.spread.filter(|&times| times >= TIMES)?;
        let text = format!(
            "the channels of `{}` share one scale, and the largest is {times:.1} times as large as the median, which costs \
             half of them at least {:.1} bits",
            weights.tensor,
            times.log2()
        );
        Some(reason(LossCode::ChannelSpread.name(), text, Some(facts.layer_rule("weights.per = \"channel\""))))
    });
    found.into_iter().collect()
}
