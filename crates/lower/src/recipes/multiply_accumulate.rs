//! `multiply_accumulate`: computes a convolution or a fully connected layer with constant weights.
//!
//! The accumulator is acc = Σ (q_w − z_w\[c\])·q_x + b', and the result is y = requantize(acc). Here q_w are the codes
//! of the weights, q_x the codes of the operand, z_w and z_x their zero points, and c is the output channel. The bias
//! b' is b − z_x·Σ (q_w − z_w), with the bias b of the layer. So acc stands for Σ (q_w − z_w)·(q_x − z_x) + b on the
//! grid s_x·s_w\[c\]. If the form only shifts right, by n bits, it cannot add the zero point z_y of the result, so z_y
//! is folded into the bias too: b'' = b' + z_y·2^n.

use super::NodeToLower;
use super::narrow::{Product, Wide, narrow, shift};
use super::product::in_block;
use crate::interval::{self, any_code, conv_taps, input, less};
use crate::lowering::{Lowering, overflows};
use std::sync::Arc;
use strait_core::op::{Conv, Gemm};
use strait_core::{Channels, Failure, Op, QuantParams, Reason, ReasonCode, TensorData, WeightZero, refused};
use strait_requantize::{Per, range};
use strait_target::spec::{Padding, WeightGrid};

pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    weight_grid: WeightGrid,
    pad: Padding,
) -> Result<(), Failure> {
    let x = site.input(0)?;
    let activation = lowering.operand_grid(site, 0)?;
    let (x_scale, x_zero) = (activation.scale, activation.zero);
    if let (Padding::ZeroCode, Op::Conv(conv)) = (pad, &site.node.op)
        && x_zero != 0
        && conv.pad.iter().any(|&p| p > 0)
    {
        let text = format!("the target pads with the code 0, and real zero is the code {x_zero}");
        return refused(ReasonCode::PadValue, text);
    }
    let (grid, weight) = lowering.weights(site.id)?;
    // The result's grid, if the sums are only shifted to reach it.
    let target = lowering.result_grid(site).filter(|_| weight_grid.leaves_a_shift());
    let baked = lowering.walk.parameter(weight)?;
    let channels = baked.shape().first().copied().unwrap_or(1) as usize;
    let weight_zero = WeightZero(grid.zero_point.clone());
    let codes = less(baked, channels, Some(&weight_zero))?;
    let bias = match site.node.input(2) {
        Some(_) => lowering.walk.parameter(lowering.baked(site.id, 2)?)?.to_i64()?,
        None => vec![0; channels],
    };
    let mut biases = folded(&bias, &codes, x_zero, channels);
    let shifts = target.map(|y| (shifts(x_scale, &grid.scale, y.scale), y));
    let mut acc_zero = Per::Tensor(0);
    if let Some((shifts, y)) = &shifts {
        let folded = shifts.map(|&s| i64::from(y.zero) << s);
        for (c, bias) in biases.iter_mut().enumerate() {
            *bias = bias.saturating_add(folded.get(c).copied().unwrap_or(0));
        }
        acc_zero = folded.try_map(|&z| {
            let text = || format!("the zero point before the shift is {z}, past 32 bits");
            i32::try_from(z).map_err(|_| Reason::new(ReasonCode::AccumulatorOverflow, text()))
        })?;
    }
    let bias = lowering.spec.types.bias.get(&activation.ty.into());
    let bits = bias.map_or(32, |bias| bias.bits());
    let wide = |(_, bias): &(usize, &i64)| (**bias >> (bits - 1)) != 0 && (**bias >> (bits - 1)) != -1;
    if let Some((channel, bias)) = biases.iter().enumerate().find(wide) {
        let text =
            format!("the bias of channel {channel}, with all that is folded into it, is {bias}: past {bits} bits");
        return refused(ReasonCode::BiasWidth, text);
    }
    let dims = |value| lowering.graph().value(value).and_then(|v| v.ty.dims());
    let taps = match &site.node.op {
        Op::Conv(conv) => {
            let (operand, result) = (dims(x).unwrap_or_default(), dims(site.output()?).unwrap_or_default());
            conv_taps(conv, baked.shape(), &operand, &result)
        }
        _ => None,
    };
    let read = range::Input {
        any_pattern: lowering.input_behind(site, 0).is_some(),
        ..input(any_code(activation.ty), taps.as_ref(), x_zero)
    };
    let (accumulator, carrier) = (lowering.accumulator(site)?, lowering.carrier(site)?);
    let block = lowering.block(site)?;
    // The number of weights that an output has for each input channel. These weights are adjacent in memory.
    let each = baked.shape().iter().skip(2).product::<u64>().max(1) as usize;
    for (channel, sum) in interval::sums(&codes, &biases, read).enumerate() {
        range::prove(channel, &sum, accumulator).map_err(|overflow| overflows(&overflow))?;
        let Some((channels, within)) = block else { continue };
        for weights in sum.weights.chunks(each.saturating_mul(channels as usize)) {
            let part = range::Products {
                weights,
                bias: 0,
                ..sum
            };
            range::prove(channel, &part, within).map_err(|overflow| in_block(channels, &overflow))?;
        }
    }
    let rank = lowering.graph().value(site.output()?).map_or(1, |v| v.ty.shape.len());
    let axis = if matches!(site.node.op, Op::Conv(_)) {
        1
    } else {
        rank.saturating_sub(1)
    };
    // The grid of the accumulator. If the result's zero point was folded into the bias, the accumulator's zero point is
    // the integer that now stands for real zero.
    let products = activation.params().product(&grid, Some(axis as u8));
    let products = products.ok_or_else(|| Failure::defect("the scales of its weights are no channels"))?;
    let per_channel = products.scale.channels().is_some() || acc_zero.channels().is_some();
    let acc_grid = QuantParams {
        zero_point: acc_zero,
        axis: per_channel.then_some(axis as u8),
        ..products
    };
    let weights = lowering.walk.shared("weight:codes", weight, grid.clone())?;
    let biases = TensorData::from_integers(carrier.elem(), &[channels as u64], &biases)?;
    let biases = lowering.walk.data("bias:codes", biases, None);
    let operands = [lowering.operand(site, 0)?.value, weights, biases];
    let op: Op = match &site.node.op {
        Op::Conv(conv) => Conv {
            pad_value: x_zero,
            accumulator: carrier,
            weight_zero,
            ..(**conv).clone()
        }
        .into(),
        _ => Gemm {
            accumulator: carrier,
            weight_zero,
            ..Gemm::canonical()
        }
        .into(),
    };
    let acc = lowering.emit(site.node, op, &operands, Some(Arc::new(acc_grid)), "accumulate")?;
    let product = match &site.node.op {
        Op::Conv(_) => Product::Convolution(x_scale, grid.scale.clone()),
        _ => Product::FullyConnected(x_scale, grid.scale.clone()),
    };
    let wide = Wide {
        acc,
        zero: 0,
        product,
        channels: Channels::Axis(axis),
    };
    let Some((shifts, y)) = shifts else {
        return narrow(lowering, site, wide);
    };
    let codes = shift(lowering, site, wide, (&y).into(), shifts)?;
    lowering.set_codes(site, 0, codes)
}

/// Folds the operand's zero point z_x into the biases b, channel by channel:
///
/// Σ w·(q − z_x) + b = Σ w·q + [b − z_x·Σ w]. The codes w in `weights` have their zero points already subtracted.
fn folded(bias: &[i64], weights: &[i32], zero: i32, channels: usize) -> Vec<i64> {
    let each = weights.len() / channels.max(1);
    let fold = |c: usize| {
        let sum: i64 = weights[c * each..(c + 1) * each].iter().map(|&w| i64::from(w)).sum();
        bias.get(c).copied().unwrap_or(0).saturating_sub(i64::from(zero) * sum)
    };
    (0..channels).map(fold).collect()
}

/// Returns the numbers of bits n by which accumulators are shifted to the result's grid: s_x·s_w / s_y = 2^−n. The grid
/// of the weights was chosen so that n is an integer.
fn shifts(x: f32, weights: &Per<f32>, y: f32) -> Per<u8> {
    // The weights' scale was rounded to f32, so the logarithm is within 2^−20 of a whole number.
    let shift = |w: &f32| {
        (f64::from(y) / (f64::from(x) * f64::from(*w)))
            .log2()
            .round()
            .clamp(0.0, 31.0) as u8
    };
    weights.map(shift)
}
