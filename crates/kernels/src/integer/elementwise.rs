//! Elementwise loops: on two operands with NumPy's broadcasting, and on one array of accumulators.

use super::{
    bytes::{check_8_bits, check_codes, flip, widen, width},
    loops::Loops,
    sums::{Carrier, Room, Sums},
    tiles::{Array, PIECE},
};
use crate::context::Context;
use crate::integer::output_tile::{Axis, OutputTile};
use crate::simd::Job;
use crate::{
    error::{KernelError, expect_len, product},
    parallel::{Shared, try_for_each},
    simd::Simd,
};
use strait_requantize::IntType;

/// How two arrays are broadcast, by NumPy's rule: extents are aligned at the last axis, and an axis of extent 1 is
/// repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// The axes of the result. Neighbouring axes are joined if both operands allow it. There is at least one axis.
    axes: Vec<BroadcastAxis>,
    elements: [usize; 3],
}

/// One axis of the result: its extent, and for each operand the distance between neighbouring elements along the axis,
/// which is 0 if the operand is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BroadcastAxis {
    extent: usize,
    strides: [usize; 2],
}

impl Broadcast {
    /// Determines how two row-major arrays with these extents are broadcast.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if two extents differ and neither is 1.
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

    /// Number of elements that the result has.
    pub fn elements(&self) -> usize {
        self.elements[2]
    }

    /// Returns the extent of the result's last axis, and for each operand the distance between neighbouring elements
    /// along this axis, which is 0 if the operand is repeated.
    pub fn last(&self) -> (usize, [usize; 2]) {
        let last = self.axes.last();
        last.map_or((1, [0; 2]), |axis| (axis.extent, axis.strides))
    }

    /// Where a row of the result starts in each operand. `index` numbers the rows over all axes but the last.
    pub fn row(&self, mut index: usize) -> [usize; 2] {
        let mut starts = [0; 2];
        for axis in self.axes.iter().rev().skip(1) {
            let at = index % axis.extent;
            index /= axis.extent;
            (0..2).for_each(|o| starts[o] += at * axis.strides[o]);
        }
        starts
    }
}

/// The names of the operands in error messages.
pub(super) const OPERANDS: [&str; 2] = ["the first operand", "the second operand"];

/// A result of two codes takes as long as about so many multiply-adds.
const PAIR: usize = 4;

/// Computes an accumulator from each pair of codes of two 8-bit operands with `combine`, and passes the accumulators to
/// `loops`.
pub(super) fn binary(
    loops: &dyn Loops,
    cx: &Context,
    shape: &Broadcast,
    elements: [IntType; 2],
    operands: [&[u8]; 2],
    out: &mut [u8],
    combine: impl Fn(u8, u8) -> i32 + Copy + Sync,
) -> Result<(), KernelError> {
    for (o, what) in OPERANDS.into_iter().enumerate() {
        check_8_bits(what, elements[o])?;
        expect_len(what, operands[o].len(), Some(shape.elements[o]))?;
    }
    let (extent, strides) = shape.last();
    let rows = shape.elements() / extent.max(1);
    let lines = PIECE / extent.max(1);
    if lines > 1 && rows > 1 {
        // Several short rows follow each other in memory, so they are requantized together.
        loops.check_channels(1)?;
        let elements = product(&[shape.elements(), loops.width(Carrier::I32)]);
        expect_len("the output", out.len(), elements)?;
        let out = Shared::new(out);
        let steps = shape.elements().saturating_mul(PAIR);
        return try_for_each(rows.div_ceil(lines), steps, &|index| {
            let first = index * lines;
            let count = lines.min(rows - first);
            let mut accumulators = [0; PIECE];
            cx.run(PairRows {
                operands,
                strides,
                combine,
                extent,
                start: |row| shape.row(first + row),
                accumulators: &mut accumulators[..count * extent],
            });
            let place = OutputTile {
                out: &out,
                at: first * extent,
                row_stride: 0,
                rows: 1,
                columns: count * extent,
                axis: Axis::Rows,
                first_channel: 0,
            };
            loops.finish(*cx, Sums::I32(&accumulators), count * extent, &place)
        });
    }
    each_piece(loops, shape, (Carrier::I32, PAIR), out, |from, strides, place| {
        let mut accumulators = [0; PIECE];
        cx.run(Pairs {
            operands: [0, 1].map(|o| &operands[o][from[o]..]),
            strides,
            combine,
            accumulators: &mut accumulators[..place.columns],
        });
        loops.finish(*cx, Sums::I32(&accumulators), place.columns, place)
    })
}

