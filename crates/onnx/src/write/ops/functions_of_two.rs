//! Writes functions of two operands.

use super::operator::{At, Emitter, Operator, WriteError};
use crate::write::attributes::{int, text};
use strait_core::op::{Binary, BinaryFunction, Compare, Relation};
use strait_core::{Elem, Graph, Node};

/// Writes a function of two operands. For booleans, the operators of ONNX have other names.
impl Operator for Binary {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let truth = at.operand_type(emitter).0 == Elem::Bool;
        let direction = |word: &str| vec![text("direction", word)];
        let (name, attributes) = match self.function {
            BinaryFunction::Minimum => ("Min", vec![]),
            BinaryFunction::Maximum => ("Max", vec![]),
            BinaryFunction::Modulo => ("Mod", vec![]),
            BinaryFunction::Remainder => ("Mod", vec![int("fmod", 1)]),
            BinaryFunction::And if truth => ("And", vec![]),
            BinaryFunction::Or if truth => ("Or", vec![]),
            BinaryFunction::Xor if truth => ("Xor", vec![]),
            BinaryFunction::And => ("BitwiseAnd", vec![]),
            BinaryFunction::Or => ("BitwiseOr", vec![]),
            BinaryFunction::Xor => ("BitwiseXor", vec![]),
            BinaryFunction::ShiftLeft => ("BitShift", direction("LEFT")),
            BinaryFunction::ShiftRight | BinaryFunction::ShiftRightUnsigned => ("BitShift", direction("RIGHT")),
        };
        at.plain(emitter, name, attributes)
    }

    fn since(&self, graph: &Graph, node: &Node) -> i64 {
        // True for a bitwise operator on integers. Operator set 17 has only the operators on booleans.
        let operand = node.inputs.first().copied().flatten().and_then(|id| graph.value(id));
        let bits = [BinaryFunction::And, BinaryFunction::Or, BinaryFunction::Xor];
        let is_bitwise = bits.contains(&self.function) && operand.is_some_and(|operand| operand.ty.elem != Elem::Bool);
        if is_bitwise { 18 } else { 1 }
    }
}

impl Operator for Compare {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let name = match self.relation {
            Relation::Equal => "Equal",
            Relation::Less => "Less",
            Relation::LessOrEqual => "LessOrEqual",
        };
        at.plain(emitter, name, vec![])
    }
}
