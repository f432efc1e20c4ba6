//! The artifact on disk: what a compilation leaves behind, and what running, evaluating and verifying start from.
//!
//! An artifact is a folder. `model.strait` is the container file with the graphs, their tensors and the certificates of
//! the fusions ([`model`], over the plain container of [`mod@format`]); beside it are `report.json` and the files that the
//! target wrote; `manifest.json` lists them all with their digests and says what they were made from ([`Manifest`]).
//! Nothing in it depends on when, where or by whom it was made: the same input gives the same bytes.
//!
//! [`ArtifactWriter`] writes beside the destination and then exchanges, so that whoever looks finds the previous artifact
//! or the new one and never a mixture. [`Artifact`] holds its folder and its files open, so that everything that is read from
//! it is of one artifact. It believes nothing that it reads: names, lengths, checksums and references are checked before they
//! are used.
//!
//! The bytes are described in `docs/container.md`.

mod artifact;
mod beside;
mod certificates;
mod compare;
mod digest;
mod error;
mod exchange;
mod folder;
pub mod format;
mod held;
mod leftovers;
mod manifest;
pub mod model;
mod model_files;
mod path;
mod quantization;
mod staging;
mod unfinished;
mod writer;

pub use artifact::{Artifact, Finding};
pub use beside::Beside;
pub use compare::{Difference, compare};
pub use digest::sha256;
pub use error::ArtifactError;
pub use folder::artifact_around;
pub use format::{FormatError, Integrity};
pub use leftovers::remove_leftovers;
pub use manifest::{ExtendedTable, FileEntry, Manifest, Provenance, Sources, TargetOrigin, TargetVersion, ToolVersion};
pub use model::{Model, ModelError};
pub use model_files::{ModelChanged, ModelFiles};
pub use quantization::{ConfigReport, QUANTIZATION_FILE, Quantization, QuantizedLayer, SchemeReport};
pub use strait_file_names::NameError;
pub use strait_requantize::certificate::Digest;
pub use unfinished::Unfinished;
pub use writer::{ArtifactWriter, Reserved};

/// The file in an artifact that lists all others.
pub const MANIFEST_FILE: &str = "manifest.json";

/// The container file in an artifact.
pub const MODEL_FILE: &str = "model.strait";
