//! `multiply_accumulate`: convolution or fully connected layer with constant weights.
//!
//! acc = Σ w·q_x + b', y = requantize(acc), where b' holds the bias and −z_x·Σ w, so that acc stands for
//! Σ w·(q_x − z_x) + b on the grid s_x·s_w\[c\] per output channel. A form without a zero point of its own (a plain shift)
//! has it folded in too: b'' = b' + z_y·2^n.

use super::NodeToLower;
use super::narrow::{Narrow, Product, Wide, emit, narrow};
use crate::bake::{self, Folding};
use crate::interval::{self, any_code, conv_taps, input};
use crate::lowering::{Lowering, integers};
use std::sync::Arc;
use strait_core::op::{Conv, Gemm};
use strait_core::{Channels, Failure, Op, QuantParams, Reason, ReasonCode, TensorData};
use strait_requantize::{Per, range};
use strait_target::spec::{Arithmetic, WeightGrid};

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>, weight_grid: WeightGrid) -> Result<(), Failure> {
    let (x, w) = (site.input(0)?, site.input(1)?);
    let activation = walk.operand_grid(site, 0)?;
    let (x_scale, x_zero) = (activation.scale, activation.zero);
    let (scheme, grid) = walk.weight_grid(site.id)?;
    let weight = walk
        .constant(w)
        .ok_or_else(|| Failure::defect("its weights are not constants"))?;
    // The grid that a shift leads to: there is one where the result has codes.
    let target = walk.result_grid(site).filter(|_| weight_grid.leaves_a_shift());
    let folding = target
        .as_ref()
        .filter(|_| weight_grid == WeightGrid::MaxAbsThenShift)
        .map(|y| Folding { x: x_scale, y: y.scale });
    let codes = bake::weights(weight, &grid, &scheme, folding)?;
    let channels = weight.shape().first().copied().unwrap_or(1) as usize;
    let bias = site
        .node
        .inputs
        .get(2)
        .copied()
        .flatten()
        .and_then(|b| walk.constant(b));
    let bias = bias.map(TensorData::to_f32).transpose()?;
    let rounding = walk.spec.quantize.bias_rounding();
    let real_bias = bias.as_deref().unwrap_or_default();
    let mut biases = bake::biases(real_bias, &codes, &grid.scale, (x_scale, x_zero), channels, rounding);
    let shifts = target.map(|y| (bake::shifts(x_scale, &grid.scale, y.scale), y));
    let mut acc_zero = Per::Tensor(0);
    if let Some((shifts, y)) = &shifts {
        let folded = shifts.map(|&s| i64::from(y.zero) << s);
        biases
            .iter_mut()
            .enumerate()
            .for_each(|(c, b)| *b = b.saturating_add(folded.get(c).copied().unwrap_or(0)));
        acc_zero = folded.try_map(|&z| {
            let text = || format!("the zero point before the shift is {z}, past 32 bits");
            i32::try_from(z).map_err(|_| Reason::new(ReasonCode::AccumulatorOverflow, text()))
        })?;
    }
    let bits = walk
        .spec
        .types
        .bias
        .get(&activation.ty.into())
        .map_or(32, |bias| bias.bits());
    let wide = |(_, bias): &(usize, &i64)| (**bias >> (bits - 1)) != 0 && (**bias >> (bits - 1)) != -1;
    if let Some((channel, bias)) = biases.iter().enumerate().find(wide) {
        let text =
            format!("the bias of channel {channel}, with all that is folded into it, is {bias}: past {bits} bits");
        return Err(Reason::new(ReasonCode::BiasWidth, text).into());
    }
    let dims = |value| walk.graph().value(value).and_then(|v| v.ty.dims());
    let taps = match &site.node.op {
        Op::Conv(conv) => {
            let (operand, result) = (dims(x).unwrap_or_default(), dims(site.output()?).unwrap_or_default());
            conv_taps(conv, weight.shape(), &operand, &result)
        }
        _ => None,
    };
    let read = range::Input {
        any_pattern: walk.input_behind(site, 0).is_some(),
        ..input(any_code(activation.ty), taps.as_ref(), x_zero)
    };
    let (accumulator, carrier) = (walk.accumulator(site)?, walk.carrier(site)?);
    for (channel, sum) in interval::sums(&codes, &biases, read).enumerate() {
        range::prove(channel, &sum, accumulator)
            .map_err(|overflow| Reason::new(ReasonCode::AccumulatorOverflow, overflow.to_string()))?;
    }
    // The accumulator's own grid; a folded zero point is its code of real zero.
    let acc_scale = grid.scale.map(|s| x_scale * s);
    let rank = walk.graph().value(site.output()?).map_or(1, |v| v.ty.shape.len());
    let axis = if matches!(site.node.op, Op::Conv(_)) {
        1
    } else {
        rank.saturating_sub(1)
    };
    let per_channel = acc_scale.channels().is_some() || acc_zero.channels().is_some();
    let acc_grid = QuantParams {
        scale: acc_scale,
        zero_point: acc_zero,
        axis: per_channel.then_some(axis as u8),
        block: None,
    };
    let weight_type = scheme
        .elem()
        .ok_or_else(|| Failure::defect("its weights have no codes"))?;
    let name = |what: &str| format!("{what}:codes");
    let weights = walk.data(
        &name("weight"),
        integers(weight.shape(), &codes, weight_type)?,
        Some(grid.clone()),
    );
    let biases = TensorData::from_integers(carrier.elem(), &[channels as u64], &biases)?;
    let biases = walk.data(&name("bias"), biases, None);
    let operands = [walk.operand(site, 0)?.value, weights, biases];
    let op: Op = match &site.node.op {
        Op::Conv(conv) => Conv {
            pad_value: x_zero,
            accumulator: carrier,
            ..(**conv).clone()
        }
        .into(),
        _ => Gemm {
            accumulator: carrier,
            ..Gemm::canonical()
        }
        .into(),
    };
    let acc = walk.emit(site.node, op, &operands, Some(Arc::new(acc_grid)), "accumulate")?;
    let product = match &site.node.op {
        Op::Conv(_) => Product::Convolution(x_scale, &grid.scale),
        _ => Product::FullyConnected(x_scale, &grid.scale),
    };
    let wide = Wide {
        acc,
        zero: 0,
        product,
        channels: Channels::Axis(axis),
    };
    let Some((shifts, y)) = shifts else {
        return narrow(walk, site, wide);
    };
    let to = Narrow::from(&y);
    let spec = walk.spec;
    let mut rows = site
        .row
        .requantize
        .iter()
        .filter_map(|name| spec.form.get(name.as_str()));
    let row = rows.find(|row| row.kind == Arithmetic::Shift);
    let row = row.ok_or_else(|| Reason::new(ReasonCode::NoForm, "the row has no form that shifts"))?;
    let form = row.build_shift(shifts, to.out)?;
    let codes = emit(walk, site, wide, to, form, "requantize")?;
    walk.set_codes(site, 0, codes)
}
