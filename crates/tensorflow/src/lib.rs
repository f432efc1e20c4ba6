//! Reads frozen TensorFlow graphs.
//!
//! A frozen graph is a `GraphDef` whose variables have become constants. [`Model::open`] maps a file and decodes its
//! structure. Weights that the file stores as bytes are not copied; they become slices of the memory map.
//! [`Decoded::read`] builds a module of the float stage. All unknown operators are reported at once. For each of them,
//! the error suggests options with which the model can be read without the operator. Types and shapes come only from
//! the inference functions of `strait-core`.
//!
//! In the IR, convolutions, pools and resizes have channels first. A convolution, pool or resize with channels last is
//! read as an op between two transposes, and the canonicaliser's rules move and cancel the transposes.

mod elements;
mod format;
mod graph;
mod nodes;
mod operator_reader;
mod ops;
mod proto;
mod state;
mod switches;
mod tensor;
#[cfg(test)]
mod tests;
mod types;

pub use format::TensorFlow;
pub use ops::operators;
pub use state::FREEZE;

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use prost::Message;
use strait_core::{Module, Reason, ReasonCode};
use strait_import::{
    Assumed, Cut, Declared, Decoded, MOST_BYTES_OF_PROTOBUF, NodeFault, ReadError, ReadOptions, Refusal, Scope,
    TensorId, Wiring, between, cut, with_batch, with_ways,
};

use crate::graph::Graph;
use crate::nodes::Nodes;
use crate::proto::GraphDef;
use crate::tensor::Budget;
use crate::types::Tensors;

/// The name of the format in messages.
const FORMAT: &str = "TensorFlow";

/// A decoded graph. Its weights are slices of the mapped file.
#[derive(Debug)]
pub struct Model {
    graph: Graph,
}

/// Reads the graph at `path`: does what [`Model::open`] and [`Model::read`] do.
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
    /// The file cannot be mapped, or is not a frozen graph.
    pub fn open(path: &Path) -> Result<Model, ReadError> {
        let bytes = strait_mapped::map(path, MOST_BYTES_OF_PROTOBUF).map_err(|source| ReadError::File {
            path: path.into(),
            source,
        })?;
        Model::decode(bytes)
    }

    /// Decodes a graph from memory.
    ///
    /// # Errors
    /// The bytes are not a frozen graph.
    pub fn decode(bytes: Bytes) -> Result<Model, ReadError> {
        let def = GraphDef::decode(bytes).map_err(|error| ReadError::undecoded(FORMAT, &error.to_string()))?;
        if def.node.is_empty() {
            return Err(ReadError::undecoded(FORMAT, "there are no nodes in it"));
        }
        Ok(Model {
            graph: Graph::new(def)?,
        })
    }

    /// Returns an error that lists the nodes of a cut with unknown operators; `None` if there are none.
    fn unknown(&self, wiring: &Wiring<'_>, cut: &Cut) -> Option<ReadError> {
        let fault = |&node: &usize| match ops::find(&self.graph, node) {
            Err(Refusal::Unsupported(text)) => Some((
                node,
                NodeFault {
                    node: self.graph.node(node).name.clone(),
                    operator: self.graph.node(node).op.clone(),
                    reason: Reason::new(ReasonCode::Unsupported, text),
                },
            )),
            _ => None,
        };
        let faults: Vec<(usize, NodeFault)> = cut.nodes.iter().filter_map(fault).collect();
        let begins = |id| types::begins(&self.graph, wiring, id);
        (!faults.is_empty()).then(|| ReadError::Unsupported(with_ways(wiring, cut, faults, begins)))
    }

    fn between(
        &self,
        wiring: &Wiring<'_>,
        cut: &Cut,
        options: &ReadOptions,
        is_single: bool,
    ) -> Result<(Module, Assumed), ReadError> {
        let mut tensors = Tensors {
            graph: &self.graph,
            wiring,
            begins: BTreeMap::new(),
            budget: Budget::default(),
        };
        for &input in &cut.inputs {
            let declared = self.begin(&tensors, input, &options.bind)?;
            tensors.begins.insert(input, declared);
        }
        check_bind(&tensors, &options.bind)?;
        let (batch, bind) = with_batch(wiring, &tensors, cut, options, is_single);
        let scope = Scope {
            wiring,
            source: &tensors,
            bind: &bind,
        };
        let (module, assumed) = strait_import::build(scope, &mut Nodes { graph: &self.graph }, cut)?;
        Ok((module, Assumed { batch, ..assumed }))
    }

    /// A copy of the options in which the names of nodes are replaced by the names of their first results.
    fn spelled_out(&self, options: &ReadOptions) -> ReadOptions {
        let tensor = |name: &String| match self.graph.position(name) {
            Some(node) => self.graph.tensor((node, 0)).to_owned(),
            None => name.clone(),
        };
        let key = |key: &String| match key.rsplit_once('.') {
            Some((node, axis)) if self.graph.position(node).is_some() => format!("{}.{axis}", tensor(&node.into())),
            _ => key.clone(),
        };
        ReadOptions {
            bind: options.bind.iter().map(|(name, &value)| (key(name), value)).collect(),
            inputs: options.inputs.iter().map(tensor).collect(),
            outputs: options.outputs.iter().map(tensor).collect(),
            batch: options.batch.iter().map(|(name, &axis)| (tensor(name), axis)).collect(),
            ..options.clone()
        }
    }

    /// Finds the type of a tensor at which the graph begins. If the file and the nodes that read the tensor do not
    /// determine the type, it is inferred from the part of the graph that computes the tensor.
    fn begin(
        &self,
        tensors: &Tensors<'_>,
        input: TensorId,
        bind: &BTreeMap<String, u64>,
    ) -> Result<Declared, ReadError> {
        let name = tensors.wiring.name(input);
        let port = self.graph.find(name);
        let port = port.ok_or_else(|| ReadError::unknown("input", name, self.graph.tensors()))?;
        let declared = types::begin(&self.graph, port, bind);
        let missing = match &declared {
            Declared {
                elem: Some(_),
                extents: Some(_),
            } => return Ok(declared),
            Declared { elem: None, .. } => "nothing says of which type its elements are".to_owned(),
            Declared { extents: None, .. } => format!(
                "nothing says how many axes it has; give each of them an extent: `bind = {{ \"{name}.0\" = 1, … }}`"
            ),
        };
        match self.above(tensors, input, bind) {
            Ok(Some(above)) => Ok(above),
            _ => Err(ReadError::Tensor {
                tensor: name.into(),
                reason: missing,
            }),
        }
    }

    /// The type of a tensor, found by reading the part of the graph that computes it.
    fn above(
        &self,
        tensors: &Tensors<'_>,
        input: TensorId,
        bind: &BTreeMap<String, u64>,
    ) -> Result<Option<Declared>, ReadError> {
        let wiring = tensors.wiring;
        if wiring.producer(input).is_none() {
            return Ok(None);
        }
        let above: Cut = between(wiring, Vec::new(), vec![input], true)?;
        let mut begins = BTreeMap::new();
        for &own in &above.inputs {
            // Each of these inputs is a placeholder, so no node computes it.
            let port = self.graph.find(wiring.name(own));
            begins.extend(port.map(|port| (own, types::begin(&self.graph, port, bind))));
        }
        let source = Tensors {
            graph: &self.graph,
            wiring,
            begins,
            budget: Budget::default(),
        };
        let scope = Scope {
            wiring,
            source: &source,
            bind,
        };
        let (module, _) = strait_import::build(scope, &mut Nodes { graph: &self.graph }, &above)?;
        let graph = module.main();
        let value = graph.outputs().first().and_then(|&id| graph.value(id));
        Ok(value.map(|value| types::as_declared(wiring.name(input), &value.ty)))
    }
}

