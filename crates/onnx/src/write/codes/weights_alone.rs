//! Products and embeddings of real numbers whose weights alone have codes, with a scale for each block: MatMulNBits and
//! GatherBlockQuantized of ONNX Runtime.
//!
//! Both operators take codes without sign, several in a byte, the first one in the lowest bits: w = s·(q − z). A matrix
//! of [rows, columns] has scales [rows, blocks], and zero points that are packed as the codes, each row from a new byte
//! on. A MatMulNBits without zero points has z = 2ᵇ⁻¹.

use super::super::attributes::int;
use super::super::emitter::{Emitter, RUNTIME_DOMAIN};
use super::super::ops::At;
use crate::error::WriteError;
use bytes::Bytes;
use std::collections::BTreeSet;
use strait_core::{Elem, Graph, Node, Op, TensorData, ValueId};

/// The attribute `accuracy_level` with which MatMulNBits adds products of real numbers. The default of some sessions
/// rounds activations to 8 bits.
const REAL_NUMBERS: i64 = 1;

/// The smallest block that the operators take. A block is a power of two.
const LEAST_BLOCK: u32 = 16;

/// The codes that only these operators read, and the real numbers that are dequantized from them. Neither is in the
/// file.
pub(in crate::write) fn packed(graph: &Graph) -> BTreeSet<ValueId> {
    let codes = graph.values().map(|(id, _)| id);
    let codes = codes.filter(|&id| graph.data_of(id).is_some() && !graph.is_output(id));
    codes.filter_map(|id| of_codes(graph, id)).flatten().collect()
}

fn of_codes(graph: &Graph, id: ValueId) -> Option<Vec<ValueId>> {
    layout(graph, id)?;
    let mut found = vec![id];
    for at in graph.uses(id) {
        let node = graph
            .node(at.node)
            .filter(|node| matches!(node.op, Op::Dequantize(_)))?;
        let real = node.result().filter(|&real| !graph.is_output(real))?;
        let mut readers = graph.uses(real);
        let takes = |node: &Node| takes(graph, node, real);
        readers.all(|at| graph.node(at.node).is_some_and(takes)).then_some(())?;
        found.push(real);
    }
    (found.len() > 1).then_some(found)
}

/// True if a node takes the matrix `weights` by one of the operators.
fn takes(graph: &Graph, node: &Node, weights: ValueId) -> bool {
    let others = |operand: usize| node.input(operand) != Some(weights);
    let is_real = |value| graph.value(value).is_some_and(|value| value.ty.elem == Elem::F32);
    match &node.op {
        Op::Gemm(gemm) => {
            let bias = node.input(2).and_then(|bias| graph.value(bias));
            let is_list = bias.is_none_or(|bias| bias.ty.shape.len() == 1 && bias.ty.elem == Elem::F32);
            gemm.is_canonical() && node.input(0).is_some_and(is_real) && is_list && others(0) && others(2)
        }
        Op::Gather(gather) => matches!(gather.axis, 0 | -2) && others(1),
        _ => false,
    }
}

/// How the codes of a matrix are packed.
#[derive(Clone, Copy)]
struct Layout {
    rows: u64,
    columns: u64,
    block: u32,
    bits: u32,
    /// What is added to a code so that it has no sign.
    offset: i64,
}

impl Layout {
    fn blocks(self) -> u64 {
        self.columns / u64::from(self.block)
    }
}

/// The layout of constant codes; `None` if they are no matrix with such blocks along its rows.
fn layout(graph: &Graph, id: ValueId) -> Option<Layout> {
    let value = graph.value(id)?;
    let grid = value.quant.as_deref().filter(|grid| grid.axis == Some(1))?;
    let block = grid.block?.get();
    let (bits, offset) = match value.ty.elem {
        Elem::I4 => (4, 8),
        Elem::U4 => (4, 0),
        Elem::I8 => (8, 128),
        Elem::U8 => (8, 0),
        _ => return None,
    };
    let dims = value.ty.dims()?;
    let &[rows, columns] = dims.as_slice() else { return None };
    let fits = block >= LEAST_BLOCK && block.is_power_of_two() && columns.is_multiple_of(block.into());
    fits.then_some(Layout {
        rows,
        columns,
        block,
        bits,
        offset,
    })
}

