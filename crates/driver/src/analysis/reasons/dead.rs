//! Dead channels: all codes of a channel are 0, although its weights are not, so what the channel computes is lost.

use crate::report::{LossCode, LossReason};

use super::{Facts, reason};

pub(super) fn find(facts: &Facts<'_>) -> Vec<LossReason> {
    let found = facts.weights.filter(|weights| weights.lost > 0).map(|weights| {
        let text = format!(
            "{} of {} channels of `{}` have only codes that are 0",
            weights.lost, weights.channels, weights.tensor
        );
        let toml = weights
            .per_tensor
            .then(|| facts.layer_rule("weights.per = \"channel\""));
        reason(LossCode::DeadChannels.name(), text, toml)
    });
    found.into_iter().collect()
}
