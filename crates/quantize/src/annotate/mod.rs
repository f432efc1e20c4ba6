//! Annotate: a quantization config per operand of every node that the target computes, with its grid.

mod given_away;
mod grid;
mod groups;
mod place;
mod ranges;
mod reach;
pub(crate) mod roles;
mod types;
mod weights;

pub use given_away::{GivenAway, Loss, SHARE, given_away};
pub use grid::grid;
pub use place::{Placing, Wish, denied, place, refuse};
pub use ranges::{Coarser, Ranges};
pub use types::TypeWishes;

use crate::observers::ObserverChoice;
use crate::statistics::Observation;
use groups::{Groups, groups};
use reach::Reach;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{
    ConfigId, Failure, GraphId, Grid, IllegalMove, Module, Move, NodeId, Origin, Port, QuantParams, Reason, ReasonCode,
    Refusal, Stage, ValueId,
};
use strait_target::TargetSpec;
use strait_target::spec::{OpRow, Per};
use weights::Weights;

/// Directives of the configuration for single values and nodes, by source name resolved to ids.
#[derive(Clone, Debug, Default)]
pub struct Directives {
    /// Known ranges, which no statistics override.
    pub ranges: BTreeMap<ValueId, [f32; 2]>,
    /// Observers other than the default.
    pub observers: BTreeMap<ValueId, ObserverChoice>,
    /// Granularity of the scales of weights, for single nodes.
    pub weight_per: BTreeMap<NodeId, Per>,
    /// The observer of weights.
    pub weight_observer: ObserverChoice,
    /// Observers of weights other than that, for single nodes.
    pub weight_observers: BTreeMap<NodeId, ObserverChoice>,
}

/// Everything that annotation depends on besides the graph.
pub struct Annotation<'a> {
    /// The target's table.
    pub spec: &'a TargetSpec,
    /// Statistics by value name.
    pub observation: &'a Observation,
    /// The observer where no directive names another.
    pub observer: ObserverChoice,
    /// Granularity of the scales of weights where neither a directive nor the op's row says.
    pub weight_per: Option<Per>,
    /// Types that the configuration wants; placing had the same ones.
    pub types: TypeWishes,
    /// Exceptions.
    pub directives: Directives,
    /// Where the configuration wants nodes to run.
    pub placing: &'a Placing,
}

