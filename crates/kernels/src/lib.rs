//! The loops: GEMM, convolution, pooling, elementwise and lookup, on slices; scalar and SIMD.
//!
//! Tensors are row-major, images NCHW. Kernels know extents and strides, no graph and no target.
//!
//! # The same bits everywhere
//! Neither the instruction set ([`Isa`]) nor the number of threads changes a bit of any result.
//! - **Integers** are exact: sums wrap as i32 does, and the caller sees to it that they do not have to.
//! - **Float products** (GEMM, convolution): each output element is one chain of fused multiply-adds
//!   (`f32::mul_add`). It starts as the bias (+0 without one), then K ascends; padding takes part as zeros. The chain is
//!   never split over threads, and blocks of K continue the running value.
//! - **Float sums** over an axis, softmax's too: sixteen partial sums, see [`float::reduce`].
//! - **Elementary functions** are our own, from operations that IEEE 754 defines to the last bit.
//!
//! # Threads
//! A kernel uses the rayon pool that it is called in, and splits its work by output tile only.

// The one room for it: intrinsics, and tiles of one output that several threads write.
#![allow(unsafe_code)]

mod error;
pub mod float;
pub mod integer;
mod isa;
mod parallel;
mod simd;
mod window;

pub use error::KernelError;
pub use isa::{Context, Isa};
pub use window::{Conv, Images, Pool, Window};
