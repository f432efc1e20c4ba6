//! Operators that only move elements.

use super::super::Site;
use super::super::emitter::{Emitter, Refused};
use super::super::flatbuffer::Table;
use super::axis;
use strait_core::Elem;
use strait_core::layout::Order;
use strait_core::op::{Pad, PadMode, Slice, Split};

/// Writes an op that gives the operand's elements another shape or order. If the stored elements keep their order, a
/// RESHAPE is enough. If they also keep their shape, no operator is written.
pub(super) fn rearrange(emitter: &mut Emitter<'_>, site: &Site<'_>) -> Result<(), Refused> {
    let (value, result) = (emitter.operand(site.node, 0)?, site.result.ok_or("it has no result")?);
    let x = emitter.image(site.node, 0)?;
    let order = emitter.layouts.of(emitter.graph, result);
    let stored = emitter.stored(result, &order)?;
    let is_kept = match &site.node.op {
        // True if the stored order of the result already has the elements where the transpose puts them, so that none
        // of them moves.
        strait_core::Op::Transpose(transpose) => {
            let read = emitter.layouts.read(emitter.graph, site.node, 0);
            read.axes()
                .zip(order.axes())
                .all(|(from, to)| transpose.permutation.get(to) == Some(&(from as u32)))
        }
        _ => true,
    };
    if !is_kept {
        let strait_core::Op::Transpose(transpose) = &site.node.op else {
            return Err("its elements move".into());
        };
        let permutation: Vec<i32> = transpose.permutation.iter().map(|&axis| axis as i32).collect();
        let x = emitter.read(value, &Order::plain(permutation.len()))?;
        let list = emitter.ints(&permutation)?;
        let made = emitter.define(result, order)?;
        return emitter.emit("TRANSPOSE", &[x, list], &[made], None);
    }
    if emitter.tensor(x).shape == stored.shape {
        emitter.alias(result, order, x);
        return Ok(());
    }
    let made = emitter.define(result, order)?;
    emitter.reshape(x, made)
}

pub(super) fn concat(emitter: &mut Emitter<'_>, site: &Site<'_>, along: i64) -> Result<(), Refused> {
    let order = emitter.result_order(site.node);
    let along = position(&order, along)?;
    let mut operands = Vec::with_capacity(site.node.inputs.len());
    for at in 0..site.node.inputs.len() {
        operands.push(emitter.image(site.node, at)?);
    }
    let made = emitter.result(site.node)?;
    let options = Table::default().int(0, along as i32, 0);
    emitter.emit("CONCATENATION", &operands, &[made], Some(options))
}

pub(super) fn split(emitter: &mut Emitter<'_>, site: &Site<'_>, split: &Split) -> Result<(), Refused> {
    let order = emitter.layouts.read(emitter.graph, site.node, 0);
    let along = position(&order, split.axis)?;
    let x = emitter.image(site.node, 0)?;
    let mut parts = Vec::with_capacity(site.node.outputs.len());
    for &part in &site.node.outputs {
        parts.push(emitter.define(part, order.clone())?);
    }
    let along = emitter.int(along as i32)?;
    let count = Table::default().int(0, parts.len() as i32, 0);
    if split.sizes.windows(2).all(|pair| pair[0] == pair[1]) {
        return emitter.emit("SPLIT", &[along, x], &parts, Some(count));
    }
    let sizes: Vec<i32> = split.sizes.iter().map(|&size| size as i32).collect();
    let sizes = emitter.ints(&sizes)?;
    emitter.emit("SPLIT_V", &[x, sizes, along], &parts, Some(count))
}

