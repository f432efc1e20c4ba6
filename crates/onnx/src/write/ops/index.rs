//! Writes operators that find positions, and those that gather or scatter elements.

use super::At;
use crate::error::WriteError;
use crate::write::attributes::{int, text};
use crate::write::emitter::Emitter;
use strait_core::TensorData;
use strait_core::op::{ArgReduce, Combination, Cumulative, Dft, Extreme, Running, Scatter, ScatterBy, TopK, Transform};

pub(super) fn arg_reduce(emitter: &mut Emitter<'_>, at: At<'_>, op: &ArgReduce) -> Result<(), WriteError> {
    let name = match op.extreme {
        Extreme::Maximum => "ArgMax",
        Extreme::Minimum => "ArgMin",
    };
    let attributes = vec![
        int("axis", op.axis),
        int("keepdims", op.keep_dims),
        int("select_last_index", op.last),
    ];
    super::with_lists(emitter, at, name, attributes, &[])
}

/// A scatter. Maximum and minimum exist from operator set 18 on, which is written if they are needed.
pub(super) fn scatter(emitter: &mut Emitter<'_>, at: At<'_>, op: &Scatter) -> Result<(), WriteError> {
    let mut attributes = Vec::new();
    match op.combine {
        Combination::Replace => {}
        Combination::Add => attributes.push(text("reduction", "add")),
        Combination::Multiply => attributes.push(text("reduction", "mul")),
        Combination::Maximum => attributes.push(text("reduction", "max")),
        Combination::Minimum => attributes.push(text("reduction", "min")),
    }
    match op.by {
        ScatterBy::Element => {
            attributes.push(int("axis", op.axis));
            super::with_lists(emitter, at, "ScatterElements", attributes, &[])
        }
        ScatterBy::Slice => super::with_lists(emitter, at, "ScatterND", attributes, &[]),
    }
}

/// A cumulative sum. Its axis is a scalar operand.
pub(super) fn cumulative(emitter: &mut Emitter<'_>, at: At<'_>, op: &Cumulative) -> Result<(), WriteError> {
    if op.of == Running::Product {
        return Err(at.unwritable("running products are in no operator set that is written"));
    }
    let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
    inputs.push(emitter.constant(&format!("{}_axis", at.name), &TensorData::scalar(op.axis)));
    let attributes = vec![int("exclusive", op.exclusive), int("reverse", op.reverse)];
    emitter.node("CumSum", at.name, inputs, outputs, attributes);
    Ok(())
}

pub(super) fn top_k(emitter: &mut Emitter<'_>, at: At<'_>, op: &TopK) -> Result<(), WriteError> {
    let attributes = vec![int("axis", op.axis), int("largest", op.largest), int("sorted", true)];
    super::with_lists(emitter, at, "TopK", attributes, &[("k", &[op.k])])
}

/// A Fourier transform. From operator set 20 on, its axis is an operand.
pub(super) fn dft(emitter: &mut Emitter<'_>, at: At<'_>, op: &Dft) -> Result<(), WriteError> {
    let (inverse, half) = match op.transform {
        Transform::Forward => (false, false),
        Transform::ForwardHalf => (false, true),
        Transform::Inverse => (true, false),
        Transform::InverseHalf => (true, true),
    };
    let mut attributes = vec![int("inverse", inverse), int("onesided", half)];
    let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
    inputs.push(emitter.constant(
        &format!("{}_length", at.name),
        &TensorData::scalar(i64::from(op.length)),
    ));
    if emitter.opset < 20 {
        attributes.push(int("axis", op.axis));
    } else {
        inputs.push(emitter.constant(&format!("{}_axis", at.name), &TensorData::scalar(op.axis)));
    }
    emitter.node("DFT", at.name, inputs, outputs, attributes);
    Ok(())
}
