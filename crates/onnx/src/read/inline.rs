//! Functions that the model defines, put in place of the nodes that call them.
//!
//! A name inside of a function gets that of the calling node in front, `call/name`. Formal operands and results become the
//! caller's. An attribute of a node inside that refers to one of the function takes the caller's, or the function's default, or
//! is left out where there is neither.

use super::index::{domain, node_name};
use crate::error::OnnxError;
use crate::proto::{AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::ReasonCode;

/// The most calls of functions inside of each other. One that calls itself has more.
const DEEPEST: usize = 32;

/// The most bytes of all nodes that functions become, whose names have those of all callers in front.
const MOST_BYTES: usize = 1 << 26;

/// Bytes that a call and a node take beside their texts and attributes.
const BYTES_OF_NODE: usize = 64;

/// A function by domain, name and overload.
type Key<'a> = (&'a str, &'a str, &'a str);

/// Replaces all calls of the model's functions. The answer says which of the nodes, by their position, belong to another
/// version of the standard operator set than the model's: that of their function.
pub(super) fn inline(model: &mut ModelProto) -> Result<BTreeMap<usize, i64>, OnnxError> {
    let functions: BTreeMap<Key<'_>, &FunctionProto> = (model.functions.iter())
        .map(|f| ((domain(&f.domain), f.name.as_str(), f.overload.as_str()), f))
        .collect();
    let Some(graph) = model.graph.as_mut() else {
        return Ok(BTreeMap::new());
    };
    let is_call = |node: &NodeProto| functions.contains_key(&key(node));
    if !graph.node.iter().any(is_call) {
        return Ok(BTreeMap::new());
    }
    let imported = model
        .opset_import
        .iter()
        .find(|import| domain(&import.domain) == domain(""));
    let mut inliner = Inliner {
        functions,
        taken: names(graph),
        numbers: BTreeMap::new(),
        nodes: Vec::new(),
        versions: BTreeMap::new(),
        version: imported.map(|import| import.version),
        bytes: 0,
    };
    for node in std::mem::take(&mut graph.node) {
        inliner.add(node, inliner.version, 0)?;
    }
    graph.node = inliner.nodes;
    Ok(inliner.versions)
}

fn key(node: &NodeProto) -> Key<'_> {
    (domain(&node.domain), &node.op_type, &node.overload)
}

/// All names of tensors in a graph.
fn names(graph: &GraphProto) -> BTreeSet<String> {
    let tensors = graph.initializer.iter().map(|tensor| &tensor.name);
    let inputs = graph.input.iter().map(|input| &input.name);
    let operands = graph.node.iter().flat_map(|node| node.input.iter().chain(&node.output));
    tensors.chain(inputs).chain(operands).cloned().collect()
}

struct Inliner<'f> {
    functions: BTreeMap<Key<'f>, &'f FunctionProto>,
    /// Names that tensors have.
    taken: BTreeSet<String>,
    /// The last number behind a name that was taken.
    numbers: BTreeMap<String, usize>,
    nodes: Vec<NodeProto>,
    versions: BTreeMap<usize, i64>,
    /// The model's version of the standard operator set.
    version: Option<i64>,
    /// Bytes of the nodes that were made.
    bytes: usize,
}

impl Inliner<'_> {
    /// Adds a node, or what the function that it calls becomes. It stands `depth` calls inside the graph.
    fn add(&mut self, node: NodeProto, version: Option<i64>, depth: usize) -> Result<(), OnnxError> {
        let Some(&function) = self.functions.get(&key(&node)) else {
            if let Some(version) = version.filter(|_| version != self.version) {
                self.versions.insert(self.nodes.len(), version);
            }
            self.nodes.push(node);
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
        let mut inside: BTreeMap<String, String> = BTreeMap::new();
        let operands = node.input.iter().cloned().chain(std::iter::repeat(String::new()));
        inside.extend(function.input.iter().cloned().zip(operands));
        let mut copies = Vec::new();
        for (formal, result) in function
            .output
            .iter()
            .zip(&node.output)
            .filter(|(_, result)| !result.is_empty())
        {
            // An operand that is also a result, or a result that is one twice, is copied.
            match inside.get(formal.as_str()) {
                Some(source) => copies.push((source.clone(), result.clone())),
                None => drop(inside.insert(formal.clone(), result.clone())),
            }
        }
        for inner in &function.node {
            let mut own = |name: &'_ String| -> String {
                if name.is_empty() {
                    return String::new();
                }
                if let Some(known) = inside.get(name.as_str()) {
                    return known.clone();
                }
                let fresh = self.fresh(call, name);
                inside.insert(name.clone(), fresh.clone());
                fresh
            };
            let copy = NodeProto {
                input: inner.input.iter().map(&mut own).collect(),
                output: inner.output.iter().map(&mut own).collect(),
                name: match inner.name.as_str() {
                    "" => String::new(),
                    name => format!("{call}/{name}"),
                },
                op_type: inner.op_type.clone(),
                attribute: attributes(&inner.attribute, &node, function),
                domain: inner.domain.clone(),
                overload: inner.overload.clone(),
            };
            self.bytes = self.bytes.saturating_add(copy.encoded_len() + BYTES_OF_NODE);
            if self.bytes > MOST_BYTES {
                return Err(invalid(format!("its functions become more than {MOST_BYTES} bytes")));
            }
            self.add(copy, version, depth + 1)?;
        }
        for (source, result) in copies {
            let copy = NodeProto {
                input: vec![source],
                output: vec![result],
                op_type: "Identity".into(),
                ..NodeProto::default()
            };
            self.add(copy, version, depth + 1)?;
        }
        Ok(())
    }

    /// A name that no tensor has, after the call and the name inside.
    fn fresh(&mut self, call: &str, name: &str) -> String {
        let base = format!("{call}/{name}");
        let mut fresh = base.clone();
        while !self.taken.insert(fresh.clone()) {
            let number = self.numbers.entry(base.clone()).or_default();
            *number += 1;
            fresh = format!("{base}:{number}");
        }
        fresh
    }
}

/// The attributes of a node inside, with those of the function that they refer to.
fn attributes(inner: &[AttributeProto], call: &NodeProto, function: &FunctionProto) -> Vec<AttributeProto> {
    let given = |attribute: &AttributeProto| {
        if attribute.ref_attr_name.is_empty() {
            return Some(attribute.clone());
        }
        let mut all = call.attribute.iter().chain(&function.attribute_proto);
        let found = all.find(|given| given.name == attribute.ref_attr_name)?;
        Some(AttributeProto {
            name: attribute.name.clone(),
            ..found.clone()
        })
    };
    inner.iter().filter_map(given).collect()
}

fn invalid(text: String) -> OnnxError {
    OnnxError::model(ReasonCode::Limit, text)
}
