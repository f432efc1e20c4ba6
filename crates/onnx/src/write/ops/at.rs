//! A node, and the names of its operands and results in the file.

use crate::error::WriteError;
use crate::proto::AttributeProto;
use crate::write::emitter::Emitter;
use strait_core::{Elem, Node, Op};

/// A node of the module that is being written.
#[derive(Clone, Copy)]
pub(in crate::write) struct At<'m> {
    pub(in crate::write) node: &'m Node,
    pub(in crate::write) name: &'m str,
}

impl At<'_> {
    pub(in crate::write) fn unwritable(&self, text: impl Into<String>) -> WriteError {
        WriteError::Unwritable {
            node: self.name.into(),
            text: text.into(),
        }
    }

    /// True if operands replace the lists that the op otherwise has as attributes.
    pub(super) fn has_lists(&self) -> bool {
        self.node.inputs.len() > 1
    }

    pub(super) fn without_operator(&self) -> WriteError {
        let op = self.node.op.name();
        self.unwritable(format!("{op} has no operator of the same meaning in ONNX"))
    }

    pub(in crate::write) fn inputs(&self, emitter: &Emitter<'_>) -> Vec<String> {
        self.node.inputs.iter().map(|&id| emitter.operand(id)).collect()
    }

    pub(in crate::write) fn input(&self, emitter: &Emitter<'_>, position: usize) -> String {
        emitter.operand(self.node.inputs.get(position).copied().flatten())
    }

    pub(in crate::write) fn outputs(&self, emitter: &Emitter<'_>) -> Vec<String> {
        self.node.outputs.iter().map(|&id| emitter.value(id)).collect()
    }

    /// True if the operand at `position` is dequantized from codes.
    pub(super) fn is_dequantized(&self, emitter: &Emitter<'_>, position: usize) -> bool {
        let operand = self.node.inputs.get(position).copied().flatten();
        let producer = operand.and_then(|id| emitter.graph().producer(id));
        producer.is_some_and(|(_, producer)| matches!(producer.op, Op::Dequantize(_)))
    }

    /// The element type and the rank of the first operand.
    pub(in crate::write) fn operand_type(&self, emitter: &Emitter<'_>) -> (Elem, usize) {
        let ty = emitter.ty(self.node.inputs.first().copied().flatten());
        ty.map_or((Elem::F32, 0), |ty| (ty.elem, ty.shape.len()))
    }

    /// Writes the node as one operator with the same operands.
    pub(in crate::write) fn plain(
        &self,
        emitter: &mut Emitter<'_>,
        op: &str,
        attributes: Vec<AttributeProto>,
    ) -> Result<(), WriteError> {
        self.with_lists(emitter, op, attributes, &[])
    }

    /// Writes an operator whose operands are the operands of the node, followed by lists that are attributes of the op.
    /// If the node has operands for the first of these lists, because they are computed at run time, these operands are
    /// written in place of the lists.
    pub(super) fn with_lists(
        &self,
        emitter: &mut Emitter<'_>,
        op: &str,
        attributes: Vec<AttributeProto>,
        lists: &[(&str, &[i64])],
    ) -> Result<(), WriteError> {
        let (mut inputs, outputs) = (self.inputs(emitter), self.outputs(emitter));
        for (name, list) in lists.iter().skip(inputs.len().saturating_sub(1)) {
            inputs.push(emitter.ints(&format!("{}_{name}", self.name), list));
        }
        emitter.node(op, self.name, inputs, outputs, attributes);
        Ok(())
    }

    /// Adds a constant with one element. Its name is derived from the name of the node.
    pub(in crate::write) fn scalar(
        &self,
        emitter: &mut Emitter<'_>,
        name: &str,
        elem: Elem,
        value: f32,
    ) -> Result<String, WriteError> {
        let constant = emitter.scalar(&format!("{}_{name}", self.name), elem, value);
        constant.ok_or_else(|| self.unwritable(format!("{value} is not a constant of {elem}")))
    }
}
