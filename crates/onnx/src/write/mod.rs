//! Writes a module as an ONNX file.
//!
//! [`emitter`] builds the file and knows how names, constants and nodes are written. [`scope`] defines how a graph is
//! written, [`ops`] how an op is written, and [`grid`] how a grid is written.

mod apart;
mod attributes;
mod codes;
mod emitter;
mod external;
mod grid;
mod main_graph;
mod ops;
mod scope;
#[cfg(test)]
mod tests;
mod weights;

use crate::error::WriteError;
use crate::proto::{ModelProto, OperatorSetIdProto, StringStringEntryProto};
use emitter::Emitter;
pub use external::DataFile;
use main_graph::MainGraph;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use std::io::{self, Write};
use strait_core::{Elem, Graph, Module, Value};

/// The operator set that is written if possible, and the version of the file format for it. Most runtimes can read this
/// operator set and this version.
const OPSET: (i64, i64) = (17, 8);

/// The operator set and the version of the file format that are written if the module has something that the older
/// operator set lacks: codes of 16 or 4 bits, grids per block, or dilated average pools.
const NEWER_OPSET: (i64, i64) = (21, 10);

/// The version that the file states for the domains of foreign nodes.
const FOREIGN_VERSION: i64 = 1;

/// A metadata entry, as key and value, for files with weight-only matrix products. It tells ONNX Runtime in what
/// precision to compute these products.
const ACCURACY_LEVEL: (&str, &str) = (
    "session.qdq_matmulnbits_accuracy_level",
    "0 and 1 compute products with dequantized weights in float, as the file says; the default, 4, quantizes activations to 8 bits",
);

/// The largest size of a file in bytes. Lengths in protobuf have 31 bits.
pub const MOST_BYTES: usize = i32::MAX as usize;

/// A module as an ONNX file that is ready to be written. Large tensors are shared with the module.
#[derive(Debug)]
pub struct Encoded {
    /// The fields before the graph.
    head: ModelProto,
    graph: MainGraph,
    /// The fields behind the graph.
    tail: ModelProto,
    data: Option<DataFile>,
}

/// The number of the field of a model that has the graph.
const GRAPH: u32 = 7;

impl Encoded {
    /// Writes the file of the model.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut head = self.head.encode_to_vec();
        encode_key(GRAPH, WireType::LengthDelimited, &mut head);
        encode_varint(self.graph.encoded_len() as u64, &mut head);
        out.write_all(&head)?;
        self.graph.write(out)?;
        out.write_all(&self.tail.encode_to_vec())
    }

    fn encoded_len(&self) -> usize {
        let graph = self.graph.encoded_len();
        let framed = key_len(GRAPH) + encoded_len_varint(graph as u64) + graph;
        self.head.encoded_len() + framed + self.tail.encoded_len()
    }

    /// The second file with the large tensors; `None` if one file is enough.
    pub fn data(&self) -> Option<&DataFile> {
        self.data.as_ref()
    }
}

/// Writes `module` as an ONNX model.
///
/// Float ops become ONNX operators with the same meaning. Ops that operator set 17 lacks (silu, gelu, mish) become
/// several operators. `quantize` and `dequantize` become `QuantizeLinear` and `DequantizeLinear` with the grid of the
/// integer value; ONNX rounds ties to even, whatever rounding the op states. Foreign nodes are written as they are. An
/// integer computation other than `quantize` and `dequantize` cannot be written and is an error. The graphs of `if` and
/// `loop` are written inside of their nodes.
///
/// Inputs, outputs and values keep their names if these are unique. The same module always gives the same bytes.
pub fn write(module: &Module, out: &mut dyn Write) -> Result<(), WriteError> {
    let encoded = model(module, Arithmetic::Reals)?;
    within(module, &encoded, MOST_BYTES)?;
    Ok(encoded.write(out)?)
}

/// Like [`write()`], but moves large tensors to a second file if a single file would have more than `most` bytes.
/// `data` is the name of the second file, which is in the same folder.
pub fn encode(module: &Module, data: &str, most: usize) -> Result<Encoded, WriteError> {
    within_one_file(module, model(module, Arithmetic::Reals)?, data, most)
}

