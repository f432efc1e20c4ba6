//! Nodes between real numbers and codes.

use std::sync::Arc;
use strait_core::op::Quantize;
use strait_core::{Elem, Module, Op, QuantParams, Symbol, TensorType, ValueId};
use strait_requantize::IntType;
use strait_target::TargetSpec;
use strait_target::spec::Divide;

/// From real numbers to activation codes of a type, as the table says it.
pub(crate) fn quantize(spec: &TargetSpec, to: IntType) -> Quantize {
    Quantize {
        to: to.into(),
        rounding: spec.quantize.rounding,
        reciprocal: spec.quantize.divide == Divide::MultiplyByReciprocal,
        zero_point: spec.quantize.zero_point.into(),
    }
}

/// Appends a node called `node` to the main graph: one operand, and one result of its shape, called `result`, which is
/// the answer.
pub(crate) fn convert(
    module: &mut Module,
    [node, result]: [Symbol; 2],
    op: Op,
    operand: ValueId,
    elem: Elem,
    quant: Option<Arc<QuantParams>>,
) -> ValueId {
    let main = module.main_mut();
    let shape = main.value(operand).map(|v| v.ty.shape.clone()).unwrap_or_default();
    let results = vec![(result, TensorType { elem, shape }, quant)];
    let id = main.add_node(node, op, &[Some(operand)], results);
    main.node(id).map_or(operand, |n| n.outputs[0])
}
