//! The common part of every reader of models.
//!
//! A format says how the tensors and nodes of its graph hang together ([`Wiring`]), which elements its constants have and
//! which types it declares ([`Source`]), and what each of its nodes becomes ([`Reader`], in terms of a [`Layer`]). The rest is
//! here: which part of the graph is read and in what order ([`cut()`]), the module that grows ([`Builder`]), arithmetic on
//! constants, budgets for what a few bytes of a file can ask for, names, and the errors that say whose fault it is.
//!
//! Types and shapes come from the inference functions of `strait-core`, and from nowhere else.

mod batch;
mod blocks;
mod builder;
mod codes;
mod compose;
mod cut;
mod declared;
mod einsum;
mod error;
mod fold;
mod format;
mod grow;
mod late;
mod layer;
mod mirror;
mod numbers;
mod one_hot;
mod options;
mod refusal;
mod sequences;
mod tile;
mod ways;
pub mod wire;
mod wiring;

pub use batch::batch;
pub use blocks::BlockOrder;
pub use builder::{Builder, Entry, Reader, Scope, build, check_limits, no_tensor};
pub use codes::grid_of;
pub use compose::{matrix_product, reduction_over};
pub use cut::{Cut, between, cut};
pub use declared::{Declared, Extent, Source, check_bind};
pub use einsum::einsum;
pub use error::{DataFault, FreeDimension, NodeFault, ReadError};
pub use format::{Decoded, Format, MOST_BYTES_OF_PROTOBUF, decode, most_bytes, recognised};
pub use layer::{Arg, Layer};
pub use numbers::{has_nan, is_finite, narrowed_float, widened_float};
pub use options::{Assumed, ReadOptions, free_dimensions};
pub use refusal::Refusal;
pub use ways::with_ways;
pub use wiring::{TensorId, Wiring};
