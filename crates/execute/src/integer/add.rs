//! Adds or subtracts accumulators. If the operands of an addition are requantized codes, the addition is usually
//! computed in one step with the nodes that make its operands; see [`crate::join`].

use super::operands::Prepared;
use crate::elementwise::Broadcast;
use crate::prelude::*;
use bytemuck::Pod;
use strait_kernels::integer::Loops;
use strait_kernels::{Context, KernelError};
use strait_requantize::IntType;

struct Accumulators<T> {
    broadcast: Broadcast,
    function: fn(T, T) -> T,
    /// The loops that requantize the sums, and the number of elements; `None` if the sums are the result.
    loops: Option<(Box<dyn Loops>, usize)>,
}

/// An integer type of accumulators.
trait Accumulator: Pod + Send + Sync {
    fn requantize(loops: &dyn Loops, context: &Context, sums: &[Self], out: &mut [u8]) -> Result<(), KernelError>;
}

impl Accumulator for i32 {
    fn requantize(loops: &dyn Loops, context: &Context, sums: &[i32], out: &mut [u8]) -> Result<(), KernelError> {
        let bytes = bytemuck::cast_slice(sums);
        loops.requantize(context, [1, 1, sums.len()], IntType::I32, bytes, out)
    }
}

impl Accumulator for i64 {
    fn requantize(loops: &dyn Loops, context: &Context, sums: &[i64], out: &mut [u8]) -> Result<(), KernelError> {
        loops.requantize_wide(context, [1, 1, sums.len()], sums, out)
    }
}

pub(crate) fn prepare(site: &NodeSlots<'_>, narrow: fn(i32, i32) -> i32, wide: fn(i64, i64) -> i64) -> Prepared {
    let (a, b) = (site.input(0)?, site.input(1)?);
    Ok(match [a.elem, b.elem] {
        [Elem::I32, Elem::I32] => Some(Box::new(accumulators(site, narrow)?)),
        [Elem::I64, Elem::I64] => Some(Box::new(accumulators(site, wide)?)),
        _ => None,
    })
}

fn accumulators<T>(site: &NodeSlots<'_>, function: fn(T, T) -> T) -> Result<Accumulators<T>, StepError> {
    Ok(Accumulators {
        broadcast: Broadcast::new(&site.input(0)?.dims, &site.input(1)?.dims)?,
        function,
        loops: if site.fused.is_some() {
            Some((site.loops()?, site.output()?.count()))
        } else {
            None
        },
    })
}

impl<T: Accumulator> Step for Accumulators<T> {
    fn in_place(&self) -> &[usize] {
        if self.loops.is_some() { &[] } else { &[0, 1] }
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (a, b) = (io.operand::<T>(0)?, io.operand::<T>(1)?);
        let Some((loops, count)) = &self.loops else {
            return self.broadcast.apply(a, b, io.output()?, self.function);
        };
        let mut sums = vec![T::zeroed(); *count];
        self.broadcast.apply(a, b, &mut sums, self.function)?;
        let context = io.context;
        Ok(T::requantize(&**loops, context, &sums, io.output()?)?)
    }
}
