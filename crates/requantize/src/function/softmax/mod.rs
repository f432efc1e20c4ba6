//! Softmax over rows of codes. Each definition fixes the grid of the probabilities.

mod int16;
mod int8;

pub use int8::SoftmaxInt8;
pub use int16::SoftmaxInt16;

use super::{Definition, Factor, FunctionError, code_of, in_range};
use crate::{
    IntType,
    scales::{ScaleError, positive},
};
use serde::{Deserialize, Serialize};

/// A softmax with its parameters, as plain data. In text and JSON, each variant has the name of its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Softmax {
    /// LiteRT's softmax on int8 (`litert.softmax.int8.v1`).
    #[serde(rename = "litert.softmax.int8.v1")]
    LitertInt8(SoftmaxInt8),
    /// LiteRT's softmax on int16 (`litert.softmax.int16.v1`).
    #[serde(rename = "litert.softmax.int16.v1")]
    LitertInt16(SoftmaxInt16),
}

/// Properties of a softmax that do not depend on its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxFacts {
    /// The type of the codes of operand and result.
    pub elements: IntType,
    /// True if the operand's zero point has to be 0. Then the result's zero point is 0 too.
    pub symmetric: bool,
    /// Scale and zero point of the result.
    pub output: (f32, i32),
    /// The smallest and the largest result.
    pub range: [i32; 2],
    /// The largest number of codes in a row.
    pub longest_row: usize,
}

impl Definition {
    /// The properties of this definition if it is a softmax. `None` for other kinds of functions.
    pub fn softmax(self) -> Option<SoftmaxFacts> {
        match self {
            Definition::LitertSoftmaxInt8 => Some(int8::FACTS),
            Definition::LitertSoftmaxInt16 => Some(int16::FACTS),
            _ => None,
        }
    }
}

impl Softmax {
    /// Makes the softmax of a definition for codes with the scale `input_scale`.
    ///
    /// # Errors
    /// [`FunctionError::Kind`] if the definition is not a softmax, or an error of the definition.
    pub fn of(definition: Definition, input_scale: f32, beta: f32) -> Result<Softmax, FunctionError> {
        match definition {
            Definition::LitertSoftmaxInt8 => Softmax::litert_int8(input_scale, beta),
            Definition::LitertSoftmaxInt16 => Softmax::litert_int16(input_scale, beta),
            _ => Err(no_softmax(definition)),
        }
    }

    /// Makes the softmax of a definition that multiplies the differences of codes by `multiplier * 2^(exponent - 31)`.
    ///
    /// # Errors
    /// [`FunctionError::Kind`] if the definition is not a softmax; [`FunctionError::Parameter`] if the definition does
    /// not support this factor.
    pub fn with_factor(definition: Definition, multiplier: i32, exponent: i32) -> Result<Softmax, FunctionError> {
        in_range(definition, "exponent", exponent, -31..=31)?;
        let softmax = match definition {
            Definition::LitertSoftmaxInt8 => Softmax::LitertInt8(SoftmaxInt8 {
                multiplier,
                shift: exponent.max(0) as u8,
            }),
            Definition::LitertSoftmaxInt16 => Softmax::LitertInt16(SoftmaxInt16 {
                factor: Factor {
                    multiplier,
                    exponent: exponent as i8,
                },
            }),
            _ => return Err(no_softmax(definition)),
        };
        softmax.check()?;
        Ok(softmax)
    }

    /// Returns the multiplier and the exponent of the factor by which differences of codes are multiplied.
    /// [`Softmax::with_factor`] makes the same softmax from these numbers.
    pub fn factor(&self) -> (i32, i32) {
        match self {
            Softmax::LitertInt8(softmax) => (softmax.multiplier, softmax.shift.into()),
            Softmax::LitertInt16(softmax) => (softmax.factor.multiplier, softmax.factor.exponent.into()),
        }
    }

    /// LiteRT's SOFTMAX for int8 codes with the scale `input_scale`. The zero point of the codes does not matter.
    ///
    /// # Errors
    /// [`FunctionError::Scale`] if `input_scale` or `beta` is not finite and positive; [`FunctionError::Factor`] if
    /// `input_scale * beta` is at most 2^-26, where LiteRT aborts.
    pub fn litert_int8(input_scale: f32, beta: f32) -> Result<Softmax, FunctionError> {
        SoftmaxInt8::from_scales(input_scale, beta).map(Softmax::LitertInt8)
    }

    /// LiteRT's SOFTMAX for int16 codes with the scale `input_scale` and a zero point of 0.
    ///
    /// # Errors
    /// [`FunctionError::Scale`] if `input_scale` or `beta` is not finite and positive; [`FunctionError::Factor`] if
    /// `input_scale * beta` is about 5 or more, where LiteRT's left shift of a difference overflows `i32`.
    pub fn litert_int16(input_scale: f32, beta: f32) -> Result<Softmax, FunctionError> {
        SoftmaxInt16::from_scales(input_scale, beta).map(Softmax::LitertInt16)
    }

    /// The name and the version of the function.
    pub fn definition(&self) -> Definition {
        match self {
            Softmax::LitertInt8(_) => Definition::LitertSoftmaxInt8,
            Softmax::LitertInt16(_) => Definition::LitertSoftmaxInt16,
        }
    }

    /// The properties that do not depend on the parameters.
    pub fn facts(&self) -> SoftmaxFacts {
        match self {
            Softmax::LitertInt8(_) => int8::FACTS,
            Softmax::LitertInt16(_) => int16::FACTS,
        }
    }

