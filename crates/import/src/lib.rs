//! Everything that the readers of all model formats share.
//!
//! A format provides three things: how the tensors and nodes of its graph are connected ([`Wiring`]), the elements of
//! constants and the declared types ([`TensorSource`]), and what each node becomes ([`Reader`], using a [`Layer`]).
//! This crate does everything else: it decides which part of the graph is read and in what order ([`cut()`]), builds
//! the module ([`Builder`]), folds constants, limits the memory and work that a small file can ask for, generates
//! names, and defines the errors, which say whose fault they are.
//!
//! Types and shapes come only from the inference functions of `strait-core`.

mod alike;
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
mod quantized;
mod refusal;
mod sequences;
mod strided_slice;
mod tile;
mod ways;
mod window;
pub mod wire;
mod wiring;

pub use batch::with_batch;
pub use blocks::BlockOrder;
pub use builder::{Builder, Entry, Reader, Scope, build, check_limits, no_tensor};
pub use codes::grid_of;
pub use compose::{matrix_product, reduction_over, scatter_elements, scatter_slices, slice_along};
pub use cut::{Cut, between, cut};
pub use declared::{Declared, Extent, TensorSource, check_bind};
pub use einsum::einsum;
pub use error::{DataFault, FreeDimension, NodeFault, ReadError};
pub use format::{Decoded, Format, MOST_BYTES_OF_PROTOBUF, decode, most_bytes, recognised};
pub use layer::{Arg, Layer};
pub use numbers::{has_nan, is_finite, narrow_entries, narrowed_float, out_of_range, widened_float};
pub use options::{Assumed, ReadOptions, free_dimensions};
pub use refusal::Refusal;
pub use ways::{option, with_ways};
pub use window::{Window, same_padding};
pub use wiring::{TensorId, Wiring};
