//! The dispatch table: finds the function that prepares an op.

use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use crate::{float, index, integer, layout, wide};
use strait_core::{Elem, Op};

/// The step of a node whose results have no elements.
struct Nothing;

impl Step for Nothing {
    fn run(&self, _: &mut Io<'_>) -> Result<(), StepError> {
        Ok(())
    }
}

/// Prepares a node on its own.
pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    // If a result is empty, preparing the node must not loop over its other axes.
    if site.outputs.iter().all(|result| result.count() == 0) {
        return Ok(Box::new(Nothing));
    }
    // Moving data works the same for every element type.
    let moved = match &site.node.op {
        Op::Transpose(op) => Some(layout::transpose::prepare(op, site)),
        Op::Concat(op) => Some(layout::concat::prepare(op, site)),
        Op::Split(op) => Some(layout::split::prepare(op, site)),
        Op::Slice(op) => Some(layout::slice::prepare(op, site)),
        Op::Pad(op) => Some(layout::pad::prepare(op, site)),
        Op::Gather(op) => Some(layout::gather::prepare(op, site)),
        Op::GatherElements(op) => Some(index::gather_elements::prepare(op, site)),
        Op::GatherNd(op) => Some(index::gather_nd::prepare(op, site)),
        Op::Expand(_) => Some(layout::expand::prepare(site)),
        Op::Select(_) => Some(layout::select::prepare(site)),
        Op::Cast(op) => Some(layout::cast::prepare(op, site)),
        Op::Resize(op) if layout::resize::applies(op) => Some(layout::resize::prepare(op, site)),
        _ => None,
    };
    // The ops of this match work for every type of number, and their results may have another type.
    let indexed = match &site.node.op {
        Op::Scatter(op) => Some(index::scatter::prepare(op, site)),
        Op::ArgReduce(op) => Some(index::arg_reduce::prepare(op, site)),
        Op::Cumulative(op) => Some(index::cumulative::prepare(op, site)),
        Op::TopK(op) => Some(index::top_k::prepare(op, site)),
        _ => None,
    };
    let moved = moved.or(indexed);
    let integers = site.input(0)?.is_quantized();
    if (moved.is_some() || !integers) && site.fused.is_some() {
        let op = site.node.op.term();
        return Err(StepError::Model(format!(
            "a requantization is fused into {op}, which makes no accumulators"
        )));
    }
    if let Some(moved) = moved {
        return moved;
    }
    if integers {
        return integer::prepare(site);
    }
    let indices = takes_indices(&site.node.op);
    let slots = site
        .inputs
        .iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != indices);
    if slots
        .filter_map(|(_, slot)| slot.as_ref())
        .any(|slot| slot.elem != Elem::F32)
    {
        return wide::prepare(site).unwrap_or_else(|| Err(unsupported(site)));
    }
    match &site.node.op {
        Op::Conv(op) if float::volume::applies(site) => float::volume::prepare_conv(op, site),
        Op::Conv(op) => float::conv::prepare(op, site),
        Op::ConvTranspose(op) => float::conv_transpose::prepare(op, site),
        Op::DeformConv(op) => float::deform_conv::prepare(op, site),
        Op::Gemm(op) => float::gemm::prepare(op, site),
        Op::MatMul(_) => float::matmul::prepare(site),
        Op::BatchNormalization(op) => float::batch_normalization::prepare(op, site),
        Op::LayerNormalization(op) => float::layer_normalization::prepare(op, site),
        Op::RmsNormalization(op) => float::layer_normalization::prepare_rms(op, site),
        Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Pow(_) => float::arithmetic::prepare(site),
        Op::Binary(_) | Op::Compare(_) => wide::prepare(site).unwrap_or_else(|| Err(unsupported(site))),
        Op::Unary(op) => float::unary::prepare(op, site),
        Op::Relu(_) | Op::Clip(_) | Op::LeakyRelu(_) | Op::HardSigmoid(_) | Op::Elu(_) => {
            float::activation::prepare(site)
        }
        Op::Recurrent(op) => float::recurrent::prepare(op, site),
        Op::RoiAlign(op) => float::roi_align::prepare(op, site),
        Op::Det(_) => float::det::prepare(site),
        Op::Dft(op) => float::dft::prepare(op, site),
        Op::GridSample(op) => float::grid_sample::prepare(op, site),
        Op::Col2Im(op) => float::col2im::prepare(op, site),
        Op::MaxPool(op) if float::volume::applies(site) => float::volume::prepare_max(op, site),
        Op::MaxPool(op) => float::max_pool::prepare(op, site),
        Op::AveragePool(op) if float::volume::applies(site) => float::volume::prepare_average(op, site),
        Op::AveragePool(op) => float::average_pool::prepare(op, site),
        Op::GlobalAveragePool(_) => float::global_average_pool::prepare(site),
        Op::Reduce(op) => float::reduce::prepare(op, site),
        Op::Softmax(op) => float::softmax::prepare(op, site),
        Op::Quantize(op) => integer::quantize::prepare(op, site),
        Op::RoundTo(op) => float::round_to::prepare(op, site),
        Op::Resize(op) => float::resize::prepare(op, site),
        // What remains are ops that only move elements (handled above), ops that are defined on integers only, and ops
        // that another module prepares.
        _ => Err(unsupported(site)),
    }
}

/// For an op on floats: the operand that holds integers, if there is one. Inference checks its type.
fn takes_indices(op: &Op) -> Option<usize> {
    match op {
        Op::Recurrent(_) | Op::RoiAlign(_) => Some(2),
        _ => None,
    }
}

fn unsupported(site: &NodeSlots<'_>) -> StepError {
    let types: Vec<_> = site.inputs.iter().flatten().map(|slot| slot.elem.name()).collect();
    StepError::Unsupported(format!("{} on {}", site.node.op.term(), types.join(", ")))
}
