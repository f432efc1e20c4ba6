//! Convolutions and matrix products with an addend. Another tensor is added to the accumulators before they are
//! requantized, so that the result is rounded only once.

use super::operands::{Prepared, codes};
use super::{conv, gemm};
use crate::layout::around;
use crate::prelude::*;
use crate::site::Slot;
use crate::step::Input;
use bytemuck::{Pod, cast_slice, cast_slice_mut};
use smallvec::smallvec;
use strait_core::{Addend, Op};
use strait_kernels::integer::Loops;
use strait_requantize::{IntType, Requantization};

struct Sum {
    /// The step that computes the accumulators without the addend.
    product: Box<dyn Step>,
    /// The type of the codes that are added.
    element: IntType,
    /// The zero point of the addend's codes.
    zero: i32,
    /// Requantizes the addend to the scale of the accumulators.
    onto: Part,
    /// Requantizes the sums of accumulators and addend to the result.
    narrow: Part,
    count: usize,
}

/// The loops of a requantization, and the extents for which they run: outer extents, channels, inner extents.
struct Part {
    loops: Box<dyn Loops>,
    extents: [usize; 3],
}

pub(crate) fn prepare(addend: &Addend, site: &NodeSlots<'_>) -> Prepared {
    let result = site.output()?;
    let sums = Slot {
        elem: Elem::I32,
        quant: None,
        ..result.clone()
    };
    let alone = NodeSlots {
        node: site.node,
        inputs: site.inputs.iter().take(Addend::OPERAND).cloned().collect(),
        outputs: smallvec![sums],
        fused: None,
        chain: None,
        options: site.options,
        last: false,
    };
    let product = match &site.node.op {
        Op::Conv(op) => conv::prepare(op, &alone)?,
        Op::Gemm(op) => gemm::prepare(op, &alone)?,
        _ => None,
    };
    let Some((product, element)) = product.zip(codes(site.input(Addend::OPERAND)?)) else {
        return Ok(None);
    };
    let extents = |form: &Requantization| match (form.channels(), site.node.op.channel_axis(result.dims.len())) {
        (Some(_), Some(axis)) => around(&result.dims, axis),
        _ => [1, 1, result.count()],
    };
    let narrow = site.fused.as_ref().map(|fused| extents(&fused.requant));
    Ok(Some(Box::new(Sum {
        product,
        element,
        zero: addend.zero,
        onto: Part {
            loops: site.options.loops.loops_for(&addend.form, None)?,
            extents: extents(&addend.form),
        },
        narrow: Part {
            loops: site.loops()?,
            extents: narrow.unwrap_or_default(),
        },
        count: result.count(),
    })))
}

impl Sum {
    /// Returns the addend's codes minus their zero point.
    fn centred<T: Pod + Into<i32>>(&self, io: &Io<'_>) -> Result<Vec<i32>, StepError> {
        let codes = io.input::<T>(Addend::OPERAND)?;
        Ok(codes.iter().map(|&code| code.into() - self.zero).collect())
    }

    /// Returns the addend on the scale of the accumulators.
    fn addends(&self, io: &Io<'_>) -> Result<Vec<i32>, StepError> {
        let mut addends = vec![0i32; self.count];
        let out = cast_slice_mut(&mut addends);
        let Part { loops, extents } = &self.onto;
        if self.zero == 0 {
            loops.requantize(io.context, *extents, self.element, io.input(Addend::OPERAND)?, out)?;
            return Ok(addends);
        }
        let centred = match self.element {
            IntType::I4 | IntType::I8 => self.centred::<i8>(io)?,
            IntType::U4 | IntType::U8 => self.centred::<u8>(io)?,
            IntType::I16 => self.centred::<i16>(io)?,
            IntType::U16 => self.centred::<u16>(io)?,
            other => return Err(StepError::Ours(format!("an addend of {other}"))),
        };
        loops.requantize(io.context, *extents, IntType::I32, cast_slice(&centred), out)?;
        Ok(addends)
    }
}

impl Step for Sum {
    fn reads(&self, operand: usize) -> bool {
        operand == Addend::OPERAND || self.product.reads(operand)
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let mut sums = vec![0i32; self.count];
        let inputs: &[Input<'_>] = io.inputs.get(..Addend::OPERAND).unwrap_or(&io.inputs);
        self.product.run(&mut Io {
            context: io.context,
            inputs: inputs.iter().copied().collect(),
            outputs: smallvec![cast_slice_mut(&mut sums)],
        })?;
        for (sum, addend) in sums.iter_mut().zip(self.addends(io)?) {
            *sum = sum.wrapping_add(addend);
        }
        let (context, Part { loops, extents }) = (io.context, &self.narrow);
        loops.requantize(context, *extents, IntType::I32, cast_slice(&sums), io.output()?)?;
        Ok(())
    }
}
