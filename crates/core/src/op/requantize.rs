//! Requantizes from one grid to another.

use super::prelude::*;
use strait_requantize::Requantization;

op! {
    /// Requantizes each element, an integer of any type, with a requantization form. The channels of the form run along
    /// `axis`. Alternatively, an optional second operand gives the channel of each element. This operand is i32, and
    /// its shape broadcasts to the shape of the result.
    Requantize = "requantize" v 1: Integer, 1 to 2 {
        /// The form with its parameters.
        form: Requantization,
        /// The channel axis of a form with parameters per channel. It has no meaning if the second operand gives the
        /// channels.
        axis: u32,
    }
}

impl OpFacts for Requantize {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        support::ensure(x.elem.is_integer(), ReasonCode::RequantizeType, || {
            format!("{} is not an integer", x.elem)
        })?;
        if operands.get(1).is_some_and(Option::is_some) {
            support::picks_channels(operands, 1, &x.shape)?;
        } else if let Some(channels) = self.form.channels() {
            let extent = x.shape.get(self.axis as usize).and_then(|d| d.fixed());
            support::ensure(extent == Some(channels as u64), ReasonCode::RequantizeChannels, || {
                format!("{channels} channels of parameters for axis {} of {x}", self.axis)
            })?;
        }
        support::one(Elem::from(self.form.out()), x.shape.clone())
    }

    fn channel_axis(&self, _: usize) -> Option<usize> {
        Some(self.axis as usize)
    }

    fn channel_operand(&self) -> Option<usize> {
        Some(1)
    }
}
