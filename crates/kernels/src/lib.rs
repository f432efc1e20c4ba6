//! The loops: GEMM, convolution, pooling, elementwise and lookup, on slices; scalar and SIMD.
//!
//! Tensors are row-major, images NCHW. Kernels know extents and strides, no graph and no target.
//!
//! # The same bits everywhere
//! Neither the instruction set ([`Isa`]) nor the number of threads changes a bit of any result.
//! - **Integers** are exact: sums wrap as i32 does, and the caller sees to it that they do not have to.
//! - **Float products** (GEMM, convolution): every 256 products of an output element are a chain of fused multiply-adds
//!   (`f32::mul_add`) that starts at +0; the chains are added to the bias (+0 without one) one after the other. K ascends;
//!   padding takes part as zeros. Nothing of it is split over threads.
//! - **Float sums** over an axis, softmax's too: sixteen partial sums, see [`float::reduce`].
//! - **Elementary functions** are our own, from operations that IEEE 754 defines to the last bit.
//!
//! # Threads
//! A kernel uses the rayon pool that it is called in, and splits its work by output tile only.

#![allow(
    unsafe_code,
    reason = "the room for intrinsics, and for tiles of one output that several threads write"
)]

mod error;
pub mod float;
pub mod integer;
mod isa;
pub mod mixed;
mod parallel;
mod simd;
mod window;

pub use error::KernelError;
pub use isa::{Context, Isa};
pub use parallel::{alone, threads};
pub use window::{Conv, Images, Pool, Window};
