//! Convolutions and matrix products.

use super::super::attributes::{float, int, ints};
use super::super::emitter::{Emitter, RUNTIME_DOMAIN};
use super::super::ops::At;
use super::grids;
use crate::error::WriteError;
use strait_core::Dim;
use strait_core::op::{Conv, Gemm};

/// Writes a QLinearConv. It pads with the zero point of its operand. The bias has codes of the products' grid.
pub(super) fn conv(emitter: &mut Emitter<'_>, at: At<'_>, conv: &Conv) -> Result<(), WriteError> {
    let (x, weights) = (grids::operand(emitter, at, 0)?, grids::operand(emitter, at, 1)?);
    let inputs = [x, weights, grids::result(emitter, at)?, vec![at.input(emitter, 2)]].concat();
    let attributes = vec![
        ints("strides", &conv.stride),
        ints("pads", &conv.pad),
        ints("dilations", &conv.dilation),
        int("group", conv.groups),
    ];
    let outputs = at.outputs(emitter);
    emitter.node("QLinearConv", at.name, inputs, outputs, attributes);
    Ok(())
}

/// Writes a QGemm. It multiplies matrices. An operand with more axes is reshaped before it, and the result after it.
pub(super) fn gemm(emitter: &mut Emitter<'_>, at: At<'_>, gemm: &Gemm) -> Result<(), WriteError> {
    if gemm.alpha != 1.0 || gemm.beta != 1.0 || gemm.transpose_a {
        return Err(at.unwritable("QGemm has codes of a product without factors"));
    }
    let is_turned = emitter.is_turned(at.node.input(1));
    let mut x = grids::operand(emitter, at, 0)?;
    let weights = grids::operand(emitter, at, 1)?;
    let (_, rank) = at.operand_type(emitter);
    let mut outputs = at.outputs(emitter);
    let mut reshaped = None;
    if rank != 2 {
        let last = |value| emitter.ty(value).and_then(|ty| ty.shape.last()?.fixed());
        let depth =
            last(at.node.input(0)).ok_or_else(|| at.unwritable("the last extent of its operand is not known"))?;
        let shape = emitter.ints(&format!("{}_matrix_shape", at.name), &[-1, depth as i64]);
        x[0] = emitter.step(
            "Reshape",
            &format!("{}_matrix", at.name),
            vec![x[0].clone(), shape],
            vec![],
        );
        let shape = shape_of_result(emitter, at)?;
        let product = emitter.fresh(&format!("{}_product", at.name));
        reshaped = Some((product.clone(), shape, std::mem::replace(&mut outputs, vec![product])));
    }
    let inputs = [x, weights, vec![at.input(emitter, 2)], grids::result(emitter, at)?].concat();
    let attributes = vec![
        float("alpha", gemm.alpha),
        int("transA", gemm.transpose_a),
        int("transB", gemm.transpose_b && !is_turned),
    ];
    emitter.node_of(RUNTIME_DOMAIN, "QGemm", at.name, inputs, outputs, attributes);
    if let Some((product, shape, outputs)) = reshaped {
        let shape = emitter.ints(&format!("{}_shape", at.name), &shape);
        emitter.node("Reshape", at.name, vec![product, shape], outputs, vec![]);
    }
    Ok(())
}

/// The shape of the node's result, as a Reshape takes it. One extent may be that of the batch, which is not known.
pub(super) fn shape_of_result(emitter: &Emitter<'_>, at: At<'_>) -> Result<Vec<i64>, WriteError> {
    let ty = emitter.ty(at.node.result());
    let ty = ty.ok_or_else(|| at.unwritable("it has no result"))?;
    let unknown = ty.shape.iter().filter(|dim| matches!(dim, Dim::Named(_))).count();
    if unknown > 1 {
        return Err(at.unwritable("two extents of its result are not known"));
    }
    Ok(ty
        .shape
        .iter()
        .map(|dim| dim.fixed().map_or(-1, |extent| extent as i64))
        .collect())
}

/// Writes a QLinearMatMul of two activations.
pub(super) fn matmul(emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
    let (a, b) = (grids::operand(emitter, at, 0)?, grids::operand(emitter, at, 1)?);
    let (inputs, outputs) = ([a, b, grids::result(emitter, at)?].concat(), at.outputs(emitter));
    emitter.node("QLinearMatMul", at.name, inputs, outputs, vec![]);
    Ok(())
}
