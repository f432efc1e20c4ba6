//! Functions that the model defines, put in place of the nodes that call them.
//!
//! A name inside of a function gets that of the calling node in front, `call/name`. Formal operands and results become the
//! caller's. An attribute of a node inside that refers to one of the function takes the caller's, or the function's default, or
//! is left out where there is neither. Graphs inside of nodes are looked through like the main one, those of functions too.

use super::index::{domain, node_name};
use super::instance::{Instance, Texts};
use crate::proto::{FunctionProto, GraphProto, ModelProto, NodeProto};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::ReasonCode;
use strait_import::ReadError;

/// The most calls of functions inside of each other. One that calls itself has more.
const DEEPEST: usize = 32;

/// The most bytes of all nodes that functions become, whose names have those of all callers in front.
const MOST_BYTES: usize = 1 << 26;

/// Bytes that a call and a node take beside their texts and attributes.
const BYTES_OF_NODE: usize = 64;

/// The most graphs inside of each other, as deep as a decoder goes.
const DEEPEST_GRAPHS: usize = 33;

/// A function by domain, name and overload.
type Key<'a> = (&'a str, &'a str, &'a str);

/// Versions of the standard operator set that nodes out of functions have, where it is not the model's.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// By position of the node in its graph.
    pub(crate) own: BTreeMap<usize, i64>,
    /// Those of graphs inside of nodes, by position of the node and of the attribute.
    inside: BTreeMap<(usize, usize), Versions>,
}

impl Versions {
    /// Those of the graph that a node's attribute is.
    pub(crate) fn inside(&self, node: usize, attribute: usize) -> Option<&Versions> {
        self.inside.get(&(node, attribute))
    }

    /// All of them.
    pub(super) fn each(&self, look: &mut impl FnMut(i64) -> Result<(), ReadError>) -> Result<(), ReadError> {
        self.own.values().try_for_each(|&version| look(version))?;
        self.inside.values().try_for_each(|inside| inside.each(look))
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.inside.is_empty()
    }
}

/// Replaces all calls of the model's functions.
pub(super) fn inline(model: &mut ModelProto) -> Result<Versions, ReadError> {
    let functions: BTreeMap<Key<'_>, &FunctionProto> = (model.functions.iter())
        .map(|f| ((domain(&f.domain), f.name.as_str(), f.overload.as_str()), f))
        .collect();
    let Some(graph) = model.graph.as_mut() else {
        return Ok(Versions::default());
    };
    if functions.is_empty() || !calls(graph, &functions) {
        return Ok(Versions::default());
    }
    let imported = model
        .opset_import
        .iter()
        .find(|import| domain(&import.domain) == domain(""));
    let mut taken = BTreeSet::new();
    names(graph, &mut taken);
    let mut inliner = Inliner {
        functions,
        texts: Texts::new(taken),
        version: imported.map(|import| import.version),
        bytes: 0,
    };
    let version = inliner.version;
    inliner.graph(graph, version, 0, 0)
}

fn key(node: &NodeProto) -> Key<'_> {
    (domain(&node.domain), &node.op_type, &node.overload)
}

fn graphs(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().filter_map(|attribute| attribute.g.as_deref())
}

/// True if a node of the graph, or of one inside of it, is a call.
fn calls(graph: &GraphProto, functions: &BTreeMap<Key<'_>, &FunctionProto>) -> bool {
    let is_call = |node: &NodeProto| functions.contains_key(&key(node)) || graphs(node).any(|g| calls(g, functions));
    graph.node.iter().any(is_call)
}

/// All names of tensors in a graph, and in those inside of it.
fn names(graph: &GraphProto, taken: &mut BTreeSet<String>) {
    let tensors = graph.initializer.iter().map(|tensor| &tensor.name);
    let inputs = graph.input.iter().map(|input| &input.name);
    let operands = graph.node.iter().flat_map(|node| node.input.iter().chain(&node.output));
    taken.extend(tensors.chain(inputs).chain(operands).cloned());
    graph.node.iter().flat_map(graphs).for_each(|inner| names(inner, taken));
}

struct Inliner<'f> {
    functions: BTreeMap<Key<'f>, &'f FunctionProto>,
    texts: Texts,
    /// The model's version of the standard operator set.
    version: Option<i64>,
    /// Bytes of the nodes that were made.
    bytes: usize,
}

/// The nodes of a graph without calls, and their versions.
#[derive(Default)]
struct Made {
    nodes: Vec<NodeProto>,
    versions: Versions,
}

impl Inliner<'_> {
    /// Replaces the calls in a graph, whose nodes have this version. It is inside of `depth` calls and of `graphs` graphs.
    fn graph(
        &mut self,
        graph: &mut GraphProto,
        version: Option<i64>,
        depth: usize,
        graphs: usize,
    ) -> Result<Versions, ReadError> {
        if graphs > DEEPEST_GRAPHS {
            let text = format!("with its functions more than {DEEPEST_GRAPHS} graphs are inside of each other");
            return Err(invalid(text));
        }
        let mut made = Made::default();
        for node in std::mem::take(&mut graph.node) {
            self.add(&mut made, node, version, depth, graphs)?;
        }
        graph.node = made.nodes;
        Ok(made.versions)
    }

    /// Adds a node, or what the function that it calls becomes. It stands `depth` calls inside the graph.
    fn add(
        &mut self,
        made: &mut Made,
        mut node: NodeProto,
        version: Option<i64>,
        depth: usize,
        graphs: usize,
    ) -> Result<(), ReadError> {
        let Some(&function) = self.functions.get(&key(&node)) else {
            let position = made.nodes.len();
            if let Some(version) = version.filter(|_| version != self.version) {
                made.versions.own.insert(position, version);
            }
            for (index, attribute) in node.attribute.iter_mut().enumerate() {
                if let Some(graph) = attribute.g.as_deref_mut() {
                    let inside = self.graph(graph, version, depth, graphs + 1)?;
                    if !inside.is_empty() {
                        made.versions.inside.insert((position, index), inside);
                    }
                }
            }
            made.nodes.push(node);
            return Ok(());
        };
        let call = node_name(&node);
        if depth == DEEPEST {
            let text = format!("`{call}` calls functions {DEEPEST} deep, or one that calls itself");
            return Err(invalid(text));
        }
        if node.input.len() > function.input.len() || node.output.len() > function.output.len() {
            let text = format!(
                "`{call}` has more operands or results than the function {}",
                function.name
            );
            return Err(invalid(text));
        }
        let imported = function
            .opset_import
            .iter()
            .find(|import| domain(&import.domain) == domain(""));
        let version = imported.map(|import| import.version).or(version);
        let (mut instance, copies) = Instance::new(&node, function);
        for inner in &function.node {
            let copy = instance.node(&mut self.texts, inner);
            self.bytes = self.bytes.saturating_add(copy.encoded_len() + BYTES_OF_NODE);
            if self.bytes > MOST_BYTES {
                return Err(invalid(format!("its functions become more than {MOST_BYTES} bytes")));
            }
            self.add(made, copy, version, depth + 1, graphs)?;
        }
        for (source, result) in copies {
            let copy = NodeProto {
                input: vec![source],
                output: vec![result],
                op_type: "Identity".into(),
                ..NodeProto::default()
            };
            self.add(made, copy, version, depth + 1, graphs)?;
        }
        Ok(())
    }
}

fn invalid(text: String) -> ReadError {
    ReadError::model(ReasonCode::Limit, text)
}
