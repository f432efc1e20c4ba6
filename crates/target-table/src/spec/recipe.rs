//! Recipes, which say how an op is lowered to integers. The table names them, and the crate `lower` has a file for each
//! of them.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, num::NonZeroU32};
use strait_core::{Kind, Term};
use strait_document::words;
use strait_requantize::{Rounding, function::Definition};

/// A recipe with its parameters. A recipe with parameters is written `{ lookup = { left_shift = 15 } }`. If no parameter is
/// given, its name is enough: `"lookup"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(transform = strait_document::names_alone))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Recipe {
    /// A convolution or matrix product with constant weights. Its accumulators have 16 to 64 bits, are stored in i32 or i64,
    /// and are then requantized.
    MultiplyAccumulate {
        /// The grid on which weights are quantized.
        #[serde(default)]
        weight_grid: WeightGrid,
        /// The code with which a convolution pads its operand.
        #[serde(default)]
        pad: Padding,
    },
    /// A weight-only convolution or matrix product, or a `gather` of rows of a constant matrix (an embedding). Only the constant weights are codes, and they are dequantized before the op.
    /// The activations, the bias and the result are real numbers. This recipe is for pairs with the activation type `"float32"`.
    DequantizeWeights,
    /// A matrix product of two activations. Its accumulators have 16 to 64 bits, are stored in i32 or i64, and are then
    /// requantized.
    MatmulAccumulate,
    /// An addition or subtraction. Each operand, minus its zero point, is shifted left by `left_shift`. It is then requantized
    /// (by a form of `inputs`) to a common grid. The scale of this grid is twice the larger scale of the operands, divided by
    /// 2^left_shift. The sum or difference on this grid is then requantized to the result.
    AddLeftShift {
        /// The number of bits by which each operand is shifted left.
        #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 24)))]
        left_shift: u8,
    },
    /// An addition or subtraction. Each operand is requantized (by a form of `inputs`) to a common grid, which is finer than
    /// the grid of the output and has the zero point 0. The result is then requantized.
    AddCommonGrid {
        /// The number of bits by which the common grid is finer than the grid of the output. If the forms have no factors for
        /// this number, the largest number for which they have factors is used.
        #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 24)))]
        left_shift: u8,
    },
    /// An addition or subtraction on the coarser of the operands' two grids, but with the zero point 0. The operand with the
    /// finer grid is requantized to this grid (by a form of `inputs`). The other operand is used as it is, minus its zero
    /// point. The result is then requantized.
    AddCoarserGrid,
    /// An addition that is the only reader of the results of two convolutions, or of two fully connected layers. The
    /// accumulators of both layers get the same grid, and are shifted right by the same number of bits (by a form of
    /// `inputs`) to 16 bits. Their sum, saturated to 16 bits, is then requantized.
    AddShifted,
    /// An addition of two codes in `f32`, with one fused multiply-add for each operand: half_even(fma(s_a / s_y, a, fma(s_b / s_y,
    /// b, k))), saturated. Here a and b are the codes, s_a, s_b and s_y the scales of the operands and of the result, and z_a, z_b
    /// and z_y the zero points. The addend is k = z_y − fma(s_a / s_y, z_a, (s_b / s_y)·z_b). The codes have 8 bits.
    AddScaled,
    /// An elementwise product. The zero point of each operand is subtracted before the multiplication, and the product is
    /// requantized.
    Multiply,
    /// The largest code of a window or along reduced axes (for `reduce_min` the smallest). The operand and the result share one
    /// grid. If `results` has a type with fewer bits than the operand, a result of this type has the same grid without the
    /// lowest bits, which a shift of `requantize` removes.
    MaxPool {
        /// The code with which the op pads its operand.
        #[serde(default)]
        pad: PoolPadding,
    },
    /// The mean of a window: the sum of its codes is divided by their number and rounded, with ties away from zero. The operand
    /// and the result share one grid. A mean over all spatial axes is a single window.
    AveragePoolDivide,
    /// The mean of a window or over reduced axes: the sum of the codes is requantized by a factor that includes 1 / (number of
    /// elements). For `reduce_sum`, the factor does not include 1 / (number of elements).
    AveragePoolRequantize,
    /// The mean of a window. The zero point is subtracted from each code, and the sum of these differences is multiplied by an
    /// integer that stands for 1 / (number of elements). The product is then shifted right, with the rounding of the form of
    /// `requantize`. The operand and the result share one grid.
    AveragePoolReciprocal(Reciprocal),
    /// Any function of one variable, as a table with one entry for each code.
    Lookup {
        /// The integer function that computes an entry. It may fix the grid of the result. docs/functions.md defines these
        /// functions.
        #[serde(default = "nearest")]
        #[cfg_attr(
            feature = "schema",
            schemars(with = "super::words::schemas::FunctionName", default = "nearest")
        )]
        definition: Definition,
        /// The number of additional bits of an entry, for a result of at most 8 bits. The entry is then computed in f32, and a
        /// shift of `requantize` removes the additional bits. Default: none.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 23)))]
        left_shift: Option<u8>,
        /// How an entry is rounded to a code, if `definition` does not say so. Default: as `quantize.rounding`.
        #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::RoundingWord>"))]
        rounding: Option<Rounding>,
        /// The table only has entries for evenly spaced codes, and is interpolated linearly between them. Default: an entry for
        /// each code.
        interpolate: Option<Lines>,
    },
    /// A softmax on codes, by an integer function that fixes the grid of the result.
    Softmax {
        /// The integer function. docs/functions.md defines these functions.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::FunctionName"))]
        definition: Definition,
    },
    /// A layer normalization or RMS normalization on codes, with constant biases and constant gains of 16 bits. The integer
    /// function itself converts its result to codes, whose type can be any of the row's `results`.
    LayerNormalization {
        /// The integer function. docs/functions.md defines these functions.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::FunctionName"))]
        definition: Definition,
    },
    /// Codes are clipped. The operand and the result share one grid.
    Clamp,
    /// Codes are moved or copied. The operands and the result share one grid. The operands of a concatenation are computed on
    /// the grid of its result, or requantized to it.
    PassThrough {
        /// How a `resize` with the mode `linear` interpolates codes. Default: a `resize` can only copy elements, with the mode
        /// `nearest`.
        fraction: Option<Fraction>,
    },
    /// Codes are compared, on one grid that covers both operands. The results are booleans.
    Compare,
    /// Codes are converted to another grid or type, for readers that need other codes than the producer computes. This is for the
    /// row `requantize`, which is not an op of a model.
    Requantize {
        /// The number of bits by which 8-bit codes are shifted left before the form. Default: none.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 22)))]
        left_shift: Option<u8>,
    },
}

