//! Reductions over the middle axis of `[outer, axis, inner]`, and softmax.
//!
//! A sum is always computed in the same order, whatever the layout and the machine. There are sixteen partial sums that
//! start at +0. Partial sum `p` adds the elements `p, p + 16, p + 32, …` one after the other. Then partial sums `8..16`
//! are added to `0..8`, `4..8` to `0..4`, `2..4` to `0..2`, and 1 to 0. A product is computed in the same order, from
//! sixteen partial products that start at 1.

use super::maths::exp;
use crate::context::Context;
use crate::simd::Job;
use crate::{
    error::{KernelError, expect_len, product},
    parallel::for_each_chunk,
    simd::Simd,
};

/// What a reduction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The sum of the elements.
    Sum,
    /// The sum divided by the number of elements.
    Mean,
    /// The largest element; −∞ if there are no elements.
    Max,
    /// The smallest element; +∞ if there are no elements.
    Min,
    /// The product of the elements.
    Product,
}

const PARTIALS: usize = 16;
/// Number of neighbouring results that `fold_columns` computes at once.
const LANES: usize = 16;
/// Number of neighbouring results that a reduction computes at once, where there are so many.
const WIDE: usize = 64;

/// Combines `values` into sixteen partial results, and then combines these into one.
#[inline(always)]
fn fold(start: f32, values: &[f32], step: impl Fn(f32, f32) -> f32) -> f32 {
    let mut partials = [start; PARTIALS];
    let whole = values.chunks_exact(PARTIALS);
    let rest = whole.remainder();
    for chunk in whole {
        for p in 0..PARTIALS {
            partials[p] = step(partials[p], chunk[p]);
        }
    }
    for (partial, &value) in partials.iter_mut().zip(rest) {
        *partial = step(*partial, value);
    }
    let mut half = PARTIALS / 2;
    while half > 0 {
        for p in 0..half {
            partials[p] = step(partials[p], partials[p + half]);
        }
        half /= 2;
    }
    partials[0]
}

/// Does the same as `fold`, for up to `LANES` neighbouring columns of a matrix at once. The rows of the matrix have `stride`
/// elements.
#[inline(always)]
fn fold_columns(
    start: f32,
    values: &[f32],
    rows: usize,
    stride: usize,
    out: &mut [f32],
    step: impl Fn(f32, f32) -> f32,
) {
    if let Ok(out) = <&mut [f32; LANES]>::try_from(&mut *out) {
        return fold_exactly(start, values, rows, stride, out, step);
    }
    let mut partials = [[start; LANES]; PARTIALS];
    for row in 0..rows {
        let source = &values[row * stride..row * stride + out.len()];
        for (partial, &value) in partials[row % PARTIALS].iter_mut().zip(source) {
            *partial = step(*partial, value);
        }
    }
    combine(&mut partials, step);
    out.copy_from_slice(&partials[0][..out.len()]);
}

/// Does the same as `fold`, for `N` neighbouring columns of a matrix at once.
#[inline(always)]
fn fold_exactly<const N: usize>(
    start: f32,
    values: &[f32],
    rows: usize,
    stride: usize,
    out: &mut [f32; N],
    step: impl Fn(f32, f32) -> f32,
) {
    let mut partials = [[start; N]; PARTIALS];
    for row in 0..rows {
        let source = &values[row * stride..][..N];
        let partial = &mut partials[row % PARTIALS];
        for lane in 0..N {
            partial[lane] = step(partial[lane], source[lane]);
        }
    }
    combine(&mut partials, step);
    *out = partials[0];
}

/// Combines the partial results of each column into the first.
#[inline(always)]
fn combine<const N: usize>(partials: &mut [[f32; N]; PARTIALS], step: impl Fn(f32, f32) -> f32) {
    let mut half = PARTIALS / 2;
    while half > 0 {
        for p in 0..half {
            let (low, high) = partials.split_at_mut(half);
            low[p]
                .iter_mut()
                .zip(&high[p])
                .for_each(|(partial, &other)| *partial = step(*partial, other));
        }
        half /= 2;
    }
}

#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if b > a { b } else { a }
}

#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

#[inline(always)]
fn add(a: f32, b: f32) -> f32 {
    a + b
}

#[inline(always)]
fn multiply(a: f32, b: f32) -> f32 {
    a * b
}

