//! Zero points that ops carry: the codes of real zero of their operands.

use crate::attribute::{Attribute, Field};
use strait_requantize::Per;

/// The code of real zero of an operand, as an op carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zero {
    /// The position of the operand.
    pub operand: usize,
    /// The code; 0 if the operand is float.
    pub code: i32,
    /// True if padding elements are this code.
    pub pads: bool,
}

impl Zero {
    /// The code that elements beside the first operand read as.
    pub(crate) fn padding(code: i32, pad: &[u32]) -> Zero {
        Zero {
            operand: 0,
            code,
            pads: pad.iter().any(|&p| p > 0),
        }
    }

    /// The zero point of an operand, beside which nothing is read.
    pub(crate) fn of(operand: usize, code: i32) -> Zero {
        Zero {
            operand,
            code,
            pads: false,
        }
    }
}

/// Zero points of the constant weights of a product: one for all, or one for each output channel. In float they are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightZero(pub Per<i32>);

impl WeightZero {
    /// The zero point for the weights of an output channel; 0 beyond the last one.
    pub fn of(&self, output: usize) -> i32 {
        self.0.get(output).copied().unwrap_or(0)
    }

    /// Each as the zero of the operand that the weights are.
    pub(crate) fn zeros(&self) -> impl Iterator<Item = Zero> {
        self.0.values().iter().map(|&code| Zero::of(1, code))
    }

    /// True if all zero points are 0, so that codes are the weights themselves.
    pub fn is_zero(&self) -> bool {
        self.0.all(|&zero| zero == 0)
    }
}

impl Default for WeightZero {
    fn default() -> Self {
        WeightZero(Per::Tensor(0))
    }
}

impl Field for WeightZero {
    fn to_attribute(&self) -> Attribute {
        self.0.to_attribute()
    }
    fn from_attribute(attribute: &Attribute) -> Option<Self> {
        Per::from_attribute(attribute).map(WeightZero)
    }
    fn allowed() -> String {
        <Per<i32> as Field>::allowed()
    }
    fn implied() -> Option<Self> {
        Some(WeightZero::default())
    }
}
