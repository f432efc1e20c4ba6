//! Writes operators that find positions, and operators that gather or scatter elements.

use super::operator::{At, Emitter, Operator, WriteError};
use crate::write::attributes::{int, text};
use strait_core::op::{ArgReduce, Combination, Cumulative, Dft, Extreme, Running, Scatter, ScatterBy, TopK, Transform};
use strait_core::{Graph, Node, TensorData};

impl Operator for ArgReduce {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let name = match self.extreme {
            Extreme::Maximum => "ArgMax",
            Extreme::Minimum => "ArgMin",
        };
        let attributes = vec![
            int("axis", self.axis),
            int("keepdims", self.keep_dims),
            int("select_last_index", self.last),
        ];
        at.plain(emitter, name, attributes)
    }
}

/// Writes a scatter. Maximum and minimum exist only from operator set 18 on. If they are needed, that operator set is
/// written.
impl Operator for Scatter {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let mut attributes = Vec::new();
        match self.combine {
            Combination::Replace => {}
            Combination::Add => attributes.push(text("reduction", "add")),
            Combination::Multiply => attributes.push(text("reduction", "mul")),
            Combination::Maximum => attributes.push(text("reduction", "max")),
            Combination::Minimum => attributes.push(text("reduction", "min")),
        }
        match self.by {
            ScatterBy::Element => {
                attributes.push(int("axis", self.axis));
                at.plain(emitter, "ScatterElements", attributes)
            }
            ScatterBy::Slice => at.plain(emitter, "ScatterND", attributes),
        }
    }

    fn since(&self, _: &Graph, _: &Node) -> i64 {
        match self.combine {
            Combination::Maximum | Combination::Minimum => 18,
            Combination::Replace | Combination::Add | Combination::Multiply => 1,
        }
    }
}

/// Writes a cumulative sum. In ONNX, the axis is an operand with a single number.
impl Operator for Cumulative {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        if self.of == Running::Product {
            return Err(at.unwritable("running products are in no operator set that is written"));
        }
        let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
        inputs.push(emitter.constant(&format!("{}_axis", at.name), &TensorData::scalar(self.axis)));
        let attributes = vec![int("exclusive", self.exclusive), int("reverse", self.reverse)];
        emitter.node("CumSum", at.name, inputs, outputs, attributes);
        Ok(())
    }
}

impl Operator for TopK {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let mut attributes = vec![int("axis", self.axis), int("largest", self.largest)];
        if !at.has_lists() {
            attributes.push(int("sorted", true));
        }
        at.with_lists(emitter, "TopK", attributes, &[("k", &[self.k])])
    }
}

/// Writes a Fourier transform. From operator set 20 on, the axis is an operand.
impl Operator for Dft {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let (inverse, half) = match self.transform {
            Transform::Forward => (false, false),
            Transform::ForwardHalf => (false, true),
            Transform::Inverse => (true, false),
            Transform::InverseHalf => (true, true),
        };
        let mut attributes = vec![int("inverse", inverse), int("onesided", half)];
        let (mut inputs, outputs) = (at.inputs(emitter), at.outputs(emitter));
        inputs.push(emitter.constant(
            &format!("{}_length", at.name),
            &TensorData::scalar(i64::from(self.length)),
        ));
        if emitter.opset < 20 {
            attributes.push(int("axis", self.axis));
        } else {
            inputs.push(emitter.constant(&format!("{}_axis", at.name), &TensorData::scalar(self.axis)));
        }
        emitter.node("DFT", at.name, inputs, outputs, attributes);
        Ok(())
    }

    fn since(&self, _: &Graph, _: &Node) -> i64 {
        if self.transform == Transform::InverseHalf {
            20
        } else {
            1
        }
    }
}
