//! Converts operands of integer primitives to the types of the loops, and finds the loops for a node's requantization.

use crate::prelude::*;
use crate::site::Slot;
use std::borrow::Cow;
use strait_core::WeightZero;
use strait_kernels::integer::{Bias, Carrier, Loops, Weights, accumulators};
use strait_requantize::IntType;

/// A step, or `None` if the loops do not support the operands.
pub(crate) type Prepared = Result<Option<Box<dyn Step>>, StepError>;

impl NodeSlots<'_> {
    /// Returns the loops that requantize the accumulators of this node.
    pub(crate) fn loops(&self) -> Result<Box<dyn Loops>, StepError> {
        if let Some(chain) = &self.chain {
            let loops = chain.clone().loops();
            return loops.ok_or_else(|| StepError::Ours("a chain that does not read accumulators".into()));
        }
        match &self.fused {
            Some(fused) => self.options.loops.loops_for(&fused.requant, fused.clamp),
            None => Ok(accumulators()),
        }
    }
}

/// Returns the integer type of a slot with codes of 8 bits.
pub(crate) fn eight_bits(slot: &Slot<'_>) -> Option<IntType> {
    slot.elem.int_type().filter(|codes| codes.bits() == 8)
}

/// Returns the integer type of a slot with codes of at most 16 bits.
pub(crate) fn codes(slot: &Slot<'_>) -> Option<IntType> {
    slot.elem.int_type().filter(|codes| codes.bits() <= 16)
}

/// Returns the type of the elements in which codes are stored: codes of 4 bits have a byte each.
pub(crate) fn carried(codes: IntType) -> IntType {
    match codes {
        IntType::I4 => IntType::I8,
        IntType::U4 => IntType::U8,
        other => other,
    }
}

/// Converts an accumulator type to the type that the kernels have for it.
pub(crate) fn carrier(carrier: strait_core::Carrier) -> Carrier {
    match carrier {
        strait_core::Carrier::I32 => Carrier::I32,
        strait_core::Carrier::I64 => Carrier::I64,
    }
}

/// The numbers of constant weights.
pub(crate) enum Constant<'a> {
    /// Signed codes of up to 8 bits, or unsigned codes of 4 bits.
    I8(Cow<'a, [i8]>),
    /// Codes of any other type, or codes minus a zero point.
    I32(Vec<i32>),
}

impl Constant<'_> {
    /// Returns the weights in a slot: the codes minus the zero point of their output channel. `axis` is the axis of
    /// output channels. Returns `None` if the weights are not constant.
    pub(crate) fn of<'a>(slot: &'a Slot<'_>, zeros: &WeightZero, axis: usize) -> Option<Constant<'a>> {
        let tensor = slot.constant?;
        codes(slot)?;
        Some(match slot.elem {
            Elem::I8 | Elem::I4 if zeros.is_zero() => Constant::I8(tensor.values().ok()?),
            _ => {
                let inner = slot.dims.iter().skip(axis + 1).product::<usize>().max(1);
                let outputs = slot.dims.get(axis).copied().unwrap_or(1).max(1);
                let wide = tensor.to_i64().ok()?.into_iter().enumerate();
                // The result fits in i32, because codes and zero points have at most 16 bits.
                let weight = |(at, code): (usize, i64)| code as i32 - zeros.of(at / inner % outputs);
                Constant::I32(wide.map(weight).collect())
            }
        })
    }

    pub(crate) fn weights(&self) -> Weights<'_> {
        match self {
            Constant::I8(weights) => Weights::I8(weights),
            Constant::I32(weights) => Weights::I32(weights),
        }
    }
}

/// The elements of a constant bias, in the accumulator type.
pub(crate) struct ConstantBias {
    carrier: Carrier,
    narrow: Option<Vec<i32>>,
    wide: Option<Vec<i64>>,
}

impl ConstantBias {
    /// Reads the bias in a slot. Returns `None` if the slot is not a constant of the accumulator type.
    pub(crate) fn of(slot: Option<&Slot<'_>>, carrier: Carrier) -> Option<ConstantBias> {
        let mut bias = ConstantBias {
            carrier,
            narrow: None,
            wide: None,
        };
        let Some(slot) = slot else { return Some(bias) };
        match carrier {
            Carrier::I32 => bias.narrow = Some(slot.constant?.values().ok()?.into_owned()),
            Carrier::I64 => bias.wide = Some(slot.constant?.values().ok()?.into_owned()),
        }
        Some(bias)
    }

    /// Repeats a bias with a single value for each channel. Returns `None` if the bias has neither one value nor one
    /// per channel.
    pub(crate) fn repeated(mut self, channels: usize) -> Option<ConstantBias> {
        fn fit<T: Copy>(values: &mut Option<Vec<T>>, channels: usize) -> bool {
            if let Some(&[one]) = values.as_deref() {
                *values = Some(vec![one; channels]);
            }
            values.as_ref().is_none_or(|values| values.len() == channels)
        }
        (fit(&mut self.narrow, channels) && fit(&mut self.wide, channels)).then_some(self)
    }

    pub(crate) fn bias(&self) -> Bias<'_> {
        match self.carrier {
            Carrier::I32 => Bias::I32(self.narrow.as_deref()),
            Carrier::I64 => Bias::I64(self.wide.as_deref()),
        }
    }
}
