//! **Pattern**: a node whose operands are all constants.
//! **Why**: a node that is not folded is computed again for every sample, and no other rule can treat its result as a
//! weight.
//! **Preconditions**: the result is not an output of the graph, has at most 64 MiB, and contains no NaN. The results of all
//! folded nodes together have at most 1 GiB, and computing them takes at most 2·10^10 operations. The node is not a
//! `dequantize` of constant codes: such codes are the parameters of a model that is already quantized, and stay as they are.
//! **Exactness**: exact. The node is computed by the same executor that would otherwise run it later. If the model gives a
//! grid for the result, the result is rounded to this grid. An earlier rule may have computed the operand in f64 and rounded
//! it to f32. If the node only moves elements, the f64 numbers are moved as well, so that later rules can use them.

use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch, outcome};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use strait_core::rule::ANY;
use strait_core::{
    Elem, GraphId, Kind, Module, NodeId, Outcome, PassError, Patch, ReasonCode, Rule, Source, TensorData, TensorType,
    Term, ValueId, refused,
};
use strait_execute::{evaluate, operations};

/// The rule that computes nodes whose operands are all constants.
#[derive(Default)]
pub struct FoldConstants {
    /// The number of bytes of all results so far. `done` is the number of operations that computed them.
    made: AtomicU64,
    done: AtomicU64,
}

/// The largest number of bytes of a result that is folded. A small model may contain an op with a huge constant result
/// (an expand, a resize).
const LARGEST: u64 = 64 << 20;

/// The largest number of bytes of all results together, because a model may also contain many such ops.
const TOGETHER: u64 = 1 << 30;

/// The largest number of operations for all results together, because some ops take long. Nodes that are not folded are
/// computed in each run.
const MOST_OPERATIONS: u64 = 20_000_000_000;

/// If a rule has rounded the operand, and the node only moves the operand's elements, returns the numbers before this
/// rounding, in the order after the move.
fn unrounded(site: &GraphNode<'_>) -> Option<Vec<f64>> {
    let moves = matches!(site.node.op.term().kind(), Kind::Rearranges | Kind::Moves) && site.node.inputs.len() == 1;
    let mut results = site.node.outputs.iter();
    let rounds = results.any(|&value| site.graph.rounds_to(value).is_some());
    let (id, tensor) = site.constant(site.input(0).filter(|_| moves && !rounds)?)?;
    let numbers = TensorData::from_values(tensor.shape(), site.module.unrounded(id)?).ok()?;
    let moved = evaluate(&site.node.op, &[Some(&numbers)]).ok()?;
    Some(moved.first()?.values::<f64>().ok()?.to_vec())
}

/// Rounds the results of a node to the grids that the model gives for them.
fn on_grids(site: &GraphNode<'_>, results: Vec<TensorData>) -> Vec<TensorData> {
    let places = results.into_iter().zip(&site.node.outputs);
    let rounded = places.map(|(tensor, &value)| {
        let grid = site.graph.rounds_to(value);
        grid.and_then(|grid| grid.rounded(&tensor)).unwrap_or(tensor)
    });
    rounded.collect()
}

impl FoldConstants {
    fn folded(&self, site: &GraphNode<'_>) -> Result<Patch, Miss> {
        // The operand may consist of codes whose real numbers f32 cannot hold exactly. The rules leave such codes to
        // the step *bake*, which converts the parameter.
        if matches!(site.node.op.term(), Term::Dequantize) {
            return Err(NoMatch);
        }
        let operands: Option<Vec<Option<&TensorData>>> = (site.node.inputs.iter())
            .map(|input| input.map_or(Some(None), |v| site.constant(v).map(|(_, t)| Some(t))))
            .collect();
        let operands = operands.filter(|o| o.iter().any(Option::is_some)).ok_or(NoMatch)?;
        let ty = |v: ValueId| site.graph.value(v).map(|value| &value.ty);
        let results: Vec<&TensorType> = site.node.outputs.iter().filter_map(|&v| ty(v)).collect();
        let bytes: Option<u64> = (results.iter())
            .map(|ty| Some(strait_core::shape::element_count(&ty.shape)? * ty.elem.size() as u64))
            .sum();
        let Some(bytes) = bytes.filter(|&bytes| bytes <= LARGEST) else {
            let text = format!("its result has more than {LARGEST} bytes");
            return refused(ReasonCode::ConstantSize, text);
        };
        let made = self.made.load(Relaxed).saturating_add(bytes);
        if made > TOGETHER {
            let text = format!("all such results together have more than {TOGETHER} bytes");
            return refused(ReasonCode::ConstantSize, text);
        }
        let types: Vec<Option<&TensorType>> = site.node.inputs.iter().map(|input| input.and_then(ty)).collect();
        let work = operations(&site.node.op, &types, &results);
        let done = self.done.load(Relaxed).saturating_add(work);
        if done > MOST_OPERATIONS {
            let text = format!("all such results together take more than {MOST_OPERATIONS} operations");
            return refused(ReasonCode::CannotRun, text);
        }
        if site.node.outputs.iter().any(|&v| site.graph.is_output(v)) {
            return refused(ReasonCode::OutputName, "its result is an output of the graph");
        }
        let tensors = match evaluate(&site.node.op, &operands) {
            Ok(tensors) => on_grids(site, tensors),
            Err(error) => return refused(ReasonCode::CannotRun, error.to_string()),
        };
        // Integers are shapes and indices here. Floats must be finite, so that they can become weights.
        let finite = |t: &TensorData| t.elem() != Elem::F32 || t.to_f32().is_ok_and(|v| v.iter().all(|x| !x.is_nan()));
        if !tensors.iter().all(finite) {
            return refused(ReasonCode::NotFinite, "its result holds NaN");
        }
        self.made.store(made, Relaxed);
        self.done.store(done, Relaxed);
        let results = site.node.outputs.iter().copied();
        let values = results.clone().filter_map(|v| site.graph.value(v));
        let names = values.map(|v| format!("{}:folded", site.module.name(v.name)));
        Ok(Patch {
            data: names.zip(tensors).collect(),
            unrounded: unrounded(site).map(|numbers| (0, numbers)).into_iter().collect(),
            replace: results.zip((0..).map(Source::Data)).collect(),
            remove: vec![site.id],
            ..Patch::default()
        })
    }
}

impl Rule for FoldConstants {
    fn name(&self) -> &'static str {
        "fold-constants"
    }

    fn anchors(&self) -> Vec<Term> {
        ANY.to_vec()
    }

    fn depth(&self) -> usize {
        1
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        outcome(self.folded(&GraphNode::new(module, graph, at)?))
    }
}
