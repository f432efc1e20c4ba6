//! Loops that requantize a tile of accumulators in registers.

use super::{
    batch::{Batch, Codes, Wide},
    epilogue::{Epilogue, saturate},
    loops::Loops,
    sums::Sums,
};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::lanes::by_lane;
use crate::integer::output_tile::OutputTile;
use crate::simd::{Job, Simd};
use std::sync::OnceLock;
use strait_requantize::{IntType, Requantization};

/// Requantizes with an epilogue, in registers. A tile of accumulators that have just been computed becomes the bytes of
/// the results in one pass. The pass is compiled for each epilogue and each instruction set, so it needs neither a
/// function call per element nor a buffer for intermediate results.
#[derive(Clone)]
pub struct InRegisters<E> {
    epilogue: E,
    batch: Option<Batch>,
    /// Requantizes accumulators of 64 bits. `None` if the form is defined only on i32. It is made when there are such
    /// accumulators for the first time, because most loops never get any.
    wide: OnceLock<Option<Wide>>,
    form: Requantization,
    /// The smallest and the largest result of the form.
    range: [i32; 2],
    out: IntType,
    low: i32,
    high: i32,
}

impl<E: Epilogue> InRegisters<E> {
    /// Makes the loops that compute `clamp(saturate(epilogue(accumulator)))`, where `saturate` limits results to the
    /// output type of `form`. For accumulators of 64 bits the epilogue is not used; they are requantized as `form`
    /// defines. The bounds of the clamp are codes. If the lower bound is above the upper bound, every result is the
    /// lower bound.
    pub fn new(epilogue: E, form: &Requantization, clamp: Option<[i32; 2]>) -> InRegisters<E> {
        let [low, high] = super::epilogue::bounds(form.out(), clamp);
        InRegisters {
            epilogue,
            batch: None,
            wide: OnceLock::new(),
            form: form.clone(),
            range: form.range(),
            out: form.out(),
            low,
            high,
        }
    }

    /// Adds a batch kernel, which these loops use instead of the epilogue on machines with vectors. The batch kernel
    /// has to be made for a form that gives the same results as the epilogue. A batch kernel that saturates to another
    /// type than these loops is ignored.
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
                loops: self,
                accumulators,
                stride,
                place,
            });
        }
    }
}

impl<E: Epilogue> Loops for InRegisters<E> {
    fn out(&self) -> IntType {
        self.out
    }

    fn channels(&self) -> Option<usize> {
        self.epilogue.constants().channels()
    }

    fn codes(&self) -> Option<Codes<'_>> {
        self.batch.as_ref()?.codes([self.low, self.high])
    }

    fn has_vectors(&self) -> bool {
        self.batch.as_ref().is_some_and(Batch::has_kernel)
    }

    fn finish(&self, cx: Context, sums: Sums<'_>, stride: usize, place: &OutputTile<'_>) -> Result<(), KernelError> {
        match sums {
            Sums::I32(accumulators) => self.narrow(cx, accumulators, stride, place),
            Sums::I64(accumulators) => match self.wide.get_or_init(|| Wide::new(&self.form)) {
                Some(wide) => {
                    // The results are limited first to the form's own range, and then by the clamp.
                    let bounds = self.range.map(|end| end.min(self.high).max(self.low));
                    wide.run(cx, (self.out, bounds), accumulators, stride, place);
                }
                None => {
                    // An accumulator beyond i32 is clamped to i32.
                    for row in 0..place.rows {
                        let accumulators = &accumulators[row * stride..][..place.columns];
                        let narrow: Vec<i32> = accumulators.iter().map(|&x| saturate(x)).collect();
                        self.narrow(cx, &narrow, place.columns, &place.rows(row, 1));
                    }
                }
            },
        }
        Ok(())
    }
}

/// A job that computes the results of a tile with the epilogue's lane function.
struct Lanes<'a, E> {
    loops: &'a InRegisters<E>,
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
        } = self.loops;
        let tile = (self.accumulators, self.stride);
        let lane = |constants: &E::Constants, x| epilogue.lane(constants, x);
        by_lane(*out, [*low, *high], tile, self.place, epilogue.constants(), lane);
    }
}
