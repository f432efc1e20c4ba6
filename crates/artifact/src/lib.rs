//! The artifact: the integer model for one target, together with everything that is known about the model. This crate
//! connects the compiler with the folder in which the model is stored.
//!
//! [`write()`] makes an artifact from a compiled model. [`Opened`] is an artifact that was read and can be run.
//! [`verify_files`] and [`Verification::with_model`] find out what is wrong with an artifact, and [`inspect`] shows
//! what an artifact consists of. All results are plain data. This crate knows no configuration and prints nothing, and
//! it reads and writes only the files of artifacts.

mod deployment;
mod error;
pub mod inspect;
mod opened;
mod ports;
mod verify;
mod write;

pub use deployment::{DEPLOYMENT_FILE, DEPLOYMENT_SCHEMA, DeployedInput, Deployment, DeviceForm, ModelReading};
pub use error::Error;
pub use opened::{Computed, Opened};
pub use verify::{FusionLine, RunSamples, Runs, Subject, Unsound, Verification, verify_built, verify_files};
pub use write::{CommonParts, factors, write};
