//! Computes the sum of each window. The sums are requantized as soon as they are computed.

use super::operands::{Prepared, carrier, codes};
use super::picked;
use crate::prelude::*;
use crate::window;
use strait_kernels::Pool;
use strait_kernels::integer::{Axis, Carrier, Loops};
use strait_requantize::IntType;

pub(super) struct SumPool {
    pub(super) pool: Pool,
    pub(super) element: IntType,
    pub(super) pad_value: i32,
    pub(super) carrier: Carrier,
    /// Whether the requantization has its channels along the image's channels, or along the positions in the image.
    pub(super) channels: Axis,
    pub(super) loops: Box<dyn Loops>,
}

/// The first spatial axis of [N, C, spatial…].
const PLANE: usize = 2;

impl Executable for op::SumPool {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        unsupported(site)
    }

    fn operations(&self, types: &Types<'_>) -> u64 {
        types.windows(&self.size)
    }

    fn scratch(&self, _: &TensorType, y: &TensorType, types: &Types<'_>) -> Scratch {
        picked::scratch(y, types)
    }
}

pub(crate) fn prepare(op: &op::SumPool, site: &NodeSlots<'_>) -> Prepared {
    let (Some(element), Ok(pool), Ok(picked)) = (
        codes(site.input(0)?),
        window::pool(site, &op.size, &op.stride, &op.dilation, &op.pad),
        site.picked(PLANE),
    ) else {
        return Ok(None);
    };
    let (channels, loops) = match (&site.fused, picked) {
        (Some(fused), Some(picked)) => {
            let form = fused.requant.select(&picked.channels).filter(|_| picked.from == PLANE);
            let Some(form) = form else { return Ok(None) };
            (Axis::Columns, site.options.loops.loops_for(&form, fused.clamp)?)
        }
        _ => (Axis::Rows, site.loops()?),
    };
    Ok(Some(Box::new(SumPool {
        pool,
        element,
        pad_value: op.pad_value,
        carrier: carrier(op.accumulator),
        channels,
        loops,
    })))
}

impl Step for SumPool {
    fn reads(&self, operand: usize) -> bool {
        operand == 0
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input(0)?;
        let context = io.context;
        Ok(self.loops.sum_pool(
            context,
            &self.pool,
            self.channels,
            self.element,
            self.pad_value,
            self.carrier,
            x,
            io.output()?,
        )?)
    }
}
