//! Everything that can go wrong with a plugin in a library.

use serde::{Deserialize, Serialize};
use strait_plugin_interface::{INTERFACE_MAJOR, INTERFACE_MINOR, TABLE_SCHEMA};

/// Why a library is refused. Its manifest, file type, architecture and digest are checked before any of its code runs.
/// If there is a manifest, the versions in the manifest are also checked before any code runs. Otherwise the library's
/// entry function states the versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file does not exist or may not be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// The manifest beside the library is wrong.
    #[error("its manifest {0}")]
    Manifest(String),
    /// The file is not a shared library.
    #[error("it is not a shared library")]
    NotALibrary,
    /// The library was built for another kind of machine.
    #[error("it is a library for {found}, and this is {needed}")]
    Architecture {
        /// System and architecture of the library.
        found: String,
        /// System and architecture of this program.
        needed: String,
    },
    /// The library's digest is not the pinned one.
    #[error("its SHA-256 is {found}, and {pinned} is pinned")]
    Hash {
        /// Digest of the file.
        found: String,
        /// Digest that the configuration pins.
        pinned: String,
    },
    /// In another process, the same library described itself differently. The first field is what the library said in
    /// that process, and the second one names the difference.
    #[error(
        "in another process the same file answers with {0}: {1} differs; what its entry answers has to be constant"
    )]
    Changed(String, String),
    /// The library uses a version of the interface that is too old.
    #[error(
        "it is built for version {0}.{1} of the interface, which is too old: this program speaks \
         {INTERFACE_MAJOR}.{INTERFACE_MINOR}; build it again with a newer strait_plugin.h or strait-plugin-sdk"
    )]
    TooOld(u32, u32),
    /// The library uses a version of the interface that is too new.
    #[error(
        "it is built for version {0}.{1} of the interface, which is too new: this program speaks \
         {INTERFACE_MAJOR}.{INTERFACE_MINOR}; use a newer Strait"
    )]
    TooNew(u32, u32),
    /// The plugin's table has a schema that this program cannot read.
    #[error("its table is of schema {0}, and this program reads {TABLE_SCHEMA}")]
    Schema(u32),
    /// The system's loader refuses the library.
    #[error("it cannot be loaded: {0}")]
    Open(String),
    /// The library is no plugin: it does not export the entry symbol.
    #[error("it is no plugin: it has no symbol `{}`", strait_plugin_interface::ENTRY)]
    Symbol,
    /// The plugin refuses this version of the host, or its answer makes no sense.
    #[error("{0}")]
    Refused(String),
}

impl LoadError {
    /// The error for a file that cannot be read.
    pub(crate) fn unreadable(error: std::io::Error) -> LoadError {
        match error.kind() {
            std::io::ErrorKind::InvalidInput => LoadError::NotALibrary,
            _ => LoadError::Unreadable(error.to_string()),
        }
    }
}

/// An error of a plugin in a library. Either the plugin or the person who named it is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// The library is refused.
    #[error("the plugin {path}: {error}")]
    Load {
        /// Path of the library.
        path: String,
        /// Why the library is refused.
        error: LoadError,
    },
    /// A call returned an error.
    #[error("the plugin {plugin}: {call}{at}: {message}", at = at(.node))]
    Failed {
        /// Package and version of the plugin, or the library's path.
        plugin: String,
        /// Name of the function that was called.
        call: &'static str,
        /// Index, in the graph, of the node that the plugin reported.
        node: Option<u32>,
        /// Status that the call returned.
        status: i32,
        /// Message that the plugin reported.
        message: String,
    },
    /// The worker process ended or hung in the middle of a call.
    #[error("the plugin {plugin}: {call} {how}")]
    Broken {
        /// Package and version of the plugin, or the library's path.
        plugin: String,
        /// Name of the function that was called.
        call: &'static str,
        /// How the worker ended, such as `crashed: signal 6 (aborted)`.
        how: String,
    },
    /// A worker cannot be started. The plugin is not at fault.
    #[error("a worker process for the plugin {path} cannot be started: {message}")]
    Worker {
        /// Path of the library.
        path: String,
        /// The error of the operating system, as text.
        message: String,
    },
}

fn at(node: &Option<u32>) -> String {
    node.map_or_else(String::new, |node| format!(" at node {node} of the graph"))
}
