//! The trait [`Loops`]: what a target implements, or instantiates, to run its requantization in the kernels.

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

/// All loops of one layer with its requantization, prepared once when the plan is made.
///
/// Each loop computes `clamp(requantize(accumulator))` and writes elements of type [`Loops::out`] as bytes. Sums are
/// carried in 32 or in 64 bits, according to how the weights were packed, or to the argument `carrier`. If the
/// requantization has parameters per channel, their number has to be the number of channels of the loop's output. The
/// elementwise loops of two operands have one channel.
///
/// # Errors
/// [`KernelError::Shape`] if slices, extents and channels do not fit together; [`KernelError::Tile`] from a target's
/// batch kernel.
pub trait Loops: Send + Sync {
    /// The element type of the results. It is I32 if the results are the accumulators, whether of 32 or of 64 bits.
    fn out(&self) -> IntType;

    /// Convolution: the accumulator is `bias[o] + Σ w·x`. `input` is `[batch, channels, height, width]`, `out`
    /// `[batch, out_channels, rows, columns]`.
    fn conv(
        &self,
        cx: &Context,
        weights: &ConvWeights,
        batch: usize,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// Product with constant weights: the accumulator is `bias[n] + Σ a[m, k]·w[k, n]`. `a` is `[rows, k]`, `out`
    /// `[rows, n]`; channels run along `n`.
    fn gemm(
        &self,
        cx: &Context,
        weights: &GemmWeights,
        rows: usize,
        a: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// Product of two activations: the accumulator is `Σ (a[m, k] − zero)·(b[k, n] − zero)`, for extents `[m, n, k]`.
    /// `out` is `[m, n]`, row-major; channels run along `n`.
    fn matmul(
        &self,
        cx: &Context,
        extents: [usize; 3],
        a: Activation<'_>,
        b: Activation<'_>,
        carrier: Carrier,
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// Sums of windows, over an `element` of 8 or 16 bits. Padding, and elements beyond it, count as `pad_value`. The
    /// channels are either the channels of the image ([`Axis::Rows`]) or the positions of an output plane in row-major
    /// order ([`Axis::Columns`]).
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

    /// Elementwise sum of codes of up to 16 bits, in 32 bits. The accumulator is the sum of the two accumulators that
    /// `addends` computes from both codes.
    fn add(
        &self,
        cx: &Context,
        shape: &Broadcast,
        elements: [IntType; 2],
        addends: [Addend<'_>; 2],
        operands: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<(), KernelError>;

    /// Elementwise product of elements of 8 or 16 bits: the accumulator is `(a − zeros[0])·(b − zeros[1])`.
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

    /// Requantizes an array `[outer, channels, inner]`: each element, of type `element`, is an accumulator as it is.
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

/// How the codes of one operand become accumulators on the common grid.
#[derive(Clone, Copy)]
pub enum Addend<'a> {
    /// Codes are looked up in a table with one entry per code. Entry 0 belongs to the smallest code of the type, which
    /// is I8 or U8.
    Table(&'a [i32; 256]),
    /// Accumulators are computed from the codes: `±requantize((code − zero)·2^bits)`, for codes of up to 16 bits.
    Codes {
        /// The zero point that is subtracted from the code.
        zero: i32,
        /// Number of bits to shift left. Every shifted code fits into 32 bits.
        bits: u8,
        /// Requantizes shifted codes to accumulators (I32). `None` if the shifted codes are the accumulators.
        loops: Option<&'a dyn Loops>,
        /// True if the operand is subtracted.
        negative: bool,
    },
}
