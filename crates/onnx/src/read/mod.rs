//! From an ONNX file to a module of the float stage.
//!
//! [`index`] looks over the graph and refuses what contradicts itself; [`cut`] finds the nodes that are needed, in an
//! order in which they can be built; [`build`] walks over them. What one node becomes is said in [`ops`], a file for
//! each family of operators, in terms of a [`site::NodeReader`]. Integer arithmetic on shapes, which exporters leave in
//! the graph, is done by [`fold`] on the way.

mod attributes;
mod batch;
mod body;
mod build;
mod compose;
mod cut;
mod external;
mod fold;
mod index;
mod inline;
mod instance;
mod late;
mod ops;
mod sequences;
mod site;
mod tensor;
#[cfg(test)]
mod tests;
mod types;

pub use external::LFS_POINTER;
pub use ops::{Operator, operators};

use crate::error::{FreeDimension, OnnxError};
use crate::proto::ModelProto;
use crate::{IR_VERSIONS, OPSETS};
use bytes::Bytes;
use prost::Message;
use std::collections::BTreeMap;
use std::path::Path;
use strait_core::ReasonCode;
use strait_core::{Dim, Module};

/// Protobuf offsets are 31 bits wide; larger models keep their weights in other files.
const MOST_BYTES: u64 = 1 << 31;

/// The longest message of the protobuf decoder that is passed on.
const LONGEST_MESSAGE: usize = 300;

/// Options of reading a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Values of symbolic dimensions, by their name in the model, or by `<input>.<axis>` where a dimension of an input
    /// has none. Dimensions without a value stay symbolic where the operators allow it.
    pub bind: BTreeMap<String, u64>,
    /// Where the graph begins instead of at its inputs: tensors, or nodes, which stand for their first operand that is
    /// not a constant. Empty: at its inputs.
    pub inputs: Vec<String>,
    /// Where the graph ends instead of at its outputs: tensors, or nodes, which stand for their first result. Empty: at
    /// its outputs.
    pub outputs: Vec<String>,
}

/// A decoded model. Its weights are slices of the mapped file.
#[derive(Debug)]
pub struct Model {
    /// Without functions: they stand where they were called.
    proto: ModelProto,
    versions: inline::Versions,
    files: external::DataFiles,
}

/// Reads the model at `path`: [`Model::open`] and [`Model::read`] in one.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Module, OnnxError> {
    Model::open(path)?.read(options)
}

impl Model {
    /// Maps and decodes the file at `path`, which must not change while the model or a module read from it is in use.
    pub fn open(path: &Path) -> Result<Model, OnnxError> {
        let bytes = strait_mapped::map(path, MOST_BYTES).map_err(|source| OnnxError::File {
            path: path.into(),
            source,
        })?;
        Model::decode(bytes, path.parent().unwrap_or(Path::new("")))
    }

    /// Decodes a model from memory; `folder` is where its data files are looked for, if it has any.
    pub fn decode(bytes: Bytes, folder: &Path) -> Result<Model, OnnxError> {
        let mut proto = ModelProto::decode(bytes).map_err(|e| {
            let text = e.to_string();
            OnnxError::Decode(text.chars().take(LONGEST_MESSAGE).collect())
        })?;
        if proto.graph.is_none() {
            return Err(OnnxError::Decode("there is no graph in it".into()));
        }
        check_version("IR version", proto.ir_version, IR_VERSIONS)?;
        let versions = inline::inline(&mut proto)?;
        versions.each(&mut |version| check_version("operator set", version, OPSETS))?;
        Ok(Model {
            proto,
            versions,
            files: external::DataFiles::new(folder),
        })
    }

    /// The names of all tensors that the graph can be cut at: its inputs and the results of its nodes, in the order of
    /// the file.
    pub fn tensors(&self) -> impl Iterator<Item = &str> {
        let graph = self.proto.graph.iter();
        graph.flat_map(|g| {
            let inputs = g.input.iter().map(|i| i.name.as_str());
            let results = g.node.iter().flat_map(|n| n.output.iter().map(String::as_str));
            inputs.chain(results).filter(|name| !name.is_empty())
        })
    }

