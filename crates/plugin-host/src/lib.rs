//! Plugins in shared libraries.
//!
//! A library may contain any code. Its constructors run as soon as it is loaded, and it may crash, hang or overwrite
//! memory. So a library is never loaded into this process, but into a **worker**: the same program, started again with
//! [`ARGUMENT`]. Host and worker exchange frames over pipes (module `wire`). If something goes wrong in the worker, the
//! call returns an error that names the plugin and the call, and the next call starts a new worker.
//!
//! A worker consists of two processes. One of them loads the library. Its resources are limited ([`Allowance`]). The
//! other one, its supervisor (`worker/supervisor.rs`), runs only Strait's own code. The supervisor waits until the
//! library's process or the host has ended, and then ends everything that the library has started. So nothing is left
//! running if the host is killed.
//!
//! A library is checked in this order:
//!
//! ```text
//! manifest beside the library   no code runs                                   sidecar.rs
//! header, then digest           of the bytes that are then loaded              worker/load.rs, header.rs
//! entry, versions               in the worker                                  worker/load.rs
//! table                         text; checked like any other table's           library.rs
//! ```
//!
//! [`LibraryTarget`] is a target that a library provides. Strait's own loops compute the forms of its table. In
//! addition, the library may have a model of its chip's arithmetic, and it may write files of its own.
#![cfg_attr(not(unix), allow(dead_code, reason = "there are no workers on this system yet"))]

mod allowance;
mod child;
mod conduct;
mod digest;
mod error;
mod header;
mod held;
mod library;
mod node;
mod pipes;
mod plain;
mod probe;
mod process;
mod sidecar;
mod target;
mod trial;
mod wire;
#[cfg(unix)]
pub mod worker;
/// Workers are not supported on this system yet.
#[cfg(not(unix))]
pub mod worker {
    /// Ends with an error.
    pub fn main() -> std::process::ExitCode {
        std::process::ExitCode::FAILURE
    }
}

pub use allowance::Allowance;
pub use conduct::{Misdeed, Traces, Trial};
pub use digest::sha256;
pub use error::{LoadError, PluginError};
pub use header::triple;
pub use library::{Library, RegisteredForm};
pub use probe::{About, Argument, Probe, Size, Struct};
pub use process::{Patience, Program};
pub use target::{LibraryTarget, register};
pub use trial::{TileRequest, Tried};
pub use wire::Description;

/// The first command-line argument that makes a program a worker. It is not meant for users.
pub const ARGUMENT: &str = "plugin-worker";
