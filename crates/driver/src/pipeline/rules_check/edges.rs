//! Types that rules ask for operands, results and tensors, held against what the layers compute on and leave.

use std::collections::BTreeMap;

use strait_core::{NodeId, Port};
use strait_target::spec::{Activation, Integer, Pair};

use crate::{
    config::KeyPath,
    failure::codes,
    pipeline::selection::{moves_codes, united},
};

use super::{Check, those};

const TYPE: [&str; 2] = ["activations", "type"];

impl Check<'_> {
    /// Findings where operands or tensors are to be real numbers.
    pub(super) fn reals(&mut self) {
        let loaded = self.loaded;
        for (index, rule) in loaded.config.quantize.rule.iter().enumerate() {
            let is_float = rule.activations.ty == Some(Activation::Float32);
            if !is_float || !rule.selects_ports() && rule.tensors.is_empty() {
                continue;
            }
            let what = match rule.tensors.is_empty() {
                true => "an operand",
                false => "a tensor",
            };
            let message = format!("{what} has codes of some type, or the layers that read it run in float");
            self.findings.tell(loaded.asks(&[index], &TYPE), |path| {
                let finding = loaded.error(codes::UNSUPPORTED, path, message, "");
                finding.help("float32 is for `layers` and `op`")
            });
        }
    }

    /// Findings where two operands of one layer are to have two types.
    pub(super) fn operands(&mut self) {
        let (loaded, module) = (self.loaded, self.module);
        let mut first: BTreeMap<NodeId, (usize, Activation, KeyPath)> = BTreeMap::new();
        for (&(id, index), rules) in &self.selection.operands {
            let rules = united(self.selection.nodes.get(&id), Some(rules));
            let Some(own) = loaded.config.quantize.settings(&rules).activations.ty else {
                continue;
            };
            let path = loaded.asks(&rules, &TYPE);
            let (other, of_other, other_path) = first.entry(id).or_insert_with(|| (index, own, path.clone()));
            if *of_other == own {
                continue;
            }
            let name = module.main().node(id).map_or("", |node| module.name(node.name));
            let message = format!(
                "`{name}` computes on one type, and its {} and {} are to have two",
                Port::Operand(*other),
                Port::Operand(index)
            );
            self.findings.tell(path.max(other_path.clone()), |path| {
                let finding = loaded.error(codes::UNSUPPORTED, path, message, "");
                finding.help("ask for one type, or for a range of its own where an operand wants finer codes")
            });
        }
    }

    /// Findings where a tensor is to leave in a type that the layer which makes it does not have; one that no layer makes, in
    /// a type that no pair has.
    pub(super) fn results(&mut self) {
        let (loaded, module, spec, settings) = (self.loaded, self.module, self.spec, self.settings);
        let graph = module.main();
        let typed = settings
            .values
            .iter()
            .filter_map(|(&value, own)| Some((value, own, own.ty?)));
        for (value, own, ty) in typed {
            let rules = own.rules.as_slice();
            let name = |name| module.name(name);
            let pairs = &spec.types.pairs;
            let maker = graph.producer(value);
            if maker.is_none() && !pairs.iter().any(|pair| pair.codes() == Some(ty)) {
                let of = graph.value(value).map_or("", |value| name(value.name));
                let message = format!("the target `{}` has no {ty} activations for `{of}`", spec.id);
                self.findings.tell(loaded.asks(rules, &TYPE), |path| {
                    loaded.error(codes::UNSUPPORTED, path, message, "").help(those(pairs))
                });
            }
            let Some((id, node)) = maker.filter(|(_, node)| !moves_codes(spec, node)) else {
                continue;
            };
            let computes = settings.types(id).pair(spec, node.op.term()).and_then(Pair::codes);
            let row = computes.and_then(|on| Some((on, spec.row_for(node.op.term(), on.into())?.1)));
            let Some((on, row)) = row.filter(|(_, row)| !row.is_host()) else {
                continue;
            };
            let results = row.results.as_deref().unwrap_or(std::slice::from_ref(&on));
            if results.contains(&ty) {
                continue;
            }
            let has: Vec<&str> = results.iter().copied().map(Integer::name).collect();
            let (of, id, has) = (name(node.name), &spec.id, has.join(", "));
            self.findings.tell(loaded.asks(rules, &TYPE), |path| {
                let message = format!("`{of}` computes on {on} on the target `{id}`, and leaves no {ty} results");
                let finding = loaded.error(codes::UNSUPPORTED, path, message, "");
                finding.help(format!(
                    "results that it leaves then: {has}; a rule for the layer says what it computes on"
                ))
            });
        }
    }
}
