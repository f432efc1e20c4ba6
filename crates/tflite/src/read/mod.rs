//! Builds a module of the float stage from a TFLite file.
//!
//! `tensors` provides the file's constants and the types of other tensors, and `nodes` reads one operator at a time.
//! The functions in `ops` (one file for each family of operators) translate an operator, using an `OperatorReader`.
//! Everything else is done by `strait-import`.

mod grids;
mod nodes;
mod operator_reader;
mod ops;
mod tensors;

pub use ops::{Operator, operators};

use crate::graph::{Graph, root};
use bytes::Bytes;
use std::path::Path;
use strait_core::Module;
use strait_import::{Assumed, Decoded, ReadError, ReadOptions, Scope, Wiring, with_batch};

/// The largest size in bytes of a file that is read. Offsets in a flatbuffer have only 31 bits, but larger files store
/// their buffers after the flatbuffer.
pub(crate) const MOST_BYTES: u64 = 1 << 40;

/// A model file of this format. Its weights are slices of the mapped file.
#[derive(Clone, Debug)]
pub struct Model {
    bytes: Bytes,
    tensors: Vec<String>,
    nodes: Vec<String>,
}

/// Reads the model at `path`: does what [`Model::open`] and [`Model::read`] do.
///
/// # Errors
/// See [`Model::open`] and [`Model::read`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Module, ReadError> {
    Model::open(path)?.read(options)
}

impl Model {
    /// Maps and decodes the file at `path`, which must not change while the model or a module read from it is in use.
    ///
    /// # Errors
    /// The file cannot be opened, is not of this format, or contradicts itself.
    pub fn open(path: &Path) -> Result<Model, ReadError> {
        let bytes = strait_mapped::map(path, MOST_BYTES).map_err(|source| ReadError::File {
            path: path.into(),
            source,
        })?;
        Model::decode(bytes)
    }

    /// Decodes a model from memory.
    ///
    /// # Errors
    /// The bytes are not of this format, or contradict themselves.
    pub fn decode(bytes: Bytes) -> Result<Model, ReadError> {
        root(&bytes)?;
        let (mut tensors, mut nodes) = (Vec::new(), Vec::new());
        {
            let graph = Graph::new(&bytes)?;
            let name = |index: usize| graph.tensors[index].name.clone();
            tensors.extend(graph.inputs.iter().map(|&index| name(index)));
            tensors.extend(
                graph
                    .nodes
                    .iter()
                    .flat_map(|node| node.outputs.iter().flatten())
                    .map(|&index| name(index)),
            );
            nodes.extend((0..graph.nodes.len()).map(|node| node_name(&graph, node).to_owned()));
        }
        Ok(Model { bytes, tensors, nodes })
    }
}

impl Decoded for Model {
    /// Returns the names of all tensors at which the graph can be cut, in the order of the file. These are the graph's
    /// inputs, and the results of its operators.
    fn tensors(&self) -> Vec<&str> {
        self.tensors.iter().map(String::as_str).collect()
    }

    /// The names of all operators in the order of the file. An operator has the name of its first result.
    fn nodes(&self) -> Vec<&str> {
        self.nodes.iter().map(String::as_str).collect()
    }

    /// Builds the module.
    ///
    /// Only the operators that the outputs need are read. Layers are named after their results. The batch consists of
    /// the first dimensions of all inputs, if all of them are free.
    ///
    /// # Errors
    /// All unknown operators are reported at once. If there are none, the error is the first fault of the model or of
    /// the options.
    fn build(&self, options: &ReadOptions, is_single: bool) -> Result<(Module, Assumed), ReadError> {
        let graph = Graph::new(&self.bytes)?;
        let wiring = wiring(&graph)?;
        let source = tensors::Tensors { graph: &graph };
        strait_import::check_bind(&options.bind, || source.keys())?;
        let cut = strait_import::cut(&wiring, options)?;
        for &input in &cut.inputs {
            tensors::check(&graph.tensors[input.position()]).map_err(|reason| ReadError::Tensor {
                tensor: wiring.name(input).into(),
                reason,
            })?;
        }
        let (batch, bind) = with_batch(&wiring, &source, &cut, options, is_single);
        let scope = Scope {
            wiring: &wiring,
            source: &source,
            bind: &bind,
        };
        let mut nodes = nodes::Nodes {
            graph: &graph,
            hybrid_as_float: options.hybrid_as_float,
        };
        let (module, assumed) = strait_import::build(scope, &mut nodes, &cut)?;
        Ok((module, Assumed { batch, ..assumed }))
    }

    fn may_be_hybrid(&self) -> bool {
        true
    }
}

/// The name of an operator's node, which is the name of the operator's first result.
fn node_name<'g>(graph: &'g Graph<'_>, node: usize) -> &'g str {
    let first = graph.nodes[node].outputs.iter().flatten().next();
    first.map_or("", |&index| &graph.tensors[index].name)
}

/// How the tensors and nodes of a graph are connected. Each tensor has its position in the file as its number.
fn wiring<'g>(graph: &'g Graph<'_>) -> Result<Wiring<'g>, ReadError> {
    let mut wiring = Wiring::with_room(graph.tensors.len(), graph.nodes.len());
    let name = |index: usize| graph.tensors[index].name.as_str();
    for tensor in &graph.tensors {
        wiring.tensor(&tensor.name);
        if tensor.data.is_some() {
            wiring.constant(&tensor.name)?;
        }
    }
    for &input in &graph.inputs {
        wiring.input(name(input))?;
    }
    // A constant without elements has no bytes in the file. So a tensor without elements is taken as a constant, unless
    // it is an input or a result.
    let mut is_made = vec![false; graph.tensors.len()];
    let results = graph.nodes.iter().flat_map(|node| node.outputs.iter().flatten());
    for &index in results.chain(&graph.inputs) {
        is_made[index] = true;
    }
    for (tensor, _) in graph.tensors.iter().zip(&is_made).filter(|(_, made)| !**made) {
        if tensor.data.is_none() && tensor.shape.contains(&0) {
            wiring.constant(&tensor.name)?;
        }
    }
    // A variable that no operator in the file writes is omitted from the operands.
    let is_there = |&index: &usize| !graph.tensors[index].is_variable || is_made[index];
    for (position, node) in graph.nodes.iter().enumerate() {
        let operands = node.inputs.iter().map(|operand| operand.filter(is_there).map(name));
        let results = node.outputs.iter().map(|result| result.map(name));
        wiring.node(node_name(graph, position), operands, [], results)?;
    }
    for &output in &graph.outputs {
        wiring.output(name(output));
    }
    Ok(wiring)
}
