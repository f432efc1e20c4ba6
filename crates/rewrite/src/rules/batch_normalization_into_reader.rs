//! **Pattern**: a batch normalization whose result is read by a single node: by a gemm if the result is a matrix, or by a
//! convolution if the result is an image.
//! **Why**: a batch normalization computes x' = x·factor + summand for each channel. If it cannot be folded into the layer before
//! it, this rule folds it into the layer after it. If that layer has the weights w and the bias b, then for input channel i and
//! output channel o, its new weights are w'\[o, i\] = w\[o, i\]·factor\[i\], and its new bias is b'\[o\] = b\[o\] + Σᵢ w\[o,
//! i\]·summand\[i\].
//! **Preconditions**: the parameters of the normalization, the weights and the bias are constants. The new weights and
//! the new bias are finite. The convolution has no padding, or the normalization maps zero to zero, because the
//! convolution pads the normalized image with zeros.
//! **Exactness**: exact in real numbers. Each folded parameter is computed in f64 and rounded to f32 once.

use super::batch_normalization_into_producer::affine;
use crate::matching::GraphNode;
use crate::miss::{Miss, NoMatch};
use crate::product::{MOST_MAPS, is_taken};
use crate::rounding::rounded;
use crate::rule::NodeRule;
use strait_core::{NewNode, Op, Patch, ReasonCode, Source, Term, refused};

/// The rule that folds a batch normalization into the layer that reads its result.
pub const RULE: NodeRule = NodeRule {
    name: "batch-normalization-into-reader",
    anchors: || vec![Term::Conv, Term::Gemm],
    depth: || 2 + MOST_MAPS,
    is_fusion: true,
    look,
};

fn look(site: &GraphNode<'_>) -> Result<Patch, Miss> {
    let x = site.operand(0)?;
    let norm = site.producer(x, Term::BatchNormalization).ok_or(NoMatch)?;
    let (groups, is_padded) = match &site.node.op {
        Op::Conv(conv) => (conv.groups as usize, conv.pad.iter().any(|&pad| pad > 0)),
        Op::Gemm(gemm) if gemm.is_canonical() && site.dims(x).is_some_and(|dims| dims.len() == 2) => (1, false),
        _ => return Err(NoMatch),
    };
    if norm.input(0).is_some_and(|x| is_taken(site, x)) {
        return Err(NoMatch);
    }
    if !site.used_once(x) {
        return refused(ReasonCode::SeveralUses, "the normalization is used elsewhere too");
    }
    let weight = site.input(1).and_then(|weight| site.exact(weight));
    let (Some(affine), Some((weight, values))) = (affine(&norm), weight) else {
        return refused(ReasonCode::NotConstant, "its parameters are not constants");
    };
    if is_padded && affine.iter().any(|&(_, summand)| summand != 0.0) {
        let text = "the convolution pads with zeros what is normalized, and the normalization makes others of zeros";
        return refused(ReasonCode::PadMode, text);
    }
    let &[outputs, inputs, ref kernel @ ..] = weight.shape() else {
        return Err(NoMatch);
    };
    // The weights are ordered by output, then by input of the output's group, then by tap of the kernel.
    let taps = kernel.iter().product::<u64>() as usize;
    let (outputs, inputs) = (outputs as usize, inputs as usize);
    let fits =
        groups > 0 && inputs > 0 && taps > 0 && outputs.is_multiple_of(groups) && inputs * groups == affine.len();
    if !fits || outputs == 0 {
        return Err(NoMatch);
    }
    let bias = match site.input(2).map(|bias| site.per_last_axis(bias, outputs)) {
        None => vec![0.0; outputs].into(),
        Some(Some(bias)) => bias,
        Some(None) => return refused(ReasonCode::NotConstant, "the bias is no constant per channel"),
    };
    let (mut folded, mut summed) = (Vec::with_capacity(values.len()), Vec::with_capacity(outputs));
    for (output, (row, &bias)) in values.chunks_exact(inputs * taps).zip(&*bias).enumerate() {
        let first = output / (outputs / groups) * inputs;
        let mut sum = bias;
        for (taps, &(factor, summand)) in row.chunks_exact(taps).zip(&affine[first..first + inputs]) {
            folded.extend(taps.iter().map(|&w| w * factor));
            sum += taps.iter().map(|&w| w * summand).sum::<f64>();
        }
        summed.push(sum);
    }
    let mut patch = Patch::default();
    let weight = rounded(&mut patch, "weight", weight.shape(), folded)?;
    let bias = rounded(&mut patch, "bias", &[outputs as u64], summed)?;
    if weight.is_none() || bias.is_none() {
        return refused(ReasonCode::NotFinite, "a folded weight or bias is not finite");
    }
    let operands = [norm.input(0).map(Source::Old), weight, bias];
    let origins = [site.id, norm.id];
    patch.add.push(NewNode::new(site.node.op.clone(), &operands, &origins));
    patch.remove.push(norm.id);
    site.completed(patch)
}
