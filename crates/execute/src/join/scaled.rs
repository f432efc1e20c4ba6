//! Joins `Mul → quantize`, where the Mul multiplies each channel of an image by one number, as squeeze-and-excitation does.

use super::scope::{FoundJoin, Join, Joins, Scope};
use crate::channels_last::has_order;
use crate::error::ExecuteError;
use crate::prelude::*;
use crate::reference::Grids;
use smallvec::smallvec;
use strait_core::{NodeId, Op, Stage, ValueId};
use strait_kernels::mixed::QuantizeScaled;

pub(super) fn look(scope: &Scope<'_>, joins: &Joins, id: NodeId) -> FoundJoin {
    let Some(Op::Quantize(op)) = scope.node(id).map(|node| &node.op) else {
        return Ok(None);
    };
    let input = scope.node(id).and_then(|node| node.inputs.first().copied().flatten());
    let (Some(product), Some(output), Stage::Integer) = (input, scope.result(id), scope.graph.stage()) else {
        return Ok(None);
    };
    let Some((mul, node)) = scope.graph.producer(product) else {
        return Ok(None);
    };
    let only = scope.graph.only_use(product).is_some() && !joins.taken[mul.index()] && node.fused.is_none();
    let (Op::Mul(_), &[Some(a), Some(b)], true) = (&node.op, &node.inputs[..], only) else {
        return Ok(None);
    };
    let dims = scope.slot(product)?.dims;
    let [batch, channels, positions @ ..] = &dims[..] else {
        return Ok(None);
    };
    let extents = [*batch, *channels, positions.iter().product()];
    let is_image = |value: ValueId| -> Result<bool, ExecuteError> {
        let slot = scope.slot(value)?;
        Ok(slot.elem == Elem::F32 && slot.dims == dims)
    };
    let is_factors = |value: ValueId| -> Result<bool, ExecuteError> {
        let slot = scope.slot(value)?;
        let fits = slot.dims.len() == dims.len() && slot.dims[..2] == dims[..2] && slot.count() == batch * channels;
        Ok(fits && slot.elem == Elem::F32)
    };
    let inputs = match () {
        () if !has_order(&dims) => return Ok(None),
        () if is_image(a)? && is_factors(b)? => [a, b],
        () if is_image(b)? && is_factors(a)? => [b, a],
        () => return Ok(None),
    };
    let out = scope.slot(output)?;
    let (Ok(grids), Some(to)) = (Grids::of(&out), out.elem.int_type()) else {
        return Ok(None);
    };
    let kernel = QuantizeScaled::new(grids.at(0).quantization(op, to)).filter(|_| grids.is_single());
    let Some(kernel) = kernel else { return Ok(None) };
    let step = |last: bool| {
        let kernel = kernel.clone();
        reading(2, move |io| {
            let (context, operands) = (io.context, [io.input(0)?, io.input(1)?]);
            Ok(kernel.run(context, extents, last, operands, io.output()?)?)
        })
    };
    let join = Join {
        node: id,
        inputs: inputs.map(Some).into_iter().collect(),
        outputs: smallvec![output],
        step: step(false),
        last: scope.last.then(|| step(true)),
    };
    Ok(Some((join, vec![mul, id])))
}
