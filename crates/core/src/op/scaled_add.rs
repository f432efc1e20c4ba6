//! Addition of codes that are on different grids.

use super::prelude::*;
use strait_requantize::IntType;
use strait_requantize::mixed::QLinearAdd;

op! {
    /// sat(half_even(fma(a, x, fma(b, y, offset)))) for the codes x and y, where each fma is rounded to `f32` once.
    /// Operands broadcast as in NumPy.
    ///
    /// `a` and `b` are the scales of the operands divided by the scale of the result, and `offset` contains all three
    /// zero points.
    ScaledAdd = "scaled_add" v 1: Integer, 2 {
        /// The factor of the first operand, finite and positive.
        a: f32,
        /// The factor of the second operand, finite and positive.
        b: f32,
        /// The addend that contains the zero points, finite.
        offset: f32,
        /// Type of the result, of 8 bits.
        to: Elem,
    }
}

impl ScaledAdd {
    /// The op that computes this function.
    pub fn new(form: &QLinearAdd) -> ScaledAdd {
        ScaledAdd {
            a: form.a,
            b: form.b,
            offset: form.offset,
            to: form.out.into(),
        }
    }

    /// The function that the op computes. `None` if the parameters are not legal.
    pub fn form(&self) -> Option<QLinearAdd> {
        let out = self.to.int_type().filter(|out| is_of_8_bits(*out))?;
        let form = QLinearAdd {
            a: self.a,
            b: self.b,
            offset: self.offset,
            out,
        };
        form.check().ok().map(|()| form)
    }
}

fn is_of_8_bits(codes: IntType) -> bool {
    matches!(codes, IntType::I8 | IntType::U8)
}

impl OpFacts for ScaledAdd {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let [x, y] = [support::operand(operands, 0)?, support::operand(operands, 1)?];
        let codes = [x.elem, y.elem].map(Elem::int_type);
        let holds = x.elem == y.elem && codes.iter().flatten().any(|&codes| is_of_8_bits(codes));
        support::ensure(holds, ReasonCode::ElementTypes, || {
            format!(
                "the operands are {} and {}, and codes of 8 bits can be added",
                x.elem, y.elem
            )
        })?;
        support::ensure(self.form().is_some(), ReasonCode::ScaledAdd, || {
            format!(
                "the factors {} and {}, the offset {} and results of {} are no addition of codes",
                self.a, self.b, self.offset, self.to
            )
        })?;
        support::one(self.to, support::broadcast(&x.shape, &y.shape)?)
    }
}