    /// The type of the codes of operand and result.
    pub fn elements(&self) -> IntType {
        self.facts().elements
    }

    /// Scale and zero point of the result.
    pub fn output(&self) -> (f32, i32) {
        self.facts().output
    }

    /// The smallest and the largest result.
    pub fn range(&self) -> [i32; 2] {
        self.facts().range
    }

    /// The largest number of codes in a row. With more codes, the sum of exponentials may not fit into its type.
    pub fn longest_row(&self) -> usize {
        self.facts().longest_row
    }

    /// Checks that the parameters are legal.
    ///
    /// # Errors
    /// [`FunctionError::Parameter`] if a parameter is outside of the definition's limits.
    pub fn check(&self) -> Result<(), FunctionError> {
        match self {
            Softmax::LitertInt8(softmax) => softmax.check(),
            Softmax::LitertInt16(softmax) => softmax.check(),
        }
    }

    /// Prepares the function for evaluating rows.
    ///
    /// # Errors
    /// [`FunctionError::Parameter`] if the parameters are not legal.
    pub fn rows(&self) -> Result<SoftmaxRows, FunctionError> {
        self.check()?;
        let exponentials = match self {
            Softmax::LitertInt8(softmax) => softmax.exponentials(),
            Softmax::LitertInt16(_) => Vec::new(),
        };
        Ok(SoftmaxRows {
            softmax: *self,
            exponentials,
        })
    }
}

/// A softmax with checked parameters. For int8, it stores the exponential of each possible difference of two codes.
#[derive(Clone, Debug)]
pub struct SoftmaxRows {
    softmax: Softmax,
    /// The exponentials of the differences 0, -1, -2 …, in this order.
    exponentials: Vec<i32>,
}

/// The divisor for all exponentials of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    reciprocal: i32,
    shift: u8,
}

impl Divisor {
    /// The reciprocal of the sum, not negative, and the number of bits by which its product with an exponential is
    /// shifted. The definition of the softmax says how.
    pub fn parts(self) -> (i32, u8) {
        (self.reciprocal, self.shift)
    }
}

impl SoftmaxRows {
    /// Computes the probabilities of one row, in the order of its codes. Computes the
    /// [`exponential`](Self::exponential) of the distance between each code and the largest code, adds up the
    /// [`addend`](Self::addend)s of all exponentials, and turns each exponential into its [`share`](Self::share) of the
    /// sum.
    ///
    /// # Errors
    /// [`FunctionError::Row`]; [`FunctionError::Lengths`]; [`FunctionError::Code`]. In these cases, nothing is written
    /// to the results.
    pub fn eval(&self, codes: &[i32], results: &mut [i32]) -> Result<(), FunctionError> {
        let (definition, most) = (self.softmax.definition(), self.softmax.longest_row());
        if codes.len() != results.len() {
            return Err(FunctionError::Lengths {
                definition,
                codes: codes.len(),
                results: results.len(),
            });
        }
        let largest = match codes.iter().max() {
            Some(largest) if codes.len() <= most => *largest,
            _ => {
                return Err(FunctionError::Row {
                    definition,
                    length: codes.len(),
                    most,
                });
            }
        };
        codes
            .iter()
            .try_for_each(|&code| code_of(definition, self.softmax.elements(), code))?;
        let mut sum = 0;
        for (exponential, code) in results.iter_mut().zip(codes) {
            // The difference of two 16-bit codes is at most 65,535, so it fits into u16.
            *exponential = self.exponential((largest - code) as u16);
            sum += self.addend(*exponential);
        }
        let divisor = self.divisor(sum);
        for result in results {
            *result = self.share(*result, divisor);
        }
        Ok(())
    }

    /// The exponential of a code that is `distance` below the largest code of its row. For int8, a distance above 255
    /// is treated as 255, because two codes are at most 255 apart.
    pub fn exponential(&self, distance: u16) -> i32 {
        match &self.softmax {
            Softmax::LitertInt8(_) => self.exponentials.get(usize::from(distance)).copied().unwrap_or(0),
            Softmax::LitertInt16(softmax) => softmax.exponential(distance.into()),
        }
    }

    /// The part of a row's sum that comes from an exponential.
    pub fn addend(&self, exponential: i32) -> i32 {
        match &self.softmax {
            Softmax::LitertInt8(_) => int8::addend(exponential),
            Softmax::LitertInt16(_) => exponential,
        }
    }

    /// Prepares the division by `sum`, the sum of all addends of a row. The sum must include the addend of the largest
    /// code, and must not have more addends than the longest row has codes.
    pub fn divisor(&self, sum: i32) -> Divisor {
        match &self.softmax {
            Softmax::LitertInt8(_) => int8::divisor(sum),
            Softmax::LitertInt16(_) => int16::divisor(sum),
        }
    }

    /// The code of an exponential's share of the sum of its row.
    pub fn share(&self, exponential: i32, divisor: Divisor) -> i32 {
        match &self.softmax {
            Softmax::LitertInt8(_) => int8::share(exponential, divisor),
            Softmax::LitertInt16(_) => int16::share(exponential, divisor),
        }
    }
}

fn no_softmax(definition: Definition) -> FunctionError {
    FunctionError::Kind {
        definition,
        wanted: "softmax",
    }
}

/// `input_scale * beta`, exactly.
fn factor(definition: Definition, input_scale: f32, beta: f32) -> Result<f64, FunctionError> {
    let refused = |source: ScaleError| FunctionError::Scale { definition, source };
    let input_scale = positive("input scale", input_scale.into()).map_err(refused)?;
    Ok(input_scale * positive("beta", beta.into()).map_err(refused)?)
}
