//! Loops that return accumulators without requantizing them.

use super::{loops::Loops, sums::Sums};
use crate::context::Context;
use crate::error::KernelError;
use crate::integer::output_tile::OutputTile;
use strait_requantize::IntType;

/// Loops without a requantization. Their results are the accumulators themselves, `i32` or `i64`.
pub fn accumulators() -> Box<dyn Loops> {
    Box::new(Accumulators)
}

struct Accumulators;

impl Loops for Accumulators {
    fn out(&self) -> IntType {
        IntType::I32
    }

    fn keeps(&self) -> bool {
        true
    }

    fn channels(&self) -> Option<usize> {
        None
    }

    fn finish(&self, _: Context, sums: Sums<'_>, stride: usize, place: &OutputTile<'_>) -> Result<(), KernelError> {
        let width = match sums {
            Sums::I32(_) => size_of::<i32>(),
            Sums::I64(_) => size_of::<i64>(),
        };
        for row in 0..place.rows {
            let from = row * stride;
            // SAFETY: tiles of different tasks do not overlap, and the borrow ends before the next row.
            let to = unsafe { place.bytes(width, row, 0, place.columns) };
            match sums {
                Sums::I32(sums) => {
                    let to = to.as_chunks_mut().0.iter_mut();
                    to.zip(&sums[from..]).for_each(|(to, x)| *to = x.to_ne_bytes());
                }
                Sums::I64(sums) => {
                    let to = to.as_chunks_mut().0.iter_mut();
                    to.zip(&sums[from..]).for_each(|(to, x)| *to = x.to_ne_bytes());
                }
            }
        }
        Ok(())
    }
}
