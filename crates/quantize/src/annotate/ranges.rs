//! Grids for activations: one range per group, its root's and those of what is joined in it.

use super::groups::{Groups, is_constant};
use super::reach::Reach;
use super::roles::Role;
use super::{AnnotateError, Annotation, MOST_DOUBLINGS, grid};
use crate::observers::{GridKind, MinMax, ObserverChoice, SmallFloat};
use crate::statistics::Statistics;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{
    ConfigId, Failure, Graph, Grid, Module, Move, NodeId, Origin, Placement, Policy, QuantParams, Reason, ReasonCode,
    Scheme, ValueId,
};

/// Properties of the grids of a scheme.
pub(super) fn kind(scheme: Scheme) -> GridKind {
    let policy = scheme.policy();
    let float = match policy {
        Policy::Floating { format, .. } => Some(SmallFloat::new(
            1 + format.exponent() + format.mantissa(),
            format.exponent(),
        )),
        Policy::Linear { .. } => None,
    };
    GridKind {
        codes: scheme.range().unwrap_or_default(),
        symmetric: policy.is_symmetric(),
        power_of_two: policy.has_powers_of_two(),
        float,
    }
}

/// The range of one value: a directive, the elements of a constant, or what its statistics and the observer say; no
/// further than matters.
fn range(
    module: &Module,
    graph: &Graph,
    how: &Annotation<'_>,
    reach: &Reach,
    value: ValueId,
    observer: &ObserverChoice,
    kind: GridKind,
) -> Result<[f32; 2], Failure> {
    if let Some(&known) = how.directives.ranges.get(&value) {
        return Ok(known);
    }
    if is_constant(graph, value) {
        let tensor = module.constant(graph, value);
        let tensor = tensor
            .ok_or_else(|| Failure::defect("a constant has no tensor"))?
            .to_f32()?;
        let mut statistics = Statistics::default();
        statistics.add(0, &tensor);
        return Ok(reach.range(value, (&statistics).into(), &MinMax, kind)?);
    }
    let found = graph.value(value);
    let name = found.map(|v| module.name(v.name)).unwrap_or_default();
    let rank = found.map_or(0, |v| v.ty.shape.len());
    match observer.seen(how.observation, name, rank) {
        Some(seen) => Ok(reach.range(value, seen, observer, kind)?),
        None => Err(Reason::new(ReasonCode::NotObserved, format!("there are no statistics of {name}")).into()),
    }
}

/// Knowledge of values that is kept while a graph is annotated again and again: the ranges that observers have made, each
/// once for each value and kind of grid, and the grids that had to be coarser than their ranges ask for.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    observed: BTreeMap<ValueId, Vec<Observed>>,
    /// Values whose grids are 2^n times as coarse, and the reasons.
    doublings: BTreeMap<ValueId, (u32, Reason)>,
    /// Values in whose group nothing but zero was seen.
    zero: BTreeSet<ValueId>,
}

/// A grid that is coarser than what was seen asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coarser {
    /// The node that makes the value.
    pub node: NodeId,
    /// The value.
    pub value: ValueId,
    /// The scale is 2^`doublings` times that of the range.
    pub doublings: u32,
    /// Reason why the finer grid does not serve.
    pub reason: Reason,
}

#[derive(Clone, Debug)]
struct Observed {
    observer: ObserverChoice,
    kind: GridKind,
    range: Result<[f32; 2], Failure>,
}

impl Ranges {
    /// Makes the grid of a value coarser from the next annotation on, unless that would leave too few codes. Where
    /// nothing but zero was seen, every grid holds what was seen.
    pub(super) fn coarsen(&mut self, value: ValueId, doublings: u32, reason: &Reason) -> bool {
        let before = self.doublings.get(&value).map_or(0, |(before, _)| *before);
        let total = before.saturating_add(doublings);
        let coarser = doublings > 0 && total <= most_doublings(self.zero.contains(&value));
        if coarser {
            self.doublings.insert(value, (total, reason.clone()));
        }
        coarser
    }

    /// The grids that are coarser than what was seen asks for, of nodes on the accelerator. Zero alone loses nothing.
    pub fn coarser(&self, graph: &Graph) -> Vec<Coarser> {
        let asked = self.doublings.iter().filter(|(value, _)| !self.zero.contains(value));
        let told = asked.filter_map(|(&value, (doublings, reason))| {
            let (node, _) = graph.producer(value)?;
            (graph.node(node)?.place == Placement::Accelerator).then(|| Coarser {
                node,
                value,
                doublings: *doublings,
                reason: reason.clone(),
            })
        });
        told.collect()
    }

