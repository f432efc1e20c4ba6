//! Positions of the largest elements: ARG_MAX, ARG_MIN and TOPK_V2.

use super::super::Site;
use super::super::emitter::{Emitter, Refused, Stored};
use super::super::flatbuffer::Table;
use super::axis;
use crate::names::type_number;
use strait_core::layout::Order;
use strait_core::op::{ArgReduce, Extreme, TopK};
use strait_core::{Elem, ValueId};

pub(super) fn arg_reduce(emitter: &mut Emitter<'_>, site: &Site<'_>, own: &ArgReduce) -> Result<(), Refused> {
    if own.last {
        return Err("it returns the last of equal elements, and ARG_MAX the first".into());
    }
    let x = emitter.image(site.node, 0)?;
    let mut shape = emitter.tensor(x).shape.clone();
    let along = axis(own.axis, shape.len())?;
    let made = emitter.result(site.node)?;
    let name = match own.extreme {
        Extreme::Maximum => "ARG_MAX",
        Extreme::Minimum => "ARG_MIN",
    };
    let elem = emitter.tensor(made).elem;
    let number = type_number(elem).ok_or("its result has a type that no tensor has")?;
    let along_index = emitter.int(along as i32)?;
    shape.remove(along);
    let found = match own.keep_dims {
        true => emitter.like(made, "dropped", shape)?,
        false => made,
    };
    let options = Table::default().byte(0, number, 0);
    emitter.emit(name, &[x, along_index], &[found], Some(options))?;
    match found == made {
        true => Ok(()),
        false => emitter.reshape(found, made),
    }
}

/// Writes the k largest elements along an axis. TOPK_V2 runs along the last axis of the stored tensor, and its
/// positions have 32 bits.
pub(super) fn top_k(emitter: &mut Emitter<'_>, site: &Site<'_>, own: &TopK) -> Result<(), Refused> {
    let &[values, positions] = site.node.outputs.as_slice() else {
        return Err("it has other results than two".into());
    };
    if !own.largest || site.node.inputs.len() > 1 {
        return Err("TOPK_V2 returns the largest elements, and their number is constant".into());
    }
    let x = emitter.operand(site.node, 0)?;
    let rank = emitter.graph.value(x).map_or(0, |value| value.ty.shape.len());
    let along = axis(own.axis, rank)?;
    let axes: Vec<u8> = (0..rank as u8).filter(|&own| usize::from(own) != along).collect();
    let order = Order::of(&[axes, vec![along as u8]].concat());
    let x = emitter.read(x, &order)?;
    let count = i32::try_from(own.k).map_err(|error| error.to_string())?;
    let count = emitter.int(count)?;
    let define = |emitter: &mut Emitter<'_>, value: ValueId| emitter.define(value, order.clone());
    let (values, positions) = (define(emitter, values)?, define(emitter, positions)?);
    let (name, shape) = (
        emitter.tensor(positions).name.clone(),
        emitter.tensor(positions).shape.clone(),
    );
    let (elem, grid) = (Elem::I32, None);
    let short = emitter.add(format!("{name}_short"), Stored { shape, elem, grid }, None)?;
    emitter.emit("TOPK_V2", &[x, count], &[values, short], None)?;
    emitter.emit("CAST", &[short], &[positions], None)
}
