//! Recipes, which say how an op is lowered to integers. The table names them, and the crate `lower` has a file for each
//! of them.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, num::NonZeroU32};
use strait_core::{Kind, Term};
use strait_document::words;
use strait_requantize::{Rounding, function::Definition};

/// A recipe with its parameters. One with parameters is written `{ lookup = { left_shift = 15 } }`, and as its name alone where
/// none of them is given: `"lookup"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(transform = strait_document::names_alone))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Recipe {
    /// Convolution or matrix product with constant weights: sums of 16 to 64 bits, carried in i32 or i64, then a
    /// requantization.
    MultiplyAccumulate {
        /// The grid that weights are quantized on.
        #[serde(default)]
        weight_grid: WeightGrid,
        /// The code that padding of a convolution reads as.
        #[serde(default)]
        pad: Padding,
    },
    /// Convolution or matrix product of real numbers with constant weights, which alone have codes: these become real numbers
    /// in front of it, and bias and result are real. For pairs with activations of `"float32"`.
    DequantizeWeights,
    /// Product of two activations: sums of 16 to 64 bits, carried in i32 or i64, then a requantization.
    MatmulAccumulate,
    /// Sum or difference: each operand, less its zero point, is shifted left and requantized (by one of `inputs`) to the grid
    /// of twice the larger scale with that many more bits; the sum is requantized.
    AddLeftShift {
        /// Bits that each operand is shifted left by.
        #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 24)))]
        left_shift: u8,
    },
    /// Sum or difference: each operand is requantized (by one of `inputs`) to a finer grid than the output's, with a zero
    /// point of 0; the sum is requantized.
    AddCommonGrid {
        /// Bits that the common grid has more than the output's, or as many of them as the forms have factors for.
        #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 24)))]
        left_shift: u8,
    },
    /// Sum or difference on the coarser one of the operands' grids, with a zero point of 0: the finer operand is
    /// requantized to it (by one of `inputs`), the other one is taken as it is, less its zero point; the sum is requantized.
    AddCoarserGrid,
    /// Sum of two convolutions, or of two fully connected layers, which nothing else reads. Their sums, whose grids are made
    /// equal, are both shifted right by the same number of bits (by one of `inputs`) to 16 bits. What they add up to, saturated
    /// to 16 bits, is requantized.
    AddShifted,
    /// Elementwise product of the operands less their zero points, then a requantization.
    Multiply,
    /// The largest code of a window or along reduced axes (of `reduce_min` the smallest); operand and result share one
    /// grid. A result of fewer bits than the operand, which the row has among its `results`, is on that grid without
    /// the lowest bits, which a shift of `requantize` takes off.
    MaxPool {
        /// The code that padding reads as.
        #[serde(default)]
        pad: PoolPadding,
    },
    /// The sum of a window divided by its count, ties away from zero; operand and result share one grid. A mean over all
    /// spatial axes is one window.
    AveragePoolDivide,
    /// The sum of a window or over reduced axes, requantized by a factor that has the reciprocal of the count in it; for
    /// `reduce_sum` without that.
    AveragePoolRequantize,
    /// The sum of a window, less its zero point, times a whole number that stands for the reciprocal of its count, shifted right
    /// with the rounding of the form of `requantize`; operand and result share one grid.
    AveragePoolReciprocal(Reciprocal),
    /// A table with one entry for each code: any function of one variable.
    Lookup {
        /// The integer function of an entry, which may fix the grid of the result. docs/functions.md defines each.
        #[serde(default = "nearest")]
        #[cfg_attr(
            feature = "schema",
            schemars(with = "super::words::schemas::FunctionName", default = "nearest")
        )]
        definition: Definition,
        /// Bits that an entry for a result of at most 8 bits has beside these, computed in f32. A shift of `requantize` takes
        /// them off. Absent: none.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 23)))]
        left_shift: Option<u8>,
        /// Rounding of an entry to a code, where `definition` leaves it open. Absent: `quantize.rounding`.
        #[cfg_attr(feature = "schema", schemars(with = "Option<super::words::schemas::RoundingWord>"))]
        rounding: Option<Rounding>,
        /// Entries on evenly spaced codes only, and straight lines between them. Absent: an entry for each code.
        interpolate: Option<Lines>,
    },
    /// Softmax on codes, by an integer function that fixes the grid of the result.
    Softmax {
        /// The integer function. docs/functions.md defines each.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::FunctionName"))]
        definition: Definition,
    },
    /// Layer normalization on codes, or normalization by the root of the mean square, with constant gains of 16 bits and
    /// biases. The integer function narrows its result itself, to any of the row's `results`.
    LayerNormalization {
        /// The integer function. docs/functions.md defines each.
        #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::FunctionName"))]
        definition: Definition,
    },
    /// The codes clipped; operand and result share one grid.
    Clamp,
    /// Codes are moved or copied; operands and result share one grid. What a concatenation reads is made on the grid of
    /// its result, or requantized to it.
    PassThrough {
        /// Interpolation of codes by a `resize` with the mode `linear`. Absent: elements are only copied, with the mode
        /// `nearest`.
        fraction: Option<Fraction>,
    },
    /// Codes are compared, on one grid that covers both operands; the result are truth values.
    Compare,
    /// Codes of one grid and type become codes of another, for readers that differ: for the row `requantize`, which is no op
    /// of a model.
    Requantize {
        /// Bits that codes of 8 bits are shifted left by in front of the form. Absent: none.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 22)))]
        left_shift: Option<u8>,
    },
}

fn nearest() -> Definition {
    Definition::Nearest
}

