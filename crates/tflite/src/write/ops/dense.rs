//! Matrix products: FULLY_CONNECTED and BATCH_MATMUL.

use super::super::Site;
use super::super::emitter::{Emitter, Refused};
use super::super::flatbuffer::Table;
use strait_core::layout::Order;
use strait_core::op::Gemm;

pub(super) fn gemm(emitter: &mut Emitter<'_>, site: &Site<'_>, gemm: &Gemm) -> Result<(), Refused> {
    if gemm.transpose_a || gemm.alpha != 1.0 || gemm.beta != 1.0 {
        return Err("it transposes or scales its operands".into());
    }
    let rows = emitter.image(site.node, 0)?;
    let weights = emitter.operand(site.node, 1)?;
    let shape = emitter
        .constant(weights)
        .ok_or("its weights are not constant")?
        .shape()
        .to_vec();
    // The operator has weights [N, K].
    let order = Order::of(if gemm.transpose_b { &[0, 1] } else { &[1, 0] });
    let outputs = *shape
        .get(usize::from(!gemm.transpose_b))
        .ok_or("its weights are no matrix")?;
    let weights = emitter.constant_as(weights, &order, &shape)?;
    let result = site.result.ok_or("it has no result")?;
    let made = emitter.define(result, emitter.layouts.of(emitter.graph, result))?;
    let bias = emitter.bias(site.node, outputs, rows, weights)?;
    let keeps = emitter.tensor(made).shape.len() != 2;
    let options = Table::default().byte(0, site.activation, 0).byte(2, keeps.into(), 0);
    let options = Some(options);
    emitter.emit_with("FULLY_CONNECTED", &[Some(rows), Some(weights), bias], &[made], options)
}

pub(super) fn matmul(emitter: &mut Emitter<'_>, site: &Site<'_>) -> Result<(), Refused> {
    let (a, b) = (emitter.image(site.node, 0)?, emitter.image(site.node, 1)?);
    let made = emitter.result(site.node)?;
    emitter.emit("BATCH_MATMUL", &[a, b], &[made], Some(Table::default()))
}
