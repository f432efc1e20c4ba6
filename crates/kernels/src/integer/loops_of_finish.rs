//! Implements [`Loops`](super::Loops) for everything that implements `Finish`.

use super::loops::{Addend, Loops};
use super::{
    add::{self},
    conv::{self},
    elementwise::{self, Broadcast},
    finish::Finish,
    gemm::{self, Activation, GemmWeights},
    pool,
    sums::Carrier,
};
use crate::context::Context;
use crate::integer::conv_weights::ConvWeights;
use crate::integer::output_tile::Axis;
use crate::{error::KernelError, window::Pool};
use strait_requantize::IntType;

impl<F: Finish> Loops for F {
    fn out(&self) -> IntType {
        Finish::out(self)
    }

    fn conv(
        &self,
        cx: &Context,
        weights: &ConvWeights,
        batch: usize,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        conv::conv(self, cx, weights, batch, input, out)
    }

    fn gemm(
        &self,
        cx: &Context,
        weights: &GemmWeights,
        rows: usize,
        a: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        gemm::gemm(self, cx, weights, rows, a, out)
    }

    fn matmul(
        &self,
        cx: &Context,
        extents: [usize; 3],
        a: Activation<'_>,
        b: Activation<'_>,
        carrier: Carrier,
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        gemm::matmul(self, cx, extents, a, b, carrier, out)
    }

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
    ) -> Result<(), KernelError> {
        pool::sum_pool(self, cx, pool, channels, element, pad_value, carrier, input, out)
    }

    fn add(
        &self,
        cx: &Context,
        shape: &Broadcast,
        elements: [IntType; 2],
        addends: [Addend<'_>; 2],
        operands: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        add::add(self, cx, shape, elements, addends, operands, out)
    }

    fn multiply(
        &self,
        cx: &Context,
        shape: &Broadcast,
        elements: [IntType; 2],
        zeros: [i32; 2],
        carrier: Carrier,
        operands: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        elementwise::multiply(self, cx, shape, elements, zeros, carrier, operands, out)
    }

    fn requantize(
        &self,
        cx: &Context,
        extents: [usize; 3],
        element: IntType,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        elementwise::requantize(self, cx, extents, element, input, out)
    }

    fn requantize_wide(
        &self,
        cx: &Context,
        extents: [usize; 3],
        accumulators: &[i64],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        elementwise::requantize_wide(self, cx, extents, accumulators, out)
    }
}
