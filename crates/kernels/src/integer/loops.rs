//! The trait [`Loops`], by which kernels run the requantization of a target. A target implements it, or uses one of the
//! implementations in this crate.

use super::{
    elementwise::Broadcast,
    gemm::{Activation, GemmWeights},
    sums::Carrier,
};
use crate::context::Context;
use crate::integer::conv_weights::ConvWeights;
use crate::integer::output_tile::Axis;
use crate::{error::KernelError, window::Pool};
use strait_requantize::IntType;

/// All loops of one layer, with its requantization. They are prepared once, when the plan is made.
///
/// Each loop computes `clamp(requantize(accumulator))`, and writes elements of type [`Loops::out`] as bytes. Sums are
/// carried in 32 or in 64 bits. The packed weights decide which or, if there are none, the argument `carrier`. If the
/// requantization has parameters per channel, there have to be as many as the loop's output has channels. Elementwise
/// loops of two operands have one channel.
///
/// # Errors
/// [`KernelError::Shape`] if slices, extents and channels do not fit together; [`KernelError::Tile`] if a batch kernel
/// of the target fails.
pub trait Loops: Send + Sync {
    /// The element type of the results. If the results are the accumulators, it is I32, even for accumulators of 64
    /// bits.
    fn out(&self) -> IntType;

    /// A convolution. The accumulator is `bias[o] + Σ w·x`. `input` is `[batch, channels, height, width]`, and `out` is
    /// `[batch, out_channels, rows, columns]`.
    fn conv(
        &self,
        cx: &Context,
        weights: &ConvWeights,
        batch: usize,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// A matrix product with constant weights. The accumulator is `bias[n] + Σ a[m, k]·w[k, n]`. `a` is `[rows, k]`,
    /// and `out` is `[rows, n]`. Channels run along `n`.
    fn gemm(
        &self,
        cx: &Context,
        weights: &GemmWeights,
        rows: usize,
        a: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// A matrix product of two activations with extents `[m, n, k]`. The accumulator is `Σ (a[m, k] − zero)·(b[k, n] −
    /// zero)`, where `zero` is the zero point of the operand. `out` is `[m, n]`, row-major. Channels run along `n`.
    fn matmul(
        &self,
        cx: &Context,
        extents: [usize; 3],
        a: Activation<'_>,
        b: Activation<'_>,
        carrier: Carrier,
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// The sums of windows, for elements of type `element`, of 8 or 16 bits. Elements of the padding, and beyond the
    /// padding, count as `pad_value`. The channels are either the channels of the image ([`Axis::Rows`]) or the
    /// positions of an output plane in row-major order ([`Axis::Columns`]).
    fn sum_pool(
        &self,
        cx: &Context,
        pool: &Pool,
        channels: Axis,
        element: IntType,
        pad_value: i32,
        carrier: Carrier,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// The elementwise sum of codes of up to 16 bits, in 32 bits. `addends` says how an accumulator is computed from
    /// the code of each operand; the two accumulators are added.
    fn add(
        &self,
        cx: &Context,
        shape: &Broadcast,
        elements: [IntType; 2],
        addends: [Addend<'_>; 2],
        operands: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// The elementwise product of elements of 8 or 16 bits. The accumulator is `(a − zeros[0])·(b − zeros[1])`.
    fn multiply(
        &self,
        cx: &Context,
        shape: &Broadcast,
        elements: [IntType; 2],
        zeros: [i32; 2],
        carrier: Carrier,
        operands: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// Requantizes an array `[outer, channels, inner]`. Its elements, of type `element`, are the accumulators.
    fn requantize(
        &self,
        cx: &Context,
        extents: [usize; 3],
        element: IntType,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// Requantizes an array `[outer, channels, inner]` of 64-bit accumulators.
    fn requantize_wide(
        &self,
        cx: &Context,
        extents: [usize; 3],
        accumulators: &[i64],
        out: &mut [u8],
    ) -> Result<(), KernelError>;
}

/// How an accumulator on the common grid is computed from a code of one operand.
#[derive(Clone, Copy)]
pub enum Addend<'a> {
    /// The accumulator is looked up in a table with one entry per code. Entry 0 is for the smallest code of the type,
    /// which is I8 or U8.
    Table(&'a [i32; 256]),
    /// The accumulator is computed from the code, which has up to 16 bits: `±requantize((code − zero)·2^bits)`.
    Codes {
        /// The zero point that is subtracted from the code.
        zero: i32,
        /// The number of bits by which the difference is shifted left. The shifted differences have to fit in 32 bits.
        bits: u8,
        /// Requantizes the shifted differences to accumulators (I32). `None` if the shifted differences are the
        /// accumulators.
        loops: Option<&'a dyn Loops>,
        /// True if the operand is subtracted.
        negative: bool,
    },
}