fn nearest() -> Definition {
    Definition::Nearest
}

words! {
    /// The grid on which weights are quantized.
    #[derive(Default)]
    WeightGrid {
        /// The finest grid that covers all weights.
        #[default]
        MaxAbs = "max_abs",
        /// The finest grid that covers all weights and with which the factor from the accumulator to the output is a power of
        /// two: s_w = 2^-n · s_y / s_x, where s_w, s_x and s_y are the scales of the weights, the operand and the output.
        Shift = "shift",
        /// The grid of `shift`, but with two roundings. Weights are first rounded on the grid of `max_abs`. Their codes are then
        /// multiplied by the correction in (0.5, 1], which is the ratio of the two scales, and rounded half to even.
        MaxAbsThenShift = "max_abs_then_shift",
    }
}

words! {
    /// The code with which a convolution pads its operand.
    #[derive(Default)]
    Padding {
        /// The zero point of the operand, which stands for the real number 0.
        #[default]
        ZeroPoint = "zero_point",
        /// The code 0. It stands for the real number 0 only if the zero point is 0, so a node with another zero point runs on the
        /// host.
        ZeroCode = "zero_code",
    }
}

words! {
    /// The code with which a maximum pads its operand.
    #[derive(Default)]
    PoolPadding {
        /// The smallest code of the type, so that padding never is the maximum of a window.
        #[default]
        TypeMinimum = "type_minimum",
        /// The zero point of the operand, which stands for the real number 0.
        ZeroPoint = "zero_point",
    }
}

