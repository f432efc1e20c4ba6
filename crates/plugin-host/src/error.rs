//! Everything that a plugin in a library can go wrong by.

use serde::{Deserialize, Serialize};
use strait_plugin_interface::{INTERFACE_MAJOR, INTERFACE_MINOR, TABLE_SCHEMA};

/// Reason why a library is not taken. Manifest, kind, architecture and digest are looked at before any of its code runs; a
/// manifest tells versions, too, which otherwise the library's entry does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No file, or one that may not be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// A manifest beside it that is wrong.
    #[error("its manifest {0}")]
    Manifest(String),
    /// A file of another kind.
    #[error("it is not a shared library")]
    NotALibrary,
    /// A library for another machine.
    #[error("it is a library for {found}, and this is {needed}")]
    Architecture {
        /// Of the library.
        found: String,
        /// Of this program.
        needed: String,
    },
    /// Other bytes than those that are pinned.
    #[error("its SHA-256 is {found}, and {pinned} is pinned")]
    Hash {
        /// Of the file.
        found: String,
        /// By the configuration.
        pinned: String,
    },
    /// Another answer than the same bytes gave in another process: what it is, and where it differs.
    #[error(
        "in another process the same file answers with {0}: {1} differs; what its entry answers has to be constant"
    )]
    Changed(String, String),
    /// An interface that is no longer spoken.
    #[error(
        "it is built for version {0}.{1} of the interface, which is too old: this program speaks \
         {INTERFACE_MAJOR}.{INTERFACE_MINOR}; build it again with a newer strait_plugin.h or strait-plugin-sdk"
    )]
    TooOld(u32, u32),
    /// An interface that is not spoken yet.
    #[error(
        "it is built for version {0}.{1} of the interface, which is too new: this program speaks \
         {INTERFACE_MAJOR}.{INTERFACE_MINOR}; use a newer Strait"
    )]
    TooNew(u32, u32),
    /// A table that this program cannot read.
    #[error("its table is of schema {0}, and this program reads up to {TABLE_SCHEMA}")]
    Schema(u32),
    /// The system's loader refuses it.
    #[error("it cannot be loaded: {0}")]
    Open(String),
    /// A library of something else.
    #[error("it is no plugin: it has no symbol `{}`", strait_plugin_interface::ENTRY)]
    Symbol,
    /// The plugin says no to this version, or says nothing that makes sense.
    #[error("{0}")]
    Refused(String),
}

impl LoadError {
    /// Error of reading the file.
    pub(crate) fn unreadable(error: std::io::Error) -> LoadError {
        match error.kind() {
            std::io::ErrorKind::InvalidInput => LoadError::NotALibrary,
            _ => LoadError::Unreadable(error.to_string()),
        }
    }
}

/// Error of a plugin in a library: the plugin's fault, or the fault of whoever named it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// It is not taken.
    #[error("the plugin {path}: {error}")]
    Load {
        /// The library.
        path: String,
        /// Why.
        error: LoadError,
    },
    /// It answered with an error.
    #[error("the plugin {plugin}: {call}{at}: {message}", at = at(.node))]
    Failed {
        /// Package and version, or the library.
        plugin: String,
        /// The call.
        call: &'static str,
        /// The node that it reported, by its position in the graph.
        node: Option<u32>,
        /// The status of the answer.
        status: i32,
        /// Text of its report.
        message: String,
    },
    /// Its worker ended or hung in the middle of a call.
    #[error("the plugin {plugin}: {call} {how}")]
    Broken {
        /// Package and version, or the library.
        plugin: String,
        /// The call.
        call: &'static str,
        /// As `crashed: signal 6 (aborted)`.
        how: String,
    },
    /// A worker cannot be started, which is not the plugin's fault.
    #[error("a worker process for the plugin {path} cannot be started: {message}")]
    Worker {
        /// The library.
        path: String,
        /// Error of the system.
        message: String,
    },
}

fn at(node: &Option<u32>) -> String {
    node.map_or_else(String::new, |node| format!(" at node {node} of the graph"))
}
