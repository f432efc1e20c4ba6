//! Why a layer loses accuracy. Each rule has a file: it looks at the statistics of the layer's tensors, and says in a
//! sentence what it found and which rule of a configuration helps. The rule that explains most comes first.

mod coarse;
mod dead;
mod lints;
mod outliers;
mod saturated;
mod spread;

use strait_core::Module;

use crate::{
    report::{LossReason, TensorStatistics, WeightStatistics},
    sanity::{Lift, rule_text},
};

use super::{Analysed, Group, Single, statistics::has_tensor};

/// What the rules look at.
pub(super) struct Facts<'a> {
    pub(super) analysed: &'a Analysed<'a>,
    pub(super) group: &'a Group,
    pub(super) weights: Option<&'a WeightStatistics>,
    pub(super) single: &'a Single,
    /// The statistics of the layer's result and of the tensors that it reads.
    pub(super) tensors: &'a [TensorStatistics],
}

impl Facts<'_> {
    fn canonical(&self) -> &Module {
        self.analysed.canonical
    }

    /// The text of a rule for this layer.
    fn layer_rule(&self, words: &str) -> String {
        rule_text(
            self.analysed.spec.id.as_str(),
            "layers",
            &[self.group.name(self.canonical())],
            words,
        )
    }

    /// The text of a rule that gives the layer 16 bits, if the target has them for its op.
    fn wide_rule(&self) -> Option<String> {
        let (spec, annotated) = (self.analysed.spec, &self.analysed.built.annotated);
        let mut wide = Lift::of(spec).into_iter().filter(|lift| matches!(lift, Lift::Wide(_)));
        let wide = wide.find(|lift| lift.fits(annotated, spec, self.group.main))?;
        Some(wide.rule(spec, &[self.group.name(self.canonical())]))
    }

    /// The text of a rule for a tensor; `None` if the model has no tensor of this name.
    fn tensor_rule(&self, tensor: &str, words: &str) -> Option<String> {
        let text = || rule_text(self.analysed.spec.id.as_str(), "tensors", &[tensor.to_owned()], words);
        has_tensor(self.canonical(), tensor).then(text)
    }
}

/// A rule: what it finds in a layer.
type Rule = fn(&Facts<'_>) -> Vec<LossReason>;

/// The rules, in the order in which their findings are listed.
const RULES: [Rule; 6] = [
    saturated::find,
    spread::find,
    dead::find,
    outliers::find,
    lints::find,
    coarse::find,
];

/// The reasons that the rules find.
pub(super) fn of(facts: &Facts<'_>) -> Vec<LossReason> {
    RULES.iter().flat_map(|rule| rule(facts)).collect()
}

fn reason(code: &str, text: String, toml: Option<String>) -> LossReason {
    LossReason {
        code: code.to_owned(),
        text,
        toml,
    }
}
