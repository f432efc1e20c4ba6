//! Requantizes from one grid to another.

use super::{Infer, Operands, Results, support};
use crate::attribute::op;
use crate::elem::Elem;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use strait_requantize::Requantization;

op! {
    /// Requantizes each element, an integer of any type, with a requantization form. The form's channels run along
    /// `axis`. Alternatively, an optional second operand (i32, with a shape that broadcasts to the result's) gives the
    /// channel of each element.
    Requantize = "requantize" v 1 {
        /// The form with its parameters.
        form: Requantization,
        /// The channel axis of a form with parameters per channel. It has no meaning if an operand picks the channels.
        axis: u32,
    }
}

impl Infer for Requantize {
    const ARITY: (usize, usize) = (1, 2);

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
}