/// The integers that stand for reciprocals 1 / n of counts: round(2^bits / n).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reciprocal {
    /// The number of fraction bits. After the multiplication, the sum is shifted right by this number.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 30)))]
    pub bits: u8,
    /// How the quotient 2^bits / n is rounded.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
}

/// Interpolation of codes with fixed-point coordinates. The quotient of the extents is rounded to the nearest number with
/// `bits` fraction bits. The products of codes and interpolation weights are added exactly, and the sum is rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fraction {
    /// The number of fraction bits of a coordinate.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub bits: u8,
    /// How the sum is rounded.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
}

/// Linear interpolation between the entries of a table. It also interpolates across a pole or a jump of the function, so
/// the results for `log`, `reciprocal` and `floor` are far off there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The number of entries: a power of two, plus one entry at which the last interval ends.
    #[cfg_attr(feature = "schema", schemars(range(min = 3, max = 32769)))]
    pub entries: u32,
    /// How a value between two entries is rounded.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
}

impl Reciprocal {
    /// The integer that stands for 1 / `count`.
    pub fn of(self, count: u32) -> i32 {
        let count = NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
        // The quotient is at most 2^30, so it fits.
        self.rounding.divide(1 << self.bits.min(30), count) as i32
    }
}

impl Lines {
    /// Returns log2 of the number of codes from one entry to the next, for codes of `bits` bits. Returns `None` if the
    /// entries are not evenly spaced, or if each code has an entry.
    pub fn step(self, bits: u8) -> Option<u8> {
        let pieces = self.entries.checked_sub(1).filter(|pieces| pieces.is_power_of_two())?;
        let step = u32::from(bits).checked_sub(pieces.trailing_zeros())?;
        u8::try_from(step).ok().filter(|&step| step > 0)
    }
}

impl WeightGrid {
    /// True if weights on this grid make the factor from sums to results a power of two.
    pub fn leaves_a_shift(self) -> bool {
        self != WeightGrid::MaxAbs
    }
}

/// The terms of the ops that an integer function computes.
pub(super) fn computes(definition: Definition) -> Vec<Term> {
    match definition {
        Definition::LitertSoftmaxInt8 | Definition::LitertSoftmaxInt16 => vec![Term::Softmax],
        Definition::LitertLogisticInt8 | Definition::LitertLogisticInt16 | Definition::OnnxRuntimeLogistic => {
            vec![Term::Sigmoid]
        }
        Definition::LitertTanhInt8 | Definition::LitertTanhInt16 => vec![Term::Tanh],
        Definition::LitertHardSwishInt8 => vec![Term::HardSwish],
        Definition::LitertLeakyRelu | Definition::OnnxRuntimeLeakyRelu => vec![Term::LeakyRelu],
        Definition::Nearest => Term::of_kind(Kind::Function).collect(),
        Definition::LayerNorm => vec![Term::LayerNormalization],
        Definition::RmsNorm => vec![Term::RmsNormalization],
    }
}

/// Whether a row with a certain recipe has forms in `requantize`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forms {
    /// The row has no forms: the recipe does not requantize its results.
    Never,
    /// The row may have forms, which remove the lowest bits of codes.
    May,
    /// The row has at least one form, which requantizes the recipe's sums.
    Must,
}

/// The properties of a recipe that do not depend on its parameters.
struct Facts {
    name: &'static str,
    requantize: Forms,
    /// True if a row of the recipe has forms in `inputs`, which requantize the operands.
    inputs: bool,
    /// True if operands and results have the same scale and zero point.
    keeps_grid: bool,
    /// The terms of the primitives that the recipe puts before a requantization.
    leaves: &'static [Term],
}

