use super::{Affine, Arithmetic, Fields, Form, FormError, Scalars, Shift, at, check::in_range, lowest_with_relu};
use crate::{IntType, Per, Rounding};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// `sat16(floor(x / 2^shift))`. With `relu`, negative results become zero.
///
/// This form is the first half of Ascend's S16 pair. It narrows accumulators to 16 bits, so that they can be added
/// before [`AscendRequantS16`](super::AscendRequantS16).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AscendDequantS16 {
    /// The shift N, 1 ..= 16.
    pub shift: Per<u8>,
    /// True if negative results become zero.
    pub relu: bool,
}

impl AscendDequantS16 {
    /// The shifts that are supported: those that fit into the chip's parameter word.
    pub const SHIFTS: RangeInclusive<u8> = 1..=16;
}

impl Form for AscendDequantS16 {
    fn out(&self) -> IntType {
        IntType::I16
    }

    fn lowest(&self) -> i32 {
        lowest_with_relu(self.out(), self.relu.then_some(0))
    }

    fn fields(&self) -> Fields<'_> {
        Fields::default().shifted("shift", Shift::Right(&self.shift))
    }

    fn select(&mut self, channels: &[usize]) -> Option<()> {
        self.shift.select(channels)
    }

    fn scalars(&self, channel: usize) -> Result<Scalars<'_>, FormError> {
        let shift = at("shift", &self.shift, channel)?;
        let (least, most) = Self::SHIFTS.into_inner();
        in_range("shift", channel, shift.into(), least.into()..=most.into())?;
        let arithmetic = Arithmetic::Affine(Affine {
            factor: 1,
            addend: 0,
            shift,
            rounding: Rounding::Floor,
            zero_point: 0,
        });
        Ok(Scalars::from(arithmetic).inputs((i32::MIN, i32::MAX)))
    }
}
