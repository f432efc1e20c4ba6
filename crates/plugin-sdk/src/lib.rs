//! The one crate of Strait that a vendor's crate depends on.
//!
//! These names, and what they do, follow semantic versioning: `tests/names.txt` is the list of them, and a name that is
//! taken out of it is a new major version. Whatever else the crates behind this one have may change at any time. Enums and
//! structs that may get more say so (`#[non_exhaustive]`); of an op a target sees its [`Term`](graph::Term) and its
//! attributes, so that an op that is new breaks nobody.
//!
//! - A target is a [`TargetFactory`]: a table, and for each of its forms a [`FormKernel`].
//! - [`dialect`] has what makes a configuration out of the words of a vendor's own tool, and what reads its documents.
//! - [`kernel`] has what computes a form in an own way: a function of one accumulator, or of a tile.
//! - [`form`] has the requantizations and the few families of arithmetic behind them.
//! - [`graph`] has what code for a table's gaps sees: the nodes that [`Target::admits`] is asked about, and the module that
//!   [`Target::emit`] writes. [`Export`](graph::Export) makes a graph in the target's own format of it.
//!
//! ```
//! use strait_plugin_sdk::{FormKernel, TargetFactory, inventory};
//!
//! inventory::submit! {
//!     TargetFactory::new(
//!         concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
//!         "schema = 1 # include_str!(\"../target.toml\")",
//!     )
//!     .kernels(&[FormKernel::host("scale31")])
//! }
//! ```
//!
//! The program with this target in it is three lines more: `use vendor_target as _;` in front of the `main` of
//! `strait-cli`. [`export_plugin!`] makes a shared library of the same factory. `docs/plugins` in the repository has the whole
//! way, `examples/vendor-rust` a target that goes both.

mod export;
#[doc(hidden)]
#[cfg(feature = "library")]
pub mod library;

pub use strait_core::Counts;
pub use strait_target::{Candidate, Decision, FormKernel, Make, Prepare, TableTarget, Target, TargetFactory};
pub use strait_target::{Emission, FusionSite, Joined, Observing, OptionValue, Options, Recorded, Sink};
pub use strait_target::{TargetError, TargetSpec, inventory};

/// Quantization in the words of a vendor's own tool.
pub mod dialect {
    pub use strait_target::dialect::{Dialect, KeyPath, Means, Objection, Setting, Vocabulary};
    pub use strait_target::text::Written;
}

/// Kernels of an own.
pub mod kernel {
    pub use strait_kernels::KernelError;
    pub use strait_kernels::integer::{Axis, Batch, Epilogue, InRegisters, Loops, PerChannel, per_channel, standard};
    pub use strait_kernels::integer::{ThroughTile, Tile, TileKernel};
}

/// Requantizations.
pub mod form {
    pub use strait_core::Fused;
    pub use strait_core::form_list::form_list as fields;
    pub use strait_requantize::form::{Affine, DoubleProduct, Doubling, FloatAffine, FloatProduct, StepCount};
    pub use strait_requantize::form::{Arithmetic, Channel};
    pub use strait_requantize::{FormKind, IntType, Per, Requantization, Rounding};
}

/// Graphs, their nodes and values.
pub mod graph {
    pub use crate::export::{Export, Foreign};
    pub use strait_core::{Attribute, Channels, Elem, Graph, Module, Node, NodeId, Placement, QuantParams};
    pub use strait_core::{Dim, Reason, ReasonCode, TensorData, Term, ValueId};
}
