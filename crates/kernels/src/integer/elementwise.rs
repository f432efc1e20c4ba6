//! Elementwise loops: of two operands with numpy's broadcasting, and of one array of accumulators.

use super::{
    bytes::{check_8_bits, flip, load, width},
    finish::{Axis, Finish, Place, check_channels},
};
use crate::{
    error::{KernelError, expect_len, product},
    isa::{Context, Job},
    parallel::{Shared, try_for_each},
    simd::Simd,
};
use strait_requantize::IntType;

/// How two arrays meet, by numpy's rule: extents are aligned at the last axis, and an extent of 1 is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// The axes of the result, neighbours joined where both operands allow it; never empty.
    axes: Vec<BroadcastAxis>,
    elements: [usize; 3],
}

/// One axis: its extent, and the elements to the next position in each operand (0 where it is repeated).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BroadcastAxis {
    extent: usize,
    strides: [usize; 2],
}

impl Broadcast {
    /// Two row-major arrays with these extents.
    ///
    /// # Errors
    /// [`KernelError::Shape`] where two extents differ and none of them is 1.
    pub fn new(a: &[usize], b: &[usize]) -> Result<Broadcast, KernelError> {
        let rank = a.len().max(b.len());
        let aligned = |dims: &[usize], axis: usize| (axis + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
        let mut axes: Vec<BroadcastAxis> = vec![];
        let mut elements = [1_usize; 3];
        for axis in (0..rank).rev() {
            let extents = [aligned(a, axis), aligned(b, axis)];
            let extent = match extents {
                [a, b] if a == b || b == 1 => a,
                [1, b] => b,
                _ => return Err(KernelError::Shape(format!("{a:?} and {b:?} do not broadcast"))),
            };
            let strides = [0, 1].map(|o| if extents[o] == 1 { 0 } else { elements[o] });
            for (total, extent) in elements.iter_mut().zip([extents[0], extents[1], extent]) {
                *total = total
                    .checked_mul(extent)
                    .ok_or_else(|| KernelError::Size(format!("the broadcast of {a:?} and {b:?}")))?;
            }
            match axes.last_mut() {
                _ if extent == 1 => {}
                Some(inner) if (0..2).all(|o| strides[o] == inner.strides[o] * inner.extent) => inner.extent *= extent,
                _ => axes.push(BroadcastAxis { extent, strides }),
            }
        }
        if axes.is_empty() {
            axes.push(BroadcastAxis {
                extent: 1,
                strides: [0, 0],
            });
        }
        axes.reverse();
        Ok(Broadcast { axes, elements })
    }

    /// Elements of the result.
    pub fn elements(&self) -> usize {
        self.elements[2]
    }

    /// Where a row (all axes but the last) starts in both operands.
    fn row(&self, mut index: usize) -> [usize; 2] {
        let mut starts = [0; 2];
        for axis in self.axes.iter().rev().skip(1) {
            let at = index % axis.extent;
            index /= axis.extent;
            (0..2).for_each(|o| starts[o] += at * axis.strides[o]);
        }
        starts
    }
}

/// Elements of a piece of a row: a task, and a tile of accumulators.
const PIECE: usize = 2048;

/// Runs `accumulator(a, b)` on two operands of 8 bits.
fn binary<F: Finish>(
    finish: &F,
    cx: &Context,
    shape: &Broadcast,
    elements: [IntType; 2],
    operands: [&[u8]; 2],
    out: &mut [u8],
    accumulator: impl Fn(u8, u8) -> i32 + Copy + Sync + Send,
) -> Result<(), KernelError> {
    for (o, what) in ["the first operand", "the second operand"].into_iter().enumerate() {
        check_8_bits(what, elements[o])?;
        expect_len(what, operands[o].len(), Some(shape.elements[o]))?;
    }
    check_channels(finish, 1)?;
    expect_len(
        "the output",
        out.len(),
        product(&[shape.elements(), width(finish.out())]),
    )?;
    if out.is_empty() {
        return Ok(());
    }
    // Never empty; see the field.
    let Some(&BroadcastAxis { extent, strides }) = shape.axes.last() else {
        return Ok(());
    };
    let pieces = extent.div_ceil(PIECE);
    let rows = shape.elements() / extent;
    let out = Shared::new(out);
    try_for_each(rows * pieces, shape.elements(), |task| {
        let (row, first) = (task / pieces, task % pieces * PIECE);
        let starts = shape.row(row);
        let place = line(&out, row * extent + first, PIECE.min(extent - first), Axis::Rows, 0);
        let from = [0, 1].map(|o| &operands[o][starts[o] + first * strides[o]..]);
        cx.run(LineTask {
            finish,
            place,
            sixteen: |at: usize, count: usize| {
                let mut sums = [0; 16];
                for (l, sum) in sums.iter_mut().enumerate().take(count) {
                    *sum = accumulator(from[0][(at + l) * strides[0]], from[1][(at + l) * strides[1]]);
                }
                sums
            },
        })
    })
}

/// A tile of one row.
fn line<'a>(out: &'a Shared<'_, u8>, at: usize, columns: usize, axis: Axis, first_channel: usize) -> Place<'a> {
    Place {
        out,
        at,
        row_stride: 0,
        rows: 1,
        columns,
        axis,
        first_channel,
    }
}

/// One row: `sixteen(at, count)` gives the accumulators from `at`, of which `count` are wanted.
struct LineTask<'a, 'b, F, A> {
    finish: &'a F,
    place: Place<'b>,
    sixteen: A,
}

impl<F: Finish, A: Fn(usize, usize) -> [i32; 16]> Job for LineTask<'_, '_, F, A> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Result<(), KernelError> {
        let mut scratch = F::Scratch::default();
        for at in (0..self.place.columns).step_by(16) {
            let accumulators = (self.sixteen)(at, (self.place.columns - at).min(16));
            self.finish.vector(&mut scratch, &self.place, 0, at, accumulators);
        }
        self.finish.end(&mut scratch, &self.place)
    }
}

