//! Recipes: how one op becomes integers. The table names them; crate `lower` has one file for each.

use super::op::{Fraction, Lines};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU32;
use strait_core::{Kind, Term};
use strait_document::words;
use strait_requantize::Rounding;
use strait_requantize::function::Definition;

words! {
    /// The recipes that a row may name.
    RecipeName {
        /// Convolution or matrix product with constant weights: sums of 16 to 64 bits, carried in i32 or i64, then a
        /// requantization.
        MultiplyAccumulate = "multiply_accumulate",
        /// Convolution or matrix product of real numbers with constant weights, which have codes alone: they become real
        /// numbers in front of it, and bias and result are real. For pairs with activations of `"float32"`.
        DequantizeWeights = "dequantize_weights",
        /// Product of two activations: sums of 16 to 64 bits, carried in i32 or i64, then a requantization.
        MatmulAccumulate = "matmul_accumulate",
        /// Sum or difference: each operand, less its zero point, is shifted left by `left_shift` bits and requantized
        /// (by one of `inputs`) to the grid of twice the larger scale with that many more bits; the sum is requantized.
        AddLeftShift = "add_left_shift",
        /// Sum or difference: each operand is requantized (by one of `inputs`) to a grid that is the output's with
        /// `left_shift` more bits, or as many of them as the forms can express the factors for, and a zero point of 0;
        /// the sum is requantized.
        AddCommonGrid = "add_common_grid",
        /// Sum or difference on the coarser one of the operands' grids, with a zero point of 0: the finer operand is
        /// requantized to it (by one of `inputs`), the other one is taken as it is, less its zero point; the sum is requantized.
        AddCoarserGrid = "add_coarser_grid",
        /// Sum of two convolutions, or of two fully connected layers, which nothing else reads: their sums, whose grids
        /// are made equal, are each shifted right by one number of bits (by one of `inputs`) to 16 bits, and their sum,
        /// saturated to 16 bits, is requantized.
        AddShifted = "add_shifted",
        /// Elementwise product of the operands less their zero points, then a requantization.
        Multiply = "multiply",
        /// The largest code of a window or along reduced axes (of `reduce_min` the smallest); operand and result share one
        /// grid. A result of fewer bits than the operand, which the row has among its `results`, is on that grid without
        /// the lowest bits, which a shift of `requantize` takes off.
        MaxPool = "max_pool",
        /// The sum of a window divided by its count, ties away from zero; operand and result share one grid. A mean over all
        /// spatial axes is one window.
        AveragePoolDivide = "average_pool_divide",
        /// The sum of a window or over reduced axes, requantized by a factor with the reciprocal of the count in it; of
        /// `reduce_sum` without.
        AveragePoolRequantize = "average_pool_requantize",
        /// The sum of a window, less its zero point, times the reciprocal of its count, which is a number of `reciprocal`,
        /// shifted right by the fraction's bits with the rounding of the form of `requantize`; operand and result share one grid.
        AveragePoolReciprocal = "average_pool_reciprocal",
        /// A table with one entry per code: any function of one variable, as `definition` computes it, which may fix the grid
        /// of the result. Entries are rounded as `rounding` says. With `left_shift`, entries for results of at most 8 bits have so
        /// many bits more, which a shift of `requantize` takes off; they are computed in f32. With `interpolate`, not each code has
        /// an entry, and what is in between is on straight lines.
        Lookup = "lookup",
        /// Softmax on codes: the integer function that `definition` names, which fixes the grid of the result.
        Softmax = "softmax",
        /// Layer normalization on codes, or that by the root of the mean square, with constant gains of 16 bits and biases: the
        /// integer function that `definition` names. A result is narrowed inside it, and may have any of the row's `results`.
        LayerNormalization = "layer_normalization",
        /// The codes clipped; operand and result share one grid.
        Clamp = "clamp",
        /// Codes are moved or copied; operands and result share one grid. What a concatenation reads is made on the grid of
        /// its result, or requantized to it. With `fraction`, a `resize` may interpolate.
        PassThrough = "pass_through",
        /// Codes are compared, on one grid that covers both operands; the result are truth values.
        Compare = "compare",
        /// Codes of one grid and type become codes of another, for readers that differ: the row `requantize`, and no op of
        /// a model. With `left_shift`, codes of 8 bits are shifted left by so many in front of the form.
        Requantize = "requantize",
    }
}