/// Checks that two operands and the output have the sizes that a broadcast requires.
pub(super) fn check_operands(
    shape: &Broadcast,
    elements: [IntType; 2],
    operands: [&[u8]; 2],
) -> Result<(), KernelError> {
    for (o, what) in OPERANDS.into_iter().enumerate() {
        check_codes(what, elements[o])?;
        let bytes = product(&[shape.elements[o], width(elements[o])]);
        expect_len(what, operands[o].len(), bytes)?;
    }
    Ok(())
}

/// Runs `task` on pieces of the result. The task gets, for each operand, the position of the piece's first element and
/// the distance between neighbouring elements, and where the results are written. A result takes as long as about `each`
/// multiply-adds.
pub(super) fn each_piece(
    loops: &dyn Loops,
    shape: &Broadcast,
    (carrier, each): (Carrier, usize),
    out: &mut [u8],
    task: impl Fn([usize; 2], [usize; 2], &OutputTile<'_>) -> Result<(), KernelError> + Sync,
) -> Result<(), KernelError> {
    loops.check_channels(1)?;
    expect_len(
        "the output",
        out.len(),
        product(&[shape.elements(), loops.width(carrier)]),
    )?;
    if out.is_empty() {
        return Ok(());
    }
    // Every broadcast has at least one axis.
    let (extent, strides) = shape.last();
    let pieces = extent.div_ceil(PIECE);
    let rows = shape.elements() / extent;
    let out = Shared::new(out);
    try_for_each(rows * pieces, shape.elements().saturating_mul(each), &|index| {
        let (row, first) = (index / pieces, index % pieces * PIECE);
        let starts = shape.row(row);
        let place = OutputTile {
            out: &out,
            at: row * extent + first,
            row_stride: 0,
            rows: 1,
            columns: PIECE.min(extent - first),
            axis: Axis::Rows,
            first_channel: 0,
        };
        task([0, 1].map(|o| starts[o] + first * strides[o]), strides, &place)
    })
}

/// A part of one operand: the elements that a task reads.
pub(super) struct Operand<'a> {
    pub(super) element: IntType,
    pub(super) data: &'a [u8],
    /// Distance to the next element: 1, or 0 if one element is repeated.
    pub(super) stride: usize,
}

impl Operand<'_> {
    /// Widens the elements from index `from` on to i32.
    #[inline(always)]
    pub(super) fn widen(&self, from: usize, out: &mut [i32]) {
        let data = &self.data[from * width(self.element)..];
        if self.stride == 0 {
            let mut one = [0];
            widen(self.element, data, &mut one);
            out.fill(one[0]);
        } else {
            widen(self.element, data, out);
        }
    }
}

/// The elementwise product of two operands of 8 or 16 bits.
struct Products<'a> {
    operands: [Operand<'a>; 2],
    from: [usize; 2],
    zeros: [i32; 2],
    sums: &'a mut Room<PIECE>,
    count: usize,
}

impl Job for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let mut values = [[0; PIECE]; 2];
        for (o, values) in values.iter_mut().enumerate() {
            self.operands[o].widen(self.from[o], &mut values[..self.count]);
        }
        let [za, zb] = self.zeros;
        let [a, b] = &values;
        let pairs = a[..self.count].iter().zip(b);
        match self.sums {
            // If the product wraps, it is still right modulo 2^32.
            Room::I32(sums) => sums
                .iter_mut()
                .zip(pairs)
                .for_each(|(to, (&a, &b))| *to = a.wrapping_sub(za).wrapping_mul(b.wrapping_sub(zb))),
            Room::I64(sums) => {
                let (za, zb) = (i64::from(za), i64::from(zb));
                sums.iter_mut()
                    .zip(pairs)
                    .for_each(|(to, (&a, &b))| *to = (i64::from(a) - za).wrapping_mul(i64::from(b) - zb));
            }
        }
    }
}

/// Computes the accumulators of a row from two operands.
struct Pairs<'a, C> {
    operands: [&'a [u8]; 2],
    strides: [usize; 2],
    combine: C,
    accumulators: &'a mut [i32],
}

impl<C: Fn(u8, u8) -> i32> Job for Pairs<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        // `combine` is copied to a local variable. A store to an accumulator cannot change a local variable, so the
        // compiler can read the contents of `combine` once, before the loops.
        let Pairs {
            operands: [a, b],
            strides,
            combine,
            accumulators,
        } = self;
        match strides {
            [1, 1] => {
                for ((to, &a), &b) in accumulators.iter_mut().zip(a).zip(b) {
                    *to = combine(a, b);
                }
            }
            [strides_a, strides_b] => {
                for (i, to) in accumulators.iter_mut().enumerate() {
                    *to = combine(a[i * strides_a], b[i * strides_b]);
                }
            }
        }
    }
}