pub(crate) fn add<F: Finish>(
    finish: &F,
    cx: &Context,
    shape: &Broadcast,
    elements: [IntType; 2],
    tables: [&[i32; 256]; 2],
    operands: [&[u8]; 2],
    out: &mut [u8],
) -> Result<(), KernelError> {
    let flips = elements.map(flip);
    binary(finish, cx, shape, elements, operands, out, |a, b| {
        tables[0][usize::from(a ^ flips[0])].wrapping_add(tables[1][usize::from(b ^ flips[1])])
    })
}

pub(crate) fn multiply<F: Finish>(
    finish: &F,
    cx: &Context,
    shape: &Broadcast,
    elements: [IntType; 2],
    zeros: [i32; 2],
    operands: [&[u8]; 2],
    out: &mut [u8],
) -> Result<(), KernelError> {
    let flips = elements.map(flip);
    // x = (x ^ flip) + the type's smallest code
    let offsets = [0, 1].map(|o| elements[o].min().wrapping_sub(zeros[o]));
    let factor = |o: usize, x: u8| i32::from(x ^ flips[o]).wrapping_add(offsets[o]);
    binary(finish, cx, shape, elements, operands, out, |a, b| {
        factor(0, a).wrapping_mul(factor(1, b))
    })
}

pub(crate) fn requantize<F: Finish>(
    finish: &F,
    cx: &Context,
    extents: [usize; 3],
    element: IntType,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), KernelError> {
    let elements = product(&extents);
    let from = width(element);
    check_channels(finish, extents[1])?;
    expect_len("the input", input.len(), elements.and_then(|e| product(&[e, from])))?;
    expect_len(
        "the output",
        out.len(),
        elements.and_then(|e| product(&[e, width(finish.out())])),
    )?;
    if out.is_empty() {
        return Ok(());
    }
    // Without channels everything is one row. Channels are the rows, unless they are neighbours in memory.
    let [outer, channels, inner] = if finish.channels().is_none() {
        [1, 1, extents.iter().product()]
    } else {
        extents
    };
    let (rows, columns, axis) = if inner == 1 {
        (outer, channels, Axis::Columns)
    } else {
        (outer * channels, inner, Axis::Rows)
    };
    let pieces = columns.div_ceil(PIECE);
    let out = Shared::new(out);
    try_for_each(rows * pieces, rows * columns, |task| {
        let (row, first) = (task / pieces, task % pieces * PIECE);
        let channel = if axis == Axis::Rows { row % channels } else { first };
        let start = row * columns + first;
        let place = line(&out, start, PIECE.min(columns - first), axis, channel);
        let input = &input[start * from..];
        cx.run(LineTask {
            finish,
            place,
            sixteen: |at: usize, count: usize| load(element, &input[at * from..(at + count) * from]),
        })
    })
}
