//! Checks the types that rules set for operands, results and tensors. The layers must support these types.

use std::collections::BTreeMap;

use strait_core::{NodeId, Port};
use strait_document::KeyPath;
use strait_target::spec::{Activation, Integer, Pair};

use super::{
    super::{RuleError, selection::moves_codes},
    Check, those,
};

const TYPE: &str = "activations.type";

impl Check<'_> {
    /// Refuses rules that require operands or tensors to be real numbers.
    pub(super) fn reals(&mut self) {
        for (index, rule) in self.quantize.rule.iter().enumerate() {
            let is_float = rule.activations.ty == Some(Activation::Float32);
            if !is_float || !rule.selects_ports() && rule.tensors.is_empty() {
                continue;
            }
            let what = match rule.tensors.is_empty() {
                true => "an operand",
                false => "a tensor",
            };
            let message = format!("{what} has codes of some type, or the layers that read it run in float");
            let error = RuleError::unsupported(self.quantize.asks(&[index], TYPE), message);
            self.found.tell(error.help("float32 is for `layers` and `op`"));
        }
    }

    /// Refuses rules that set different types for two operands of one layer.
    pub(super) fn operands(&mut self) {
        let module = self.module;
        let mut first: BTreeMap<NodeId, (usize, Activation, KeyPath)> = BTreeMap::new();
        for &(id, index) in self.selection.operands.keys() {
            let rules = self.selection.of_operand((id, index));
            let Some(own) = self.quantize.together(&rules).activations.ty else {
                continue;
            };
            let key = self.quantize.asks(&rules, TYPE);
            let (other, of_other, other_key) = first.entry(id).or_insert_with(|| (index, own, key.clone()));
            if *of_other == own {
                continue;
            }
            let name = module.main().node(id).map_or("", |node| module.name(node.name));
            let message = format!(
                "`{name}` computes on one type, and its {} and {} are to have two",
                Port::Operand(*other),
                Port::Operand(index)
            );
            let error = RuleError::unsupported(key.max(other_key.clone()), message);
            self.found
                .tell(error.help("ask for one type, or for a range of its own where an operand wants finer codes"));
        }
    }

    /// Refuses a type for a tensor if the layer that makes the tensor does not support this type for its result. If no
    /// layer makes the tensor, refuses a type that is in none of the target's pairs (type of activations, type of
    /// weights).
    pub(super) fn results(&mut self) {
        let (module, spec, settings) = (self.module, self.spec, self.settings);
        let (graph, pairs, id) = (module.main(), &spec.types.pairs, &spec.id);
        let typed = settings.values.iter();
        for (&value, own, ty) in typed.filter_map(|(value, own)| Some((value, own, own.ty?))) {
            let key = || self.quantize.asks(&own.rules, TYPE);
            let maker = graph.producer(value);
            if maker.is_none() && !pairs.iter().any(|pair| pair.codes() == Some(ty)) {
                let of = graph.value(value).map_or("", |value| module.name(value.name));
                let message = format!("the target `{id}` has no {ty} activations for `{of}`");
                self.found
                    .tell(RuleError::unsupported(key(), message).help(those(pairs)));
            }
            let Some((maker, node)) = maker.filter(|(_, node)| !moves_codes(spec, node)) else {
                continue;
            };
            let computes = settings.types(maker).pair(spec, node.op.term()).and_then(Pair::codes);
            let row = computes.and_then(|on| Some((on, spec.row_for(node.op.term(), on.into())?.1)));
            let Some((on, row)) = row.filter(|(_, row)| !row.is_host()) else {
                continue;
            };
            let results = row.results.as_deref().unwrap_or(std::slice::from_ref(&on));
            if results.contains(&ty) {
                continue;
            }
            let has: Vec<&str> = results.iter().copied().map(Integer::name).collect();
            let (of, has) = (module.name(node.name), has.join(", "));
            let message = format!("`{of}` computes on {on} on the target `{id}`, and leaves no {ty} results");
            let help = format!("results that it leaves then: {has}; a rule for the layer says what it computes on");
            self.found.tell(RuleError::unsupported(key(), message).help(help));
        }
    }
}
