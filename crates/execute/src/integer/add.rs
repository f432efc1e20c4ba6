//! Sum and difference of accumulators. Sums of 8-bit operands are joined into tables; see [`crate::join`].

use super::Prepared;
use crate::elementwise::Broadcast;
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use strait_core::Elem;
use strait_kernels::integer::Loops;
use strait_requantize::IntType;

struct Accumulators {
    broadcast: Broadcast,
    function: fn(i32, i32) -> i32,
    /// Kernel that the operands pass through, and their number; `None` where they are unchanged.
    loops: Option<(Box<dyn Loops>, usize)>,
}

pub(crate) fn prepare(site: &NodeSlots<'_>, function: fn(i32, i32) -> i32) -> Prepared {
    let (a, b) = (site.input(0)?, site.input(1)?);
    if [a.elem, b.elem] != [Elem::I32; 2] {
        return Ok(None);
    }
    let fused = site.fused.is_some();
    Ok(Some(Box::new(Accumulators {
        broadcast: Broadcast::new(&a.dims, &b.dims)?,
        function,
        loops: if fused {
            Some((site.loops()?, site.output()?.count()))
        } else {
            None
        },
    })))
}

impl Step for Accumulators {
    fn in_place(&self) -> &[usize] {
        if self.loops.is_some() { &[] } else { &[0, 1] }
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let (a, b) = (io.operand::<i32>(0)?, io.operand::<i32>(1)?);
        let Some((loops, count)) = &self.loops else {
            return self.broadcast.apply(a, b, io.output()?, self.function);
        };
        let mut sums = vec![0; *count];
        self.broadcast.apply(a, b, &mut sums, self.function)?;
        let context = io.context;
        let extents = [1, 1, *count];
        Ok(loops.requantize(
            context,
            extents,
            IntType::I32,
            bytemuck::cast_slice(&sums),
            io.output()?,
        )?)
    }
}
