//! Softmax over rows of codes: probabilities on a grid that the definition fixes.

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

/// A softmax with its parameters. Plain data; in text and JSON a variant has the definition's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Softmax {
    /// `litert.softmax.int8.v1`
    #[serde(rename = "litert.softmax.int8.v1")]
    LitertInt8(SoftmaxInt8),
    /// `litert.softmax.int16.v1`
    #[serde(rename = "litert.softmax.int16.v1")]
    LitertInt16(SoftmaxInt16),
}

/// Properties of a softmax whatever its parameters are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxFacts {
    /// Type of the operand's codes, and of the result's.
    pub elements: IntType,
    /// True if the operand's zero point is 0, as the result's then is.
    pub symmetric: bool,
    /// Scale and zero point of the result.
    pub output: (f32, i32),
    /// The least and the largest result.
    pub range: [i32; 2],
    /// The largest number of codes in a row.
    pub longest_row: usize,
}

impl Definition {
    /// Properties of the softmax that it is; `None` for another kind of function.
    pub fn softmax(self) -> Option<SoftmaxFacts> {
        match self {
            Definition::LitertSoftmaxInt8 => Some(int8::FACTS),
            Definition::LitertSoftmaxInt16 => Some(int16::FACTS),
            _ => None,
        }
    }
}

impl Softmax {
    /// The softmax of a definition on codes of a scale.
    ///
    /// # Errors
    /// [`FunctionError::Kind`] where the definition is no softmax, and those of the definition.
    pub fn of(definition: Definition, input_scale: f32, beta: f32) -> Result<Softmax, FunctionError> {
        match definition {
            Definition::LitertSoftmaxInt8 => Softmax::litert_int8(input_scale, beta),
            Definition::LitertSoftmaxInt16 => Softmax::litert_int16(input_scale, beta),
            _ => Err(no_softmax(definition)),
        }
    }

    /// The softmax of a definition that multiplies differences of codes by `multiplier * 2^(exponent - 31)`.
    ///
    /// # Errors
    /// [`FunctionError::Kind`] where the definition is no softmax, [`FunctionError::Parameter`] where it has no such factor.
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

    /// The factor of differences of codes, from which [`Softmax::with_factor`] makes the same softmax: multiplier and
    /// exponent.
    pub fn factor(&self) -> (i32, i32) {
        match self {
            Softmax::LitertInt8(softmax) => (softmax.multiplier, softmax.shift.into()),
            Softmax::LitertInt16(softmax) => (softmax.factor.multiplier, softmax.factor.exponent.into()),
        }
    }

    /// LiteRT's SOFTMAX on int8 codes of a scale. Their zero point does not matter.
    ///
    /// # Errors
    /// [`FunctionError::Scale`] where one of both is no finite positive number, [`FunctionError::Factor`] where
    /// `input_scale * beta` is 2^-26 or less, at which LiteRT ends the process.
    pub fn litert_int8(input_scale: f32, beta: f32) -> Result<Softmax, FunctionError> {
        SoftmaxInt8::from_scales(input_scale, beta).map(Softmax::LitertInt8)
    }

    /// LiteRT's SOFTMAX on int16 codes of a scale, with a zero point of 0.
    ///
    /// # Errors
    /// [`FunctionError::Scale`] where one of both is no finite positive number, [`FunctionError::Factor`] where
    /// `input_scale * beta` is about 5 or more: there LiteRT's left shift of a difference leaves `i32`.
    pub fn litert_int16(input_scale: f32, beta: f32) -> Result<Softmax, FunctionError> {
        SoftmaxInt16::from_scales(input_scale, beta).map(Softmax::LitertInt16)
    }

    /// Name and version of the function.
    pub fn definition(&self) -> Definition {
        match self {
            Softmax::LitertInt8(_) => Definition::LitertSoftmaxInt8,
            Softmax::LitertInt16(_) => Definition::LitertSoftmaxInt16,
        }
    }

    /// Properties that its parameters do not change.
    pub fn facts(&self) -> SoftmaxFacts {
        match self {
            Softmax::LitertInt8(_) => int8::FACTS,
            Softmax::LitertInt16(_) => int16::FACTS,
        }
    }

    /// Type of the operand's codes, and of the result's.
    pub fn elements(&self) -> IntType {
        self.facts().elements
    }

    /// Scale and zero point of the result.
    pub fn output(&self) -> (f32, i32) {
        self.facts().output
    }

    /// The least and the largest result.
    pub fn range(&self) -> [i32; 2] {
        self.facts().range
    }

    /// The largest number of codes in a row: the sum of their exponentials stays in the definition's type.
    pub fn longest_row(&self) -> usize {
        self.facts().longest_row
    }

    /// Checks that the parameters are legal.
    ///
    /// # Errors
    /// [`FunctionError::Parameter`].
    pub fn check(&self) -> Result<(), FunctionError> {
        match self {
            Softmax::LitertInt8(softmax) => softmax.check(),
            Softmax::LitertInt16(softmax) => softmax.check(),
        }
    }

    /// The function, ready for rows.
    ///
    /// # Errors
    /// [`FunctionError::Parameter`] where the parameters are not legal.
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

/// A softmax that has been checked. On int8 it keeps the exponential of each difference of two codes.
#[derive(Clone, Debug)]
pub struct SoftmaxRows {
    softmax: Softmax,
    /// Of the differences 0, -1, -2 …
    exponentials: Vec<i32>,
}

/// Divisor of all exponentials of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    reciprocal: i32,
    shift: u8,
}

impl SoftmaxRows {
    /// The probabilities of one row, in the order of its codes: of each code the [`exponential`](Self::exponential) of its
    /// distance to the largest, the sum of all [`addend`](Self::addend)s, and the [`share`](Self::share)s of that.
    ///
    /// # Errors
    /// [`FunctionError::Row`], [`FunctionError::Lengths`] and [`FunctionError::Code`]; nothing is written then.
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
            // At most 65,535 of codes of 16 bits.
            *exponential = self.exponential((largest - code) as u16);
            sum += self.addend(*exponential);
        }
        let divisor = self.divisor(sum);
        for result in results {
            *result = self.share(*result, divisor);
        }
        Ok(())
    }

    /// The exponential of a code that lies so far below the largest of its row. Codes of int8 are at most 255 apart, and what
    /// is farther counts as that.
    pub fn exponential(&self, distance: u16) -> i32 {
        match &self.softmax {
            Softmax::LitertInt8(_) => self.exponentials.get(usize::from(distance)).copied().unwrap_or(0),
            Softmax::LitertInt16(softmax) => softmax.exponential(distance.into()),
        }
    }

    /// Contribution of an exponential to the sum of its row.
    pub fn addend(&self, exponential: i32) -> i32 {
        match &self.softmax {
            Softmax::LitertInt8(_) => int8::addend(exponential),
            Softmax::LitertInt16(_) => exponential,
        }
    }

    /// Divisor for a row of these addends' sum: of at least one, which is that of the largest code, and of as many as the
    /// longest row has.
    pub fn divisor(&self, sum: i32) -> Divisor {
        match &self.softmax {
            Softmax::LitertInt8(_) => int8::divisor(sum),
            Softmax::LitertInt16(_) => int16::divisor(sum),
        }
    }

    /// The code of an exponential's share in its row.
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
