//! `multiply_accumulate`: convolution or fully connected layer with constant weights.
//!
//! acc = Σ w·q_x + b', y = requantize(acc), where b' holds the bias and −z_x·Σ w, so that acc stands for
//! Σ w·(q_x − z_x) + b on the grid s_x·s_w\[c\] per output channel. A form without a zero point of its own (a plain shift)
//! has it folded in too: b'' = b' + z_y·2^n.

use super::Site;
use super::narrow::{Wide, narrow};
use crate::bake;
use crate::forms::Product;
use crate::interval::product_bounds;
use crate::lowering::{Lowering, integers};
use std::sync::Arc;
use strait_core::op::{Conv, Gemm};
use strait_core::{Elem, Op, QuantParams, Reason, TensorData};
use strait_requantize::Per;
use strait_target::spec::ZeroPoint;

/// How far the zero point of the result is shifted left where the form wants it in the bias, per channel.
fn folded_zero(walk: &Lowering<'_>, site: &Site<'_>, x: f32, weights: &Per<f32>) -> Result<Option<Vec<i64>>, Reason> {
    let folds = |name: &str| {
        walk.spec
            .form
            .get(name)
            .is_some_and(|row| *row.zero_point == ZeroPoint::Folded)
    };
    if !walk.has_grid(site.id, site.node) || !site.forms().next().is_some_and(folds) {
        return Ok(None);
    }
    let (y, zero) = walk.grid(site.output()?)?;
    let shift = |w: &f32| (f64::from(y) / (f64::from(x) * f64::from(*w))).log2().round();
    Ok(Some(
        weights
            .map(|w| i64::from(zero) << shift(w).clamp(0.0, 31.0) as u32)
            .values()
            .to_vec(),
    ))
}

pub(super) fn lower(walk: &mut Lowering<'_>, site: &Site<'_>) -> Result<(), Reason> {
    let (x, w) = (site.input(0)?, site.input(1)?);
    let (x_scale, x_zero) = walk.grid(x)?;
    let grid = walk.weight_grid(site.id)?;
    let weight = walk
        .constant(w)
        .ok_or_else(|| Reason::new("weight-not-constant", "its weights are not constants"))?;
    let range = walk.spec.types.weight_range();
    let codes = bake::codes(weight, &grid, &range, walk.spec.quantize.weight_rounding())?;
    let channels = weight.shape().first().copied().unwrap_or(1) as usize;
    let bias = site
        .node
        .inputs
        .get(2)
        .copied()
        .flatten()
        .and_then(|b| walk.constant(b));
    let bias = bias
        .map(TensorData::to_f32)
        .transpose()
        .map_err(|e| Reason::new("parameter", e.to_string()))?;
    let rounding = walk.spec.quantize.bias_rounding();
    let real_bias = bias.as_deref().unwrap_or_default();
    let mut biases = bake::biases(real_bias, &codes, &grid.scale, (x_scale, x_zero), channels, rounding);
    let folded = folded_zero(walk, site, x_scale, &grid.scale)?;
    if let Some(folded) = &folded {
        biases
            .iter_mut()
            .enumerate()
            .for_each(|(c, b)| *b += folded[c % folded.len()]);
    }
    let x_range = walk.spec.types.activation_range();
    let bounds = product_bounds(
        &codes,
        &biases,
        (i64::from(*x_range.start()), i64::from(*x_range.end())),
    );
    if let Some(channel) = bounds
        .iter()
        .position(|&(low, high)| low < i32::MIN.into() || high > i32::MAX.into())
    {
        let (low, high) = bounds[channel];
        return Err(Reason::new(
            "accumulator-overflow",
            format!("the sum of channel {channel} can reach [{low}, {high}], past 32 bits"),
        ));
    }
    let biases: Vec<i32> = biases.iter().map(|&b| b as i32).collect();
    // The accumulator's own grid; a folded zero point is its code of real zero.
    let acc_scale = grid.scale.map(|s| x_scale * s);
    let acc_zero = match folded {
        Some(folded) => match (&acc_scale, folded.as_slice()) {
            (Per::Tensor(_), &[zero, ..]) => Per::Tensor(zero as i32),
            _ => Per::Channel(folded.iter().map(|&z| z as i32).collect()),
        },
        None => Per::Tensor(0),
    };
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
    };
    let weight_type = Elem::from(walk.spec.types.weight_type());
    let name = |what: &str| format!("{what}:codes");
    let weights = walk.data(
        &name("weight"),
        integers(weight.shape(), &codes, weight_type)?,
        Some(grid.clone()),
    );
    let biases = walk.data(&name("bias"), integers(&[channels as u64], &biases, Elem::I32)?, None);
    let operands = [walk.codes(x)?, weights, biases];
    let op: Op = match &site.node.op {
        Op::Conv(conv) => Conv {
            pad_value: x_zero,
            ..(**conv).clone()
        }
        .into(),
        _ => Gemm::canonical().into(),
    };
    let acc = walk.emit(site.node, op, &operands, Some(Arc::new(acc_grid)), "accumulate")?;
    let product = match &site.node.op {
        Op::Conv(_) => Product::Convolution {
            input: x_scale,
            weights: &grid.scale,
        },
        _ => Product::FullyConnected {
            input: x_scale,
            weights: &grid.scale,
        },
    };
    narrow(
        walk,
        site,
        Wide {
            acc,
            zero: 0,
            product,
            axis: axis as u32,
        },
    )
}
