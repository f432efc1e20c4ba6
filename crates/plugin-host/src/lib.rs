//! Plugins in shared libraries.
//!
//! A library is code that nobody here has seen: its constructors run before it is asked anything, and it may crash, hang or
//! write where it likes. So it is never loaded into this process, but into a **worker**: the same program, executed again
//! with [`ARGUMENT`], which speaks by frames over pipes (module `wire`). What goes wrong there is an error that names plugin and
//! call, and the next call has a new worker.
//!
//! A worker is two processes. The one with the library has limits ([`Allowance`]) and may do anything. The other one, its
//! supervisor (`worker/supervisor.rs`), runs nobody else's code: it waits for the end of the library or of the host, and then
//! ends all that the library has started, wherever that has moved to. So nothing stays behind a host that is killed.
//!
//! ```text
//! manifest beside the library   no code runs                                   sidecar.rs
//! header, then digest           of the bytes that are then loaded              worker/load.rs, header.rs
//! entry, versions               in the worker                                  worker/load.rs
//! table                         text; checked like any other table's           library.rs
//! ```
//!
//! [`LibraryTarget`] is a target of it: the host's loops for the forms of its table, its own model of the arithmetic beside
//! them, and its own files.
#![cfg_attr(not(unix), allow(dead_code, reason = "there are no workers on this system yet"))]

mod allowance;
mod digest;
mod error;
mod header;
mod held;
mod library;
mod node;
mod pipes;
mod probe;
mod process;
mod sidecar;
mod target;
mod trial;
mod wire;
pub mod worker;

pub use allowance::Allowance;
pub use digest::sha256;
pub use error::{LoadError, PluginError};
pub use header::triple;
pub use library::Library;
pub use probe::{About, Argument, Probe, Size, Struct};
pub use process::{Patience, Program};
pub use target::{LibraryTarget, register};
pub use trial::{Misdeed, RegisteredForm, TileRequest, Traces, Trial, Tried};

/// The first argument of a program that is to be a worker. Nobody types it.
pub const ARGUMENT: &str = "plugin-worker";
