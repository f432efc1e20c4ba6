//! The last step of a loop: turns a tile of accumulators into the bytes of its results.

use super::{
    batch::{Batch, Wide},
    bytes::width,
    epilogue::{Epilogue, PerChannel, saturate},
    sums::{Carrier, Sums},
    tiles::LONG_PIECE,
};
use crate::{
    error::KernelError,
    isa::{Context, Job},
    parallel::Shared,
    simd::Simd,
};
use strait_requantize::{IntType, Requantization};

/// Which axis of a tile is the channel axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Row `r` is channel `first + r`. This is the case for images, whose rows are the positions of one channel.
    Rows,
    /// Column `c` is channel `first + c`. This is the case for matrices, whose rows have all channels of one position.
    Columns,
}

/// A tile of the output: rows of consecutive elements.
#[derive(Clone, Copy)]
pub struct OutputTile<'a> {
    pub(crate) out: &'a Shared<'a, u8>,
    /// Index of the output element where the tile starts.
    pub(crate) at: usize,
    /// Number of output elements from one row of the tile to the next.
    pub(crate) row_stride: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) axis: Axis,
    pub(crate) first_channel: usize,
}

impl<'a> OutputTile<'a> {
    /// The rows `from..from + rows` of this tile.
    #[inline(always)]
    pub(crate) fn rows(self, from: usize, rows: usize) -> OutputTile<'a> {
        let first_channel = self.first_channel + if self.axis == Axis::Rows { from } else { 0 };
        OutputTile {
            at: self.at + from * self.row_stride,
            rows,
            first_channel,
            ..self
        }
    }

    /// The output bytes of `count` elements of a row.
    ///
    /// # Safety
    /// No other borrow of these bytes is alive.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn bytes(&self, width: usize, row: usize, column: usize, count: usize) -> &'a mut [u8] {
        // SAFETY: the caller upholds this function's safety contract.
        unsafe {
            self.out
                .slice((self.at + row * self.row_stride + column) * width, count * width)
        }
    }
}

/// Turns the accumulators of a loop into results. Only [`InRegisters`], [`ThroughTile`](super::ThroughTile) and
/// [`accumulators`](super::accumulators) implement it, because only this crate can write to an [`OutputTile`]. The
/// loops are compiled once and call the implementation for each tile.
pub trait Finish: Send + Sync {
    /// The element type of the results. It is I32 if the results are the accumulators, whether of 32 or of 64 bits.
    fn out(&self) -> IntType;

    /// Number of bytes of a result.
    fn width(&self, _: Carrier) -> usize {
        width(self.out())
    }

    /// True if the results are the accumulators themselves, as wide as their carrier.
    fn keeps(&self) -> bool {
        false
    }

    /// Number of channels with parameters of their own; `None` if one set of parameters serves any number.
    fn channels(&self) -> Option<usize>;

    /// Number of elements of a tile whose accumulators are already in memory.
    fn piece(&self) -> usize {
        LONG_PIECE
    }

    /// Turns a tile's accumulators into results, on the instruction set of `cx`. Row `r` of the tile starts at
    /// accumulator `r·stride`. The tile is small enough for the first-level cache, unless [`Finish::piece`] asks for
    /// more.
    ///
    /// # Errors
    /// [`KernelError::Tile`] from a target's batch kernel.
    fn finish(&self, cx: Context, sums: Sums<'_>, stride: usize, place: &OutputTile<'_>) -> Result<(), KernelError>;
}

/// Finishes accumulators that are known to fit into 32 bits, whatever their carrier.
pub(crate) fn narrow(
    finish: &dyn Finish,
    cx: Context,
    carrier: Carrier,
    accumulators: &[i32],
    stride: usize,
    place: &OutputTile<'_>,
) -> Result<(), KernelError> {
    if carrier == Carrier::I64 && finish.keeps() {
        let wide: Vec<i64> = accumulators.iter().map(|&x| x.into()).collect();
        return finish.finish(cx, Sums::I64(&wide), stride, place);
    }
    finish.finish(cx, Sums::I32(accumulators), stride, place)
}

