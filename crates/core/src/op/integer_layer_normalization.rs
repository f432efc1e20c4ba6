//! Layer normalization of codes. The definition says whether the mean is subtracted.

use super::prelude::*;
use crate::shape::element_count;
use strait_requantize::function::{Definition, FunctionError, LayerNorm};

op! {
    /// A layer normalization of codes over the axes from `axis` to the last. `definition` says how it is computed.
    ///
    /// Operands: `x`, of at most 16 bits; the gains (the factors of the normalized elements), i16, one for each
    /// position along the normalized axes; and optionally the biases, i32 or i64, one for each such position, on the
    /// grid of the product of `x` and gains. The result has the element type `to`.
    IntegerLayerNormalization = "integer_layer_normalization" v 1: Integer, 2 to 3 {
        /// The first normalized axis; a negative one counts from the end.
        axis: i64,
        /// Name and version of the function that the op computes. `docs/functions.md` defines these functions.
        definition: Definition,
        /// A number that is added to the variance, in the unit that the definition uses.
        epsilon: i64,
        /// Factor of the gains, with 31 fractional bits.
        multiplier: i32,
        /// Factor of the biases.
        bias_multiplier: i64,
        /// The number of bits by which results are shifted right, after they were multiplied by both factors.
        shift: u8,
        /// Zero point of the result.
        zero: i32,
        /// Type of the result.
        to: Elem,
    }
}

impl IntegerLayerNormalization {
    /// Returns the op that computes `norm` over the axes from `axis` to the last.
    pub fn new(axis: i64, norm: &LayerNorm) -> IntegerLayerNormalization {
        IntegerLayerNormalization {
            axis,
            definition: norm.definition(),
            epsilon: norm.epsilon,
            multiplier: norm.multiplier,
            bias_multiplier: norm.bias_multiplier,
            shift: norm.shift,
            zero: norm.zero_point,
            to: norm.result.into(),
        }
    }

    /// Returns the function that the op computes.
    ///
    /// # Errors
    /// The definition is not that of a layer normalization, or does not allow these parameters.
    pub fn norm(&self) -> Result<LayerNorm, FunctionError> {
        let kind = || FunctionError::Kind {
            definition: self.definition,
            wanted: "layer normalization to codes",
        };
        let centred = match self.definition {
            Definition::LayerNorm => true,
            Definition::RmsNorm => false,
            _ => return Err(kind()),
        };
        let norm = LayerNorm {
            centred,
            epsilon: self.epsilon,
            multiplier: self.multiplier,
            bias_multiplier: self.bias_multiplier,
            shift: self.shift,
            zero_point: self.zero,
            result: self.to.int_type().ok_or_else(kind)?,
        };
        norm.check().map(|()| norm)
    }
}

impl OpFacts for IntegerLayerNormalization {
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
        const DOMAIN: ReasonCode = ReasonCode::LayerNormalizationDomain;
        let (x, gains) = (support::operand(operands, 0)?, support::operand(operands, 1)?);
        let axis = support::axis(self.axis, x.shape.len())?;
        let norm = self.norm().map_err(|error| Reason::new(DOMAIN, error.to_string()))?;
        let codes = x.elem.int_type().is_some_and(|codes| codes.bits() <= 16);
        support::ensure(codes && gains.elem == Elem::I16, DOMAIN, || {
            format!(
                "{} reads codes with gains of i16, not {x} with {gains}",
                self.definition
            )
        })?;
        let row = &x.shape[axis..];
        let most = LayerNorm::LONGEST_ROW as u64;
        let length = element_count(row);
        support::ensure(
            length.is_some_and(|length| (1..=most).contains(&length)),
            DOMAIN,
            || {
                format!(
                    "{} takes rows of 1 to {most} codes; this is {x} from axis {axis}",
                    self.definition
                )
            },
        )?;
        for operand in operands.iter().skip(1).flatten() {
            support::ensure(
                operand.shape.as_slice() == row,
                ReasonCode::LayerNormalizationShape,
                || format!("{operand} has not one number for each element of a row of {x} from axis {axis}"),
            )?;
        }
        if let Some(biases) = operands.get(2).copied().flatten() {
            support::ensure(matches!(biases.elem, Elem::I32 | Elem::I64), DOMAIN, || {
                format!("{} takes biases of i32 or i64, not {}", self.definition, biases.elem)
            })?;
        }
        support::one(Elem::from(norm.result), x.shape.clone())
    }
}
