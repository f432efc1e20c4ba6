//! Ops that convert the operands of a sum, or add codes, with valid and invalid attributes.

use super::Choices;
use strait_core::op::{ScaledAdd, ShiftLeft};
use strait_core::{Carrier, Elem, Op};

pub(super) fn op(term: &str, choices: &mut Choices<'_>) -> Op {
    if term == "shift_left" {
        return ShiftLeft {
            zero: -1,
            bits: 20,
            accumulator: choices.pick(&Carrier::ALL),
        }
        .into();
    }
    ScaledAdd {
        a: choices.float_or_nan(),
        b: choices.float(),
        offset: choices.float_or_nan(),
        to: choices.pick(&Elem::ALL),
    }
    .into()
}
