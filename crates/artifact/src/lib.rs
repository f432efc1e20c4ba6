//! An artifact: the integer model of one target with all that is known about it, above the compiler that makes it and the folder
//! that it is kept in.
//!
//! [`write()`] makes one of what was compiled. [`Opened`] is one that was read, ready to be planned; [`verify_files`] and
//! [`Verification::with_model`] say what in it does not hold, and [`inspect`] what it consists of. All answers are data: there is
//! no configuration and no console in this crate, and no file but those of artifacts.

mod deployment;
mod error;
pub mod inspect;
mod opened;
mod verify;
mod write;

pub use deployment::{DEPLOYMENT_FILE, DEPLOYMENT_SCHEMA, DeployedInput, Deployment, Reading};
pub use error::Error;
pub use opened::{Computed, Opened};
pub use verify::{FusionLine, Request, Runs, Subject, Unsound, Verification, verify_built, verify_files};
pub use write::{Parts, write};