words! {
    /// The grid that weights are quantized on.
    #[derive(Default)]
    WeightGrid {
        /// The finest one that holds them.
        #[default]
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
    /// The code that padding of a convolution reads as.
    #[derive(Default)]
    Padding {
        /// The zero point of the operand: real zero.
        #[default]
        ZeroPoint = "zero_point",
        /// The code 0, which is real zero where the zero point is 0. A node with another zero point goes to the host.
        ZeroCode = "zero_code",
    }
}

words! {
    /// The code that padding of a maximum reads as.
    #[derive(Default)]
    PoolPadding {
        /// The smallest code of the type, so that padding is never the largest.
        #[default]
        TypeMinimum = "type_minimum",
        /// The zero point of the operand: real zero.
        ZeroPoint = "zero_point",
    }
}

/// Whole numbers that stand for the reciprocals of counts: round(2^bits / n).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reciprocal {
    /// Bits of the fraction, which the sum is shifted right by behind the multiplication.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 30)))]
    pub bits: u8,
    /// Rounding of the quotient.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
}

/// Interpolation of codes in fraction bits: the quotient of the extents is rounded to the nearest number of that many bits, the
/// products of codes and weights are added exactly, and the sum is rounded once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fraction {
    /// Bits of a coordinate behind the point.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 16)))]
    pub bits: u8,
    /// Rounding of the sum.
    #[cfg_attr(feature = "schema", schemars(with = "super::words::schemas::RoundingWord"))]
    pub rounding: Rounding,
}

/// Straight lines between the entries of a table, also across a pole or a jump of the function: `log`, `reciprocal` and
/// `floor` are far from it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The number of entries: a power of two, and one more, in which the last line ends.
    #[cfg_attr(feature = "schema", schemars(range(min = 3, max = 32769)))]
    pub entries: u32,
    /// Rounding of a value between two entries.
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
    /// The number of codes from one entry to the next, as a power of two, for codes of `bits` bits. `None` if the
    /// entries are not evenly spaced, or if each code has an entry.
    pub fn step(self, bits: u8) -> Option<u8> {
        let pieces = self.entries.checked_sub(1).filter(|pieces| pieces.is_power_of_two())?;
        let step = u32::from(bits).checked_sub(pieces.trailing_zeros())?;
        u8::try_from(step).ok().filter(|&step| step > 0)
    }
}

impl WeightGrid {
    /// True if the factor from sums to results is a power of two.
    pub fn leaves_a_shift(self) -> bool {
        self != WeightGrid::MaxAbs
    }
}

/// The terms of the ops that an integer function computes.
pub(super) fn computes(definition: Definition) -> Vec<Term> {
    match definition {
        Definition::LitertSoftmaxInt8 | Definition::LitertSoftmaxInt16 => vec![Term::Softmax],
        Definition::LitertLogisticInt8 | Definition::LitertLogisticInt16 => vec![Term::Sigmoid],
        Definition::LitertTanhInt8 | Definition::LitertTanhInt16 => vec![Term::Tanh],
        Definition::LitertHardSwishInt8 => vec![Term::HardSwish],
        Definition::LitertLeakyRelu => vec![Term::LeakyRelu],
        Definition::Nearest => Term::of_kind(Kind::Function).collect(),
        Definition::LayerNorm => vec![Term::LayerNormalization],
        Definition::RmsNorm => vec![Term::RmsNormalization],
    }
}

/// Whether the row of a recipe has forms in `requantize`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forms {
    /// None: nothing is narrowed.
    Never,
    /// None, or some: codes may have bits that a form takes off.
    May,
    /// At least one: sums are narrowed.
    Must,
}

/// Facts about a recipe that do not depend on its parameters.
struct Facts {
    name: &'static str,
    requantize: Forms,
    /// True if a row has forms in `inputs`, for the operands.
    inputs: bool,
    /// True if operands and results have one grid.
    keeps_grid: bool,
    /// The terms of the primitives that end in a requantization of the recipe's own.
    leaves: &'static [Term],
}

impl Recipe {
    /// Every recipe once, with some parameters.
    pub const ALL: [Recipe; 19] = {
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
        // If no form of the row subtracts the zero point, an Add does it.
        const SUMS: &[Term] = &[Term::SumPool, Term::ReduceSum, Term::Add];
        let (name, requantize, inputs, keeps_grid, leaves): (_, _, _, _, &'static [Term]) = match self {
            Recipe::MultiplyAccumulate { .. } => ("multiply_accumulate", Must, false, false, &[Term::Conv, Term::Gemm]),
            Recipe::DequantizeWeights => ("dequantize_weights", Never, false, false, &[]),
            Recipe::MatmulAccumulate => ("matmul_accumulate", Must, false, false, &[Term::MatMul]),
            Recipe::AddLeftShift { .. } => ("add_left_shift", Must, true, false, ADDS),
            Recipe::AddCommonGrid { .. } => ("add_common_grid", Must, true, false, ADDS),
            Recipe::AddCoarserGrid => ("add_coarser_grid", Must, true, false, ADDS),
            Recipe::AddShifted => ("add_shifted", Must, true, false, &[Term::Clamp]),
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
            // The primitive computes the codes minus their zero point.
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
            Recipe::MultiplyAccumulate { .. } | Recipe::DequantizeWeights => vec![Term::Conv, Term::Gemm],
            Recipe::MatmulAccumulate => vec![Term::MatMul],
            Recipe::AddLeftShift { .. } | Recipe::AddCommonGrid { .. } | Recipe::AddCoarserGrid => {
                vec![Term::Add, Term::Sub]
            }
            Recipe::AddShifted => vec![Term::Add],
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

    /// True if the row of the recipe may have forms in `requantize`, if only to remove bits from codes.
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

    /// True if the recipe chooses the scales of weights so that its sums become results by a shift.
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
