//! Sums of the target: their widths, and proofs that they hold.

use super::Lowering;
use crate::interval::{Bounds, Interval, accumulator, around_all};
use crate::recipes::NodeToLower;
use strait_core::{Carrier, Elem, Failure, Reason, ReasonCode, ValueId};
use strait_requantize::Per;
use strait_requantize::range::{self, Accumulator, Summands};

impl Lowering<'_> {
    /// The integers that a term of a sum can be.
    pub(crate) fn term(&mut self, value: ValueId) -> Result<Interval, Reason> {
        let found = self.bounds(value).as_ref().and_then(around_all);
        let elem = self
            .walk
            .out
            .main()
            .value(value)
            .map_or(Elem::I32, |value| value.ty.elem);
        let (least, most) = elem.integers().unwrap_or_default();
        // Bounds that end where the type does say nothing, or are those of codes that saturate.
        let fits = |&(low, high): &Interval| low > least && high < most;
        let text = format!("a term of its sum can saturate at the ends of {elem}; a coarser grid would be needed");
        found
            .filter(fits)
            .ok_or_else(|| Reason::new(ReasonCode::AccumulatorOverflow, text))
    }

    /// The sums that the target forms for a node.
    pub(crate) fn accumulator(&self, site: &NodeToLower<'_>) -> Result<Accumulator, Failure> {
        let read = self.operand_grid(site, 0)?.ty;
        Ok(accumulator(self.spec, site.row, read))
    }

    /// The number of channels whose products the target adds up first, if it does, and the sums that it forms of them.
    pub(crate) fn block(&self, site: &NodeToLower<'_>) -> Result<Option<(u32, Accumulator)>, Failure> {
        let read = self.operand_grid(site, 0)?.ty;
        let block = self.spec.accumulator.get(&read.into()).and_then(|row| row.block);
        let whole = self.accumulator(site)?;
        Ok(block.map(|block| {
            let bits = block.bits.min(whole.bits);
            (block.channels.get(), Accumulator { bits, ..whole })
        }))
    }

    /// The type in which these are carried.
    pub(crate) fn carrier(&self, site: &NodeToLower<'_>) -> Result<Carrier, Failure> {
        Ok(match self.accumulator(site)?.bits {
            ..=32 => Carrier::I32,
            _ => Carrier::I64,
        })
    }

    /// Shows that a sum stays within them.
    pub(crate) fn prove(&self, site: &NodeToLower<'_>, sum: &impl Summands) -> Result<(), Failure> {
        self.prove_within(site, sum, self.accumulator(site)?.bits)
    }

    /// The same within so many bits.
    pub(crate) fn prove_within(&self, site: &NodeToLower<'_>, sum: &impl Summands, bits: u8) -> Result<(), Failure> {
        let accumulator = Accumulator {
            bits,
            ..self.accumulator(site)?
        };
        match range::prove(0, sum, accumulator) {
            Ok(_) => Ok(()),
            Err(overflow) => Err(Reason::new(ReasonCode::AccumulatorOverflow, overflow.to_string()).into()),
        }
    }

    /// The integers that a value of the new module can take.
    pub(crate) fn bounds(&mut self, value: ValueId) -> Option<Per<Interval>> {
        let mut bounds = Bounds::knowing(&self.walk.out, self.walk.out.main(), std::mem::take(&mut self.known));
        let found = bounds.of(value);
        self.known = bounds.into_known();
        found
    }
}
