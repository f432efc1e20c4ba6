//! **Runtime calibration.**
//! - What: finds a grid for each group of activations. The grid covers the range of the group's root, and the ranges of
//!   values that are joined in the group.
//! - Why: the statistics of the samples are all that is known about values.
//! - Preconditions: the groups are complete.
//! - Effect: the root of each group is activated. A rule for the range of any member sets the range of the whole group;
//!   a rule for the root has priority. For example, a rule chooses an observer for a value, the value is then clipped,
//!   and the clipped value is the root. The observer then reads the statistics of the clipped value. If a group joins
//!   several values, a rule for one of these parts, or for a value from which the part is moved or clipped, applies
//!   only to this part. The grid also covers the other parts. A given grid stays. If a rule sets a range for a value
//!   whose grid is given, the node that makes the value is refused. If a group has no range, the node of its root is
//!   refused too. If a file of parameters gives scale and zero point for the root, or else for another member of the
//!   group that is no part, the group takes exactly these, unless a rule sets a range for the group.

use crate::annotate::analyses::Role;
use crate::annotate::settings::{AnnotateError, Exact, RangeFrom};
use crate::annotate::state::refuse;
use crate::annotate::state::{Bound, Draft, PassContext, coarser, most_doublings};
use crate::observers::{GridKind, grid};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{ConfigId, Failure, Grid, Move, NodeId, Origin, Port, QuantConfig, QuantParams, Reason, ValueId};
use strait_target::spec::Recipe;

/// A config that was made in this run, the root of its group, and the value, role and node that the config belongs to.
type Member = (ConfigId, ConfigId, Bound);

pub(crate) fn run(context: &PassContext<'_>, draft: &mut Draft) -> Result<(), AnnotateError> {
    cover_divided(context, draft);
    // The configs that were made in this run, with the values that they belong to. They form whole groups.
    let bound = |id: &ConfigId| Some((*id, *draft.bound.get(id.index())?));
    let activations = draft.fresh.iter().filter_map(bound);
    // Gains are constants, so their range comes from their elements, as for all constants.
    let activations = activations.filter(|(_, bound)| matches!(bound.role, Role::Activation | Role::Gain));
    let members: Vec<Member> = activations
        .map(|(id, bound)| (id, draft.table.root(id), bound))
        .collect();
    let groups = Groups::new(context, draft, &members);
    let mut zero: BTreeSet<ConfigId> = BTreeSet::new();
    let mut failed: BTreeMap<ConfigId, Reason> = BTreeMap::new();
    for &(_, root, bound) in members.iter().filter(|(id, root, _)| id == root) {
        // If the grid is derived from another grid, no range is needed.
        if draft.table.derivation(root).is_some() {
            continue;
        }
        let Some(kind) = draft.table.config(root).map(|config| GridKind::of(config.scheme)) else {
            continue;
        };
        if draft.is_given(root) {
            if matches!(groups.spokesman.get(&root), Some((_, RangeFrom::Rule(_)))) {
                refuse(draft, root, "has a range by a rule, and its grid is given");
            }
            continue;
        }
        let (hull, by_rule) = groups.hull(context, draft, root, bound.value, kind);
        let is_zero = matches!(hull, Ok([0.0, 0.0]));
        if is_zero {
            zero.insert(root);
        }
        let doublings = groups.doublings.get(&root).copied().unwrap_or(0);
        let doublings = doublings.min(most_doublings(is_zero));
        let exact = groups.exact(context, draft, root, bound.value);
        let origin = match () {
            _ if doublings > 0 => Origin::Coarsened,
            _ if by_rule => Origin::Rule,
            _ => Origin::Observed,
        };
        let made = || hull.and_then(|range| Ok((coarser(grid(kind, range)?, doublings), origin)));
        match exact.map_or_else(made, |params| Ok((params, Origin::Given))) {
            Ok((params, origin)) => {
                draft.transition(root, Move::Activate(Grid::new(params, origin)))?;
            }
            Err(Failure::Reason(reason)) => {
                failed.insert(root, reason);
            }
            Err(defect) => return Err(AnnotateError::Ours(defect.to_string())),
        }
    }
    for (id, root, bound) in members {
        draft.ranges.set_zero(bound.value, zero.contains(&root));
        match failed.get(&root) {
            // An input without a range stays float.
            Some(_) if bound.node == NodeId::OUTSIDE => draft.transition(id, Move::Dequantize)?,
            Some(reason) => draft.refused.push((bound.node, reason.clone())),
            None => {}
        }
    }
    Ok(())
}