impl Recipe {
    /// Every recipe once. The parameters are arbitrary.
    pub const ALL: [Recipe; 20] = {
        let (left_shift, definition, pad) = (0, Definition::Nearest, PoolPadding::TypeMinimum);
        let rounding = Rounding::HalfEven;
        [
            Recipe::MultiplyAccumulate {
                weight_grid: WeightGrid::MaxAbs,
                pad: Padding::ZeroPoint,
            },
            Recipe::DequantizeWeights,
            Recipe::MatmulAccumulate,
            Recipe::AddLeftShift { left_shift },
            Recipe::AddCommonGrid { left_shift },
            Recipe::AddCoarserGrid,
            Recipe::AddShifted,
            Recipe::AddScaled,
            Recipe::Multiply,
            Recipe::MaxPool { pad },
            Recipe::AveragePoolDivide,
            Recipe::AveragePoolRequantize,
            Recipe::AveragePoolReciprocal(Reciprocal { bits: 1, rounding }),
            Recipe::Lookup {
                definition,
                left_shift: None,
                rounding: None,
                interpolate: None,
            },
            Recipe::Softmax { definition },
            Recipe::LayerNormalization { definition },
            Recipe::Clamp,
            Recipe::PassThrough { fraction: None },
            Recipe::Compare,
            Recipe::Requantize { left_shift: None },
        ]
    };

    fn facts(self) -> Facts {
        use Forms::{May, Must, Never};
        const ADDS: &[Term] = &[Term::Add, Term::Sub, Term::ShiftLeft];
        // If no form of the row can subtract the zero point of the sum, an `Add` subtracts it.
        const SUMS: &[Term] = &[Term::SumPool, Term::ReduceSum, Term::Add];
        let (name, requantize, inputs, keeps_grid, leaves): (_, _, _, _, &'static [Term]) = match self {
            Recipe::MultiplyAccumulate { .. } => ("multiply_accumulate", Must, false, false, &[Term::Conv, Term::Gemm]),
            Recipe::DequantizeWeights => ("dequantize_weights", Never, false, false, &[]),
            Recipe::MatmulAccumulate => ("matmul_accumulate", Must, false, false, &[Term::MatMul]),
            Recipe::AddLeftShift { .. } => ("add_left_shift", Must, true, false, ADDS),
            Recipe::AddCommonGrid { .. } => ("add_common_grid", Must, true, false, ADDS),
            Recipe::AddCoarserGrid => ("add_coarser_grid", Must, true, false, ADDS),
            Recipe::AddShifted => ("add_shifted", Must, true, false, &[Term::Clamp]),
            Recipe::AddScaled => ("add_scaled", Never, false, false, &[]),
            Recipe::Multiply => ("multiply", Must, false, false, &[Term::Mul]),
            Recipe::MaxPool { .. } => ("max_pool", May, false, true, &[Term::MaxPool]),
            Recipe::AveragePoolDivide => ("average_pool_divide", Never, false, true, &[]),
            Recipe::AveragePoolRequantize => ("average_pool_requantize", Must, false, false, SUMS),
            Recipe::AveragePoolReciprocal(_) => ("average_pool_reciprocal", Must, false, true, SUMS),
            Recipe::Lookup { .. } => ("lookup", May, false, false, &[Term::Lookup]),
            Recipe::Softmax { .. } => ("softmax", Never, false, false, &[]),
            Recipe::LayerNormalization { .. } => ("layer_normalization", Never, false, false, &[]),
            Recipe::Clamp => ("clamp", Never, false, true, &[]),
            Recipe::PassThrough { .. } => ("pass_through", Never, false, true, &[]),
            Recipe::Compare => ("compare", Never, false, false, &[]),
            // The primitive also subtracts the zero point from the codes.
            Recipe::Requantize { .. } => ("requantize", Must, false, false, &[Term::ShiftLeft]),
        };
        Facts {
            name,
            requantize,
            inputs,
            keeps_grid,
            leaves,
        }
    }

