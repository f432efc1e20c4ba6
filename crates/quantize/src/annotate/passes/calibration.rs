//! **Runtime calibration.** What: a grid for each group of activations, from one range: that of its root, and those of what is
//! joined in it.
//! Why: the statistics of the samples are all that is known of values.
//! Preconditions: the groups stand.
//! Effect: the root of each group is activated. A directive on any member speaks for the group, on the root it is the last
//! word; an observer of what a function clips so looks at what is left of it. A grid that was given stays, and a node that
//! makes one is refused where a directive states a range. So are the nodes of a group without a range.

use crate::annotate::draft::{Draft, Site};
use crate::annotate::given::refuse;
use crate::annotate::ranges::{RangeFrom, coarser, kind, most_doublings};
use crate::annotate::roles::Role;
use crate::annotate::{AnnotateError, grid};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{ConfigId, Failure, Grid, Move, NodeId, Origin, Port, QuantConfig, Reason, ValueId};
use strait_target::spec::Recipe;

pub(super) fn run(site: &Site<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    cover_divided(site, draft);
    let directives = &site.how.directives;
    // What was made in this run: whole groups, with a value and a root each.
    let bound = |id: &ConfigId| Some((*id, *draft.bound.get(id.index())?));
    let activations = draft.fresh.iter().filter_map(bound);
    // Gains are constants, with a range as those have it.
    let activations = activations.filter(|(_, bound)| matches!(bound.role, Role::Activation | Role::Gain));
    let activations: Vec<_> = activations
        .map(|(id, bound)| (id, draft.table.root(id), bound))
        .collect();
    let mut spokesman: BTreeMap<ConfigId, (ValueId, &RangeFrom)> = BTreeMap::new();
    let mut covered: BTreeMap<ConfigId, Vec<ValueId>> = BTreeMap::new();
    let mut doublings: BTreeMap<ConfigId, u32> = BTreeMap::new();
    for &(id, root, bound) in &activations {
        let of_operand = draft.directive(site, id);
        if let Some(from) = of_operand.or_else(|| directives.ranges.get(&bound.value))
            && (root == id || !spokesman.contains_key(&root))
        {
            spokesman.insert(root, (bound.value, from));
        }
        if bound.covered {
            covered.entry(root).or_default().push(bound.value);
        }
        // What an operand reads for itself is no coarser for the sake of its producer.
        let own = draft.ranges.doublings(bound.value);
        if own > 0 && of_operand.is_none() {
            let group = doublings.entry(root).or_default();
            *group = own.max(*group);
        }
    }
    let mut zero: BTreeSet<ConfigId> = BTreeSet::new();
    let mut failed: BTreeMap<ConfigId, Reason> = BTreeMap::new();
    let roots = activations.iter().filter(|(id, root, _)| id == root);
    for &(_, root, bound) in roots {
        // What follows from another grid has none to find.
        if draft.table.derivation(root).is_some() {
            continue;
        }
        let Some(kind) = draft.table.config(root).map(|config| kind(config.scheme)) else {
            continue;
        };
        let spokesman = spokesman.get(&root).copied();
        if draft.is_given(root) {
            if matches!(spokesman, Some((_, RangeFrom::Stated(_)))) {
                refuse(draft, root, "has a range by a rule, and its grid is given");
            }
            continue;
        }
        let mut one = |value: ValueId| match spokesman {
            Some((own, from)) if from.is_ranked() => draft.ranges.from(site, own, from, kind),
            Some((_, from)) => draft.ranges.from(site, value, from, kind),
            None => draft.ranges.of(site, value, kind),
        };
        let others = covered.get(&root).into_iter().flatten();
        let hull = others.fold(one(bound.value), |hull, &other| {
            let ([a, b], [c, d]) = (hull?, one(other)?);
            Ok([a.min(c), b.max(d)])
        });
        let is_zero = matches!(hull, Ok([0.0, 0.0]));
        if is_zero {
            zero.insert(root);
        }
        let doublings = doublings.get(&root).copied().unwrap_or(0).min(most_doublings(is_zero));
        match hull.and_then(|range| Ok(coarser(grid(kind, range)?, doublings))) {
            Ok(params) => {
                let origin = match spokesman {
                    _ if doublings > 0 => Origin::Coarsened,
                    Some(_) => Origin::Rule,
                    None => Origin::Observed,
                };
                draft.transition(root, Move::Activate(Grid::new(params, origin)))?;
            }
            Err(Failure::Reason(reason)) => {
                failed.insert(root, reason);
            }
            Err(defect) => return Err(AnnotateError::Ours(defect.to_string())),
        }
    }
    for (id, root, bound) in activations {
        draft.ranges.set_zero(bound.value, zero.contains(&root));
        match failed.get(&root) {
            // Without a range an input stays as it is.
            Some(_) if bound.node == NodeId::OUTSIDE => draft.transition(id, Move::Dequantize)?,
            Some(reason) => draft.refused.push((bound.node, reason.clone())),
            None => {}
        }
    }
    Ok(())
}

/// Lets the grids of what a pool divides cover that: its sums are of codes that must not have saturated.
fn cover_divided(site: &Site<'_>, draft: &mut Draft) {
    for &id in &site.scope.nodes {
        let kind = site.graph.node(id).and_then(|node| site.how.roles().recipe(id, node));
        let (Some((_, Recipe::AveragePoolDivide)), Some(operand)) = (kind, draft.activation(id, 0)) else {
            continue;
        };
        let root = draft.table.config(draft.table.root(operand));
        let behind = |root: &QuantConfig| match root.port {
            Port::Result(_) => site.position(root.node) >= site.position(id),
            Port::Operand(_) => site.position(root.node) > site.position(id),
            Port::Input(_) | Port::Output(_) => false,
        };
        if root.is_some_and(behind) {
            draft.mark(operand, |at| at.covered = true);
        }
    }
}