/// The ranges that rules set for groups, and the coarser scales that earlier runs of the passes require. In each map, a
/// group is identified by its root, the config that holds the grid.
#[derive(Default)]
struct Groups<'a> {
    /// For each part of a group that has a range from a rule: this range, and its priority. A rule for the operand has
    /// the highest priority. A rule for the value comes second. A rule for another value, from which this value is
    /// moved or clipped, comes last.
    of_part: BTreeMap<(ConfigId, ValueId), (u8, &'a RangeFrom)>,
    /// For each whole group that a rule applies to: the rule's range, and the value that the rule names.
    spokesman: BTreeMap<ConfigId, (ValueId, &'a RangeFrom)>,
    /// Values that the grid of a group has to cover besides the value of the group's root.
    covered: BTreeMap<ConfigId, Vec<ValueId>>,
    doublings: BTreeMap<ConfigId, u32>,
    /// For each group, scale and zero point that a file of parameters gives to one of its members. The root comes first.
    exact: BTreeMap<ConfigId, &'a Exact>,
    /// The groups for which a rule sets a range.
    ruled: BTreeSet<ConfigId>,
}

impl<'a> Groups<'a> {
    fn new(context: &PassContext<'a>, draft: &Draft, members: &[Member]) -> Groups<'a> {
        let (parts, mut groups) = (parts(context, draft, members), Groups::default());
        for &(id, root, bound) in members {
            let of_operand = draft.own_range(context, id);
            if let Some(from) = of_operand.or_else(|| context.how.range(bound.value)) {
                if let Some(&part) = parts.get(&(root, bound.value)) {
                    let rank = u8::from(part == bound.value) + u8::from(bound.part && of_operand.is_some());
                    let known = groups.of_part.entry((root, part)).or_insert((rank, from));
                    if rank > known.0 {
                        *known = (rank, from);
                    }
                } else if root == id || !groups.spokesman.contains_key(&root) {
                    groups.spokesman.insert(root, (bound.value, from));
                }
            }
            if of_operand.is_some() || context.how.has_ruled_range(bound.value) {
                groups.ruled.insert(root);
            }
            let is_part = root != id && parts.contains_key(&(root, bound.value));
            let at = draft.table.config(id).map(|config| config.port);
            if let Some(exact) = at
                .and_then(|port| context.how.exact(bound.node, port, bound.value))
                .filter(|_| !is_part)
            {
                match root == id {
                    true => groups.exact.insert(root, exact),
                    false => groups
                        .exact
                        .get(&root)
                        .copied()
                        .or_else(|| groups.exact.insert(root, exact)),
                };
            }
            if bound.covered {
                groups.covered.entry(root).or_default().push(bound.value);
            }
            // If an operand has a range of its own, its grid need not be as coarse as the grid of its producer.
            let own = draft.ranges.doublings(bound.value);
            if own > 0 && of_operand.is_none() {
                let group = groups.doublings.entry(root).or_default();
                *group = own.max(*group);
            }
        }
        groups
    }

    /// Scale and zero point for a group, if a file of parameters gives them and no rule sets a range. What the scheme of
    /// the group does not allow is not taken; whoever reads the file says so.
    fn exact(&self, context: &PassContext<'_>, draft: &Draft, root: ConfigId, value: ValueId) -> Option<QuantParams> {
        let exact = self.exact.get(&root).filter(|_| !self.ruled.contains(&root))?;
        exact
            .on(draft.scheme(root)?, &context.graph.value(value)?.ty.shape)
            .ok()
    }

    /// Returns the range that the grid of a group has to cover. Also returns true if this range, or a part of it, comes
    /// from a rule.
    fn hull(
        &self,
        context: &PassContext<'_>,
        draft: &mut Draft,
        root: ConfigId,
        value: ValueId,
        kind: GridKind,
    ) -> (Result<[f32; 2], Failure>, bool) {
        let divided = (self.of_part.range((root, ValueId::new(0))..).next()).is_some_and(|((of, _), _)| *of == root);
        // If a rule sets the range of a part, the observed range of the whole value does not count.
        let whole = !divided || !is_its_parts(context, draft, root);
        let spokesman = self.spokesman.get(&root).copied();
        let mut by_rule = spokesman.is_some();
        let mut one = |value: ValueId| match (spokesman, self.of_part.get(&(root, value))) {
            (Some((own, from)), _) if from.is_ranked() => draft.ranges.from(context, own, from, kind),
            (Some((_, from)), _) => draft.ranges.from(context, value, from, kind),
            (None, Some((_, from))) => {
                by_rule = true;
                draft.ranges.from(context, value, from, kind)
            }
            (None, None) => draft.ranges.of(context, value, kind),
        };
        let others = self.covered.get(&root).into_iter().flatten();
        let values = whole.then_some(&value).into_iter().chain(others);
        let hull = values.map(|&value| one(value)).reduce(|hull, other| {
            let ([a, b], [c, d]) = (hull?, other?);
            Ok([a.min(c), b.max(d)])
        });
        let hull = hull.unwrap_or_else(|| Err(Failure::defect("a group has no value")));
        // If the value has no elements, any grid can be used.
        let hull = hull.map(|[low, high]| if low > high { [0.0; 2] } else { [low, high] });
        (hull, by_rule)
    }
}

/// Finds the parts of each group. A part is a value that a node joins with others, together with the values of the
/// group from which it was moved or clipped. The map leads from each of these values to its part.
fn parts(context: &PassContext<'_>, draft: &Draft, members: &[Member]) -> BTreeMap<(ConfigId, ValueId), ValueId> {
    let joined = members.iter().filter(|(.., bound)| bound.part);
    let mut parts: BTreeMap<_, _> = joined
        .map(|&(_, root, bound)| ((root, bound.value), bound.value))
        .collect();
    for (root, part) in parts.clone().into_keys() {
        let mut value = part;
        while let Some((maker, _)) = context.graph.producer(value)
            && let Some(operand) = draft.activation(maker, 0)
            && let Some(bound) = draft.bound.get(operand.index())
            && draft.table.root(operand) == root
            && !parts.contains_key(&(root, bound.value))
        {
            value = bound.value;
            parts.insert((root, value), part);
        }
    }
    parts
}

/// True if the root of a group is the result of a node that joins its operands, and the grid of the group covers all of
/// these operands. Then everything in the result comes from the operands.
fn is_its_parts(context: &PassContext<'_>, draft: &Draft, root: ConfigId) -> bool {
    let Some(QuantConfig {
        node: maker,
        port: Port::Result(_),
        ..
    }) = draft.table.config(root)
    else {
        return false;
    };
    let operands = context.graph.node(*maker).map_or(0, |node| node.inputs.len());
    (0..operands).all(|index| {
        let operand = draft.activation(*maker, index);
        let covered = |id: ConfigId| draft.bound.get(id.index()).is_some_and(|bound| bound.covered);
        operand.is_some_and(|id| draft.table.root(id) == root && covered(id))
    })
}

/// Makes the grid of an average pool's operand cover the whole range of the operand, if the pool divides. Such a pool
/// adds up the codes of its operand, so none of these codes may be saturated.
fn cover_divided(context: &PassContext<'_>, draft: &mut Draft) {
    for &id in &context.scope.nodes {
        let found = context.how.roles().computed(context.graph, id);
        let divides = matches!(
            found,
            Some((_, Recipe::AveragePoolDivide | Recipe::AveragePoolReciprocal(_)))
        );
        let Some(operand) = draft.activation(id, 0).filter(|_| divides) else {
            continue;
        };
        let root = draft.table.config(draft.table.root(operand));
        let behind = |root: &QuantConfig| match root.port {
            Port::Result(_) => context.position(root.node) >= context.position(id),
            Port::Operand(_) => context.position(root.node) > context.position(id),
            Port::Input(_) | Port::Output(_) => false,
        };
        if root.is_some_and(behind) {
            draft.mark(operand, |at| at.covered = true);
        }
    }
}