/// Reduces the middle axis of `[outer, axis, inner]`; `out` is `[outer, inner]`.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have these extents.
pub fn reduce(
    cx: &Context,
    what: Reduction,
    [outer, axis, inner]: [usize; 3],
    input: &[f32],
    out: &mut [f32],
) -> Result<(), KernelError> {
    expect_len("the input", input.len(), product(&[outer, axis, inner]))?;
    expect_len("the output", out.len(), product(&[outer, inner]))?;
    if out.is_empty() {
        return Ok(());
    }
    for_each_chunk(out, inner, input.len(), |o, out| {
        cx.run(ReduceJob {
            what,
            axis,
            input: &input[o * axis * inner..(o + 1) * axis * inner],
            out,
        });
    });
    Ok(())
}

struct ReduceJob<'a> {
    what: Reduction,
    axis: usize,
    input: &'a [f32],
    out: &'a mut [f32],
}

impl ReduceJob<'_> {
    #[inline(always)]
    fn fold(&mut self, start: f32, step: impl Fn(f32, f32) -> f32) {
        let inner = self.out.len();
        if inner == 1 {
            self.out[0] = fold(start, self.input, step);
            return;
        }
        // Many neighbouring columns are read together, because memory is read in longer pieces then.
        let (wide, rest) = self.out.as_chunks_mut::<WIDE>();
        let first = wide.len() * WIDE;
        for (i, out) in wide.iter_mut().enumerate() {
            fold_exactly(
                start,
                self.input.get(i * WIDE..).unwrap_or(&[]),
                self.axis,
                inner,
                out,
                &step,
            );
        }
        for (i, out) in rest.chunks_mut(LANES).enumerate() {
            let columns = self.input.get(first + i * LANES..).unwrap_or(&[]);
            fold_columns(start, columns, self.axis, inner, out, &step);
        }
    }
}

impl Job for ReduceJob<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self) {
        match self.what {
            Reduction::Sum => self.fold(0.0, add),
            Reduction::Mean => {
                self.fold(0.0, add);
                let count = self.axis as f32;
                self.out.iter_mut().for_each(|sum| *sum /= count);
            }
            Reduction::Max => self.fold(f32::NEG_INFINITY, larger),
            Reduction::Min => self.fold(f32::INFINITY, smaller),
            Reduction::Product => self.fold(1.0, multiply),
        }
    }
}

/// Softmax over the middle axis of `[outer, axis, inner]`: `e / Σe` with `e = exp(x − max x)`. The sum is added in the
/// order that the top of this module describes.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have these extents.
pub fn softmax(
    cx: &Context,
    [outer, axis, inner]: [usize; 3],
    input: &[f32],
    out: &mut [f32],
) -> Result<(), KernelError> {
    let elements = product(&[outer, axis, inner]);
    expect_len("the input", input.len(), elements)?;
    expect_len("the output", out.len(), elements)?;
    if out.is_empty() {
        return Ok(());
    }
    // An exponential takes as long as about sixteen multiply-adds.
    for_each_chunk(out, axis * inner, input.len().saturating_mul(16), |o, out| {
        cx.run(SoftmaxJob {
            inner,
            input: &input[o * axis * inner..(o + 1) * axis * inner],
            out,
        });
    });
    Ok(())
}

struct SoftmaxJob<'a> {
    inner: usize,
    input: &'a [f32],
    out: &'a mut [f32],
}

impl Job for SoftmaxJob<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let SoftmaxJob { inner, input, out } = self;
        if inner == 1 {
            let top = fold(f32::NEG_INFINITY, input, larger);
            out.iter_mut().zip(input).for_each(|(e, &x)| *e = exp(x - top));
            let sum = fold(0.0, out, add);
            out.iter_mut().for_each(|e| *e /= sum);
            return;
        }
        let rows = input.len() / inner;
        for first in (0..inner).step_by(LANES) {
            let count = LANES.min(inner - first);
            let (mut top, mut sum) = ([0.0; LANES], [0.0; LANES]);
            fold_columns(
                f32::NEG_INFINITY,
                &input[first..],
                rows,
                inner,
                &mut top[..count],
                larger,
            );
            let line = |row: usize| row * inner + first..row * inner + first + count;
            for row in 0..rows {
                for ((e, &x), &top) in out[line(row)].iter_mut().zip(&input[line(row)]).zip(&top) {
                    *e = exp(x - top);
                }
            }
            fold_columns(0.0, &out[first..], rows, inner, &mut sum[..count], add);
            for row in 0..rows {
                out[line(row)].iter_mut().zip(&sum).for_each(|(e, &sum)| *e /= sum);
            }
        }
    }
}