/// Checks that the parameters are for this number of channels, or for any.
pub(crate) fn check_channels(finish: &dyn Finish, wanted: usize) -> Result<(), KernelError> {
    match finish.channels() {
        Some(found) if found != wanted => Err(KernelError::Shape(format!(
            "the requantization has {found} channels, the output {wanted}"
        ))),
        _ => Ok(()),
    }
}

/// Requantizes in registers, with an epilogue: a tile of fresh accumulators becomes the bytes of the results in one
/// pass. The code is compiled for the epilogue on each instruction set, without a function call per element and without
/// a buffer in between.
#[derive(Clone, Debug)]
pub struct InRegisters<E> {
    epilogue: E,
    batch: Option<Batch>,
    /// Requantizes accumulators of 64 bits. `None` if the form is defined on i32 only.
    wide: Option<Wide>,
    /// The smallest and the largest result of the form.
    range: [i32; 2],
    out: IntType,
    low: i32,
    high: i32,
}

impl<E: Epilogue> InRegisters<E> {
    /// The loops that compute `clamp(saturate(epilogue(accumulator)))`, where `saturate` goes to the output type of
    /// `form`. The form itself requantizes accumulators of 64 bits. The ends of the clamp are codes. If they are in the
    /// wrong order, the lower one wins.
    pub fn new(epilogue: E, form: &Requantization, clamp: Option<[i32; 2]>) -> InRegisters<E> {
        let [low, high] = super::epilogue::bounds(form.out(), clamp);
        InRegisters {
            epilogue,
            batch: None,
            wide: Wide::new(form),
            range: form.range(),
            out: form.out(),
            low,
            high,
        }
    }

    /// The same loops with a batch kernel instead of the epilogue on machines with vectors. The batch kernel has to be
    /// for a form with the same results as the epilogue. A batch kernel that saturates to another type is ignored.
    #[must_use]
    pub fn with_batch(self, batch: Batch) -> InRegisters<E> {
        let batch = Some(batch).filter(|batch| batch.out() == self.out);
        InRegisters { batch, ..self }
    }

    /// Requantizes a tile of 32-bit accumulators.
    fn narrow(&self, cx: Context, accumulators: &[i32], stride: usize, place: &OutputTile<'_>) {
        let on_vectors = |batch: &Batch| batch.run(cx, [self.low, self.high], accumulators, stride, place);
        if !self.batch.as_ref().is_some_and(on_vectors) {
            cx.run(Lanes {
                finish: self,
                accumulators,
                stride,
                place,
            });
        }
    }
}

impl<E: Epilogue> Finish for InRegisters<E> {
    fn out(&self) -> IntType {
        self.out
    }

    fn channels(&self) -> Option<usize> {
        self.epilogue.constants().channels()
    }

    fn finish(&self, cx: Context, sums: Sums<'_>, stride: usize, place: &OutputTile<'_>) -> Result<(), KernelError> {
        match (sums, &self.wide) {
            (Sums::I32(accumulators), _) => self.narrow(cx, accumulators, stride, place),
            (Sums::I64(accumulators), Some(wide)) => {
                // The form's own range comes first, then the clamp behind it.
                let bounds = self.range.map(|end| end.min(self.high).max(self.low));
                wide.run(cx, (self.out, bounds), accumulators, stride, place);
            }
            (Sums::I64(accumulators), None) => {
                // An accumulator beyond i32 counts as the nearer end of i32.
                for row in 0..place.rows {
                    let accumulators = &accumulators[row * stride..][..place.columns];
                    let narrow: Vec<i32> = accumulators.iter().map(|&x| saturate(x)).collect();
                    self.narrow(cx, &narrow, place.columns, &place.rows(row, 1));
                }
            }
        }
        Ok(())
    }
}

