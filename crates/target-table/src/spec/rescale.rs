//! The scales and zero points before and after a requantization.

use std::borrow::Cow;
use strait_requantize::{IntType, Per};

/// What is needed to build a requantization from one scale and zero point to another.
#[derive(Clone, Copy, Debug)]
pub struct Rescale<'a> {
    /// The scales. Each rule multiplies and rounds them in its own way.
    pub scales: Scales<'a>,
    /// Zero point of the integer that is requantized; 0 for accumulators. Only forms that add a constant before the
    /// shift accept values other than 0.
    pub input_zero: i32,
    /// Zero point of the result.
    pub output_zero: i32,
    /// Type of the result.
    pub out: IntType,
    /// Smallest and largest accumulator that can occur, for the whole tensor or for each channel. Integers that the
    /// compiler chooses are chosen to be the best for these accumulators. For other integers, the report says how far
    /// they are from the best ones. If the bounds are not known, the compiler chooses the integers that are closest to
    /// the factor.
    pub accumulators: Option<&'a Per<(i64, i64)>>,
}

/// The scales before and after a requantization. A code q with a scale stands for the real number scale × (q − zero
/// point).
#[derive(Clone, Copy, Debug)]
pub enum Scales<'a> {
    /// The scales of a sum of products of activations and weights. The factor is `input · weight / output`.
    Convolution {
        /// Scale of the activation.
        input: f32,
        /// Scale of the weights.
        weight: &'a Per<f32>,
        /// Scale of the result.
        output: f32,
    },
    /// As `Convolution`, but for a fully connected layer, for which some runtimes round the factor in another way.
    FullyConnected {
        /// Scale of the activation.
        input: f32,
        /// Scale of the weights.
        weight: &'a Per<f32>,
        /// Scale of the result.
        output: f32,
    },
    /// The scales of a product of two matrices that are activations. The factor is `a · b / output`.
    MatrixProduct {
        /// Scale of one operand.
        a: f32,
        /// Scale of the other operand.
        b: f32,
        /// Scale of the result.
        output: f32,
    },
    /// The scales of an elementwise product. The factor is `a · b / output`.
    Product {
        /// Scale of one operand.
        a: f32,
        /// Scale of the other operand.
        b: f32,
        /// Scale of the result.
        output: f32,
    },
    /// The scales of codes that are converted to the scale of sums of products. The factor is `codes / (input ·
    /// weight)`.
    Onto {
        /// Scale of the codes.
        codes: f32,
        /// Scale of the activation.
        input: f32,
        /// Scale of the weights.
        weight: &'a Per<f32>,
    },
    /// The scales of a sum of `count` elements that becomes their mean. The factor is `input / count / output`. If some
    /// sums have fewer elements than others, each of the different counts is treated as a channel.
    Mean {
        /// Scale of the elements.
        input: f32,
        /// Number of elements in a sum.
        count: &'a Per<u32>,
        /// Scale of the result.
        output: f32,
    },
    /// The scale of the input divided by the scale of the output. Used if only this quotient is known.
    Ratio(f64),
}

impl Scales<'_> {
    /// The factor of the requantization, computed in `f64`.
    pub fn factor(&self) -> Per<f64> {
        match *self {
            Scales::Convolution { input, weight, output } | Scales::FullyConnected { input, weight, output } => {
                weight.map(|w| f64::from(input) * f64::from(*w) / f64::from(output))
            }
            Scales::Product { a, b, output } | Scales::MatrixProduct { a, b, output } => {
                Per::Tensor(f64::from(a) * f64::from(b) / f64::from(output))
            }
            Scales::Mean { input, count, output } => {
                count.map(|count| f64::from(input) / f64::from(*count) / f64::from(output))
            }
            Scales::Onto { codes, input, weight } => {
                weight.map(|w| f64::from(codes) / (f64::from(input) * f64::from(*w)))
            }
            Scales::Ratio(ratio) => Per::Tensor(ratio),
        }
    }

    /// For sums of products: the scales of the input, of the weights and of the output.
    pub(super) fn products(&self) -> Option<(f32, Cow<'_, Per<f32>>, f32)> {
        match *self {
            Scales::Convolution { input, weight, output } | Scales::FullyConnected { input, weight, output } => {
                Some((input, Cow::Borrowed(weight), output))
            }
            Scales::MatrixProduct { a, b, output } => Some((a, Cow::Owned(Per::Tensor(b)), output)),
            _ => None,
        }
    }

    /// The factor of the requantization, computed in `f32` from left to right.
    pub(super) fn single(&self) -> Per<f32> {
        match *self {
            Scales::Convolution { input, weight, output } | Scales::FullyConnected { input, weight, output } => {
                weight.map(|w| input * *w / output)
            }
            Scales::Product { a, b, output } | Scales::MatrixProduct { a, b, output } => Per::Tensor(a * b / output),
            Scales::Mean { .. } | Scales::Onto { .. } | Scales::Ratio(_) => self.factor().map(|f| *f as f32),
        }
    }
}
