//! The compute loops of the project, scalar and SIMD: GEMM, convolution, pooling, elementwise operations and lookup,
//! all on slices.
//!
//! Tensors are row-major, and images are NCHW. Kernels know extents and strides, but neither graphs nor targets.
//!
//! # The same bits everywhere
//! Neither the instruction set ([`Isa`]) nor the number of threads changes a bit of any result.
//! - **Integers** are exact. Sums wrap like i32 does; the caller makes sure that none of them overflows.
//! - **Float products** (GEMM, convolution): the products of an output element are added in blocks of 256. Each block
//!   is a chain of fused multiply-adds (`f32::mul_add`) that starts at +0. The blocks are then added to the bias (+0
//!   without one) one after the other. K ascends, and padding takes part as zeros. No such sum is split over threads.
//! - **Float sums** over an axis, also those of softmax, use sixteen partial sums; see [`float::reduce`].
//! - **Elementary functions** are our own, and use only operations that IEEE 754 defines to the last bit.
//!
//! # Threads
//! A kernel uses the rayon pool that it is called in, and splits its work by output tile only.

#![allow(
    unsafe_code,
    reason = "the room for intrinsics, and for tiles of one output that several threads write"
)]

mod context;
mod error;
pub mod float;
pub mod integer;
mod isa;
pub mod mixed;
mod parallel;
mod simd;
mod window;

pub use context::Context;
pub use error::KernelError;
pub use isa::Isa;
pub use parallel::{alone, threads};
pub use window::{Conv, Images, Pool, Window};
