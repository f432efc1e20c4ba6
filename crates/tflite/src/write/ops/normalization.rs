//! Normalizations of real numbers, from operators that TFLite has.

use super::super::Site;
use super::super::emitter::{Emitter, Refused, Stored};
use super::super::flatbuffer::Table;
use super::axis;
use super::elementwise::broadcast;
use strait_core::layout::Order;
use strait_core::{Elem, TensorData};

/// (x − m) / √(mean((x − m)²) + epsilon) · scale + bias. In a layer normalization, m is mean(x) and `centred` is true. In
/// a normalization by the root mean square, m is 0.
pub(super) fn normalization(
    emitter: &mut Emitter<'_>,
    site: &Site<'_>,
    centred: bool,
    (first, epsilon): (i64, f32),
) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    let tensor = emitter.tensor(x);
    if tensor.elem != Elem::F32 {
        return Err("LiteRT has no normalization of codes".into());
    }
    let shape = tensor.shape.clone();
    let first = axis(first, shape.len())?;
    let axes: Vec<i32> = (first as i32..shape.len() as i32).collect();
    let axes = emitter.ints(&axes)?;
    let mut reduced = shape.clone();
    reduced[first..].fill(1);
    let keeps = || Some(Table::default().byte(0, 1, 0));
    let step = |emitter: &mut Emitter<'_>, name: &'static str, a, b, suffix: &str, shape: &[u64]| {
        let made = emitter.like(x, suffix, shape.to_vec())?;
        emitter.emit(name, &[a, b], &[made], Some(Table::default()))?;
        Ok::<_, Refused>(made)
    };
    let centred = match centred {
        true => {
            let mean = emitter.like(x, "mean", reduced.clone())?;
            emitter.emit("MEAN", &[x, axes], &[mean], keeps())?;
            step(emitter, "SUB", x, mean, "centred", &shape)?
        }
        false => x,
    };
    let squares = step(emitter, "MUL", centred, centred, "squares", &shape)?;
    let variance = emitter.like(x, "variance", reduced.clone())?;
    emitter.emit("MEAN", &[squares, axes], &[variance], keeps())?;
    let epsilon = emitter.number_like(x, epsilon.into())?;
    let shifted = step(emitter, "ADD", variance, epsilon, "shifted", &reduced)?;
    let deviation = emitter.like(x, "deviation", reduced)?;
    emitter.emit("SQRT", &[shifted], &[deviation], None)?;
    let mut made = step(emitter, "DIV", centred, deviation, "normalized", &shape)?;
    let result = site.result.ok_or("it has no result")?;
    let plain = Order::plain(shape.len());
    let count = site.node.inputs.iter().flatten().count();
    for (at, operator) in [(1, "MUL"), (2, "ADD")] {
        if at >= count {
            continue;
        }
        let operand = broadcast(emitter, site.node, at, &plain)?;
        let next = match at + 1 == count {
            true => emitter.define(result, plain.clone())?,
            false => emitter.like(x, "scaled", shape.clone())?,
        };
        emitter.emit(operator, &[made, operand], &[next], Some(Table::default()))?;
        made = next;
    }
    Ok(())
}

/// x·f + (bias − mean·f) for each channel, with f = scale / √(variance + epsilon), which is computed here.
pub(super) fn batch(emitter: &mut Emitter<'_>, site: &Site<'_>, epsilon: f32) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    let order = emitter.layouts.read(emitter.graph, site.node, 0);
    if emitter.tensor(x).elem != Elem::F32 {
        return Err("LiteRT has no batch normalization of codes".into());
    }
    let mut of_channels = Vec::with_capacity(4);
    for at in 1..5 {
        let value = emitter.operand(site.node, at)?;
        let data = emitter.constant(value).ok_or("its statistics are not constant")?;
        of_channels.push(data.to_f32().map_err(|error| error.to_string())?.to_vec());
    }
    let [scale, bias, mean, variance] = of_channels.as_slice() else {
        return Err("it has no statistics".into());
    };
    let factors: Vec<f32> = scale
        .iter()
        .zip(variance)
        .map(|(scale, variance)| scale / (variance + epsilon).sqrt())
        .collect();
    let shifted = bias.iter().zip(mean).zip(&factors);
    let offsets: Vec<f32> = shifted.map(|((bias, mean), factor)| bias - mean * factor).collect();
    let mut shape = vec![1; order.axes().len()];
    let channels = order.position(1).ok_or("it has no axis of channels")?;
    shape[channels] = factors.len() as u64;
    let constant = |emitter: &mut Emitter<'_>, values: &[f32]| {
        let data = TensorData::from_values(&shape, values).map_err(|error| error.to_string())?;
        let (shape, elem, grid) = (shape.clone(), Elem::F32, None);
        let name = format!("channels_{}", emitter.file.tensors.len());
        emitter.add(name, Stored { shape, elem, grid }, Some(data.bytes().clone()))
    };
    let (factors, offsets) = (constant(emitter, &factors)?, constant(emitter, &offsets)?);
    let scaled = emitter.step("MUL", &[x, factors], "scaled", Some(Table::default()))?;
    let made = emitter.result(site.node)?;
    emitter.emit("ADD", &[scaled, offsets], &[made], Some(Table::default()))
}