    /// The names of all nodes in the order of the file; one without a name has that of its first result.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.proto
            .graph
            .iter()
            .flat_map(|g| g.node.iter().map(index::node_name))
    }

    /// The data files that have been read from so far, each by its place below the model's folder, with `/` between its
    /// parts, in the order of these names. After [`Model::read`] these are all that the module has tensors from.
    pub fn data_files(&self) -> Vec<(String, Bytes)> {
        self.files.opened()
    }

    /// Builds the module.
    ///
    /// Only what the outputs need is read. Constants that a node takes as data must be finite. Nodes keep their names;
    /// one without a name has that of its first result.
    pub fn read(&self, options: &ReadOptions) -> Result<Module, OnnxError> {
        self.build(options, |_, _| Vec::new()).map(|(module, _)| module)
    }

    /// As [`Model::read`], with the batch bound to 1: the free dimension that is the first of every input. Which
    /// dimensions were bound so is part of the answer.
    pub fn read_single(&self, options: &ReadOptions) -> Result<(Module, Vec<FreeDimension>), OnnxError> {
        self.build(options, |index, cut| batch::batch(index, cut, &options.bind))
    }

    fn build(
        &self,
        options: &ReadOptions,
        batch: impl FnOnce(&index::Index<'_>, &cut::Cut<'_>) -> Vec<FreeDimension>,
    ) -> Result<(Module, Vec<FreeDimension>), OnnxError> {
        let graph = self
            .proto
            .graph
            .as_ref()
            .ok_or_else(|| OnnxError::Decode("there is no graph in it".into()))?;
        let index = index::Index::new(graph)?;
        let versions = self.versions()?;
        types::check_bind(&index, &options.bind)?;
        let cut = cut::cut(&index, options)?;
        let operands = cut.nodes.iter().flat_map(|&node| index.reads(node));
        self.files.check(operands.filter_map(|id| index.constant(id)))?;
        let batch = batch(&index, &cut);
        let mut bind = options.bind.clone();
        bind.extend(batch.iter().map(|free| (free.name.clone(), 1)));
        let scope = build::Scope {
            index: &index,
            versions: &versions,
            own_versions: &self.versions,
            files: &self.files,
            bind: &bind,
        };
        Ok((build::build(&scope, cut)?, batch))
    }

    /// The version of each domain's operator set. The standard domain is spelled `ai.onnx` or left empty in a file, and
    /// `ai.onnx` here.
    fn versions(&self) -> Result<BTreeMap<&str, i64>, OnnxError> {
        let mut versions = BTreeMap::new();
        for import in &self.proto.opset_import {
            let domain = index::domain(&import.domain);
            if versions
                .insert(domain, import.version)
                .is_some_and(|v| v != import.version)
            {
                let text = format!("it imports two operator sets of the domain {domain}");
                return Err(OnnxError::model(ReasonCode::DuplicateOpset, text));
            }
        }
        if let Some(&version) = versions.get(index::STANDARD_DOMAIN) {
            check_version("operator set", version, OPSETS)?;
        }
        Ok(versions)
    }
}

fn check_version(what: &'static str, found: i64, range: std::ops::RangeInclusive<i64>) -> Result<(), OnnxError> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(OnnxError::Version {
        what,
        found,
        range: range.into_inner(),
    })
}

/// The dimensions of the main graph's inputs that have no value, in the order of inputs and axes.
pub fn free_dimensions(module: &Module) -> Vec<FreeDimension> {
    let graph = module.main();
    let mut free = Vec::new();
    for input in graph.inputs().iter().filter_map(|&id| graph.value(id)) {
        for (axis, dim) in input.ty.shape.iter().enumerate() {
            if let Dim::Named(name) = *dim {
                free.push(FreeDimension {
                    input: module.name(input.name).into(),
                    axis,
                    name: module.name(name).into(),
                });
            }
        }
    }
    free
}
