//! The rules of the configuration on the float graph of one target.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Module, NodeId, Symbol};

use super::selection::{Selection, united};

/// The selection in the rewritten module: a rule of the configuration holds for a new node if it holds for one of the
/// nodes that the new one answers for, and for a new value if it holds for the one whose name that has. Ids that are in both
/// modules mean the same.
pub(super) fn carried(selection: Selection, canonical: &Module, module: &Module) -> Selection {
    if std::ptr::eq(canonical, module) {
        return selection;
    }
    let (before, after) = (canonical.main(), module.main());
    let mut by_source: BTreeMap<Symbol, BTreeSet<usize>> = BTreeMap::new();
    for (&id, rules) in &selection.nodes {
        let sources = before.node(id).into_iter().flat_map(|node| node.sources.iter());
        sources.for_each(|&source| by_source.entry(source).or_default().extend(rules));
    }
    let mut carried = Selection::default();
    let rules_of = |id: NodeId| -> BTreeSet<usize> {
        let sources = after.node(id).into_iter().flat_map(|node| node.sources.iter());
        sources
            .filter_map(|source| by_source.get(source))
            .flatten()
            .copied()
            .collect()
    };
    for (id, _) in after.nodes() {
        let rules: Vec<usize> = match before.node(id) {
            Some(_) => selection.nodes.get(&id).cloned().unwrap_or_default(),
            None => rules_of(id).into_iter().collect(),
        };
        if rules.is_empty() {
            continue;
        }
        carried.nodes.insert(id, rules);
    }
    let named = selection
        .values
        .iter()
        .filter_map(|(&value, rules)| Some((before.value(value)?.name, rules)));
    let by_name: BTreeMap<Symbol, &Vec<usize>> = named.collect();
    for (id, value) in after.values() {
        let rules = match before.value(id) {
            Some(_) => selection.values.get(&id),
            None => by_name.get(&value.name).copied(),
        };
        carried.values.extend(rules.map(|rules| (id, rules.clone())));
    }
    for (&(id, index), rules) in &selection.operands {
        if after.node(id).is_some() {
            carried.operands.insert((id, index), rules.clone());
            continue;
        }
        // A node that stands for it reads the same value, in whatever position.
        let Some(node) = before.node(id) else { continue };
        let Some(value) = node.inputs.get(index).copied().flatten() else {
            continue;
        };
        for at in after.uses(value).filter(|at| before.node(at.node).is_none()) {
            let sources = after.node(at.node).map(|node| &node.sources);
            if sources.is_some_and(|sources| sources.iter().any(|source| node.sources.contains(source))) {
                let known = carried.operands.entry((at.node, at.operand.into())).or_default();
                *known = united(Some(known), Some(rules));
            }
        }
    }
    carried
}