/// Writes a node whose weights are packed, and returns true. Also returns true for the dequantization in front of such a
/// node, for which nothing is written.
pub(super) fn node(emitter: &mut Emitter<'_>, at: At<'_>) -> Result<bool, WriteError> {
    let graph = emitter.graph();
    let is_packed = |id: Option<ValueId>| id.is_some_and(|id| emitter.scope.packed.contains(&id));
    if matches!(at.node.op, Op::Dequantize(_)) {
        return Ok(is_packed(at.node.input(0)));
    }
    let real = at
        .node
        .input(at.node.op.weights_operand())
        .filter(|&id| is_packed(Some(id)));
    let Some(codes) = real
        .and_then(|real| graph.producer(real))
        .and_then(|(_, made)| made.input(0))
    else {
        return Ok(false);
    };
    let unwritable = || at.unwritable("its weights have no blocks of codes");
    let of = layout(graph, codes).ok_or_else(unwritable)?;
    let tensor = emitter.module.constant(graph, codes).ok_or_else(unwritable)?;
    let integers = tensor.to_i64().map_err(|error| at.unwritable(error.to_string()))?;
    let bytes = rows_of_bytes(&integers, of, of.columns);
    let row = u64::from(of.bits) * of.columns / 8;
    // MatMulNBits is faster without zero points. If it has none, codes are symmetric.
    let has_zeros = !matches!(at.node.op, Op::Gemm(_)) || !is_symmetric(graph, codes, of);
    let grid = grid(emitter, at, codes, of, has_zeros)?;
    let base = emitter.value(codes);
    let outputs = at.outputs(emitter);
    if let Op::Gemm(_) = at.node.op {
        let weights = bytes_of(at, &[of.rows, of.blocks(), row / of.blocks().max(1)], bytes)?;
        let weights = emitter.constant(&base, &weights);
        let mut inputs = [vec![at.input(emitter, 0), weights], grid].concat();
        let bias = at.input(emitter, 2);
        if !bias.is_empty() {
            inputs.resize(5, String::new());
            inputs.push(bias);
        }
        let attributes = vec![
            int("K", of.columns as i64),
            int("N", of.rows as i64),
            int("accuracy_level", REAL_NUMBERS),
            int("bits", of.bits),
            int("block_size", of.block),
        ];
        emitter.node_of(RUNTIME_DOMAIN, "MatMulNBits", at.name, inputs, outputs, attributes);
        return Ok(true);
    }
    let table = bytes_of(at, &[of.rows, row], bytes)?;
    let table = emitter.constant(&format!("{base}_table"), &table);
    let inputs = [vec![table, at.input(emitter, 1)], grid].concat();
    let attributes = vec![
        int("bits", of.bits),
        int("block_size", of.block),
        int("gather_axis", 0),
        int("quantize_axis", 1),
    ];
    emitter.node_of(
        RUNTIME_DOMAIN,
        "GatherBlockQuantized",
        at.name,
        inputs,
        outputs,
        attributes,
    );
    Ok(true)
}

/// True if 0 is the middle of the codes without sign, in each block.
fn is_symmetric(graph: &Graph, codes: ValueId, of: Layout) -> bool {
    let middle = 1 << (of.bits - 1);
    let quant = graph.value(codes).and_then(|value| value.quant.as_deref());
    let is_middle = |part| {
        quant
            .and_then(|quant| quant.zero_point.get(part))
            .map(|&zero| i64::from(zero) + of.offset)
    };
    (0..(of.rows * of.blocks()) as usize).all(|part| is_middle(part) == Some(middle))
}

/// The names of the scales and, if the operator takes them, of the zero points of packed codes. They are written once for
/// all readers.
fn grid(
    emitter: &mut Emitter<'_>,
    at: At<'_>,
    codes: ValueId,
    of: Layout,
    has_zeros: bool,
) -> Result<Vec<String>, WriteError> {
    let mut names = emitter.scope.packed_grids.get(&codes).cloned().unwrap_or_default();
    let quant = emitter.graph().value(codes).and_then(|value| value.quant.as_deref());
    let quant = quant.ok_or_else(|| at.unwritable("its weights have no grid"))?;
    let other = || at.unwritable("its weights have other scales than blocks");
    let (parts, base) = (0..(of.rows * of.blocks()) as usize, emitter.value(codes));
    if names.is_empty() {
        let scales: Option<Vec<f32>> = parts.clone().map(|part| quant.scale.get(part).copied()).collect();
        let scales = TensorData::from_values(&[of.rows, of.blocks()], &scales.ok_or_else(other)?);
        let scales = scales.map_err(|error| at.unwritable(error.to_string()))?;
        names.push(emitter.constant(&format!("{base}_scale"), &scales));
    }
    if has_zeros && names.len() == 1 {
        let zeros = parts.map(|part| quant.zero_point.get(part).map(|&zero| i64::from(zero)));
        let zeros: Vec<i64> = zeros.collect::<Option<_>>().ok_or_else(other)?;
        let row = (u64::from(of.bits) * of.blocks()).div_ceil(8);
        let zeros = bytes_of(at, &[of.rows, row], rows_of_bytes(&zeros, of, of.blocks()))?;
        names.push(emitter.constant(&format!("{base}_zero_point"), &zeros));
    }
    emitter.scope.packed_grids.insert(codes, names.clone());
    names.truncate(1 + usize::from(has_zeros));
    Ok(names)
}

/// Codes without sign, `each` in a row. A row begins with a new byte.
fn rows_of_bytes(integers: &[i64], of: Layout, each: u64) -> Vec<u8> {
    let unsigned = |code: &i64| (code + of.offset) as u8;
    let rows = integers.chunks((each as usize).max(1));
    match of.bits {
        4 => rows
            .flat_map(|row| row.chunks(2))
            .map(|pair| {
                let [low, high] = [pair.first(), pair.get(1)].map(|code| code.map_or(0, unsigned));
                low | high << 4
            })
            .collect(),
        _ => rows.flatten().map(unsigned).collect(),
    }
}

fn bytes_of(at: At<'_>, shape: &[u64], bytes: Vec<u8>) -> Result<TensorData, WriteError> {
    TensorData::new(Elem::U8, shape, Bytes::from(bytes)).map_err(|error| at.unwritable(error.to_string()))
}