words! {
    /// Integer functions: of rows for `softmax`, of one code for `lookup`. `docs/functions.md` defines each.
    IntegerFunction {
        /// LiteRT's SOFTMAX on int8: rows of at most 511 codes, the result on a scale of 1/256 with the zero point -128.
        LitertSoftmaxInt8 = "litert.softmax.int8.v1",
        /// LiteRT's SOFTMAX on int16: rows of at most 65,538 codes, the result on a scale of 1/32768.
        LitertSoftmaxInt16 = "litert.softmax.int16.v1",
        /// LiteRT's LOGISTIC on int8: the result on a scale of 1/256 with the zero point -128.
        LitertLogisticInt8 = "litert.logistic.int8.v1",
        /// LiteRT's LOGISTIC on int16: the result on a scale of 1/32768.
        LitertLogisticInt16 = "litert.logistic.int16.v1",
        /// LiteRT's TANH on int8, between any grids.
        LitertTanhInt8 = "litert.tanh.int8.v1",
        /// LiteRT's TANH on int16: the result on a scale of 1/32768.
        LitertTanhInt16 = "litert.tanh.int16.v1",
        /// LiteRT's HARD_SWISH on int8, between any grids.
        LitertHardSwishInt8 = "litert.hard_swish.int8.v1",
        /// LiteRT's LEAKY_RELU on int8 and int16, between any grids.
        LitertLeakyRelu = "litert.leaky_relu.v1",
        /// Any function of one code between any grids of 16 bits and less, correctly rounded.
        Nearest = "nearest.v1",
        /// Ours, and no runtime's: a layer normalization by exact sums, rows of at most 32,768 codes of any type.
        LayerNorm = "strait.layer_norm.v1",
        /// Ours, and no runtime's: a normalization by the root of the mean square by exact sums, rows of at most 32,768 codes of any
        /// type without a zero point.
        RmsNorm = "strait.rms_norm.v1",
    }
}

impl IntegerFunction {
    /// The function.
    pub fn definition(self) -> Definition {
        match self {
            IntegerFunction::LitertSoftmaxInt8 => Definition::LitertSoftmaxInt8,
            IntegerFunction::LitertSoftmaxInt16 => Definition::LitertSoftmaxInt16,
            IntegerFunction::LitertLogisticInt8 => Definition::LitertLogisticInt8,
            IntegerFunction::LitertLogisticInt16 => Definition::LitertLogisticInt16,
            IntegerFunction::LitertTanhInt8 => Definition::LitertTanhInt8,
            IntegerFunction::LitertTanhInt16 => Definition::LitertTanhInt16,
            IntegerFunction::LitertHardSwishInt8 => Definition::LitertHardSwishInt8,
            IntegerFunction::LitertLeakyRelu => Definition::LitertLeakyRelu,
            IntegerFunction::Nearest => Definition::Nearest,
            IntegerFunction::LayerNorm => Definition::LayerNorm,
            IntegerFunction::RmsNorm => Definition::RmsNorm,
        }
    }

    /// The terms of the ops that it computes.
    pub fn computes(self) -> Vec<Term> {
        match self {
            IntegerFunction::LitertSoftmaxInt8 | IntegerFunction::LitertSoftmaxInt16 => vec![Term::Softmax],
            IntegerFunction::LitertLogisticInt8 | IntegerFunction::LitertLogisticInt16 => vec![Term::Sigmoid],
            IntegerFunction::LitertTanhInt8 | IntegerFunction::LitertTanhInt16 => vec![Term::Tanh],
            IntegerFunction::LitertHardSwishInt8 => vec![Term::HardSwish],
            IntegerFunction::LitertLeakyRelu => vec![Term::LeakyRelu],
            IntegerFunction::Nearest => RecipeName::Lookup.lowers(),
            IntegerFunction::LayerNorm => vec![Term::LayerNormalization],
            IntegerFunction::RmsNorm => vec![Term::RmsNormalization],
        }
    }
}

words! {
    /// Which grid weights are quantized on.
    WeightGrid {
        /// The finest one that holds them.
        MaxAbs = "max_abs",
        /// The finest one that holds them and leaves a power of two as the factor to the output: s_w = 2^-n · s_y /
        /// s_x.
        Shift = "shift",
        /// As `shift`, but reached in two roundings: codes on the grid of `max_abs`, times the correction in (0.5, 1]
        /// that leads from there to the grid of `shift`, rounded half to even.
        MaxAbsThenShift = "max_abs_then_shift",
    }
}