    /// The name of the recipe in a table.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The terms of the ops that the recipe lowers.
    pub fn lowers(self) -> Vec<Term> {
        match self {
            Recipe::MultiplyAccumulate { .. } => vec![Term::Conv, Term::Gemm],
            Recipe::DequantizeWeights => vec![Term::Conv, Term::Gemm, Term::Gather],
            Recipe::MatmulAccumulate => vec![Term::MatMul],
            Recipe::AddLeftShift { .. } | Recipe::AddCommonGrid { .. } | Recipe::AddCoarserGrid => {
                vec![Term::Add, Term::Sub]
            }
            Recipe::AddShifted | Recipe::AddScaled => vec![Term::Add],
            Recipe::Multiply => vec![Term::Mul],
            Recipe::MaxPool { .. } => vec![Term::MaxPool, Term::ReduceMax, Term::ReduceMin],
            Recipe::AveragePoolDivide | Recipe::AveragePoolReciprocal(_) => {
                vec![Term::AveragePool, Term::GlobalAveragePool, Term::ReduceMean]
            }
            Recipe::AveragePoolRequantize => vec![
                Term::AveragePool,
                Term::GlobalAveragePool,
                Term::ReduceMean,
                Term::ReduceSum,
            ],
            Recipe::Lookup { .. } => Term::of_kind(Kind::Function).collect(),
            Recipe::Softmax { .. } => vec![Term::Softmax],
            Recipe::LayerNormalization { .. } => vec![Term::LayerNormalization, Term::RmsNormalization],
            Recipe::Clamp => vec![Term::Relu, Term::Clip],
            Recipe::Requantize { .. } => vec![Term::Requantize],
            Recipe::Compare => Term::of_kind(Kind::Compares).collect(),
            Recipe::PassThrough { .. } => Term::ALL.iter().copied().filter(|term| term.moves_codes()).collect(),
        }
    }

    /// The terms of the primitives that the recipe puts before a requantization. Fusion rows that fuse this
    /// requantization name these terms in `ops`.
    pub fn leaves(self) -> &'static [Term] {
        self.facts().leaves
    }

    /// True if operands and results have the same scale and zero point, because codes are only moved, compared or
    /// averaged.
    pub fn keeps_grid(self) -> bool {
        self.facts().keeps_grid
    }

    /// True if the recipe requantizes sums, so that its row must have forms in `requantize`.
    pub fn narrows(self) -> bool {
        self.facts().requantize == Forms::Must
    }

    /// True if the row of the recipe may have forms in `requantize`, either to requantize accumulators or only to
    /// remove the lowest bits of codes.
    pub fn may_narrow(self) -> bool {
        self.facts().requantize != Forms::Never
    }

    /// True if the row of the recipe has forms in `inputs`, which requantize the operands.
    pub fn requantizes_inputs(self) -> bool {
        self.facts().inputs
    }

    /// True if the recipe computes on real numbers with quantized weights. Such a recipe accepts only pairs in which
    /// the activations are real numbers.
    pub fn is_weight_only(self) -> bool {
        self == Recipe::DequantizeWeights
    }

    /// True if the recipe adds up products or elements, and so needs an accumulator.
    pub fn accumulates(self) -> bool {
        match self {
            Recipe::AveragePoolDivide => true,
            Recipe::Requantize { .. } => false,
            other => other.narrows(),
        }
    }

    /// True if the recipe chooses the scales of weights so that its sums are requantized to results by a shift only.
    pub fn leaves_a_shift(self) -> bool {
        matches!(self, Recipe::MultiplyAccumulate { weight_grid, .. } if weight_grid.leaves_a_shift())
    }

    /// The integer function that the recipe computes, if it computes one.
    pub fn definition(self) -> Option<Definition> {
        match self {
            Recipe::Lookup { definition, .. }
            | Recipe::Softmax { definition }
            | Recipe::LayerNormalization { definition } => Some(definition),
            _ => None,
        }
    }

    /// Scale and zero point of the result, if the recipe fixes them.
    pub fn fixed_grid(self) -> Option<(f32, i32)> {
        match self {
            Recipe::Softmax { definition } => definition.softmax().map(|facts| facts.output),
            Recipe::Lookup { definition, .. } => definition.pointwise()?.output,
            _ => None,
        }
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
