//! Inlines functions that the model defines: a node that calls a function is replaced by the nodes of the function.
//!
//! A tensor inside of a function gets the name of the calling node in front of its own, `call/name`. The function's
//! operands and results get the names that the caller gives them. If an attribute of an inner node refers to an
//! attribute of the function, the inner node gets the caller's value or, if there is none, the function's default. If
//! there is no default either, the attribute is left out. Graphs inside of nodes, including those in functions, are
//! processed like the main graph.

use super::index::{STANDARD_DOMAIN, domain, node_name};
use super::instance::{Instance, Texts};
use crate::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::ReasonCode;
use strait_import::ReadError;

/// How deep calls may be nested. If a function calls itself, it exceeds this limit.
const DEEPEST: usize = 32;

/// The largest size of all inlined nodes together, in bytes. Names of inlined tensors are long, because they contain
/// the names of all callers.
const MOST_BYTES: usize = 1 << 26;

/// The number of bytes that a call or a node counts for, besides its strings and attributes.
const BYTES_OF_NODE: usize = 64;

/// How deep graphs may be nested. The decoder accepts no deeper nesting.
const DEEPEST_GRAPHS: usize = 33;

/// Identifies a function by domain, name and overload.
type Key<'a> = (&'a str, &'a str, &'a str);

/// The versions of the standard operator set for nodes that come from functions, if they are not the model's version.
#[derive(Debug, Default)]
pub(crate) struct Versions {
    /// The versions for nodes of this graph, by the nodes' positions.
    pub(crate) own: BTreeMap<usize, i64>,
    /// The versions for graphs inside of nodes, by the positions of the node and of the attribute that is the graph.
    inside: BTreeMap<(usize, usize), Versions>,
}

impl Versions {
    /// The versions for the nodes of a graph that is an attribute of a node.
    pub(crate) fn inside(&self, node: usize, attribute: usize) -> Option<&Versions> {
        self.inside.get(&(node, attribute))
    }

    /// Calls `look` for each version.
    pub(super) fn each(&self, look: &mut impl FnMut(i64) -> Result<(), ReadError>) -> Result<(), ReadError> {
        self.own.values().try_for_each(|&version| look(version))?;
        self.inside.values().try_for_each(|inside| inside.each(look))
    }

    fn is_empty(&self) -> bool {
        self.own.is_empty() && self.inside.is_empty()
    }
}

/// Replaces all calls of functions that the model defines by the functions' nodes.
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
    let mut taken = BTreeSet::new();
    names(graph, &mut taken);
    let mut inliner = Inliner {
        functions,
        texts: Texts::new(taken),
        version: standard_version(&model.opset_import),
        bytes: 0,
    };
    let version = inliner.version;
    inliner.graph(graph, version, 0, 0)
}

/// The version of the standard operator set, if it is imported.
fn standard_version(imports: &[OperatorSetIdProto]) -> Option<i64> {
    let standard = imports.iter().find(|import| domain(&import.domain) == STANDARD_DOMAIN);
    standard.map(|import| import.version)
}

fn key(node: &NodeProto) -> Key<'_> {
    (domain(&node.domain), &node.op_type, &node.overload)
}

fn graphs(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().filter_map(|attribute| attribute.g.as_deref())
}

/// True if a node of the graph, or of a nested graph, calls one of the functions.
fn calls(graph: &GraphProto, functions: &BTreeMap<Key<'_>, &FunctionProto>) -> bool {
    let is_call = |node: &NodeProto| functions.contains_key(&key(node)) || graphs(node).any(|g| calls(g, functions));
    graph.node.iter().any(is_call)
}

/// Collects all names of tensors in a graph and its nested graphs.
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
    /// The size of the nodes that were made so far, in bytes.
    bytes: usize,
}

/// The nodes of a graph after its calls were replaced, and the versions of those that came from functions.
#[derive(Default)]
struct Made {
    nodes: Vec<NodeProto>,
    versions: Versions,
}

impl Inliner<'_> {
    /// Replaces the calls in a graph. `version` is the version of the operator set that the graph's nodes use. The
    /// graph is inside of `depth` calls and inside of `graphs` other graphs.
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

    /// Adds a node. If it calls a function, adds the nodes of that function instead. `depth` is the number of calls
    /// around the node.
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
        let version = standard_version(&function.opset_import).or(version);
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