/// Computes the accumulators of several rows. `start` returns where a row starts in each operand.
struct PairRows<'a, C, R> {
    operands: [&'a [u8]; 2],
    strides: [usize; 2],
    combine: C,
    extent: usize,
    start: R,
    accumulators: &'a mut [i32],
}

impl<C: Fn(u8, u8) -> i32 + Copy, R: Fn(usize) -> [usize; 2]> Job for PairRows<'_, C, R> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        for (row, accumulators) in self.accumulators.chunks_exact_mut(self.extent).enumerate() {
            let from = (self.start)(row);
            let pairs = Pairs {
                operands: [&self.operands[0][from[0]..], &self.operands[1][from[1]..]],
                strides: self.strides,
                combine: self.combine,
                accumulators,
            };
            pairs.run::<S>();
        }
    }
}

/// Widens the elements of an array to accumulators.
struct Widen<'a> {
    element: IntType,
    data: &'a [u8],
    accumulators: &'a mut [i32],
}

impl Job for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        widen(self.element, self.data, self.accumulators);
    }
}

/// Views the elements as accumulators, without copying. `None` if they are not i32, or not aligned like i32.
fn accumulators(element: IntType, data: &[u8]) -> Option<&[i32]> {
    if element != IntType::I32 {
        return None;
    }
    // SAFETY: every pattern of four bytes is a valid i32.
    match unsafe { data.align_to() } {
        ([], accumulators, []) => Some(accumulators),
        _ => None,
    }
}

impl dyn Loops + '_ {
    /// The elementwise product of elements of 8 or 16 bits. The accumulator is `(a − zeros[0])·(b − zeros[1])`.
    pub fn multiply(
        &self,
        cx: &Context,
        shape: &Broadcast,
        elements: [IntType; 2],
        zeros: [i32; 2],
        carrier: Carrier,
        operands: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        if carrier == Carrier::I64 || elements.iter().any(|element| element.bits() != 8) {
            check_operands(shape, elements, operands)?;
            return each_piece(self, shape, (carrier, PAIR), out, |from, strides, place| {
                let mut sums = Room::new(carrier);
                let operand = |o: usize| Operand {
                    element: elements[o],
                    data: operands[o],
                    stride: strides[o],
                };
                cx.run(Products {
                    operands: [operand(0), operand(1)],
                    from,
                    zeros,
                    sums: &mut sums,
                    count: place.columns,
                });
                self.finish(*cx, sums.sums(), place.columns, place)
            });
        }
        let flips = elements.map(flip);
        // x = (x ^ flip) + the smallest code of the type
        let offsets = [0, 1].map(|o| elements[o].min().wrapping_sub(zeros[o]));
        let factor = move |o: usize, code: u8| i32::from(code ^ flips[o]).wrapping_add(offsets[o]);
        let product = move |a, b| factor(0, a).wrapping_mul(factor(1, b));
        binary(self, cx, shape, elements, operands, out, product)
    }

    /// Requantizes an array `[outer, channels, inner]`. Its elements, of type `element`, are the accumulators.
    pub fn requantize(
        &self,
        cx: &Context,
        extents: [usize; 3],
        element: IntType,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        let array = Array::new(extents, self.channels())?;
        let from = width(element);
        expect_len("the input", input.len(), product(&[array.elements(), from]))?;
        expect_len("the output", out.len(), product(&[array.elements(), width(self.out())]))?;
        let accumulators = accumulators(element, input);
        let piece = if accumulators.is_some() { self.piece() } else { PIECE };
        array.for_each_tile(piece, &Shared::new(out), |start, place| match accumulators {
            Some(accumulators) => self.finish(*cx, Sums::I32(&accumulators[start..]), place.columns, place),
            None => {
                let mut accumulators = [0; PIECE];
                cx.run(Widen {
                    element,
                    data: &input[start * from..],
                    accumulators: &mut accumulators[..place.rows * place.columns],
                });
                self.finish(*cx, Sums::I32(&accumulators), place.columns, place)
            }
        })
    }

    /// Requantizes an array `[outer, channels, inner]` of 64-bit accumulators.
    pub fn requantize_wide(
        &self,
        cx: &Context,
        extents: [usize; 3],
        accumulators: &[i64],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        let array = Array::new(extents, self.channels())?;
        expect_len("the input", accumulators.len(), Some(array.elements()))?;
        let bytes = product(&[array.elements(), self.width(Carrier::I64)]);
        expect_len("the output", out.len(), bytes)?;
        // Accumulators of 64 bits have twice as many bytes, so a tile has half as many elements.
        array.for_each_tile(self.piece() / 2, &Shared::new(out), |start, place| {
            self.finish(*cx, Sums::I64(&accumulators[start..]), place.columns, place)
        })
    }
}