impl Decoded for Model {
    /// The names `node:k` of all tensors at which the graph can be cut, in the order of the file.
    fn tensors(&self) -> Vec<&str> {
        self.graph.tensors().collect()
    }

    /// The names of all nodes except constants, in the order of the file.
    fn nodes(&self) -> Vec<&str> {
        let nodes = self.graph.def.node.iter();
        let nodes = nodes.filter(|node| node.op != "Const");
        nodes.map(|node| node.name.as_str()).collect()
    }

    /// Builds the module.
    ///
    /// A TensorFlow graph does not state its outputs. If the options do not name outputs either, the outputs are the
    /// results that no node reads. The name of a node in the options stands for the node's first result, as everywhere
    /// in TensorFlow. Only the nodes that the outputs need are read. Extents of inputs that the file does not state
    /// have the keys `<tensor>.<axis>`. If `is_single` is true, the batch is bound to 1.
    ///
    /// # Errors
    /// There are unknown operators or variables, the graph contradicts itself, or the options do not fit the graph.
    fn build(&self, options: &ReadOptions, is_single: bool) -> Result<(Module, Assumed), ReadError> {
        let options = self.spelled_out(options);
        let wiring = self.graph.wiring(!options.outputs.is_empty())?;
        let cut = cut(&wiring, &options).map_err(|error| match &error {
            ReadError::Model(reason) if reason.code == ReasonCode::Cycle => match ops::loops(&self.graph) {
                Some(fault) => ReadError::Unsupported(vec![fault]),
                None => error,
            },
            _ => error,
        })?;
        state::check(&self.graph, &wiring, &cut)?;
        self.between(&wiring, &cut, &options, is_single)
            .map_err(|error| match error {
                // If some nodes are not known, they are reported instead: a cut after them would change the inputs too.
                ReadError::Tensor { .. } => self.unknown(&wiring, &cut).unwrap_or(error),
                other => other,
            })
    }
}

/// Refuses values that are bound to extents that no input has.
fn check_bind(tensors: &Tensors<'_>, bind: &BTreeMap<String, u64>) -> Result<(), ReadError> {
    strait_import::check_bind(bind, || {
        let keys = tensors.begins.iter().flat_map(|(&id, declared)| {
            let name = tensors.wiring.name(id);
            let rank = declared.extents.as_ref().map_or(0, Vec::len);
            (0..rank).map(move |axis| format!("{name}.{axis}"))
        });
        keys.collect()
    })
}
