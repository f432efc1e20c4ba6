//! Writes a graph on codes as a TFLite file: one operator for each node, in the order of the graph.
//!
//! Images are stored with channels last, as TFLite's operators want them ([`strait_core::layout`]). If a node clamps
//! the result of the node before it, no operator is written for the clamp: it becomes the fused activation of the
//! operator before it. Equal modules give equal bytes.

mod batch;
#[cfg(test)]
mod batch_tests;
mod borders;
mod emitter;
mod file;
mod flatbuffer;
mod metadata;
mod ops;
mod options;
mod versions;

pub use borders::Borders;
use emitter::{Emitter, fault};
use file::File;
pub use metadata::{About, AboutInput};
use strait_core::layout::Layouts;
use strait_core::{Graph, Module, Node, NodeId, Op, ValueId};

/// Why a module cannot be written as a TFLite file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// TFLite has no operator for a node.
    #[error("`{node}`: {why}")]
    Node {
        /// The name of the node.
        node: String,
        /// What the format does not have.
        why: String,
    },
    /// An input or an output of the file cannot have the type that it should have.
    #[error("{border}: {why}")]
    Border {
        /// `input` or `output`, and its name.
        border: String,
        /// What prevents it.
        why: String,
    },
    /// Offsets of the format reach 2 GiB.
    #[error("the file would be larger than 2 GiB")]
    TooLarge,
}

/// Returns the bytes of a TFLite file for the main graph of a module in the export stage. In this stage, a node whose
/// operands are codes computes on the codes, and `quantize` and `dequantize` nodes convert between codes and real
/// numbers.
///
/// `borders` says what the inputs and outputs of the file are, and `about` what its metadata contains.
///
/// # Errors
/// If TFLite has no operator for a node, the error names the first such node. It is also an error if an input or an output
/// cannot be codes of the type that `borders` names, or if the file would be larger than 2 GiB.
pub fn encode(module: &Module, borders: Borders, about: &About) -> Result<Vec<u8>, WriteError> {
    let (file, _) = file(module, borders)?;
    file.encode(about).map_err(|_| WriteError::TooLarge)
}

/// Like [`encode()`], for any number of samples in one run. `of` makes the module for a number of samples. In the file,
/// extents that depend on this number are those for one sample, and −1 in the signature of the shape.
///
/// # Errors
/// Also if a node is written with something that the format only has for a fixed number of samples.
pub fn encode_free(of: impl Fn(u64) -> Module, borders: Borders, about: &About) -> Result<Vec<u8>, WriteError> {
    let [first, second] = batch::COUNTS.map(of);
    let (file, origins) = file(&first, borders)?;
    let (other, _) = self::file(&second, borders)?;
    let joined = batch::joined([file, other], &origins).map_err(|(node, why)| WriteError::Node { node, why })?;
    joined.encode(about).map_err(|_| WriteError::TooLarge)
}

/// Makes the file of a module. Also returns the name of the node of each operator.
fn file(module: &Module, borders: Borders) -> Result<(File, Vec<&str>), WriteError> {
    let graph = module.main();
    let inputs = graph.inputs().iter().map(|&input| borders.order(graph, input));
    let layouts = Layouts::channels_last(graph, &inputs.collect::<Vec<_>>());
    let mut emitter = Emitter::new(module, layouts);
    let mut origins = Vec::new();
    borders.inputs(&mut emitter)?;
    origins.resize(emitter.file.operators.len(), "input");
    borders.leave_out(&mut emitter);
    for (id, node) in graph.nodes() {
        if emitter.absorbed.contains(&id) {
            continue;
        }
        let site = Site::of(&mut emitter, id, node);
        ops::write(&mut emitter, &site).map_err(|why| fault(module, node, why))?;
        origins.resize(emitter.file.operators.len(), module.name(node.name));
    }
    borders.outputs(&mut emitter)?;
    origins.resize(emitter.file.operators.len(), "output");
    Ok((emitter.file, origins))
}

/// A node, and the clamp after it if the node's operator computes this clamp as its fused activation.
pub(crate) struct Site<'m> {
    node: &'m Node,
    /// The value that the operator computes: the node's first result, or the result of the clamp if there is one.
    result: Option<ValueId>,
    /// The number of the fused activation in the format; 0 if there is none.
    activation: i8,
}

impl<'m> Site<'m> {
    /// Finds the clamp after a node, if the node's operator can compute it as its fused activation.
    fn of(emitter: &mut Emitter<'m>, id: NodeId, node: &'m Node) -> Site<'m> {
        let result = node.outputs.first().copied();
        let own = Site {
            node,
            result,
            activation: 0,
        };
        let takes = matches!(
            node.op,
            Op::Conv(_) | Op::Gemm(_) | Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_)
        );
        let Some(value) = result.filter(|_| takes && node.outputs.len() == 1) else {
            return own;
        };
        match absorbable(emitter.graph, value) {
            Some((clamp, made, activation)) if clamp != id => {
                emitter.absorbed.insert(clamp);
                Site {
                    node,
                    result: Some(made),
                    activation,
                }
            }
            _ => own,
        }
    }
}

/// If the only reader of `value` is a clamp that TFLite has as a fused activation, and the clamp keeps the value's grid,
/// returns the reader, its result, and the number of the activation. Otherwise returns `None`.
fn absorbable(graph: &Graph, value: ValueId) -> Option<(NodeId, ValueId, i8)> {
    let at = graph.only_use(value)?;
    let node = graph.node(at.node)?;
    let activation = match &node.op {
        Op::Relu(_) => 1,
        Op::Clip(clip) => match (clip.min, clip.max) {
            (0.0, f32::INFINITY) => 1,
            (-1.0, 1.0) => 2,
            (0.0, 6.0) => 3,
            _ => return None,
        },
        _ => return None,
    };
    let made = *node.outputs.first()?;
    let same = graph.value(value)?.quant == graph.value(made)?.quant;
    (same && !graph.is_output(value)).then_some((at.node, made, activation))
}
