//! Scales of weights by block, held against what a target's table has, and against the layers that a rule is for.

use std::num::NonZeroU32;

use strait_core::{Module, Node, NodeId};
use strait_quantize::Settings;
use strait_target::{
    TargetSpec,
    spec::{Activation, Integer, RecipeName, WeightPer, WeightScheme},
};

use crate::{
    config::{KeyPath, Loaded, types::Weights},
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

use super::selection::Selection;

/// Refuses scales by block where weights do not alone have codes, and those that the target does not have. What a rule is for
/// has to be whole blocks, too.
///
/// # Errors
/// Each of them, with what there is.
pub(super) fn check(
    module: &Module,
    loaded: &Loaded,
    selection: &Selection,
    spec: &TargetSpec,
    settings: &Settings,
) -> Result<(), Diagnostics> {
    let quantize = &loaded.config.quantize;
    let check = Check { loaded, spec, settings };
    let mut findings: Vec<Diagnostic> = check.everywhere(&quantize.weights).into_iter().collect();
    for (index, rule) in quantize.rule.iter().enumerate() {
        if rule.weights.per != Some(WeightPer::Block) {
            continue;
        }
        let nodes = selection.nodes.iter().filter(|(_, rules)| rules.contains(&index));
        let mut found = nodes.filter_map(|(&id, rules)| {
            let node = module.main().node(id)?;
            let size = quantize.settings(rules).weights.block.or(quantize.weights.block);
            check.layer(module, index, (id, node), size)
        });
        findings.extend(found.next());
    }
    if findings.is_empty() {
        Ok(())
    } else {
        Err(Diagnostics(findings))
    }
}

struct Check<'a> {
    loaded: &'a Loaded,
    spec: &'a TargetSpec,
    settings: &'a Settings,
}

impl Check<'_> {
    fn error(&self, path: &KeyPath, key: &str, message: String) -> Diagnostic {
        let path = path.clone().key("weights").key(key);
        self.loaded.error(codes::UNSUPPORTED, &path, message, "")
    }

    /// The finding in what `[quantize]` says of all layers.
    fn everywhere(&self, weights: &Weights) -> Option<Diagnostic> {
        if weights.per != Some(WeightPer::Block) {
            return None;
        }
        let path = KeyPath::of(&["quantize"]);
        let own = self.settings.layers.values().filter_map(|layer| layer.activation);
        let mut all = own.chain(self.settings.default.activation);
        if !all.any(|activation| activation == Activation::Float32) {
            return Some(self.of_codes(&path, "no layer computes on real numbers"));
        }
        let weight = self.settings.default.weights.ty;
        let schemes = self.alone().filter(|t| weight.is_none_or(|weight| weight == *t));
        let schemes: Vec<(Integer, &WeightScheme)> = schemes.map(|t| (t, self.spec.types.weight(t))).collect();
        let found = schemes
            .iter()
            .map(|(t, scheme)| self.lacks(&path, *t, scheme, weights.block));
        // One of them is enough.
        let all = |first: Option<Diagnostic>, other: Option<Diagnostic>| first.filter(|_| other.is_some());
        found.reduce(all).flatten()
    }

    /// The finding in what a rule says of a layer.
    fn layer(
        &self,
        module: &Module,
        index: usize,
        (id, node): (NodeId, &Node),
        size: Option<NonZeroU32>,
    ) -> Option<Diagnostic> {
        let path = KeyPath::of(&["quantize"]).key("rule").index(index);
        if !RecipeName::DequantizeWeights.lowers().contains(&node.op.term()) {
            return None;
        }
        let (name, types) = (module.name(node.name), self.settings.types(id));
        if types.activation() != Some(Activation::Float32) || types.is_plain {
            return Some(self.of_codes(&path, &format!("`{name}` has others, too, or none")));
        }
        let t = self
            .alone()
            .find(|&t| types.weight().is_none_or(|weight| weight == t))?;
        let scheme = self.spec.types.weight(t);
        if let Some(finding) = self.lacks(&path, t, scheme, size) {
            return Some(finding);
        }
        let size = size.or(scheme.block.first().copied())?;
        let weights = module.main().value(node.inputs.get(1).copied().flatten()?)?;
        let inputs = weights.ty.dims()?.get(1).copied()?;
        (!inputs.is_multiple_of(size.get().into())).then(|| {
            let message =
                format!("the weights of `{name}` are for {inputs} inputs, which are no whole blocks of {size}");
            self.error(&path, "per", message)
                .help("choose another size, or other layers")
        })
    }

    /// The types of weights that alone have codes.
    fn alone(&self) -> impl Iterator<Item = Integer> {
        let pairs = self.spec.types.pairs.iter().filter(|pair| pair.is_weight_only());
        pairs.map(|pair| pair.weight)
    }

    fn of_codes(&self, path: &KeyPath, who: &str) -> Diagnostic {
        let message = format!("scales by block are for weights that alone have codes: {who}");
        let finding = self.error(path, "per", message);
        finding.help("activations.type = \"float32\" computes on real numbers")
    }

    /// The finding where weights of a type have no scales by block, or none of this size.
    fn lacks(&self, path: &KeyPath, t: Integer, scheme: &WeightScheme, size: Option<NonZeroU32>) -> Option<Diagnostic> {
        let id = &self.spec.id;
        if !scheme.per.contains(&WeightPer::Block) {
            let message = format!("the target `{id}` has no scales by block of {t} weights");
            let having = self.alone().filter(|&t| !self.spec.types.weight(t).block.is_empty());
            let having: Vec<&str> = having.map(Integer::name).collect();
            let finding = self.error(path, "per", message);
            return Some(match having.is_empty() {
                true => finding,
                false => finding.help(format!("weights that have them: {}", having.join(", "))),
            });
        }
        let size = size.filter(|size| !scheme.block.contains(size))?;
        let known: Vec<String> = scheme.block.iter().map(NonZeroU32::to_string).collect();
        let message = format!("the target `{id}` has no blocks of {size} {t} weights");
        let finding = self.error(path, "block", message);
        Some(finding.help(format!("sizes that it has: {}", known.join(", "))))
    }
}
