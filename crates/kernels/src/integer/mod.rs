//! Integer kernels. They are exact, and give the same bits on every instruction set.
//!
//! Tensors are bytes: elements of an [`IntType`](strait_requantize::IntType) in the machine's byte order, at any
//! alignment. Activations have 8 or 16 bits. Weights have up to 16 bits, or 17 bits after their zero point was
//! subtracted. Accumulators have 32 or 64 bits ([`Carrier`]). Sums wrap; the caller makes sure that none overflows.
//!
//! # How a target adds its requantization
//! [`Loops`] stands for all loops of one layer with its requantization. A loop computes a tile of accumulators, at most
//! 32 KB, and passes the tile to [`Loops::finish`]. Two types implement this trait:
//! - [`InRegisters<E>`](InRegisters) is compiled for an [`Epilogue`]. It turns accumulators of 32 bits into bytes in
//!   one pass. Accumulators of 64 bits are requantized by one function for all forms. Strait's own epilogues are in
//!   [`epilogue`]. [`standard`] picks the epilogue for a form, and adds the form's [`Batch`] kernel, which computes the
//!   same on whole vectors. A target's crate uses one of these epilogues or defines its own, which consists of the
//!   constants of each channel and a function of one accumulator.
//! - [`ThroughTile<K>`](ThroughTile) calls a [`TileKernel`] for each tile. It is used for kernels behind a C interface.
//!
//! ```
//! use strait_kernels::{Context, integer::{Epilogue, InRegisters, Loops, PerChannel}};
//! use strait_requantize::{IntType, Narrowing, Rounding, form};
//!
//! /// ⌊x / 2^s⌋: a target's own arithmetic.
//! struct Floor {
//!     shifts: PerChannel<u32>,
//! }
//!
//! impl Epilogue for Floor {
//!     type Constants = u32;
//!     fn constants(&self) -> &PerChannel<u32> {
//!         &self.shifts
//!     }
//!     #[inline(always)]
//!     fn lane(&self, shift: &u32, accumulator: i32) -> i32 {
//!         accumulator >> shift
//!     }
//! }
//!
//! let narrowing = Narrowing { shift: 2.into(), rounding: Rounding::Floor, out: IntType::I8 };
//! let form = form::ArithFolded { narrowing }.into();
//! let loops: &dyn Loops = &InRegisters::new(Floor { shifts: PerChannel::Tensor(2) }, &form, Some([0, 127]));
//! let accumulators: Vec<u8> = [-9_i32, 9, 1000].iter().flat_map(|x| x.to_ne_bytes()).collect();
//! let mut out = [0; 3];
//! loops.requantize(&Context::detect(), [1, 1, 3], IntType::I32, &accumulators, &mut out)?;
//! assert_eq!(out, [0, 2, 127]);
//! # Ok::<(), strait_kernels::KernelError>(())
//! ```

mod accumulators;
mod add;
mod affine_sum;
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "only x86-64 has vectors so far")
)]
pub(crate) mod batch;
#[cfg(target_arch = "x86_64")]
pub(crate) mod by_bytes;
pub(crate) mod bytes;
pub(crate) mod channels_last;
mod conv;
mod conv_weights;
mod depthwise;
mod elementwise;
pub mod epilogue;
mod gemm;
pub(crate) mod in_registers;
mod lane;
pub(crate) mod lanes;
mod layer_norm;
mod limit;
mod lookup;
mod loops;
mod output_tile;
mod planes;
mod pool;
mod product;
mod rounded_sum;
mod softmax;
mod standard;
mod sum_definition;
mod sums;
mod through_tile;
pub(crate) mod tiles;
#[cfg(target_arch = "x86_64")]
pub(crate) mod widened;

pub use accumulators::accumulators;
pub use affine_sum::AffineSum;
pub use batch::{Batch, Codes};
pub use channels_last::{ChannelsLast, Order, max_pool_last, reorder};
pub use conv_weights::ConvWeights;
pub use elementwise::Broadcast;
pub use epilogue::{Epilogue, PerChannel, per_channel};
pub use gemm::{Activation, GemmWeights};
pub use in_registers::InRegisters;
pub use layer_norm::IntegerLayerNorm;
pub use limit::multiply_adds_per_second;
pub use lookup::{clamp, lookup};
pub use rounded_sum::RoundedSum;

pub use loops::{Addend, Loops};
pub use output_tile::{Axis, OutputTile};
pub use planes::{Bias, Weights};
pub use pool::{average_pool, max_pool};
pub use softmax::IntegerSoftmax;
pub use standard::standard;
pub use sums::{Carrier, Sums};
pub use through_tile::{ThroughTile, Tile, TileKernel};
