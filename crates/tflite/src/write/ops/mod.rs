//! The operators of a file, one file for each family.

mod activation;
mod boundary;
mod conv;
mod dense;
mod elementwise;
mod extremes;
mod gather_elements;
mod lookup;
mod moves;
mod normalization;
mod pool;
mod recurrent;
mod reduce;
mod resize;
mod volume;
mod window;

use super::Site;
use super::emitter::{Emitter, Refused};
use strait_core::Op;

/// Appends the operators of a node.
pub(super) fn write(emitter: &mut Emitter<'_>, site: &Site<'_>) -> Result<(), Refused> {
    match &site.node.op {
        Op::Conv(conv) if conv.stride.len() == 3 => volume::conv(emitter, site, conv),
        Op::Conv(conv) => conv::conv(emitter, site, conv),
        Op::Gemm(gemm) => dense::gemm(emitter, site, gemm),
        Op::MatMul(_) => dense::matmul(emitter, site),
        Op::MaxPool(pool) if pool.size.len() == 3 => volume::max(emitter, site, pool),
        Op::MaxPool(pool) => pool::max(emitter, site, pool),
        Op::AveragePool(pool) => pool::average(emitter, site, pool),
        Op::GlobalAveragePool(_) => reduce::global_average(emitter, site),
        Op::Reduce(reduce) => reduce::reduce(emitter, site, reduce),
        Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Pow(_) | Op::Binary(_) | Op::Compare(_) => {
            elementwise::two(emitter, site)
        }
        Op::Select(_) => elementwise::select(emitter, site),
        Op::Relu(_) => activation::clamp(emitter, site, 0.0, f32::INFINITY),
        Op::Clip(clip) => activation::clamp(emitter, site, clip.min, clip.max),
        Op::LeakyRelu(leaky) => activation::leaky_relu(emitter, site, leaky.alpha),
        Op::Elu(elu) => activation::elu(emitter, site, elu),
        Op::Unary(unary) => activation::unary(emitter, site, unary.function),
        Op::Lookup(_) => lookup::lookup(emitter, site),
        Op::Softmax(softmax) => activation::softmax(emitter, site, softmax.axis),
        Op::LayerNormalization(norm) => normalization::normalization(emitter, site, true, (norm.axis, norm.epsilon)),
        Op::RmsNormalization(norm) => normalization::normalization(emitter, site, false, (norm.axis, norm.epsilon)),
        Op::BatchNormalization(norm) => normalization::batch(emitter, site, norm.epsilon),
        Op::HardSigmoid(own) => activation::hard_sigmoid(emitter, site, own),
        Op::ArgReduce(own) => extremes::arg_reduce(emitter, site, own),
        Op::TopK(own) => extremes::top_k(emitter, site, own),
        Op::Recurrent(own) => recurrent::recurrent(emitter, site, own),
        Op::Reshape(_) | Op::Flatten(_) | Op::Squeeze(_) | Op::Unsqueeze(_) | Op::Transpose(_) | Op::Identity(_) => {
            moves::rearrange(emitter, site)
        }
        Op::Concat(concat) => moves::concat(emitter, site, concat.axis),
        Op::Split(split) => moves::split(emitter, site, split),
        Op::Slice(slice) => moves::slice(emitter, site, slice),
        Op::Pad(pad) => moves::pad(emitter, site, pad),
        Op::Expand(_) => moves::expand(emitter, site),
        Op::Gather(gather) => moves::gather(emitter, site, gather.axis),
        Op::GatherElements(own) => gather_elements::gather_elements(emitter, site, own),
        Op::Resize(resize) => resize::resize(emitter, site, resize),
        Op::Quantize(_) => boundary::quantize(emitter, site),
        Op::Dequantize(_) => boundary::convert(emitter, site, "DEQUANTIZE", None),
        Op::Cast(_) => boundary::convert(emitter, site, "CAST", None),
        op => Err(format!("TFLite has no operator for `{}`", op.term())),
    }
}

/// The axis that an attribute means, in a tensor of this rank.
fn axis(axis: i64, rank: usize) -> Result<usize, Refused> {
    let own = if axis < 0 { axis + rank as i64 } else { axis };
    usize::try_from(own)
        .ok()
        .filter(|&own| own < rank)
        .ok_or_else(|| format!("it has no axis {axis}"))
}
