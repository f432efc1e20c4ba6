//! The last step of a loop: turns a tile of accumulators into the bytes of its results.

use super::{
    batch::{Batch, Wide},
    bytes::width,
    epilogue::{Epilogue, saturate},
    sums::{Carrier, Sums},
    tiles::LONG_PIECE,
};
use crate::context::Context;
use crate::integer::lanes::by_lane;
use crate::integer::output_tile::OutputTile;
use crate::simd::Job;
use crate::{error::KernelError, simd::Simd};
use strait_requantize::{IntType, Requantization};

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