/// A job that runs a tile through the epilogue's lane function.
struct Lanes<'a, E> {
    finish: &'a InRegisters<E>,
    accumulators: &'a [i32],
    stride: usize,
    place: &'a OutputTile<'a>,
}

impl<E: Epilogue> Job for Lanes<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let InRegisters {
            epilogue,
            out,
            low,
            high,
            ..
        } = self.finish;
        let tile = (self.accumulators, self.stride);
        let lane = |constants: &E::Constants, x| epilogue.lane(constants, x);
        by_lane(*out, [*low, *high], tile, self.place, epilogue.constants(), lane);
    }
}

/// Writes the codes of a tile, one element after the other: `lane` of each element with the constants of its channel,
/// then limited by the two bounds, which are codes of `out`. Row `r` of the elements starts at `r·stride`.
#[inline(always)]
pub(crate) fn by_lane<T: Copy, C>(
    out: IntType,
    bounds: [i32; 2],
    (elements, stride): (&[T], usize),
    place: &OutputTile<'_>,
    constants: &PerChannel<C>,
    lane: impl Fn(&C, T) -> i32,
) {
    for row in 0..place.rows {
        let elements = &elements[row * stride..row * stride + place.columns];
        // SAFETY: tiles of different tasks do not overlap, and this borrow ends with the row.
        let to = unsafe { place.bytes(width(out), row, 0, place.columns) };
        match out {
            IntType::I8 | IntType::U8 | IntType::I4 | IntType::U4 => {
                row_by_lane::<[u8; 1], T, C>(bounds, elements, place, row, to, constants, &lane);
            }
            IntType::I16 | IntType::U16 => {
                row_by_lane::<[u8; 2], T, C>(bounds, elements, place, row, to, constants, &lane);
            }
            IntType::I32 => {
                row_by_lane::<[u8; 4], T, C>(bounds, elements, place, row, to, constants, &lane);
            }
        }
    }
}

/// Writes one row as elements of type `N`.
#[inline(always)]
fn row_by_lane<N: Narrow, T: Copy, C>(
    [low, high]: [i32; 2],
    elements: &[T],
    place: &OutputTile<'_>,
    row: usize,
    out: &mut [u8],
    constants: &PerChannel<C>,
    lane: &impl Fn(&C, T) -> i32,
) {
    let out = N::elements(out);
    match (place.axis, constants) {
        (Axis::Columns, PerChannel::Channels(constants)) => {
            for ((to, &x), constants) in out.iter_mut().zip(elements).zip(&constants[place.first_channel..]) {
                *to = N::narrow(lane(constants, x).min(high).max(low));
            }
        }
        (_, constants) => {
            let constants = constants.get(place.first_channel + row);
            for (to, &x) in out.iter_mut().zip(elements) {
                *to = N::narrow(lane(constants, x).min(high).max(low));
            }
        }
    }
}

/// An element type of the results, as bytes.
trait Narrow: Sized {
    /// The bytes of a value that the type can hold.
    fn narrow(value: i32) -> Self;
    /// Views bytes as elements.
    fn elements(bytes: &mut [u8]) -> &mut [Self];
}

impl Narrow for [u8; 1] {
    #[inline(always)]
    fn narrow(value: i32) -> Self {
        [value as u8]
    }

    #[inline(always)]
    fn elements(bytes: &mut [u8]) -> &mut [Self] {
        bytes.as_chunks_mut().0
    }
}

impl Narrow for [u8; 2] {
    #[inline(always)]
    fn narrow(value: i32) -> Self {
        // The low half is the same for i16 and u16.
        (value as i16).to_ne_bytes()
    }

    #[inline(always)]
    fn elements(bytes: &mut [u8]) -> &mut [Self] {
        bytes.as_chunks_mut().0
    }
}

impl Narrow for [u8; 4] {
    #[inline(always)]
    fn narrow(value: i32) -> Self {
        value.to_ne_bytes()
    }

    #[inline(always)]
    fn elements(bytes: &mut [u8]) -> &mut [Self] {
        bytes.as_chunks_mut().0
    }
}
