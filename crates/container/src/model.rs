//! The sections of `model.strait`: the graphs as IR bytes, their tensors, and the certificates of the fusions.

use crate::certificates;
use crate::error::ModelError;
use crate::format::{self, ALIGNMENT, FormatError, Integrity, NewSection, Sections};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io::{self, Write};
use strait_core::{CertificateRecord, Module, TensorData};

/// Section with the IR bytes of the module.
const GRAPHS: &str = "graphs";
/// Section that says where each tensor of the IR bytes is in [`TENSORS`]: the offset and the length of each, as two
/// 64-bit numbers.
const TENSOR_TABLE: &str = "tensor-table";
/// Section with the elements of the tensors, each of which starts at an aligned offset. Equal tensors are stored once.
const TENSORS: &str = "tensors";
/// Section with the certificates; see [`CertificateRecord`].
const CERTIFICATES: &str = "certificates";

/// The sections that this version knows.
pub(crate) const KNOWN: [&str; 4] = [GRAPHS, TENSOR_TABLE, TENSORS, CERTIFICATES];

/// Size of one entry of the tensor table in bytes.
const ENTRY: usize = 16;

/// Contents of an artifact's container file.
#[derive(Clone, Debug)]
pub struct Model {
    /// The lowered graph and the fused graph, which share their tensors.
    pub module: Module,
    /// The certificates of the fusions, in the order of the fused graph.
    pub certificates: Vec<CertificateRecord>,
}

/// A container file that is ready to be written.
#[derive(Clone, Debug)]
pub struct EncodedModel {
    graphs: Vec<u8>,
    tensor_table: Vec<u8>,
    /// The tensors that are stored. If several tensors are equal, only the first one is stored.
    tensors: Vec<TensorData>,
    certificates: Vec<u8>,
}

/// Prepares a container file. The tensors are shared with the module and not copied.
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
            // Readers may skip the certificates, since the graphs mean the same without them. Only `strait verify`
            // needs them.
            section(CERTIFICATES, false, vec![&self.certificates]),
            section(TENSOR_TABLE, true, vec![&self.tensor_table]),
            section(TENSORS, true, self.tensors.iter().map(|t| t.bytes().as_ref()).collect()),
        ];
        format::write(&sections, out)
    }
}

/// Reads a container file. The tensors are slices of the file.
pub fn read(file: &Bytes, integrity: Integrity) -> Result<Model, ModelError> {
    let sections = Sections::parse(file)?;
    sections.refuse_unknown(&KNOWN)?;
    sections.check(match integrity {
        Integrity::Full => &[],
        Integrity::SkipTensors => &[TENSORS],
    })?;
    let tensors = read_tensors(sections.require(TENSOR_TABLE)?, sections.require(TENSORS)?)?;
    Ok(Model {
        module: strait_core::bytes::decode(sections.require(GRAPHS)?, &|index| tensors.get(index).cloned())?,
        certificates: sections
            .get(CERTIFICATES)
            .map_or(Ok(Vec::new()), |s| certificates::decode(s))?,
    })
}

/// The bytes of each tensor, found with the tensor table.
fn read_tensors(table: &[u8], content: &Bytes) -> Result<Vec<Bytes>, FormatError> {
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
            // Both bounds fit a `usize`, since they lie inside a slice.
            Some(end) if offset.is_multiple_of(ALIGNMENT) => Ok(content.slice(offset as usize..end as usize)),
            _ => Err(damaged(format!(
                "{length} bytes at {offset} are not a place for a tensor"
            ))),
        }
    };
    table.chunks_exact(ENTRY).map(tensor).collect()
}
