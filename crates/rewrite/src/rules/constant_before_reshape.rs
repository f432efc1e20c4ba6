//! **Pattern**: add of a constant to what a reshape makes of the result of a conv, a transposed conv or a gemm, or a product with
//! one, where the reshape only puts axes of extent 1 in or out.
//! **Why**: TensorFlow computes a convolution over one axis as one over two, and a product with a matrix on the rows of all
//! samples, and adds the bias to what it makes of that. Next to the sum it becomes a part of it.
//! **Preconditions**: the sum and the reshape have no other reader; the constant has no more elements along an axis than the result;
//! the model gives grids for none of them.
//! **Exactness**: exact: the same numbers are added and multiplied.

use super::merge_reshapes::RESHAPES;
use crate::matching::GraphNode;
use strait_core::{GraphId, Module, NewNode, NodeId, Outcome, PassError, Patch, Rule, Source, Term};

/// See the module's documentation.
pub struct ConstantBeforeReshape;

/// The shape of a constant beside a value of the shape `from` that it has, aligned to the last axes, beside one of the shape `to`:
/// the two differ in axes of extent 1 alone.
fn beside(constant: &[u64], to: &[u64], from: &[u64]) -> Option<Vec<u64>> {
    let missing = to.len().checked_sub(constant.len())?;
    let long = |shape: &[u64]| -> Vec<usize> { (0..shape.len()).filter(|&axis| shape[axis] != 1).collect() };
    let (own, other) = (long(to), long(from));
    let same = own.len() == other.len() && own.iter().zip(&other).all(|(&a, &b)| to[a] == from[b]);
    same.then_some(())?;
    let mut shape = vec![1; from.len()];
    for (axis, place) in own.into_iter().zip(other) {
        shape[place] = axis.checked_sub(missing).map_or(1, |axis| constant[axis]);
    }
    Some(shape)
}

impl Rule for ConstantBeforeReshape {
    fn name(&self) -> &'static str {
        "constant-before-reshape"
    }

    fn anchors(&self) -> Vec<Term> {
        vec![Term::Add, Term::Mul]
    }

    fn depth(&self) -> usize {
        3
    }

    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError> {
        let site = GraphNode::new(module, graph, at)?;
        Ok(patch(&site).map_or(Outcome::NoMatch, Outcome::Apply))
    }
}

fn patch(site: &GraphNode<'_>) -> Option<Patch> {
    let y = site.output()?;
    let (x, constant) =
        (site.both_orders().into_iter()).find(|&(_, constant)| site.graph.data_of(constant).is_some())?;
    let reshape = RESHAPES.iter().find_map(|&term| site.producer(x, term))?;
    let source = reshape.input(0).filter(|_| reshape.node.inputs.len() == 1)?;
    let sums = [Term::Conv, Term::ConvTranspose, Term::Gemm];
    let is_sum = sums.iter().any(|&term| site.producer(source, term).is_some());
    let alone = site.used_once(x) && site.used_once(source) && site.keeps_type(x);
    let is_given = |id| site.graph.value(id).is_some_and(|value| value.quant.is_some());
    (is_sum && alone && ![source, x, constant, y].into_iter().any(is_given)).then_some(())?;
    let (_, tensor) = site.constant(constant)?;
    let shape = beside(tensor.shape(), &site.dims(x)?, &site.dims(source)?)?;
    let aligned = tensor.reshaped(&shape).ok()?;
    let operands = [Some(Source::Old(source)), Some(Source::Data(0))];
    Some(Patch {
        data: vec![("constant".into(), aligned)],
        add: vec![
            NewNode::new(site.node.op.clone(), &operands, &[site.id]),
            NewNode::new(reshape.node.op.clone(), &[Some(Source::New(0, 0))], &[reshape.id]),
        ],
        replace: vec![(y, Source::New(1, 0))],
        remove: vec![site.id, reshape.id],
    })
}
