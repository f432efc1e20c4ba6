//! Types that rules ask for operands and results, held against what the layers compute on and leave.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Module, NodeId, Port};
use strait_quantize::annotate::TypeWishes;
use strait_target::{
    TargetSpec,
    spec::{Integer, Pair},
};

use crate::{
    config::{
        KeyPath, Loaded,
        types::{Quantize, Rule},
    },
    diagnostic::Diagnostic,
    failure::codes,
    pipeline::select::{Selection, moves_codes, united},
};

/// Findings where two operands of one layer are to have two types.
pub(super) fn operands(module: &Module, loaded: &Loaded, selection: &Selection) -> Vec<Diagnostic> {
    let quantize = &loaded.config.quantize;
    let mut first: BTreeMap<NodeId, (usize, usize)> = BTreeMap::new();
    let (mut findings, mut told) = (Vec::new(), BTreeSet::new());
    for (&(id, index), rules) in &selection.operands {
        let rules = united(selection.nodes.get(&id), Some(rules));
        let Some(rule) = deciding(quantize, &rules) else {
            continue;
        };
        let &mut (other, of_other) = first.entry(id).or_insert((index, rule));
        let [one, two] = [of_other, rule].map(|rule| quantize.rule.get(rule).and_then(|rule| rule.activations.ty));
        if one == two || !told.insert(rule.max(of_other)) {
            continue;
        }
        let name = module.main().node(id).map_or("", |node| module.name(node.name));
        let message = format!(
            "`{name}` computes on one type, and its {} and {} are to have two",
            Port::Operand(other),
            Port::Operand(index)
        );
        let finding = loaded.error(codes::UNSUPPORTED, &path(rule.max(of_other)), message, "");
        findings.push(finding.help("ask for one type, or for a range of its own where an operand wants finer codes"));
    }
    findings
}

/// Findings where a result is to leave in a type that its layer does not make.
pub(super) fn results(
    module: &Module,
    loaded: &Loaded,
    selection: &Selection,
    spec: &TargetSpec,
    types: &TypeWishes,
) -> Vec<Diagnostic> {
    let (graph, quantize) = (module.main(), &loaded.config.quantize);
    let (mut findings, mut told) = (Vec::new(), BTreeSet::new());
    for (&value, &asked) in &types.values {
        let Some((id, node)) = graph.producer(value).filter(|(_, node)| !moves_codes(spec, node)) else {
            continue;
        };
        let computes = types.pair(spec, id, node.op.term()).and_then(Pair::codes);
        let row = computes.and_then(|on| Some((on, spec.row_for(node.op.term(), on.into())?.1)));
        let Some((on, row)) = row.filter(|(_, row)| !row.is_host()) else {
            continue;
        };
        let results = row.results.as_deref().unwrap_or(std::slice::from_ref(&on));
        let rules = selection.values.get(&value).map(Vec::as_slice).unwrap_or_default();
        let Some(rule) = deciding(quantize, rules) else {
            continue;
        };
        if results.contains(&asked) || !told.insert(rule) {
            continue;
        }
        let name = module.name(node.name);
        let message = format!(
            "`{name}` computes on {on} on the target `{}`, and leaves no {asked} results",
            spec.id
        );
        let has: Vec<&str> = results.iter().copied().map(Integer::name).collect();
        let finding = loaded.error(codes::UNSUPPORTED, &path(rule), message, "");
        findings.push(finding.help(format!(
            "results that it leaves then: {}; a rule for the layer says what it computes on",
            has.join(", ")
        )));
    }
    findings
}

/// The last of these rules that names a type.
fn deciding(quantize: &Quantize, rules: &[usize]) -> Option<usize> {
    let names = |rule: &Rule| rule.activations.ty.is_some();
    let mut rules = rules.iter().rev().copied();
    rules.find(|&index| quantize.rule.get(index).is_some_and(names))
}

fn path(rule: usize) -> KeyPath {
    KeyPath::of(&["quantize", "rule"])
        .index(rule)
        .key("activations")
        .key("type")
}
