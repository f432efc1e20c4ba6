//! Runs nodes on owned tensors, which are allocated one by one and not in the arena. These are nodes whose extents are
//! only known at run time, and nodes that run other graphs.

mod at_extents;
mod control;
mod non_max_suppression;
mod non_zero;
mod range;
mod unique;
mod zeros;

use crate::error::ExecuteError;
use crate::options::PlanOptions;
use crate::plan::Replace;
use crate::prelude::*;
use crate::tensor::{Tensor, TensorView};
use at_extents::AtExtents;
use control::Bodies;
use strait_core::{Dim, Graph, LateList, Module, Node, Op, TensorData};
use strait_kernels::Context;

/// A node that is prepared to run on owned tensors.
pub(crate) struct Late {
    op: Op,
    context: Context,
    /// The types of the node's results, as the graph states them.
    results: Vec<TensorType>,
    how: How,
}

enum How {
    /// A function in this module computes the node, because the extents of the results depend on data.
    Own,
    /// A step computes the node. The step is prepared for the extents of the current run.
    Steps(AtExtents),
    /// The node runs other graphs.
    Graphs(Bodies),
}

/// True if a node has to run on owned tensors: it reads or computes a value with an unknown extent, or its op always
/// needs owned tensors.
pub(crate) fn applies(graph: &Graph, node: &Node) -> bool {
    let is_open = |value| {
        graph
            .value(value)
            .is_some_and(|value| value.ty.shape.iter().any(|dim| dim.fixed().is_none()))
    };
    !node.op.graphs().is_empty()
        || is_late(&node.op, node.inputs.iter().map(Option::is_some))
        || node
            .inputs
            .iter()
            .flatten()
            .chain(&node.outputs)
            .any(|&value| is_open(value))
}

fn has_late_operands(op: &Op, present: impl Iterator<Item = bool>) -> bool {
    op.first_late()
        .is_some_and(|first| present.skip(first).any(|present| present))
}

/// True for ops whose results can have different extents for operands of the same extents.
fn has_own(op: &Op) -> bool {
    matches!(
        op,
        Op::ShapeOf(_) | Op::Range(_) | Op::NonZero(_) | Op::Unique(_) | Op::NonMaxSuppression(_)
    )
}

/// True for ops whose result extents depend on data, and for ops with operands that replace attributes.
pub(crate) fn is_late(op: &Op, present: impl Iterator<Item = bool>) -> bool {
    has_own(op) || has_late_operands(op, present)
}

/// Computes the results of an op for which [`is_late`] is true.
pub(crate) fn evaluate(op: &Op, operands: &[Option<TensorView<'_>>]) -> Result<Vec<Tensor>, StepError> {
    if has_own(op) {
        return own(op, operands);
    }
    let (op, kept) = bound(op, operands)?;
    AtExtents::new(Vec::new()).run(&op, kept, &PlanOptions::default().context)
}

impl Late {
    /// Prepares a node. `constants` has those operands that are constant.
    ///
    /// # Errors
    /// A graph that the node runs cannot be planned.
    pub(crate) fn new(
        module: &Module,
        graph: &Graph,
        node: &Node,
        options: &PlanOptions<'_>,
        depth: usize,
    ) -> Result<Late, ExecuteError> {
        let constant = |value| module.constant(graph, value).cloned();
        let constants: Vec<Option<TensorData>> = node.inputs.iter().map(|input| input.and_then(constant)).collect();
        let how = match &node.op {
            op if has_own(op) => How::Own,
            op if !op.graphs().is_empty() => How::Graphs(Bodies::new(module, op, options, depth)?),
            _ => How::Steps(AtExtents::new(constants)),
        };
        let results = node.outputs.iter().filter_map(|&value| graph.value(value));
        Ok(Late {
            op: node.op.clone(),
            context: options.context,
            results: results.map(|value| value.ty.clone()).collect(),
            how,
        })
    }

    /// Runs the node once. If the node runs other graphs, `replace` is called for the values of these graphs.
    ///
    /// # Errors
    /// The op is not defined for operands with these extents, or the results do not have the types that the graph
    /// states.
    pub(crate) fn run(
        &self,
        operands: &[Option<TensorView<'_>>],
        replace: &mut Replace<'_>,
    ) -> Result<Vec<Tensor>, StepError> {
        let results = match &self.how {
            How::Own => own(&self.op, operands)?,
            How::Graphs(bodies) => bodies.run(&self.op, operands, replace)?,
            How::Steps(steps) if has_late_operands(&self.op, operands.iter().map(Option::is_some)) => {
                let (op, kept) = bound(&self.op, operands)?;
                steps.run(&op, kept, &self.context)?
            }
            How::Steps(steps) => steps.run(&self.op, operands, &self.context)?,
        };
        for (made, stated) in results.iter().zip(&self.results) {
            let fits = |(&extent, dim): (&usize, &Dim)| dim.fixed().is_none_or(|stated| stated == extent as u64);
            let same = made.elem() == stated.elem
                && made.shape().len() == stated.shape.len()
                && made.shape().iter().zip(&stated.shape).all(fits);
            if !same {
                let made = made.view();
                return Err(StepError::Model(format!("its result is {made:?}, and not {stated}")));
            }
        }
        Ok(results)
    }
}

/// Replaces operands by attributes of the op. Returns the op and the remaining operands.
fn bound<'o, 't>(
    op: &Op,
    operands: &'o [Option<TensorView<'t>>],
) -> Result<(Op, &'o [Option<TensorView<'t>>]), StepError> {
    let first = op.first_late().unwrap_or(operands.len());
    let (kept, late) = operands.split_at(first.min(operands.len()));
    let list = |operand: &Option<TensorView<'_>>| match operand {
        Some(list) if list.elem() == Elem::F32 => Ok(LateList::Floats(list.values::<f32>()?.to_vec())),
        Some(list) => Ok(LateList::Integers(list.values::<i64>()?.to_vec())),
        None => Err(StepError::Model(
            "an operand in the place of an attribute is absent".into(),
        )),
    };
    let late: Vec<LateList> = late.iter().map(list).collect::<Result<_, _>>()?;
    let bound = op.with_late(&late);
    let bound = bound.ok_or_else(|| StepError::Model("operands do not stand in the place of its attributes".into()))?;
    Ok((bound, kept))
}

fn own(op: &Op, operands: &[Option<TensorView<'_>>]) -> Result<Vec<Tensor>, StepError> {
    let operand = |index: usize| {
        let operand = operands.get(index).copied().flatten();
        operand.ok_or_else(|| StepError::Model(format!("operand {index} is absent")))
    };
    match op {
        Op::ShapeOf(_) => {
            let extents: Vec<i64> = operand(0)?.shape().iter().map(|&extent| extent as i64).collect();
            Ok(vec![Tensor::from_values(&[extents.len()], &extents)?])
        }
        Op::Range(_) => range::run([operand(0)?, operand(1)?, operand(2)?]),
        Op::NonZero(_) => non_zero::run(operand(0)?),
        Op::Unique(op) => unique::run(op, operand(0)?),
        Op::NonMaxSuppression(op) => non_max_suppression::run(op, operands),
        other => Err(StepError::Ours(format!("{} has no definition on data", other.term()))),
    }
}