/// Like [`encode()`], but for a module whose nodes compute on codes: each such node becomes a quantized operator
/// (QOperator format).
///
/// # Errors
/// There is no quantized operator for a node.
pub fn encode_operators(module: &Module, data: &str, most: usize) -> Result<Encoded, WriteError> {
    within_one_file(module, model(module, Arithmetic::Codes)?, data, most)
}

/// On what the nodes of a module compute whose operands are codes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    /// Codes are moved or dequantized. All other nodes compute on real numbers.
    Reals,
    /// Nodes also compute on codes.
    Codes,
}

fn within_one_file(module: &Module, mut model: Encoded, data: &str, most: usize) -> Result<Encoded, WriteError> {
    if model.encoded_len() <= most {
        return Ok(model);
    }
    let mut file = DataFile::default();
    file.take(data, &mut model.graph);
    within(module, &model, most)?;
    Ok(Encoded {
        data: Some(file),
        ..model
    })
}

fn within(module: &Module, model: &Encoded, most: usize) -> Result<(), WriteError> {
    let length = model.encoded_len();
    if length > most {
        return Err(WriteError::Unwritable {
            node: module.name(module.main().name).into(),
            text: format!("the file would have {length} bytes, and may have {most}"),
        });
    }
    Ok(())
}

/// The whole model.
fn model(module: &Module, arithmetic: Arithmetic) -> Result<Encoded, WriteError> {
    let (opset, ir_version) = opset(module);
    let mut emitter = Emitter::new(module, opset);
    emitter.on_codes = arithmetic == Arithmetic::Codes;
    let graph = emitter.main()?;
    let (key, value) = ACCURACY_LEVEL;
    let note = StringStringEntryProto {
        key: key.into(),
        value: value.into(),
    };
    let metadata_props = Vec::from_iter(emitter.weight_only.then_some(note));
    let standard = OperatorSetIdProto {
        domain: String::new(),
        version: opset,
    };
    let foreign = emitter.domains.into_iter().map(|domain| OperatorSetIdProto {
        domain,
        version: FOREIGN_VERSION,
    });
    Ok(Encoded {
        head: ModelProto {
            ir_version,
            producer_name: "strait".into(),
            producer_version: env!("CARGO_PKG_VERSION").into(),
            ..ModelProto::default()
        },
        graph,
        tail: ModelProto {
            opset_import: std::iter::once(standard).chain(foreign).collect(),
            metadata_props,
            functions: emitter.functions,
            ..ModelProto::default()
        },
        data: None,
    })
}

/// Returns the name of the first node of a float module that cannot be written, and the reason. Returns `None` if all
/// nodes can be written. No file is made.
pub fn left_out(module: &Module) -> Option<(String, String)> {
    let mut emitter = Emitter::new(module, opset(module).0);
    emitter.is_kept = false;
    match emitter.main() {
        Err(WriteError::Unwritable { node, text }) => Some((node, text)),
        _ => None,
    }
}

/// Like [`left_out`], for a module whose nodes compute on codes: finds a node that has no quantized operator.
pub fn operators_left_out(module: &Module) -> Option<(String, String)> {
    match model(module, Arithmetic::Codes) {
        Err(WriteError::Unwritable { node, text }) => Some((node, text)),
        _ => None,
    }
}

/// The operator set and the version of the file format that the module needs.
fn opset(module: &Module) -> (i64, i64) {
    match module.graphs.iter().any(needs_newer) {
        true => NEWER_OPSET,
        false => OPSET,
    }
}

fn needs_newer(graph: &Graph) -> bool {
    // Operator set 17 has no codes of 16 or 4 bits.
    let is_newer = |elem: Elem| matches!(elem, Elem::I16 | Elem::U16 | Elem::I4 | Elem::U4);
    let has_blocks = |value: &Value| value.quant.as_ref().is_some_and(|grid| grid.block.is_some());
    graph
        .values()
        .any(|(_, value)| is_newer(value.ty.elem) || has_blocks(value))
        || graph
            .nodes()
            .any(|(_, node)| ops::operator_of(&node.op).since(graph, node) > OPSET.0)
}
