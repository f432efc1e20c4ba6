//! Builds a module of the float stage from an ONNX file.
//!
//! [`index`] makes an index of the graph and refuses contradictions, [`types`] knows what the file says about its
//! tensors, and [`nodes`] reads one node. [`ops`] defines what a node becomes; it has a file for each family of
//! operators, and uses an [`operator_reader::OperatorReader`]. Everything that all formats have in common is in
//! `strait-import`.

mod attributes;
mod body;
mod external;
mod index;
mod inline;
mod instance;
mod nodes;
pub(crate) mod operator_reader;
mod ops;
pub(crate) mod row;
mod sequences;
mod tensor;
#[cfg(test)]
mod tests;
mod types;
mod walk;

pub(crate) use external::EXTERNAL;
pub use external::LFS_POINTER;
pub(crate) use index::RUNTIME_DOMAIN;
pub(crate) use ops::is_read;
pub use ops::{Operator, operators};

use crate::proto::ModelProto;
use crate::{IR_VERSIONS, OPSETS};
use bytes::Bytes;
use prost::Message;
use std::collections::BTreeMap;
use std::path::Path;
use strait_core::{Module, ReasonCode};
use strait_import::{Assumed, Decoded, MOST_BYTES_OF_PROTOBUF, ReadError, ReadOptions, Scope, with_batch};

/// A model that has been decoded. Its weights are slices of the mapped file.
#[derive(Debug)]
pub struct Model {
    /// The decoded file. It has no functions any more, because they were inlined where they are called.
    proto: ModelProto,
    versions: inline::Versions,
    files: external::DataFiles,
}

/// Reads the model at `path`. It does what [`Model::open`] and [`Model::read`] do one after the other.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Module, ReadError> {
    Model::open(path)?.read(options)
}

impl Model {
    /// Maps and decodes the file at `path`. The file must not change while the model, or a module that was read from
    /// it, is in use.
    pub fn open(path: &Path) -> Result<Model, ReadError> {
        let bytes = strait_mapped::map(path, MOST_BYTES_OF_PROTOBUF).map_err(|source| ReadError::File {
            path: path.into(),
            source,
        })?;
        Model::decode(bytes, path.parent().unwrap_or(Path::new("")))
    }

    /// Decodes a model from memory. If it has data files, they are looked for in `folder`.
    pub fn decode(bytes: Bytes, folder: &Path) -> Result<Model, ReadError> {
        Model::decode_in(bytes, Some(folder))
    }

    /// Like [`Model::decode`]. If there is no folder, no data file is opened.
    pub(crate) fn decode_in(bytes: Bytes, folder: Option<&Path>) -> Result<Model, ReadError> {
        let mut proto = ModelProto::decode(bytes).map_err(|e| undecoded(&e.to_string()))?;
        if proto.graph.is_none() {
            return Err(undecoded("there is no graph in it"));
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

    /// Returns the version of each domain's operator set. A file may spell the standard domain `ai.onnx` or leave it
    /// empty; the result has `ai.onnx` in both cases.
    fn versions(&self) -> Result<BTreeMap<&str, i64>, ReadError> {
        let mut versions = BTreeMap::new();
        for import in &self.proto.opset_import {
            let domain = index::domain(&import.domain);
            if versions
                .insert(domain, import.version)
                .is_some_and(|v| v != import.version)
            {
                let text = format!("it imports two operator sets of the domain {domain}");
                return Err(ReadError::model(ReasonCode::DuplicateOpset, text));
            }
        }
        if let Some(&version) = versions.get(index::STANDARD_DOMAIN) {
            check_version("operator set", version, OPSETS)?;
        }
        Ok(versions)
    }
}

impl Decoded for Model {
    /// Returns the names of all tensors at which the graph can be cut, in the order of the file. These are the graph's
    /// inputs, and the results of its nodes.
    fn tensors(&self) -> Vec<&str> {
        let graph = self.proto.graph.iter();
        let names = graph.flat_map(|g| {
            let inputs = g.input.iter().map(|i| i.name.as_str());
            let results = g.node.iter().flat_map(|n| n.output.iter().map(String::as_str));
            inputs.chain(results).filter(|name| !name.is_empty())
        });
        names.collect()
    }

    /// The names of all nodes in the order of the file. A node without a name has the name of its first result.
    fn nodes(&self) -> Vec<&str> {
        let graph = self.proto.graph.iter();
        graph.flat_map(|g| g.node.iter().map(index::node_name)).collect()
    }

    /// Returns the data files that have been read so far, sorted by path. Paths are relative to the model's folder,
    /// with `/` between their parts. After [`Model::read`], these are all data files with tensors of the module.
    fn data_files(&self) -> Vec<(String, Bytes)> {
        self.files.opened()
    }

    /// Builds the module from the file.
    ///
    /// Only nodes on which the outputs depend are read. Constants that a node takes as data must be finite. Nodes keep
    /// their names; a node without a name gets the name of its first result. The batch consists of the first dimensions
    /// of all inputs, if all of them are free.
    fn build(&self, options: &ReadOptions, is_single: bool) -> Result<(Module, Assumed), ReadError> {
        let graph = self
            .proto
            .graph
            .as_ref()
            .ok_or_else(|| undecoded("there is no graph in it"))?;
        let index = index::Index::new(graph)?;
        let versions = self.versions()?;
        let types::Keys { all, single } = types::Keys::of(&index, &options.bind)?;
        strait_import::check_bind(&options.bind, || all)?;
        let cut = strait_import::cut(&index.wiring, options)?;
        let operands = cut.nodes.iter().flat_map(|&node| index.wiring.reads(node));
        self.files.check(operands.filter_map(|id| index.constant(id)))?;
        let source = types::Tensors {
            index: &index,
            files: &self.files,
            single: &single,
        };
        let (batch, bind) = with_batch(&index.wiring, &source, &cut, options, is_single);
        let scope = Scope {
            wiring: &index.wiring,
            source: &source,
            bind: &bind,
        };
        let mut nodes = nodes::Nodes {
            index: &index,
            versions: &versions,
            own_versions: &self.versions,
            files: &self.files,
            bodies: 0,
        };
        let (module, assumed) = strait_import::build(scope, &mut nodes, &cut)?;
        Ok((module, Assumed { batch, ..assumed }))
    }
}

fn check_version(what: &'static str, found: i64, range: std::ops::RangeInclusive<i64>) -> Result<(), ReadError> {
    if range.contains(&found) {
        return Ok(());
    }
    Err(ReadError::Version {
        what,
        found,
        range: range.into_inner(),
    })
}

fn undecoded(words: &str) -> ReadError {
    ReadError::undecoded("ONNX", words)
}
