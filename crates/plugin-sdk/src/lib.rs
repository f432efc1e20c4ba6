//! The one crate of Strait that a vendor's crate depends on.
//!
//! The names in this crate, and what they do, follow semantic versioning. `tests/names.txt` lists the names. Removing a
//! name needs a new major version. Everything else in Strait's other crates may change at any time. Enums and structs
//! to which something may be added are `#[non_exhaustive]`. A target sees only the [`Term`](graph::Term) and the
//! attributes of an op, so that new ops do not break any target.
//!
//! - A target is a [`TargetFactory`]: a table, and for each of its forms a [`FormKernel`].
//! - [`dialect`] translates the settings of a vendor's own tool into a configuration, and reads that tool's files.
//! - [`kernel`] is for kernels of your own: a function of one accumulator, or of a tile.
//! - [`form`] has the requantizations, and the few families of arithmetic that they are built from.
//! - [`graph`] is for code that does what a table cannot: the nodes that [`Target::admits`] is asked about, and the
//!   module that [`Target::emit`] writes. [`Export`](graph::Export) converts this module to a graph in the target's own
//!   format.
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
//! A program that contains this target takes three more lines: `use vendor_target as _;` and a `main` that calls
//! `strait-cli`'s. [`export_plugin!`] makes a shared library from the same factory. `docs/plugins` in the repository
//! explains all steps, and `examples/vendor-rust` is a target that is built in both ways.

mod export;
#[doc(hidden)]
#[cfg(feature = "library")]
pub mod library;

pub use strait_core::Counts;
pub use strait_target::{Balanced, Emission, FusionSite, Joined, Observing, OptionValue, Options, Recorded, Sink};
pub use strait_target::{Candidate, Decision, FormKernel, Make, Prepare, TableTarget, Target, TargetFactory};
pub use strait_target::{TargetError, TargetSpec, inventory};

/// For targets that understand the settings of a vendor's own quantization tool.
pub mod dialect {
    pub use strait_target::dialect::{Dialect, KeyPath, Means, Objection, Setting, Vocabulary};
    pub use strait_target::text::Written;
}

/// For targets with kernels of their own.
pub mod kernel {
    pub use strait_kernels::KernelError;
    pub use strait_kernels::integer::{Axis, Batch, Epilogue, InRegisters, Loops, PerChannel, per_channel, standard};
    pub use strait_kernels::integer::{ThroughTile, Tile, TileKernel};
}

/// The requantizations that a target's table may use.
pub mod form {
    pub use strait_core::Fused;
    pub use strait_core::form_list::form_list as fields;
    pub use strait_requantize::form::{Affine, DoubleProduct, Doubling, FloatAffine, FloatProduct, StepCount};
    pub use strait_requantize::form::{Arithmetic, Channel};
    pub use strait_requantize::{FormKind, IntType, Per, Requantization, Rounding};
}

/// Types to read graphs, with their nodes and values.
pub mod graph {
    pub use crate::export::{Export, Foreign};
    pub use strait_core::{Attribute, Channels, Elem, Graph, Module, Node, NodeId, Placement, QuantParams};
    pub use strait_core::{Dim, Reason, ReasonCode, TensorData, Term, ValueId};
}
