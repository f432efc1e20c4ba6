//! Softmax of codes.

use super::prelude::*;
use strait_requantize::function::{Definition, FunctionError, Softmax};

op! {
    /// A softmax of codes along one axis. `definition` says how it is computed, and also gives the type, scale and zero
    /// point of the result.
    IntegerSoftmax = "integer_softmax" v 1: Integer, 1 {
        /// The axis; a negative one counts from the end.
        axis: i64,
        /// Name and version of the function that the op computes. `docs/functions.md` defines these functions.
        definition: Definition,
        /// The factor `multiplier`·2^(`exponent` − 31) converts the difference between a code and the largest code of
        /// its row to the unit that the definition uses.
        multiplier: i32,
        /// The exponent of the factor; see `multiplier`.
        exponent: i32,
    }
}

impl IntegerSoftmax {
    /// Returns the function that the op computes.
    ///
    /// # Errors
    /// The definition is not that of a softmax, or does not allow this factor.
    pub fn softmax(&self) -> Result<Softmax, FunctionError> {
        Softmax::with_factor(self.definition, self.multiplier, self.exponent)
    }
}

impl OpFacts for IntegerSoftmax {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        let x = support::operand(operands, 0)?;
        let axis = support::axis(self.axis, x.shape.len())?;
        let refused = |text: String| Reason::new(ReasonCode::SoftmaxDomain, text);
        let softmax = self.softmax().map_err(|error| refused(error.to_string()))?;
        let elements = Elem::from(softmax.elements());
        support::ensure(x.elem == elements, ReasonCode::SoftmaxDomain, || {
            format!("{} reads {elements}, not {}", self.definition, x.elem)
        })?;
        let most = softmax.longest_row() as u64;
        support::ensure(
            matches!(x.shape[axis], Dim::Fixed(extent) if (1..=most).contains(&extent)),
            ReasonCode::SoftmaxDomain,
            || format!("{} takes rows of 1 to {most} codes; this is {x}", self.definition),
        )?;
        support::same(operands)
    }
}