pub(super) fn slice(emitter: &mut Emitter<'_>, site: &Site<'_>, slice: &Slice) -> Result<(), Refused> {
    if site.node.inputs.len() > 1 {
        return Err("its positions depend on the input".into());
    }
    let order = emitter.layouts.read(emitter.graph, site.node, 0);
    let x = emitter.image(site.node, 0)?;
    let shape = emitter.tensor(x).shape.clone();
    let (mut begins, mut ends, mut steps) = (vec![0; shape.len()], shape.clone(), vec![1; shape.len()]);
    for (at, &along) in slice.axes.iter().enumerate() {
        let along = position(&order, along)?;
        let number = |list: &[i64]| list.get(at).copied();
        let (Some(start), Some(end)) = (number(&slice.starts), number(&slice.ends)) else {
            return Err("its positions depend on the input".into());
        };
        let step = number(&slice.steps).unwrap_or(1);
        if step < 0 {
            return Err("it goes backwards".into());
        }
        let extent = shape[along] as i64;
        let clamped = |position: i64| {
            if position < 0 {
                position.saturating_add(extent)
            } else {
                position
            }
            .clamp(0, extent)
        };
        (begins[along], ends[along]) = (clamped(start), clamped(end) as u64);
        steps[along] = i32::try_from(step).unwrap_or(i32::MAX);
    }
    let begins: Vec<i32> = begins.iter().map(|&begin| begin as i32).collect();
    let ends: Vec<i32> = ends.iter().map(|&end| end as i32).collect();
    let lists = [emitter.ints(&begins)?, emitter.ints(&ends)?, emitter.ints(&steps)?];
    let made = emitter.result(site.node)?;
    let options = Some(Table::default());
    emitter.emit("STRIDED_SLICE", &[x, lists[0], lists[1], lists[2]], &[made], options)
}

pub(super) fn pad(emitter: &mut Emitter<'_>, site: &Site<'_>, pad: &Pad) -> Result<(), Refused> {
    if pad.amounts.iter().any(|&amount| amount < 0) {
        return Err("it removes elements".into());
    }
    let x = emitter.image(site.node, 0)?;
    let order = emitter.layouts.read(emitter.graph, site.node, 0);
    let (begins, ends) = pad.amounts.split_at(pad.amounts.len() / 2);
    let pairs = order.stored(begins).into_iter().zip(order.stored(ends));
    let pairs: Vec<[i32; 2]> = pairs.map(|(begin, end)| [begin as i32, end as i32]).collect();
    let amounts = emitter.matrix(&pairs)?;
    let made = emitter.result(site.node)?;
    let mirrored = |mode: i8| Some(Table::default().byte(0, mode, 0));
    match pad.mode {
        PadMode::Constant if pad.value == 0.0 => emitter.emit("PAD", &[x, amounts], &[made], None),
        PadMode::Constant => {
            let tensor = emitter.tensor(x);
            let number = match (tensor.elem, &tensor.grid) {
                (Elem::F32, _) => f64::from(pad.value),
                (elem, Some(grid)) => {
                    let (scale, zero) = grid.as_tensor().ok_or("its operand has several scales")?;
                    let (least, greatest) = elem.integers().ok_or("its operand has no codes")?;
                    let code = (pad.value / scale).round() as i64 + i64::from(zero);
                    code.clamp(least, greatest) as f64
                }
                _ => return Err("its operand has no grid".into()),
            };
            let number = emitter.number_like(x, number)?;
            emitter.emit("PADV2", &[x, amounts, number], &[made], None)
        }
        PadMode::Reflect => emitter.emit("MIRROR_PAD", &[x, amounts], &[made], mirrored(0)),
        // If only one element is added, repeating the border element gives the same as mirroring with the border
        // element included.
        PadMode::Edge if pad.amounts.iter().all(|&amount| amount <= 1) => {
            emitter.emit("MIRROR_PAD", &[x, amounts], &[made], mirrored(1))
        }
        PadMode::Edge => Err("it repeats the border element more than once".into()),
    }
}

pub(super) fn expand(emitter: &mut Emitter<'_>, site: &Site<'_>) -> Result<(), Refused> {
    let x = emitter.image(site.node, 0)?;
    let made = emitter.result(site.node)?;
    let shape: Vec<i32> = emitter.tensor(made).shape.iter().map(|&extent| extent as i32).collect();
    let shape = emitter.ints(&shape)?;
    emitter.emit("BROADCAST_TO", &[x, shape], &[made], None)
}

pub(super) fn gather(emitter: &mut Emitter<'_>, site: &Site<'_>, along: i64) -> Result<(), Refused> {
    let (x, indices) = (emitter.image(site.node, 0)?, emitter.image(site.node, 1)?);
    let along = axis(along, emitter.tensor(x).shape.len())?;
    let made = emitter.result(site.node)?;
    let options = Table::default().int(0, along as i32, 0);
    emitter.emit("GATHER", &[x, indices], &[made], Some(options))
}

/// The position of a value's axis in a tensor whose axes are in `order`.
fn position(order: &Order, along: i64) -> Result<usize, Refused> {
    let along = axis(along, order.axes().len())?;
    order.position(along).ok_or_else(|| "it has no such axis".into())
}
