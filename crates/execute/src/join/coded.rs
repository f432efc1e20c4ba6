//! Joins `dequantize → Gemm`, where the dequantize makes the weights of the Gemm from constant codes of 4 bits. The codes
//! stay packed, and become floats where the products are computed. Without the join, all weights would become floats in
//! memory in each run.

use super::scope::{FoundJoin, Join, Joins, Scope};
use crate::float::gemm;
use crate::prelude::*;
use crate::site::Slot;
use smallvec::smallvec;
use strait_core::{NodeId, Op, Parts, op};
use strait_kernels::float::{CodedMatrix, HalfBytes};

/// The fewest weights that share a scale. With fewer, scales would take about as much memory as floats.
const LEAST_BLOCK: usize = 16;

pub(super) fn look(scope: &Scope<'_>, joins: &Joins, id: NodeId) -> FoundJoin {
    let weights = scope.node(id).filter(|node| matches!(node.op, Op::Dequantize(_)));
    let only = weights
        .and_then(|_| scope.graph.only_use(scope.result(id)?))
        .filter(|only| only.operand == 1 && !joins.taken[only.node.index()]);
    let Some(product) = only.map(|only| only.node) else {
        return Ok(None);
    };
    let site = scope.site(product)?;
    let op = match &site.node.op {
        Op::Gemm(op) if !op.transpose_a => op.clone(),
        Op::MatMul(_) => Box::new(op::Gemm {
            transpose_b: false,
            ..op::Gemm::canonical()
        }),
        _ => return Ok(None),
    };
    let on_reals = site.inputs.iter().flatten().all(|slot| slot.elem == Elem::F32);
    let Some(output) = scope.result(product).filter(|_| on_reals && site.fused.is_none()) else {
        return Ok(None);
    };
    if site.outputs.iter().any(|slot| slot.count() == 0) {
        return Ok(None);
    }
    let of_weights = scope.site(id)?;
    let packed = of_weights.input(0).and_then(|slot| pack(slot, op.transpose_b));
    let Some(matrix) = packed.map_err(|error| scope.error(id, error))? else {
        return Ok(None);
    };
    let step = gemm::prepare(&op, &site, Some(matrix)).map_err(|error| scope.error(product, error))?;
    let read = |(index, value): (usize, &Option<_>)| value.filter(|_| index != 1);
    let inputs = site.node.inputs.iter().enumerate().map(read).collect();
    let join = Join {
        node: product,
        inputs,
        outputs: smallvec![output],
        step,
        last: None,
    };
    Ok(Some((join, vec![id, product])))
}

/// Packs a constant `[K, N]` of codes of 4 bits, or `[N, K]` if it is transposed. `None` if it is not such a constant, or if
/// the kernels do not compute it.
fn pack(weights: &Slot<'_>, transposed: bool) -> Result<Option<CodedMatrix>, StepError> {
    let (Some(constant), Some(quant), &[height, width]) = (weights.constant, weights.quant, &weights.dims[..]) else {
        return Ok(None);
    };
    let signed = match weights.elem {
        Elem::I4 => true,
        Elem::U4 => false,
        _ => return Ok(None),
    };
    let (rows, columns) = if transposed { (width, height) } else { (height, width) };
    let along_rows = quant.axis.map(usize::from) == Some(usize::from(transposed));
    let several = quant.scale.channels().is_some() || quant.zero_point.channels().is_some();
    let block = match quant.block {
        _ if !several || !along_rows => rows,
        None => 1,
        Some(block) => block.get() as usize,
    };
    let Some(parts) = Parts::of_grid(quant, &weights.dims).filter(|_| quant.has_legal_scales()) else {
        return Ok(None);
    };
    if rows == 0 || block < LEAST_BLOCK.min(rows) {
        return Ok(None);
    }
    let strides = if transposed { [1, rows] } else { [columns, 1] };
    let (mut scales, mut zero_points) = (Vec::new(), Vec::new());
    for row in (0..rows).step_by(block) {
        for column in 0..columns {
            let part = parts.of(row * strides[0] + column * strides[1]);
            let (Some(&scale), Some(&zero)) = (quant.scale.get(part), quant.zero_point.get(part)) else {
                return Ok(None);
            };
            scales.push(scale);
            zero_points.push(zero);
        }
    }
    let codes = HalfBytes {
        bytes: constant.bytes(),
        signed,
        strides,
    };
    Ok(CodedMatrix::new([rows, columns], codes, block, &scales, &zero_points)?)
}