    fn of(
        &mut self,
        value: ValueId,
        observer: &ObserverChoice,
        kind: GridKind,
        observe: impl FnOnce() -> Result<[f32; 2], Failure>,
    ) -> Result<[f32; 2], Failure> {
        let known = self.observed.entry(value).or_default();
        if let Some(known) = known.iter().find(|k| k.observer == *observer && k.kind == kind) {
            return known.range.clone();
        }
        let (observer, range) = (observer.clone(), observe());
        known.push(Observed {
            observer,
            kind,
            range: range.clone(),
        });
        range
    }
}

/// The most often that the scale of a grid may double.
fn most_doublings(is_zero: bool) -> u32 {
    // The scale of zero is 1, and f32 holds its doublings.
    if is_zero { 127 } else { MOST_DOUBLINGS }
}

/// Activates the root of every group. Answers with the nodes whose operands have no range, and why.
pub(super) fn activate(
    module: &Module,
    graph: &Graph,
    how: &Annotation<'_>,
    reach: &Reach,
    found: &mut Groups,
    ranges: &mut Ranges,
) -> Result<Vec<(NodeId, Reason)>, AnnotateError> {
    // A directive on any member speaks for the group; on the root it is the last word.
    let mut spokesman: BTreeMap<ConfigId, ValueId> = BTreeMap::new();
    let directed = |v: ValueId| how.directives.ranges.contains_key(&v) || how.directives.observers.contains_key(&v);
    let roots: Vec<(ConfigId, ValueId)> = (found.bound.iter())
        .filter(|b| b.role == Role::Activation)
        .map(|b| (found.table.root(b.config), b))
        .inspect(|&(root, b)| {
            if directed(b.value) && (root == b.config || !spokesman.contains_key(&root)) {
                spokesman.insert(root, b.value);
            }
        })
        .filter(|&(root, b)| root == b.config)
        .map(|(root, b)| (root, b.value))
        .collect();
    let values: BTreeMap<ConfigId, ValueId> = found.bound.iter().map(|b| (b.config, b.value)).collect();
    let mut covered: BTreeMap<ConfigId, Vec<ValueId>> = BTreeMap::new();
    for config in &found.covered {
        let group = covered.entry(found.table.root(*config)).or_default();
        group.extend(values.get(config));
    }
    let mut doublings: BTreeMap<ConfigId, u32> = BTreeMap::new();
    let activations = || found.bound.iter().filter(|b| b.role == Role::Activation);
    for (b, (own, _)) in activations().filter_map(|b| Some((b, ranges.doublings.get(&b.value)?))) {
        let group = doublings.entry(found.table.root(b.config)).or_default();
        *group = (*own).max(*group);
    }
    let mut zero: BTreeSet<ConfigId> = BTreeSet::new();
    let mut failed: BTreeMap<ConfigId, Reason> = BTreeMap::new();
    for (root, value) in roots {
        let Some(kind) = found.table.config(root).map(|config| kind(config.scheme)) else {
            continue;
        };
        let spokesman = spokesman.get(&root).copied();
        let others = covered.get(&root).filter(|_| spokesman.is_none());
        let value = spokesman.unwrap_or(value);
        let choice = how.directives.observers.get(&value).unwrap_or(&how.observer);
        let mut one = |value: ValueId| {
            ranges.of(value, choice, kind, || {
                range(module, graph, how, reach, value, choice, kind)
            })
        };
        let hull = others.into_iter().flatten().fold(one(value), |hull, &other| {
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
                let origin = match how.directives.ranges.contains_key(&value) {
                    _ if doublings > 0 => Origin::Coarsened,
                    true => Origin::Rule,
                    false => Origin::Observed,
                };
                let activated = found.table.transition(root, Move::Activate(Grid::new(params, origin)));
                activated.map_err(|refused| AnnotateError::Ours(refused.to_string()))?;
            }
            Err(Failure::Reason(reason)) => {
                failed.insert(root, reason);
            }
            Err(defect) => return Err(AnnotateError::Ours(defect.to_string())),
        }
    }
    let seen = |b: &&super::groups::Bound| zero.contains(&found.table.root(b.config));
    ranges.zero = activations().filter(seen).map(|b| b.value).collect();
    let refused = |b: &super::groups::Bound| Some((b.node, failed.get(&found.table.root(b.config))?.clone()));
    Ok(found
        .bound
        .iter()
        .filter(|b| b.role == Role::Activation)
        .filter_map(refused)
        .collect())
}

/// A grid whose scale has doubled so often.
fn coarser(grid: QuantParams, doublings: u32) -> QuantParams {
    match grid.as_tensor() {
        Some((scale, zero)) if doublings > 0 => QuantParams::tensor(scale * 2f32.powi(doublings as i32), zero),
        _ => grid,
    }
}