words! {
    /// Codes that padding reads as.
    Padding {
        /// The zero point of the operand: real zero.
        ZeroPoint = "zero_point",
        /// The code 0, which is real zero where the zero point is 0. Other padded operands go to the host.
        ZeroCode = "zero_code",
        /// The smallest code of the type, so that padding is never the largest.
        TypeMinimum = "type_minimum",
    }
}

/// Numbers that stand for the reciprocals of counts: round(2^bits / n).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reciprocal {
    /// Bits of the fraction, and so the shift behind the multiplication.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 30)))]
    pub bits: u8,
    /// Rounding of the quotient.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
}

impl Reciprocal {
    /// The number that stands for 1 / n.
    pub fn of(self, count: u32) -> i32 {
        let count = NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
        // At most 2^30.
        self.rounding.divide(1 << self.bits.min(30), count) as i32
    }
}

impl WeightGrid {
    /// True if the factor to the output is a power of two.
    pub fn leaves_a_shift(self) -> bool {
        match self {
            WeightGrid::MaxAbs => false,
            WeightGrid::Shift | WeightGrid::MaxAbsThenShift => true,
        }
    }
}

/// A recipe with its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// See [`RecipeName::MultiplyAccumulate`].
    MultiplyAccumulate {
        /// Which grid weights are quantized on.
        weight_grid: WeightGrid,
    },
    /// See [`RecipeName::DequantizeWeights`].
    DequantizeWeights,
    /// See [`RecipeName::MatmulAccumulate`].
    MatmulAccumulate,
    /// See [`RecipeName::AddLeftShift`].
    AddLeftShift {
        /// Bits that an operand is shifted left by.
        left_shift: u8,
    },
    /// See [`RecipeName::AddCommonGrid`].
    AddCommonGrid {
        /// Bits that the common grid has more than the output's, at most.
        left_shift: u8,
    },
    /// See [`RecipeName::AddCoarserGrid`].
    AddCoarserGrid,
    /// See [`RecipeName::AddShifted`].
    AddShifted,
    /// See [`RecipeName::Multiply`].
    Multiply,
    /// See [`RecipeName::MaxPool`].
    MaxPool,
    /// See [`RecipeName::AveragePoolDivide`].
    AveragePoolDivide,
    /// See [`RecipeName::AveragePoolRequantize`].
    AveragePoolRequantize,
    /// See [`RecipeName::AveragePoolReciprocal`].
    AveragePoolReciprocal {
        /// The numbers that stand for reciprocals.
        reciprocal: Reciprocal,
    },
    /// See [`RecipeName::Lookup`].
    Lookup {
        /// The function of one code.
        definition: Definition,
        /// Bits that the entries for results of 8 bits have beside them.
        left_shift: u8,
        /// Straight lines between entries that not each code has.
        lines: Option<Lines>,
    },
    /// See [`RecipeName::Softmax`].
    Softmax {
        /// The function.
        definition: Definition,
    },
    /// See [`RecipeName::LayerNormalization`].
    LayerNormalization {
        /// The function.
        definition: Definition,
    },
    /// See [`RecipeName::Clamp`].
    Clamp,
    /// See [`RecipeName::PassThrough`].
    PassThrough {
        /// Interpolation where `resize` makes new codes.
        fraction: Option<Fraction>,
    },
    /// See [`RecipeName::Compare`].
    Compare,
}

