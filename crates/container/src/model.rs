//! The sections of `model.strait`: the graphs as IR bytes, their tensors, and the certificates of the fusions.

use crate::certificates;
use crate::format::{self, ALIGNMENT, FormatError, Integrity, NewSection, Sections};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io::{self, Write};
use strait_core::bytes::BytesError;
use strait_core::{CertificateRecord, Module, TensorData};

/// IR bytes of the module.
const GRAPHS: &str = "graphs";
/// For each tensor of the IR bytes its place in [`TENSORS`]: offset and length, as two 64-bit numbers.
const TENSOR_TABLE: &str = "tensor-table";
/// The elements of the tensors, each at a multiple of the alignment; equal ones are there once.
const TENSORS: &str = "tensors";
/// See [`CertificateRecord`].
const CERTIFICATES: &str = "certificates";

/// The sections that this version knows.
pub(crate) const KNOWN: [&str; 4] = [GRAPHS, TENSOR_TABLE, TENSORS, CERTIFICATES];

/// The size of an entry of the tensor table.
const ENTRY: usize = 16;

/// Content of the container file of an artifact.
#[derive(Clone, Debug)]
pub struct Model {
    /// The lowered and the fused graph over one pool of tensors.
    pub module: Module,
    /// Claims of the fusions, in the order of the fused graph.
    pub certificates: Vec<CertificateRecord>,
}

/// Reason why a container file cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The container is damaged or of another version.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The IR bytes are damaged or of another version; or, on writing, the module is not one that can be stored.
    #[error(transparent)]
    Graphs(#[from] BytesError),
    /// The section of certificates is damaged.
    #[error("section `certificates`: {0}")]
    Certificates(serde_json::Error),
    /// The section of certificates is too long.
    #[error("section `certificates` has {0} bytes, which is more than is read")]
    TooManyCertificates(usize),
    /// Nothing was added. The fault is the caller's.
    #[error("an artifact needs a model")]
    Missing,
}

/// A container file before it is written.
#[derive(Clone, Debug)]
pub struct EncodedModel {
    graphs: Vec<u8>,
    tensor_table: Vec<u8>,
    /// Those of the module's tensors that are stored: the first one with each content.
    tensors: Vec<TensorData>,
    certificates: Vec<u8>,
}

/// Prepares the container file. The tensors are shared with the module, not copied.
pub fn encode(module: &Module, certificates: &[CertificateRecord]) -> Result<EncodedModel, ModelError> {
    let encoded = strait_core::bytes::encode(module)?;
    let mut places: BTreeMap<[u8; 32], u64> = BTreeMap::new();
    let mut tensors = Vec::new();
    let mut tensor_table = Vec::new();
    let mut end = 0u64;
    for tensor in encoded.tensors {
        let content = blake3::hash(tensor.bytes());
        let length = tensor.bytes().len() as u64;
        let offset = *places.entry(*content.as_bytes()).or_insert_with(|| {
            let offset = end.next_multiple_of(ALIGNMENT);
            end = offset + length;
            tensors.push(tensor);
            offset
        });
        tensor_table.extend(offset.to_le_bytes());
        tensor_table.extend(length.to_le_bytes());
    }
    Ok(EncodedModel {
        graphs: encoded.ir,
        tensor_table,
        tensors,
        certificates: certificates::encode(certificates)?,
    })
}

impl EncodedModel {
    /// Writes the container file.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let section = |name, critical, parts| NewSection { name, critical, parts };
        let sections = [
            section(GRAPHS, true, vec![&self.graphs[..]]),
            // Without it the graphs still mean the same; it is what `verify` looks at.
            section(CERTIFICATES, false, vec![&self.certificates]),
            section(TENSOR_TABLE, true, vec![&self.tensor_table]),
            section(TENSORS, true, self.tensors.iter().map(|t| t.bytes().as_ref()).collect()),
        ];
        format::write(&sections, out)
    }
}

/// Reads a container file. The tensors are slices of it.
pub fn read(file: &Bytes, integrity: Integrity) -> Result<Model, ModelError> {
    let sections = Sections::parse(file)?;
    sections.refuse_unknown(&KNOWN)?;
    sections.check(match integrity {
        Integrity::Full => &[],
        Integrity::SkipTensors => &[TENSORS],
    })?;
    let tensors = tensors(sections.require(TENSOR_TABLE)?, sections.require(TENSORS)?)?;
    Ok(Model {
        module: strait_core::bytes::decode(sections.require(GRAPHS)?, &|index| tensors.get(index).cloned())?,
        certificates: sections
            .get(CERTIFICATES)
            .map_or(Ok(Vec::new()), |s| certificates::decode(s))?,
    })
}

/// The bytes of each tensor, by the table.
fn tensors(table: &[u8], content: &Bytes) -> Result<Vec<Bytes>, FormatError> {
    let damaged = |text: String| FormatError::Damaged(format!("section `{TENSOR_TABLE}`: {text}"));
    if !table.len().is_multiple_of(ENTRY) {
        return Err(damaged(format!(
            "it has {} bytes, not {ENTRY} for each tensor",
            table.len()
        )));
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, &byte| n << 8 | u64::from(byte));
    let tensor = |entry: &[u8]| {
        let (offset, length) = (number(&entry[..8]), number(&entry[8..]));
        let end = offset.checked_add(length).filter(|end| *end <= content.len() as u64);
        match end {
            // Both fit the length of a slice.
            Some(end) if offset.is_multiple_of(ALIGNMENT) => Ok(content.slice(offset as usize..end as usize)),
            _ => Err(damaged(format!(
                "{length} bytes at {offset} are not a place for a tensor"
            ))),
        }
    };
    table.chunks_exact(ENTRY).map(tensor).collect()
}
