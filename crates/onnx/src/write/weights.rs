//! Decides which constant matrices are written transposed, with the shape [inputs, outputs].
//!
//! The weights of a `gemm` have the shape [outputs, inputs]. ONNX's MatMul has no attribute to transpose them, and a
//! Transpose before it would run with every inference, even on weights that are dequantized. For weight-only layers,
//! ONNX Runtime has a kernel that reads the codes directly; it expects [inputs, outputs] with blocks of inputs. So if
//! all readers of a matrix need it transposed, it is written transposed.

use super::emitter::Emitter;
use bytes::Bytes;
use std::collections::BTreeSet;
use strait_core::op::Op;
use strait_core::{Graph, TensorData, TensorError, ValueId};

impl Emitter<'_> {
    /// True if the file has this matrix transposed. This is so if a constant is written transposed, and the matrix is
    /// this constant or is dequantized from it.
    pub(super) fn is_turned(&self, id: Option<ValueId>) -> bool {
        id.is_some_and(|id| self.scope.turned.contains(&id))
    }
}

/// The constants of a graph that are written transposed, and the values that are dequantized from these constants.
pub(super) fn turned(graph: &Graph) -> BTreeSet<ValueId> {
    let is_matrix = |id: &ValueId| graph.value(*id).is_some_and(|value| value.ty.shape.len() == 2);
    let constants = graph.values().map(|(id, _)| id).filter(is_matrix);
    let with_reals = constants.filter_map(|id| graph.data_of(id).and_then(|_| of_constant(graph, id)));
    with_reals.flatten().collect()
}

/// The constant `id` and all values that are dequantized from it. `None` if it is not written transposed.
fn of_constant(graph: &Graph, id: ValueId) -> Option<Vec<ValueId>> {
    let mut readers = graph.uses(id).filter_map(|reader| graph.node(reader.node)).peekable();
    readers.peek()?;
    let reals: Option<Vec<ValueId>> = readers
        .map(|reader| match reader.op {
            Op::Dequantize(_) => reader.outputs.first().copied(),
            _ => None,
        })
        .collect();
    let has_codes = reals.is_some();
    let found = reals.unwrap_or_else(|| vec![id]);
    let all = found.iter().all(|&real| is_wanted_turned(graph, real, has_codes));
    all.then(|| std::iter::once(id).chain(found).collect())
}

/// True if a matrix has readers and all of them need it transposed. A reader needs that if it is a `gemm` that cannot
/// be written as ONNX's Gemm, or if its activations are real numbers and the matrix has codes.
fn is_wanted_turned(graph: &Graph, id: ValueId, has_codes: bool) -> bool {
    let mut readers = graph.uses(id).peekable();
    let turns = |(node, operand): (&strait_core::Node, usize)| {
        let Op::Gemm(gemm) = &node.op else { return false };
        let activation = node.inputs.first().copied().flatten();
        let rank = activation
            .and_then(|id| graph.value(id))
            .map(|value| value.ty.shape.len());
        let producer = activation.and_then(|id| graph.producer(id));
        let is_real = producer.is_none_or(|(_, producer)| !matches!(producer.op, Op::Dequantize(_)));
        operand == 1 && gemm.transpose_b && (rank != Some(2) || has_codes && is_real)
    };
    let is_read = readers.peek().is_some() && !graph.is_output(id);
    is_read && readers.all(|at| graph.node(at.node).is_some_and(|node| turns((node, at.operand.into()))))
}

/// The transpose of a matrix.
pub(super) fn transpose(matrix: &TensorData) -> Result<TensorData, TensorError> {
    let &[rows, columns] = matrix.shape() else {
        return Ok(matrix.clone());
    };
    let (size, bytes) = (matrix.elem().size(), matrix.unpacked());
    let mut turned = Vec::with_capacity(bytes.len());
    let [height, width] = [rows, columns].map(|extent| extent as usize);
    for column in 0..width {
        let each = (0..height).filter_map(|row| bytes.chunks_exact(size).nth(row * width + column));
        each.for_each(|element| turned.extend_from_slice(element));
    }
    TensorData::from_unpacked(matrix.elem(), &[columns, rows], Bytes::from(turned))
}