impl<'a> Annotation<'a> {
    /// As the target's table says, from the extremes of what was observed.
    pub fn new(spec: &'a TargetSpec, observation: &'a Observation, placing: &'a Placing) -> Annotation<'a> {
        Annotation {
            spec,
            observation,
            observer: ObserverChoice::default(),
            weight_per: None,
            types: TypeWishes::default(),
            directives: Directives::default(),
            placing,
        }
    }
}

/// Reason why annotation failed.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// A defect of ours.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

/// The most often that the scale of a grid may double for the sake of a shift, or for that of a form that does not cover
/// what its site can reach. Past 2^7 an 8-bit grid has one code for each sign left, and float on the host serves better.
/// It also means that scales settle.
const MOST_DOUBLINGS: u32 = 7;

/// The same as a factor.
const COARSEST: f64 = (1u32 << MOST_DOUBLINGS) as f64;

/// Annotates one placed graph; it is in the annotated stage afterwards. Nodes whose operands cannot be given a grid
/// move to the host with the reason, and what depends on them is decided again. `ranges` keeps what observers found for
/// the next call: what a recipe refuses is moved, or gets a coarser grid ([`refuse`]), and the graph is annotated again.
///
/// Each turn moves at least one node to the host and none comes back, so there are at most as many turns as nodes, and
/// one where nothing is refused. All that one turn refuses moves together.
///
/// # Errors
/// A directive that makes no sense, or a defect of ours.
pub fn annotate(
    module: &mut Module,
    graph: GraphId,
    how: &Annotation<'_>,
    ranges: &mut Ranges,
) -> Result<(), AnnotateError> {
    let ours = |text: &str| AnnotateError::Ours(text.to_string());
    let g = module
        .graph(graph)
        .ok_or_else(|| ours("the graph is not in the module"))?;
    // Where nodes run changes neither the order nor what matters of a value.
    let order = g.topological_order().map_err(|_| ours("the graph has a cycle"))?;
    let reach = Reach::new(module, g, &order, how.observation, &how.directives);
    loop {
        let g = module
            .graph(graph)
            .ok_or_else(|| ours("the graph is not in the module"))?;
        let per = |id: NodeId, row: &OpRow| {
            let chosen = how.directives.weight_per.get(&id).copied();
            chosen.or(row.weight_per).or(how.weight_per)
        };
        let mut found = groups(g, how, &order, per)?;
        let mut refused = ranges::activate(module, g, how, &reach, &mut found, ranges)?;
        if refused.is_empty() {
            refused = settle_weights(module, graph, &order, how, &mut found)?;
        }
        let g = &mut module.graphs[graph.index()];
        if refused.is_empty() {
            g.quant = found.table;
            g.set_stage(Stage::Annotated);
            return Ok(());
        }
        let refused = refused.into_iter().map(Refusal::from).collect();
        if !refuse(g, how.spec, how.placing, ranges, refused) {
            return Err(ours("a node on the host was refused"));
        }
    }
}

/// Gives every weight its grid. Where no shift reaches the grid of a result, that grid is coarsened, which moves the
/// grids that follow: repeated until nothing moves. Answers with the nodes that this would cost too much, and those
/// whose weights have no grid.
///
/// The first sweep looks at all nodes, a later one at those whose operand or result has become coarser behind them. A
/// grid becomes coarser [`COARSEST`] times at most, by steps of at least 2, so that a node is looked at a bounded
/// number of times.
fn settle_weights(
    module: &Module,
    graph: GraphId,
    order: &[NodeId],
    how: &Annotation<'_>,
    found: &mut Groups,
) -> Result<Vec<(NodeId, Reason)>, AnnotateError> {
    let ours = |refused: IllegalMove| AnnotateError::Ours(refused.to_string());
    let mut coarsened: BTreeMap<ConfigId, f64> = BTreeMap::new();
    let mut refused = Vec::new();
    // By root of a group: the positions of the nodes whose weights depend on its grid.
    let mut dependents: Option<BTreeMap<ConfigId, Vec<usize>>> = None;
    let mut sweep: BTreeSet<usize> = (0..order.len()).collect();
    let mut next = BTreeSet::new();
    loop {
        let Some(position) = sweep.pop_first() else {
            if next.is_empty() || !refused.is_empty() {
                return Ok(refused);
            }
            std::mem::swap(&mut sweep, &mut next);
            continue;
        };
        let id = order[position];
        let factor = match weights::weights(module, graph, how, &found.table, id) {
            Err(Failure::Reason(reason)) => {
                refused.push((id, reason));
                continue;
            }
            Err(defect) => return Err(AnnotateError::Ours(defect.to_string())),
            Ok(None) => continue,
            Ok(Some(Weights::Grid(params))) => {
                if let Some(config) = found.table.id(id, Port::Operand(1)) {
                    let grid = Move::Activate(Grid::new(params, Origin::Observed));
                    found.table.transition(config, grid).map_err(ours)?;
                }
                continue;
            }
            Ok(Some(Weights::Coarsen(factor))) => factor,
        };
        let Some(config) = found.table.id(id, Port::Result(0)) else {
            continue;
        };
        let root = found.table.root(config);
        let old = found.table.params(root).and_then(|p| p.as_tensor());
        let Some((scale, zero)) = old else { continue };
        let total = coarsened.entry(root).or_insert(1.0);
        *total *= factor;
        let coarser = (f64::from(scale) * factor) as f32;
        if *total > COARSEST || !coarser.is_finite() {
            let text = format!("the grid of its result would have to be {total} times as coarse");
            refused.push((id, Reason::new(ReasonCode::NoShift, text)));
            continue;
        }
        let coarser = Grid::new(QuantParams::tensor(coarser, zero), Origin::Coarsened);
        found.table.transition(root, Move::Activate(coarser)).map_err(ours)?;
        let all = dependents.get_or_insert_with(|| weights::dependents(order, &found.table));
        for &dependent in all.get(&root).into_iter().flatten() {
            let due = if dependent > position { &mut sweep } else { &mut next };
            due.insert(dependent);
        }
    }
}
