//! Computes (x − zero)·2^bits, with a table of 256 accumulators or element by element.

use super::lookup;
use super::operands::{Prepared, carrier, eight_bits};
use crate::elementwise::for_each_piece;
use crate::prelude::*;
use bytemuck::Pod;
use strait_kernels::integer::Carrier;

/// Shifts codes element by element, without a table.
struct Shift {
    from: Elem,
    zero: i64,
    bits: u8,
    carrier: Carrier,
}

pub(crate) fn prepare(op: &op::ShiftLeft, site: &NodeSlots<'_>) -> Prepared {
    let x = site.input(0)?;
    if site.fused.is_some() {
        return Ok(None);
    }
    let (carrier, zero) = (carrier(op.accumulator), i64::from(op.zero));
    // Each entry fits in the accumulator type; inference has checked this.
    let entry = |code: i32| (i64::from(code) - zero) << op.bits;
    Ok(match (eight_bits(x), carrier) {
        (Some(element), Carrier::I32) => {
            let entries = element.range().flat_map(|code| (entry(code) as i32).to_ne_bytes());
            Some(lookup::step(element, entries.collect()))
        }
        (Some(element), Carrier::I64) => {
            let entries = element.range().flat_map(|code| entry(code).to_ne_bytes());
            Some(lookup::step(element, entries.collect()))
        }
        (None, carrier) => Some(Box::new(Shift {
            from: x.elem,
            zero,
            bits: op.bits,
            carrier,
        })),
    })
}

/// The number of elements of a piece of work.
const PIECE: usize = 4096;

impl Shift {
    fn run<T: Pod + Into<i64> + Sync>(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input::<T>(0)?;
        let shifted = |x: T| (x.into() - self.zero) << self.bits;
        match self.carrier {
            Carrier::I32 => for_each_piece(io.output::<i32>()?, PIECE, &|first, out| {
                // Each result fits in i32; inference has checked this.
                out.iter_mut()
                    .zip(&x[first..])
                    .for_each(|(to, &x)| *to = shifted(x) as i32);
                Ok(())
            }),
            Carrier::I64 => for_each_piece(io.output::<i64>()?, PIECE, &|first, out| {
                out.iter_mut().zip(&x[first..]).for_each(|(to, &x)| *to = shifted(x));
                Ok(())
            }),
        }
    }
}

impl Step for Shift {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        match self.from {
            Elem::I4 => self.run::<i8>(io),
            Elem::U4 => self.run::<u8>(io),
            Elem::I16 => self.run::<i16>(io),
            Elem::U16 => self.run::<u16>(io),
            other => Err(StepError::Ours(format!("a shift of {other}"))),
        }
    }
}
