//! The float graph of one target: the rules that its table switches on, and what is observed for their sake.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use strait_core::{Module, NodeId, Rewritten, Switches, Symbol};
use strait_quantize::{Observation, Requests};
use strait_target::{TargetSpec, spec::FloatRule};

use crate::{session::Session, stop::Stop};

use super::{
    lowered::{pass, whole},
    selection::{Selection, united},
};

/// The canonical graph as a target wants it, with what the configuration and the samples say of it.
pub(super) struct OfTarget<'a> {
    pub(super) module: Cow<'a, Module>,
    pub(super) selection: Cow<'a, Selection>,
    pub(super) observation: Cow<'a, Observation>,
    pub(super) rewritten: Rewritten,
}

/// Applies the rules of a target's table. `observe` is asked for the statistics of values that they have created, and of
/// those alone.
///
/// # Errors
/// A module that is broken, or whatever stops the observation.
pub(super) fn of_target<'a>(
    (canonical, selection, observation): (&'a Module, &'a Selection, &'a Observation),
    (spec, switches): (&TargetSpec, &Switches),
    session: &Session<'_>,
    observe: impl FnOnce(&Module, &Requests) -> Result<Observation, Stop>,
) -> Result<OfTarget<'a>, Stop> {
    let mut found = OfTarget {
        module: Cow::Borrowed(canonical),
        selection: Cow::Borrowed(selection),
        observation: Cow::Borrowed(observation),
        rewritten: Rewritten::default(),
    };
    let (module, rewritten) = match spec.rules.is_empty() {
        true => return Ok(found),
        false => session.phase(&format!("rewrite ({})", spec.id), None, |_| {
            run(canonical, &spec.rules, switches)
        })?,
    };
    if rewritten.applied.is_empty() {
        return Ok(found);
    }
    let unmet = Requests::all(&module, module.main).unmet(&module, module.main, observation);
    if !unmet.is_empty() {
        found.observation.to_mut().extend(observe(&module, &unmet)?);
    }
    found.selection = Cow::Owned(carried(selection, canonical, &module));
    (found.module, found.rewritten) = (Cow::Owned(module), rewritten);
    Ok(found)
}

fn run(canonical: &Module, rules: &[FloatRule], switches: &Switches) -> Result<(Module, Rewritten), Stop> {
    let mut module = canonical.clone();
    let main = module.main;
    let rules = strait_rewrite::of_target(rules).switched(switches);
    let rewritten = rules.run(&mut module, main).map_err(pass)?;
    if !rewritten.applied.is_empty() {
        whole(&module, "rewrite")?;
    }
    Ok((module, rewritten))
}

/// The selection in the rewritten module: a rule of the configuration holds for a new node if it holds for one of the
/// nodes that the new one answers for, and for a new value if it holds for the one whose name that has. Ids that are in both
/// modules mean the same.
fn carried(selection: &Selection, canonical: &Module, module: &Module) -> Selection {
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