impl Recipe {
    /// Which recipe it is.
    pub fn name(self) -> RecipeName {
        match self {
            Recipe::MultiplyAccumulate { .. } => RecipeName::MultiplyAccumulate,
            Recipe::DequantizeWeights => RecipeName::DequantizeWeights,
            Recipe::MatmulAccumulate => RecipeName::MatmulAccumulate,
            Recipe::AddLeftShift { .. } => RecipeName::AddLeftShift,
            Recipe::AddCommonGrid { .. } => RecipeName::AddCommonGrid,
            Recipe::AddCoarserGrid => RecipeName::AddCoarserGrid,
            Recipe::AddShifted => RecipeName::AddShifted,
            Recipe::Multiply => RecipeName::Multiply,
            Recipe::MaxPool => RecipeName::MaxPool,
            Recipe::AveragePoolDivide => RecipeName::AveragePoolDivide,
            Recipe::AveragePoolRequantize => RecipeName::AveragePoolRequantize,
            Recipe::AveragePoolReciprocal { .. } => RecipeName::AveragePoolReciprocal,
            Recipe::Lookup { .. } => RecipeName::Lookup,
            Recipe::Softmax { .. } => RecipeName::Softmax,
            Recipe::LayerNormalization { .. } => RecipeName::LayerNormalization,
            Recipe::Clamp => RecipeName::Clamp,
            Recipe::PassThrough { .. } => RecipeName::PassThrough,
            Recipe::Compare => RecipeName::Compare,
        }
    }

    /// Scale and zero point of the result, where the recipe fixes them.
    pub fn fixed_grid(self) -> Option<(f32, i32)> {
        match self {
            Recipe::Softmax { definition } => definition.softmax().map(|facts| facts.output),
            Recipe::Lookup { definition, .. } => definition.pointwise()?.output,
            _ => None,
        }
    }
}

/// Keys that a recipe takes from its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// True if the row names forms for the result (`requantize`).
    pub requantize: bool,
    /// True if it may, because codes may have bits that a form takes off.
    pub may_requantize: bool,
    /// True if the row names forms for the operands (`inputs`).
    pub inputs: bool,
    /// The parameters that it knows, each with whether the row must give it.
    pub parameters: &'static [(&'static str, bool)],
}

impl RecipeName {
    /// The terms of the ops that it lowers.
    pub fn lowers(self) -> Vec<Term> {
        match self {
            RecipeName::MultiplyAccumulate | RecipeName::DequantizeWeights => vec![Term::Conv, Term::Gemm],
            RecipeName::MatmulAccumulate => vec![Term::MatMul],
            RecipeName::AddLeftShift | RecipeName::AddCommonGrid | RecipeName::AddCoarserGrid => {
                vec![Term::Add, Term::Sub]
            }
            RecipeName::AddShifted => vec![Term::Add],
            RecipeName::Multiply => vec![Term::Mul],
            RecipeName::MaxPool => vec![Term::MaxPool, Term::ReduceMax, Term::ReduceMin],
            RecipeName::AveragePoolDivide | RecipeName::AveragePoolReciprocal => {
                vec![Term::AveragePool, Term::GlobalAveragePool, Term::ReduceMean]
            }
            RecipeName::AveragePoolRequantize => vec![
                Term::AveragePool,
                Term::GlobalAveragePool,
                Term::ReduceMean,
                Term::ReduceSum,
            ],
            RecipeName::Lookup => Term::of_kind(Kind::Function).collect(),
            RecipeName::Softmax => vec![Term::Softmax],
            RecipeName::LayerNormalization => vec![Term::LayerNormalization, Term::RmsNormalization],
            RecipeName::Clamp => vec![Term::Relu, Term::Clip],
            RecipeName::Requantize => vec![Term::Requantize],
            RecipeName::Compare => Term::of_kind(Kind::Compares).collect(),
            RecipeName::PassThrough => Term::ALL.iter().copied().filter(|term| term.moves_codes()).collect(),
        }
    }

    /// The terms of the primitives that end in a requantization of the recipe's own: fusion rows that take it over name them
    /// among their `ops`.
    pub fn leaves(self) -> Vec<Term> {
        match self {
            RecipeName::MultiplyAccumulate => vec![Term::Conv, Term::Gemm],
            RecipeName::MatmulAccumulate => vec![Term::MatMul],
            RecipeName::AddLeftShift | RecipeName::AddCommonGrid | RecipeName::AddCoarserGrid => {
                vec![Term::Add, Term::Sub, Term::ShiftLeft]
            }
            RecipeName::AddShifted => vec![Term::Clamp],
            RecipeName::Multiply => vec![Term::Mul],
            RecipeName::MaxPool => vec![Term::MaxPool],
            // A sum where no form of the row takes off a zero point.
            RecipeName::AveragePoolRequantize | RecipeName::AveragePoolReciprocal => {
                vec![Term::SumPool, Term::ReduceSum, Term::Add]
            }
            RecipeName::Lookup => vec![Term::Lookup],
            RecipeName::DequantizeWeights
            | RecipeName::AveragePoolDivide
            | RecipeName::Softmax
            | RecipeName::LayerNormalization
            | RecipeName::Clamp
            | RecipeName::PassThrough
            | RecipeName::Compare => Vec::new(),
            // Codes less their zero point.
            RecipeName::Requantize => vec![Term::ShiftLeft],
        }
    }

