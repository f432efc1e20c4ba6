//! The artifact on disk. A compilation writes an artifact, and commands read it to run, evaluate or verify the model.
//!
//! An artifact is a folder with these files:
//! - `model.strait` is the container file with the graphs, their tensors and the certificates of the fusions. [`model`]
//!   defines these contents, and [`mod@format`] defines the container.
//! - `report.json` and the files that the target wrote.
//! - `manifest.json` lists all other files with their digests and says what the artifact was made from ([`Manifest`]).
//!
//! Nothing in an artifact depends on when, where or by whom it was made: the same input gives the same bytes.
//!
//! [`ArtifactWriter`] writes beside the destination and then exchanges the folders. So a reader finds either the
//! previous artifact or the new one, and never a mixture. [`Artifact`] holds its folder and files open, so that
//! everything that is read from it belongs to one artifact. Names, lengths, checksums and references are checked before
//! they are used.
//!
//! `docs/container.md` describes the bytes.

mod artifact;
mod beside;
mod certificates;
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
mod params;
mod path;
mod ports;
mod quantization;
mod staging;
mod unfinished;
mod writer;

pub use artifact::{Artifact, FileFinding};
pub use beside::Beside;
pub use digest::sha256;
pub use error::{ArtifactError, ModelError};
pub use folder::artifact_around;
pub use format::{FormatError, Integrity};
pub use leftovers::remove_leftovers;
pub use manifest::{ExtendedTable, FileEntry, Manifest, Provenance, Sources, TargetOrigin, TargetVersion, ToolVersion};
pub use model::Model;
pub use model_files::{ModelChanged, ModelFiles};
pub use params::{PARAMS_FILE, PARAMS_SCHEMA, PROPAGATED, Params, TensorParams};
pub use ports::{PortCodes, PortEntry, Ports};
pub use quantization::{
    ConfigReport, QUANTIZATION_FILE, QUANTIZATION_SCHEMA, Quantization, QuantizedLayer, SchemeReport,
};
pub use strait_file_names::NameError;
pub use strait_requantize::certificate::Digest;
pub use unfinished::Unfinished;
pub use writer::{ArtifactWriter, Reserved};

/// The file in an artifact that lists all others.
pub const MANIFEST_FILE: &str = "manifest.json";

/// The container file in an artifact.
pub const MODEL_FILE: &str = "model.strait";
