//! Zero points as attributes of ops: the codes of operands that stand for real zero.

use crate::attribute::{Attribute, Field};
use strait_requantize::Per;

/// The code of an operand that stands for real zero, from an attribute of the op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zero {
    /// The position of the operand.
    pub operand: usize,
    /// The code; 0 if the operand is float.
    pub code: i32,
    /// True if padding elements have the value `code`.
    pub pads: bool,
}

impl Zero {
    /// Returns the zero point of the first operand. It is also the value of padding elements, unless `pad` is zero
    /// everywhere.
    pub(crate) fn padding(code: i32, pad: &[u32]) -> Zero {
        Zero {
            operand: 0,
            code,
            pads: pad.iter().any(|&p| p > 0),
        }
    }

    /// Returns the zero point of an operand that is not padded.
    pub(crate) fn of(operand: usize, code: i32) -> Zero {
        Zero {
            operand,
            code,
            pads: false,
        }
    }
}

/// Zero points of the constant weights of a convolution or Gemm: one for all outputs, or one for each output channel.
/// In float, they are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightZero(pub Per<i32>);

impl WeightZero {
    /// Returns the zero point for the weights of an output channel. If there are fewer zero points than channels,
    /// returns 0.
    pub fn of(&self, output: usize) -> i32 {
        self.0.get(output).copied().unwrap_or(0)
    }

    /// Returns the zero points as [`Zero`]s of operand 1, the weights.
    pub(crate) fn zeros(&self) -> impl Iterator<Item = Zero> {
        self.0.values().iter().map(|&code| Zero::of(1, code))
    }

    /// True if all zero points are 0, so that nothing has to be subtracted from the codes.
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