    /// True if operands and results have one grid: codes are moved, compared or averaged.
    pub fn keeps_grid(self) -> bool {
        match self {
            RecipeName::MaxPool
            | RecipeName::AveragePoolDivide
            | RecipeName::AveragePoolReciprocal
            | RecipeName::Clamp
            | RecipeName::PassThrough => true,
            RecipeName::MultiplyAccumulate
            | RecipeName::DequantizeWeights
            | RecipeName::MatmulAccumulate
            | RecipeName::AddLeftShift
            | RecipeName::AddCommonGrid
            | RecipeName::AddCoarserGrid
            | RecipeName::AddShifted
            | RecipeName::Multiply
            | RecipeName::AveragePoolRequantize
            | RecipeName::Lookup
            | RecipeName::Softmax
            | RecipeName::LayerNormalization
            | RecipeName::Compare
            | RecipeName::Requantize => false,
        }
    }

    /// True if it computes on real numbers, with weights that have codes: it takes the pairs without codes of activations,
    /// and no others.
    pub fn is_weight_only(self) -> bool {
        self == RecipeName::DequantizeWeights
    }

    /// True if it adds up or multiplies, and so needs an accumulator.
    pub fn accumulates(self) -> bool {
        match self {
            RecipeName::MultiplyAccumulate
            | RecipeName::MatmulAccumulate
            | RecipeName::AddLeftShift
            | RecipeName::AddCommonGrid
            | RecipeName::AddCoarserGrid
            | RecipeName::AddShifted
            | RecipeName::Multiply
            | RecipeName::AveragePoolDivide
            | RecipeName::AveragePoolReciprocal
            | RecipeName::AveragePoolRequantize => true,
            RecipeName::DequantizeWeights
            | RecipeName::MaxPool
            | RecipeName::Lookup
            | RecipeName::Softmax
            | RecipeName::LayerNormalization
            | RecipeName::Clamp
            | RecipeName::PassThrough
            | RecipeName::Compare
            | RecipeName::Requantize => false,
        }
    }

    /// Keys that the recipe takes from its row.
    pub fn signature(self) -> Signature {
        let keeps = Signature {
            requantize: false,
            may_requantize: false,
            inputs: false,
            parameters: &[],
        };
        let narrows = Signature {
            requantize: true,
            may_requantize: true,
            ..keeps
        };
        match self {
            RecipeName::MultiplyAccumulate => Signature {
                parameters: &[("weight_grid", false), ("pad", false)],
                ..narrows
            },
            RecipeName::AddLeftShift | RecipeName::AddCommonGrid => Signature {
                inputs: true,
                parameters: &[("left_shift", true)],
                ..narrows
            },
            RecipeName::AddShifted | RecipeName::AddCoarserGrid => Signature {
                inputs: true,
                ..narrows
            },
            RecipeName::Softmax | RecipeName::LayerNormalization => Signature {
                parameters: &[("definition", true)],
                ..keeps
            },
            RecipeName::MatmulAccumulate | RecipeName::Multiply | RecipeName::AveragePoolRequantize => narrows,
            RecipeName::Requantize => Signature {
                parameters: &[("left_shift", false)],
                ..narrows
            },
            RecipeName::AveragePoolReciprocal => Signature {
                parameters: &[("reciprocal", true)],
                ..narrows
            },
            RecipeName::MaxPool => Signature {
                may_requantize: true,
                parameters: &[("pad", false)],
                ..keeps
            },
            RecipeName::Lookup => Signature {
                may_requantize: true,
                parameters: &[
                    ("left_shift", false),
                    ("definition", false),
                    ("rounding", false),
                    ("interpolate", false),
                ],
                ..keeps
            },
            RecipeName::PassThrough => Signature {
                parameters: &[("fraction", false)],
                ..keeps
            },
            RecipeName::DequantizeWeights | RecipeName::AveragePoolDivide | RecipeName::Clamp | RecipeName::Compare => {
                keeps
            }
        }
    }
}
