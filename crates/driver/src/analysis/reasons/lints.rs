//! The lints of the compilation that are about the layer, such as two populations on one grid (`range-unlike`), or a grid
//! that is coarser than its range requires.

use crate::{report::LossReason, sanity::Lift};

use super::{Facts, reason};

pub(super) fn find(facts: &Facts<'_>) -> Vec<LossReason> {
    let names: Vec<&str> = facts
        .group
        .nodes
        .iter()
        .filter_map(|&id| {
            let canonical = facts.canonical();
            Some(canonical.name(canonical.main().node(id)?.name))
        })
        .collect();
    let of_layer = facts
        .analysed
        .lints
        .iter()
        .filter(|lint| names.contains(&lint.layer.as_str()));
    let found = of_layer.map(|lint| {
        let spec = facts.analysed.spec;
        let wide = Lift::of(spec).into_iter().find(|lift| matches!(lift, Lift::Wide(_)));
        let toml = wide.map(|lift| {
            let layers: Vec<String> = std::iter::once(facts.group.name(facts.canonical()))
                .chain(lint.readers.iter().cloned())
                .collect();
            let tensor = lift.of_tensor(spec, &lint.tensor);
            lift.rule(spec, &layers) + &tensor.unwrap_or_default()
        });
        reason(&lint.code, lint.text.clone(), toml)
    });
    found.collect()
}
