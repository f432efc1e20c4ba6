//! Softmax over rows of codes: probabilities on a grid that the definition fixes.

mod int16;
mod int8;

pub use int8::SoftmaxInt8;
pub use int16::SoftmaxInt16;

use super::{Definition, FunctionError, code_of};
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

impl Softmax {
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

    /// Type of the operand's codes, and of the result's.
    pub fn elements(&self) -> IntType {
        match self {
            Softmax::LitertInt8(_) => IntType::I8,
            Softmax::LitertInt16(_) => IntType::I16,
        }
    }

    /// Scale and zero point of the result.
    pub fn output(&self) -> (f32, i32) {
        match self {
            Softmax::LitertInt8(_) => (1.0 / 256.0, -128),
            Softmax::LitertInt16(_) => (1.0 / 32768.0, 0),
        }
    }

    /// The least and the largest result.
    pub fn range(&self) -> [i32; 2] {
        match self {
            Softmax::LitertInt8(_) => [-128, 127],
            Softmax::LitertInt16(_) => [0, 32767],
        }
    }

    /// The largest number of codes in a row: the sum of their exponentials stays in the definition's type.
    pub fn longest_row(&self) -> usize {
        match self {
            Softmax::LitertInt8(_) => int8::LONGEST_ROW,
            Softmax::LitertInt16(_) => int16::LONGEST_ROW,
        }
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

impl SoftmaxRows {
    /// The probabilities of one row, in the order of its codes.
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
        match &self.softmax {
            Softmax::LitertInt8(_) => int8::row(&self.exponentials, codes, largest, results),
            Softmax::LitertInt16(softmax) => softmax.row(codes, largest, results),
        }
        Ok(())
    }
}

/// `input_scale * beta`, exactly.
fn factor(definition: Definition, input_scale: f32, beta: f32) -> Result<f64, FunctionError> {
    let refused = |source: ScaleError| FunctionError::Scale { definition, source };
    let input_scale = positive("input scale", input_scale.into()).map_err(refused)?;
    Ok(input_scale * positive("beta", beta.into()).map_err(refused)?)
}
