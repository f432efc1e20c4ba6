//! Checks rules that set weight scales by block. The target's table and the layers that a rule applies to must support
//! such scales.

use std::num::NonZeroU32;

use strait_core::{Node, NodeId, Term};
use strait_document::KeyPath;
use strait_target::spec::{Activation, Integer, WeightPer, WeightScheme};

use super::{
    super::{RuleError, keys::rule_place},
    Check,
};

impl Check<'_> {
    /// Refuses scales by block for layers that are not weight-only, and block sizes that the target does not support.
    /// The number of inputs of each layer that a rule applies to must be a multiple of the block size.
    pub(super) fn blocks(&mut self) {
        let (quantize, graph) = (self.quantize, self.module.main());
        let mut found: Vec<RuleError> = self.blocks_of_all().into_iter().collect();
        for (index, rule) in quantize.rule.iter().enumerate() {
            if rule.weights.per != Some(WeightPer::Block) {
                continue;
            }
            let nodes = self.selection.nodes.iter().filter(|(_, rules)| rules.contains(&index));
            let mut errors = nodes.filter_map(|(&id, rules)| {
                let size = quantize.together(rules).weights.block.or(quantize.weights.block);
                self.blocks_of_layer(index, (id, graph.node(id)?), size)
            });
            found.extend(errors.next());
        }
        self.found.0.extend(found);
    }

    /// The error in the settings for blocks in `[quantize]`, which apply to all layers.
    fn blocks_of_all(&self) -> Option<RuleError> {
        let weights = &self.quantize.weights;
        if weights.per != Some(WeightPer::Block) {
            return None;
        }
        let path = KeyPath::of(&["quantize"]);
        let own = self.settings.layers.values().filter_map(|layer| layer.activation);
        let mut all = own.chain(self.settings.default.activation);
        if !all.any(|activation| activation == Activation::Float32) {
            return Some(of_codes(&path, "no layer computes on real numbers"));
        }
        let weight = self.settings.default.weights.ty;
        let schemes = self.alone().filter(|t| weight.is_none_or(|weight| weight == *t));
        let schemes: Vec<(Integer, &WeightScheme)> = schemes.map(|t| (t, self.spec.types.weight(t))).collect();
        let found = schemes
            .iter()
            .map(|(t, scheme)| self.lacks(&path, *t, scheme, weights.block));
        // The setting is accepted if the target supports it for at least one of the weight types.
        let all = |first: Option<RuleError>, other: Option<RuleError>| first.filter(|_| other.is_some());
        found.reduce(all).flatten()
    }

    /// The error in a rule's settings for blocks, for a layer.
    fn blocks_of_layer(
        &self,
        index: usize,
        (id, node): (NodeId, &Node),
        size: Option<NonZeroU32>,
    ) -> Option<RuleError> {
        let module = self.module;
        let path = rule_place(index);
        let term = node.op.term();
        let has_row = self.spec.weight_only_row(term).is_some();
        if !matches!(term, Term::Conv | Term::Gemm) && !has_row {
            return None;
        }
        let (name, types) = (module.name(node.name), self.settings.types(id));
        if types.activation() != Some(Activation::Float32) || types.is_plain {
            return Some(of_codes(&path, &format!("`{name}` has others, too, or none")));
        }
        let t = self
            .alone()
            .find(|&t| types.weight().is_none_or(|weight| weight == t))?;
        let scheme = self.spec.types.weight(t);
        if let Some(error) = self.lacks(&path, t, scheme, size) {
            return Some(error);
        }
        let size = size.or(scheme.block.first().copied())?;
        let weights = module
            .main()
            .value(node.inputs.get(node.op.weights_operand()).copied().flatten()?)?;
        let inputs = weights.ty.dims()?.get(1).copied()?;
        (!inputs.is_multiple_of(size.get().into())).then(|| {
            let message =
                format!("the weights of `{name}` are for {inputs} inputs, which are no whole blocks of {size}");
            of_weights(&path, "per", message).help("choose another size, or other layers")
        })
    }

    /// The weight types of the target's weight-only pairs.
    fn alone(&self) -> impl Iterator<Item = Integer> {
        let pairs = self.spec.types.pairs.iter().filter(|pair| pair.is_weight_only());
        pairs.map(|pair| pair.weight)
    }

    /// The error if the target does not support scales by block, or blocks of this size, for weights of type `t`.
    fn lacks(&self, path: &KeyPath, t: Integer, scheme: &WeightScheme, size: Option<NonZeroU32>) -> Option<RuleError> {
        let id = &self.spec.id;
        if !scheme.per.contains(&WeightPer::Block) {
            let message = format!("the target `{id}` has no scales by block of {t} weights");
            let having = self.alone().filter(|&t| !self.spec.types.weight(t).block.is_empty());
            let having: Vec<&str> = having.map(Integer::name).collect();
            let error = of_weights(path, "per", message);
            return Some(match having.is_empty() {
                true => error,
                false => error.help(format!("weights that have them: {}", having.join(", "))),
            });
        }
        let size = size.filter(|size| !scheme.block.contains(size))?;
        let known: Vec<String> = scheme.block.iter().map(NonZeroU32::to_string).collect();
        let message = format!("the target `{id}` has no blocks of {size} {t} weights");
        let error = of_weights(path, "block", message);
        Some(error.help(format!("sizes that it has: {}", known.join(", "))))
    }
}

fn of_weights(path: &KeyPath, key: &str, message: String) -> RuleError {
    RuleError::unsupported(path.clone().key("weights").key(key), message)
}

fn of_codes(path: &KeyPath, who: &str) -> RuleError {
    let message = format!("scales by block are for weight-only layers: {who}");
    of_weights(path, "per", message).help("activations.type = \"float32\" computes on real numbers")
}
