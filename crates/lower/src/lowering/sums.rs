//! The widths of the sums that the target computes, and the proofs that these sums do not overflow.

use super::Lowering;
use crate::interval::{Bounds, Interval, accumulator, around_all};
use crate::recipes::NodeToLower;
use strait_core::{Carrier, Elem, Failure, Node, Op, Reason, ReasonCode, TensorData, Term, ValueId};
use strait_requantize::Per;
use strait_requantize::range::{self, Accumulator, Summands};

/// The refusal of a node whose sums do not fit into the accumulator.
pub(crate) fn overflows(overflow: &range::Overflow) -> Reason {
    Reason::new(ReasonCode::AccumulatorOverflow, overflow.to_string())
}

impl Lowering<'_> {
    /// Returns an interval that contains the elements of `value`, which is a term of a sum. It is an error if the
    /// elements may have saturated.
    pub(crate) fn term(&mut self, value: ValueId) -> Result<Interval, Reason> {
        let found = self.bounds(value).as_ref().and_then(around_all);
        let elem = self
            .walk
            .out
            .main()
            .value(value)
            .map_or(Elem::I32, |value| value.ty.elem);
        let (least, most) = elem.integers().unwrap_or_default();
        // If the bounds reach the ends of the type, then either nothing is known about the value, or its codes may have
        // saturated.
        let fits = |&(low, high): &Interval| low > least && high < most;
        let text = format!("a term of its sum can saturate at the ends of {elem}; a coarser grid would be needed");
        found
            .filter(fits)
            .ok_or_else(|| Reason::new(ReasonCode::AccumulatorOverflow, text))
    }

    /// The accumulator in which the target adds up the sums of a node.
    pub(crate) fn accumulator(&self, site: &NodeToLower<'_>) -> Result<Accumulator, Failure> {
        let read = self.operand_grid(site, 0)?.ty;
        Ok(accumulator(self.spec, site.row, read))
    }

    /// If the target first adds up the products of blocks of a few channels, returns the number of channels in a block,
    /// and the accumulator for the sum of a block.
    pub(crate) fn block(&self, site: &NodeToLower<'_>) -> Result<Option<(u32, Accumulator)>, Failure> {
        let read = self.operand_grid(site, 0)?.ty;
        let block = self.spec.accumulator.get(&read.into()).and_then(|row| row.block);
        let whole = self.accumulator(site)?;
        Ok(block.map(|block| {
            let bits = block.bits.min(whole.bits);
            (block.channels.get(), Accumulator { bits, ..whole })
        }))
    }

    /// The type in which the integer graph computes the sums of a node.
    pub(crate) fn carrier(&self, site: &NodeToLower<'_>) -> Result<Carrier, Failure> {
        Ok(match self.accumulator(site)?.bits {
            ..=32 => Carrier::I32,
            _ => Carrier::I64,
        })
    }

    /// Proves that a sum stays within the target's accumulator.
    pub(crate) fn prove(&self, site: &NodeToLower<'_>, sum: &impl Summands) -> Result<(), Failure> {
        self.prove_within(site, sum, self.accumulator(site)?.bits)
    }

    /// Proves that a sum stays within `bits` bits.
    pub(crate) fn prove_within(&self, site: &NodeToLower<'_>, sum: &impl Summands, bits: u8) -> Result<(), Failure> {
        let accumulator = Accumulator {
            bits,
            ..self.accumulator(site)?
        };
        range::prove(0, sum, accumulator).map_err(|overflow| overflows(&overflow))?;
        Ok(())
    }

    /// Handles a node on the host that adds a constant to the matrix product of two activations, if no other node reads
    /// the product. The accelerator computes the product as integer sums, and their scale is the real number for which
    /// a sum of 1 stands. The constant is rounded to a multiple of this scale. The result is then the same as on a
    /// target that adds the constant to the integer sums. This is done for every target, and changes each number by at
    /// most half of the scale.
    pub(super) fn round_to_sums(&mut self, node: &Node, operands: &mut [Option<ValueId>]) -> Result<(), Failure> {
        let graph = self.graph();
        let &[Some(first), Some(second)] = node.inputs.as_slice() else {
            return Ok(());
        };
        if node.op.term() != Term::Add {
            return Ok(());
        }
        for (product, constant, at) in [(first, second, 1), (second, first, 0)] {
            let is_product = graph
                .producer(product)
                .is_some_and(|(_, maker)| maker.op.term() == Term::MatMul);
            let is_alone = graph.only_use(product).is_some() && !graph.is_output(product);
            let Some(numbers) = self.constant(constant).filter(|_| is_product && is_alone) else {
                continue;
            };
            let Some(step) = operands[1 - at].and_then(|real| self.step_of_sums(real)) else {
                continue;
            };
            let rounded = |&number: &f32| ((f64::from(number) / step).round_ties_even() * step) as f32;
            let rounded: Vec<f32> = numbers.to_f32()?.iter().map(rounded).collect();
            let rounded = TensorData::from_values(numbers.shape(), &rounded)?;
            let base = format!("{}:sums", self.walk.name_of(constant));
            operands[at] = Some(self.walk.data(&base, rounded, None));
        }
        Ok(())
    }

    /// If `real` was made by dequantizing integer sums, returns the real number for which a sum of 1 stands. This is
    /// the scale of the sums.
    fn step_of_sums(&self, real: ValueId) -> Option<f64> {
        let main = self.walk.out.main();
        let (_, maker) = main
            .producer(real)
            .filter(|(_, maker)| matches!(maker.op, Op::Dequantize(_)))?;
        let sums = main.value(maker.input(0)?)?;
        let (scale, zero) = sums.quant.as_deref()?.as_tensor()?;
        (matches!(sums.ty.elem, Elem::I32 | Elem::I64) && zero == 0).then_some(f64::from(scale))
    }

    /// The interval of the integers in a value of the new module.
    pub(crate) fn bounds(&mut self, value: ValueId) -> Option<Per<Interval>> {
        let mut bounds = Bounds::knowing(&self.walk.out, self.walk.out.main(), std::mem::take(&mut self.known));
        let found = bounds.of(value);
        self.known = bounds.into_known();
        found
    }
}
