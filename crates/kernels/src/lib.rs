//! The loops that compute tensors, scalar and SIMD: GEMM, convolution, pooling, elementwise operations and lookup. All
//! of these loops work on slices.
//!
//! Tensors are row-major, and images are NCHW. Kernels get extents and strides; they do not depend on graphs or
//! targets.
//!
//! # The same bits everywhere
//! Neither the instruction set ([`Isa`]) nor the number of threads changes a bit of any result.
//! - **Integers** are exact. Sums wrap as i32 does; the caller makes sure that none of them overflows.
//! - **Float products** (GEMM, convolution): the products of an output element are added in blocks of 256. Each block
//!   is a chain of fused multiply-adds (`f32::mul_add`) that starts at +0. The results of the blocks are then added to
//!   the bias (+0 if there is none) one after the other. The products are added in ascending order along the inner
//!   dimension, and padding elements are multiplied as zeros. No such sum is split over threads.
//! - **Float sums** over an axis, including those in a softmax, have sixteen partial sums; see [`float::reduce`].
//! - **Elementary functions** do not come from a C library. They use only operations whose results IEEE 754 defines to
//!   the last bit.
//!
//! # Threads
//! A kernel uses the rayon pool in which it is called. Work is only split by tiles of the output.

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
