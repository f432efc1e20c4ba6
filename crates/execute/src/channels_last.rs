//! Steps on tensors whose channels are last in memory.
//!
//! The graph's own order of an image is `[N, C, spatial…]`. Integer convolutions read and write `[N, spatial…, C]`, which
//! is faster. A plan therefore stores the images between them in this order, wherever the steps between them can work on
//! it. This file prepares these steps. Most of them are the usual steps with other extents: their axes are permuted as
//! the axes in memory are.

use crate::executable::executable;
use crate::float::global_average_pool;
use crate::integer;
use crate::integer::operands::{carrier, codes, eight_bits};
use crate::prelude::*;
use crate::prepare;
use crate::site::Slot;
use crate::tensor::Dims;
use crate::window;
use smallvec::SmallVec;
use strait_core::op::Reduction;
use strait_core::{Node, Op};
use strait_kernels::integer::{Carrier, max_pool_last};
use strait_kernels::{Images, Pool, Window};

/// True if the order of the elements in memory is a choice: an image with several channels and several positions.
pub(crate) fn has_order(dims: &[usize]) -> bool {
    match dims {
        [_, channels, spatial @ ..] if !spatial.is_empty() => *channels > 1 && spatial.iter().product::<usize>() > 1,
        _ => false,
    }
}

/// Returns the extents in memory of a tensor whose channels are last.
fn permuted(dims: &[usize]) -> Dims {
    match dims {
        [batch, channels, spatial @ ..] if !spatial.is_empty() => {
            let mut dims: Dims = Dims::new();
            dims.push(*batch);
            dims.extend_from_slice(spatial);
            dims.push(*channels);
            dims
        }
        _ => dims.into(),
    }
}

/// Returns the axis in memory for an axis of a tensor of this rank.
fn moved(axis: i64, rank: usize) -> i64 {
    let rank = rank as i64;
    match if axis < 0 { axis + rank } else { axis } {
        0 => 0,
        1 => rank - 1,
        axis => axis - 1,
    }
}

/// Prepares a step that computes a node on operands and results whose channels are last. Returns `None` if there is no
/// such step.
pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Option<Box<dyn Step>>, StepError> {
    let rank = site.output()?.dims.len();
    let per_channel = site
        .fused
        .as_ref()
        .is_some_and(|fused| fused.requant.channels().is_some());
    match &site.node.op {
        Op::MaxPool(op) if site.fused.is_none() => {
            let pool = window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad);
            let (Some(element), Ok(pool)) = (eight_bits(site.input(0)?), pool) else {
                return Ok(None);
            };
            Ok(Some(reading(1, move |io| {
                Ok(max_pool_last(io.context, &pool, element, io.input(0)?, io.output()?)?)
            })))
        }
        Op::SumPool(op) if site.node.inputs.len() < 2 || !per_channel => {
            let pool = window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad);
            match pool {
                Ok(pool) => sums(site, pool, op.pad_value, carrier(op.accumulator)),
                Err(_) => Ok(None),
            }
        }
        Op::Reduce(op) if op.reduction == Reduction::Sum => {
            let dims = &site.input(0)?.dims;
            if dims.len() < 3 || !op.reduced(dims.len())?.iter().copied().eq(2..dims.len()) {
                return Ok(None);
            }
            let size = [1, dims[2..].iter().product()];
            let pool = Pool {
                window: Window::new(size),
                input: Images {
                    batch: dims[0],
                    channels: dims[1],
                    size,
                },
                output: [1, 1],
            };
            sums(site, pool, 0, carrier(op.accumulator))
        }
        Op::Dequantize(_) => integer::dequantize::prepare_last(site),
        Op::Quantize(op) => integer::quantize::prepare_last(op, site),
        Op::Requantize(op) => integer::requantize::prepare_last(op, site),
        Op::GlobalAveragePool(_) if site.input(0)?.elem == Elem::F32 => global_average_pool::prepare_last(site),
        Op::Mul(_) | Op::ScaledAdd(_) | Op::Add(_) | Op::Sub(_) | Op::Div(_) if !per_channel => {
            // Operands with fewer axes are aligned at the last axis of the result, which is another one in memory.
            let aligned = |slot: &Slot<'_>| slot.dims.len() == rank || slot.count() == 1;
            match site.inputs.iter().flatten().all(aligned) {
                true => prepare::prepare(&permuted_site(site, site.node)).map(Some),
                false => Ok(None),
            }
        }
        Op::Concat(op) => {
            let mut op = op.clone();
            op.axis = moved(op.axis, rank);
            with_op(site, Op::Concat(op)).map(Some)
        }
        Op::Split(op) => {
            let mut op = op.clone();
            op.axis = moved(op.axis, rank);
            with_op(site, Op::Split(op)).map(Some)
        }
        Op::Slice(op) if site.node.inputs.len() == 1 => {
            let mut op = op.clone();
            op.axes.iter_mut().for_each(|axis| *axis = moved(*axis, rank));
            with_op(site, Op::Slice(op)).map(Some)
        }
        Op::Resize(op) if op.moves() && [0, rank].contains(&op.scales.len()) && op.region.is_empty() => {
            let mut op = op.clone();
            for (axis, &scale) in site_scales(&op.scales).iter().enumerate() {
                op.scales[moved(axis as i64, rank) as usize] = scale;
            }
            with_op(site, Op::Resize(op)).map(Some)
        }
        _ => Ok(None),
    }
}

/// A copy of the scales, one for each axis.
fn site_scales(scales: &[f32]) -> SmallVec<[f32; 4]> {
    scales.into()
}

/// Prepares the sums of windows of 8-bit codes.
fn sums(
    site: &NodeSlots<'_>,
    pool: Pool,
    pad_value: i32,
    carrier: Carrier,
) -> Result<Option<Box<dyn Step>>, StepError> {
    // The sum of so many codes fits in 32 bits.
    const LARGEST: usize = 1 << 20;
    let x = site.input(0)?;
    let Some(element) = codes(x).filter(|element| element.bits() == 8) else {
        return Ok(None);
    };
    if site.node.inputs.len() > 1 || pool.window.kernel.iter().product::<usize>() > LARGEST {
        return Ok(None);
    }
    let loops = site.loops()?;
    Ok(Some(reading(1, move |io| {
        let (context, x) = (io.context, io.input(0)?);
        Ok(loops.sum_pool_last(context, &pool, element, pad_value, carrier, x, io.output()?)?)
    })))
}

/// The site of `node`, with the extents that operands and results have in memory.
fn permuted_site<'a: 'b, 'b>(site: &NodeSlots<'a>, node: &'b Node) -> NodeSlots<'b> {
    let slot = |slot: &Slot<'a>| -> Slot<'b> {
        Slot {
            dims: permuted(&slot.dims),
            ..slot.clone()
        }
    };
    NodeSlots {
        node,
        inputs: site.inputs.iter().map(|input| input.as_ref().map(slot)).collect(),
        outputs: site.outputs.iter().map(slot).collect(),
        fused: site.fused.clone(),
        chain: None,
        options: site.options,
        last: false,
    }
}

/// Prepares the step of an op that only moves elements, with attributes for the axes in memory.
fn with_op(site: &NodeSlots<'_>, op: Op) -> Result<Box<dyn Step>, StepError> {
    let mut node = site.node.clone();
    node.op = op;
    let site = NodeSlots {
        fused: None,
        ..permuted_site(site, &node)
    };
    executable(&node.op).prepare(&site)
}
