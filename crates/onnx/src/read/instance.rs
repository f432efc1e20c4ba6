//! Copies the nodes of a function to the place where the function is called, and gives their tensors new names.

use super::index::node_name;
use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, ValueInfoProto,
};
use std::collections::{BTreeMap, BTreeSet};

/// The names of all tensors of the model. New names are chosen so that they are not among these.
pub(super) struct Texts {
    taken: BTreeSet<String>,
    /// For each base name that is taken, the last number that was appended to it.
    numbers: BTreeMap<String, usize>,
}

impl Texts {
    pub(super) fn new(taken: BTreeSet<String>) -> Texts {
        Texts {
            taken,
            numbers: BTreeMap::new(),
        }
    }

    /// A new tensor name, made of the name of the call and the name inside the function.
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

/// A call of a function whose nodes are being copied.
pub(super) struct Instance<'c> {
    call: &'c NodeProto,
    function: &'c FunctionProto,
    /// The new names of tensors: first those of the function itself, and then those of each nested graph that is being
    /// copied. A nested graph may use a name again that the graph around it has.
    scopes: Vec<BTreeMap<String, String>>,
}

impl<'c> Instance<'c> {
    /// Gives the function's operands and results the names that the caller has for them. If an operand of the function
    /// is also its result, or a result appears twice, a tensor has to be copied. These copies are returned, too, as
    /// pairs: the name of the tensor, and the name of its copy.
    pub(super) fn new(call: &'c NodeProto, function: &'c FunctionProto) -> (Instance<'c>, Vec<(String, String)>) {
        let mut inside: BTreeMap<String, String> = BTreeMap::new();
        let operands = call.input.iter().cloned().chain(std::iter::repeat(String::new()));
        inside.extend(function.input.iter().cloned().zip(operands));
        let mut copies = Vec::new();
        let results = function.output.iter().zip(&call.output);
        for (formal, result) in results.filter(|(_, result)| !result.is_empty()) {
            match inside.get(formal.as_str()) {
                Some(source) => copies.push((source.clone(), result.clone())),
                None => drop(inside.insert(formal.clone(), result.clone())),
            }
        }
        let instance = Instance {
            call,
            function,
            scopes: vec![inside],
        };
        (instance, copies)
    }

    /// A copy of a node, which is in the function or in a nested graph.
    pub(super) fn node(&mut self, texts: &mut Texts, inner: &NodeProto) -> NodeProto {
        NodeProto {
            input: inner.input.iter().map(|name| self.name(texts, name)).collect(),
            output: inner.output.iter().map(|name| self.name(texts, name)).collect(),
            name: match inner.name.as_str() {
                "" => String::new(),
                name => format!("{}/{name}", node_name(self.call)),
            },
            op_type: inner.op_type.clone(),
            attribute: (inner.attribute.iter())
                .filter_map(|attribute| self.attribute(texts, attribute))
                .collect(),
            domain: inner.domain.clone(),
            overload: inner.overload.clone(),
        }
    }

    /// The new name of a tensor. If no nested graph has defined the name, the tensor belongs to the function.
    fn name(&mut self, texts: &mut Texts, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        if let Some(known) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            return known.clone();
        }
        let fresh = texts.fresh(node_name(self.call), name);
        if let Some(function) = self.scopes.first_mut() {
            function.insert(name.into(), fresh.clone());
        }
        fresh
    }

    /// Returns a copy of an attribute of an inner node. If the attribute refers to an attribute of the function, the
    /// result is a copy of the function's attribute. Graphs that come from the caller are not changed.
    fn attribute(&mut self, texts: &mut Texts, inner: &AttributeProto) -> Option<AttributeProto> {
        if !inner.ref_attr_name.is_empty() {
            let mut all = self.call.attribute.iter().chain(&self.function.attribute_proto);
            let found = all.find(|given| given.name == inner.ref_attr_name)?;
            return Some(AttributeProto {
                name: inner.name.clone(),
                ..found.clone()
            });
        }
        let graph = inner.g.as_deref().map(|graph| Box::new(self.graph(texts, graph)));
        Some(AttributeProto {
            g: graph,
            ..inner.clone()
        })
    }

    fn graph(&mut self, texts: &mut Texts, graph: &GraphProto) -> GraphProto {
        let sparse = graph
            .sparse_initializer
            .iter()
            .filter_map(|tensor| tensor.values.as_ref());
        let own = (graph.input.iter().map(|input| &input.name))
            .chain(graph.initializer.iter().chain(sparse).map(|tensor| &tensor.name))
            .chain(graph.node.iter().flat_map(|node| &node.output));
        let call = node_name(self.call);
        let own = own.filter(|name| !name.is_empty()).collect::<BTreeSet<_>>();
        let own = own.into_iter().map(|name| (name.clone(), texts.fresh(call, name)));
        self.scopes.push(own.collect());
        let tensor = |name: String, tensor: &TensorProto| TensorProto { name, ..tensor.clone() };
        let info = |name: String, info: &ValueInfoProto| ValueInfoProto { name, ..info.clone() };
        let copy = GraphProto {
            node: graph.node.iter().map(|node| self.node(texts, node)).collect(),
            name: graph.name.clone(),
            initializer: (graph.initializer.iter())
                .map(|each| tensor(self.name(texts, &each.name), each))
                .collect(),
            input: (graph.input.iter())
                .map(|each| info(self.name(texts, &each.name), each))
                .collect(),
            output: (graph.output.iter())
                .map(|each| info(self.name(texts, &each.name), each))
                .collect(),
            value_info: Vec::new(),
            sparse_initializer: (graph.sparse_initializer.iter())
                .map(|each| SparseTensorProto {
                    values: each
                        .values
                        .as_ref()
                        .map(|each| tensor(self.name(texts, &each.name), each)),
                })
                .collect(),
        };
        self.scopes.pop();
        copy
    }
}
