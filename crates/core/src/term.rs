//! Terms: the words that tables, rules and reports use for ops, each with its kind of computation.

use crate::op::{BinaryFunction, Function, Op, Reduction, Relation};
use std::fmt;

/// The kind of computation that an op does. A pass uses it for ops that it does not know by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The op computes sums or products. On integers the result is an i32 accumulator, unless a requantization is
    /// fused.
    Accumulates,
    /// The op picks one of several elements by their order. It therefore commutes with every non-decreasing function.
    Selects,
    /// The op is a mean, which divides and rounds by itself.
    Divides,
    /// The op compares two operands and gives booleans. Codes on one grid are ordered like the real numbers that they
    /// stand for.
    Compares,
    /// The op applies a function of one real number to each element.
    Function,
    /// The op is any other function of real numbers. It is not defined on codes.
    Real,
    /// The result has all elements of the operand, once each, in another shape.
    Rearranges,
    /// The result has only elements of the operands: some of them, or several tensors joined.
    Moves,
    /// The result has the elements of the operand, and others added to them, as a pad does.
    Extends,
    /// The op converts elements to another type.
    Converts,
    /// The op is a step on integers that a float graph does not have.
    Integer,
    /// The op converts floats to codes, or back.
    Boundary,
    /// Nothing is known about the op, because its computation is defined elsewhere.
    Elsewhere,
}

macro_rules! terms {
    ($($variant:ident = $word:literal: $kind:ident,)*) => {
        /// The word that tables, rules and reports use for an op. It is the op's name, or the function of a `unary`
        /// (`sigmoid`), or the reduction of a `reduce` (`reduce_mean`). A word that no op has does not compile:
        ///
        /// ```compile_fail,E0599
        /// let anchor = strait_core::Term::BatchNormalisation;
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Term { $(#[doc = concat!("`", $word, "`.")] $variant),* }

        impl Term {
            /// All terms, in the order of their declaration.
            pub const ALL: &'static [Term] = &[$(Term::$variant),*];

            /// The word of the term.
            pub const fn name(self) -> &'static str {
                match self { $(Term::$variant => $word),* }
            }

            /// The kind of computation that the term's op does.
            pub const fn kind(self) -> Kind {
                match self { $(Term::$variant => Kind::$kind),* }
            }
        }
    };
}

terms! {
    Conv = "conv": Accumulates,
    Gemm = "gemm": Accumulates,
    MatMul = "matmul": Accumulates,
    BatchNormalization = "batch_normalization": Real,
    LayerNormalization = "layer_normalization": Real,
    RmsNormalization = "rms_normalization": Real,
    Add = "add": Accumulates,
    Sub = "sub": Accumulates,
    Mul = "mul": Accumulates,
    Div = "div": Real,
    Pow = "pow": Real,
    Relu = "relu": Function,
    Clip = "clip": Function,
    LeakyRelu = "leaky_relu": Function,
    HardSigmoid = "hard_sigmoid": Function,
    Elu = "elu": Function,
    MaxPool = "max_pool": Selects,
    AveragePool = "average_pool": Divides,
    GlobalAveragePool = "global_average_pool": Divides,
    SumPool = "sum_pool": Accumulates,
    ConvTranspose = "conv_transpose": Real,
    GridSample = "grid_sample": Real,
    DeformConv = "deform_conv": Real,
    Col2Im = "col2im": Real,
    Recurrent = "recurrent": Real,
    RoiAlign = "roi_align": Real,
    GatherElements = "gather_elements": Moves,
    GatherNd = "gather_nd": Moves,
    Scatter = "scatter": Real,
    ArgReduce = "arg_reduce": Real,
    Cumulative = "cumulative": Real,
    TopK = "top_k": Real,
    Det = "det": Real,
    Dft = "dft": Real,
    ShapeOf = "shape_of": Real,
    Range = "range": Real,
    NonZero = "non_zero": Real,
    Unique = "unique": Real,
    NonMaxSuppression = "non_max_suppression": Real,
    Softmax = "softmax": Real,
    Reshape = "reshape": Rearranges,
    Flatten = "flatten": Rearranges,
    Squeeze = "squeeze": Rearranges,
    Unsqueeze = "unsqueeze": Rearranges,
    Transpose = "transpose": Rearranges,
    Concat = "concat": Moves,
    Split = "split": Moves,
    Slice = "slice": Moves,
    Pad = "pad": Extends,
    Resize = "resize": Extends,
    Gather = "gather": Moves,
    Expand = "expand": Moves,
    Select = "select": Moves,
    Cast = "cast": Converts,
    BitCast = "bit_cast": Converts,
    Identity = "identity": Rearranges,
    Quantize = "quantize": Boundary,
    RoundTo = "round_to": Real,
    Dequantize = "dequantize": Boundary,
    Requantize = "requantize": Integer,
    ShiftLeft = "shift_left": Integer,
    Lookup = "lookup": Integer,
    Interpolate = "interpolate": Integer,
    IntegerResize = "integer_resize": Integer,
    IntegerSoftmax = "integer_softmax": Integer,
    IntegerLayerNormalization = "integer_layer_normalization": Integer,
    Clamp = "clamp": Integer,
    Sigmoid = "sigmoid": Function,
    Tanh = "tanh": Function,
    Silu = "silu": Function,
    Gelu = "gelu": Function,
    GeluTanh = "gelu_tanh": Function,
    HardSwish = "hard_swish": Function,
    Mish = "mish": Function,
    Softplus = "softplus": Function,
    Exp = "exp": Function,
    Log = "log": Function,
    Sqrt = "sqrt": Function,
    Reciprocal = "reciprocal": Function,
    Erf = "erf": Function,
    Neg = "neg": Function,
    Abs = "abs": Function,
    Floor = "floor": Function,
    Ceil = "ceil": Function,
    Round = "round": Function,
    Sign = "sign": Real,
    Sin = "sin": Real,
    Cos = "cos": Real,
    Tan = "tan": Real,
    Asin = "asin": Real,
    Acos = "acos": Real,
    Atan = "atan": Real,
    Sinh = "sinh": Real,
    Cosh = "cosh": Real,
    Asinh = "asinh": Real,
    Acosh = "acosh": Real,
    Atanh = "atanh": Real,
    Minimum = "minimum": Moves,
    Maximum = "maximum": Moves,
    Modulo = "modulo": Real,
    Remainder = "remainder": Real,
    And = "and": Real,
    Or = "or": Real,
    Xor = "xor": Real,
    BitShiftLeft = "bit_shift_left": Real,
    BitShiftRight = "bit_shift_right": Real,
    BitShiftRightUnsigned = "bit_shift_right_unsigned": Real,
    Equal = "equal": Compares,
    Less = "less": Compares,
    LessOrEqual = "less_or_equal": Compares,
    ReduceMean = "reduce_mean": Divides,
    ReduceSum = "reduce_sum": Accumulates,
    ReduceMax = "reduce_max": Selects,
    ReduceMin = "reduce_min": Selects,
    ReduceProduct = "reduce_product": Real,
    Call = "call": Elsewhere,
    If = "if": Elsewhere,
    Loop = "loop": Elsewhere,
    Foreign = "foreign": Elsewhere,
}

impl Term {
    /// The term with this word.
    pub fn parse(word: &str) -> Option<Term> {
        Term::ALL.iter().copied().find(|term| term.name() == word)
    }

    /// All terms of a kind, in the order of [`Term::ALL`].
    pub fn of_kind(kind: Kind) -> impl Iterator<Item = Term> {
        Term::ALL.iter().copied().filter(move |term| term.kind() == kind)
    }

    /// True if the results have the same codes as the operands, on the same grid.
    pub const fn moves_codes(self) -> bool {
        matches!(self.kind(), Kind::Rearranges | Kind::Moves | Kind::Extends)
    }

    /// True for an op of two operands whose result does not change if the operands are swapped, bit for bit except for
    /// the payload of a NaN.
    pub const fn commutes(self) -> bool {
        matches!(
            self,
            Term::Add | Term::Mul | Term::Minimum | Term::Maximum | Term::And | Term::Or | Term::Xor | Term::Equal
        )
    }

    /// True if the op computes no element: it only brings operands into the form that another op takes. `resize` does
    /// not count, because it is a layer of its own.
    pub const fn is_form(self) -> bool {
        let is_moved = self.moves_codes() && !matches!(self, Term::Resize);
        is_moved || matches!(self.kind(), Kind::Converts | Kind::Boundary)
    }

    /// True if the result has the operand's elements in the same order, with another shape.
    pub const fn keeps_order(self) -> bool {
        matches!(self.kind(), Kind::Rearranges) && !matches!(self, Term::Transpose)
    }

    /// True if the op is a function of real numbers, which is not defined on codes.
    pub const fn is_real_function(self) -> bool {
        matches!(self.kind(), Kind::Function | Kind::Real) || matches!(self, Term::ReduceMean)
    }

    /// True if only lowered graphs have the op.
    pub const fn is_lowered(self) -> bool {
        matches!(self.kind(), Kind::Integer) || matches!(self, Term::SumPool)
    }

    /// The name of the term's op ([`Op::name`]).
    pub fn op_name(self) -> &'static str {
        match self {
            Term::ReduceMean | Term::ReduceSum | Term::ReduceMax | Term::ReduceMin | Term::ReduceProduct => "reduce",
            other if Function::parse(other.name()).is_some() => "unary",
            other if BinaryFunction::parse(other.name()).is_some() => "binary",
            other if Relation::parse(other.name()).is_some() => "compare",
            other => other.name(),
        }
    }

    /// The attribute keys of the term's op.
    pub fn attribute_keys(self) -> &'static [&'static str] {
        Op::find(self.op_name()).map_or(&[], |(_, _, keys)| keys)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

macro_rules! each {
    ($type:ident, $value:expr; $($variant:ident),* $(,)?) => {
        match $value { $($type::$variant => Term::$variant),* }
    };
}

impl Function {
    /// The term for this function.
    pub fn term(self) -> Term {
        each!(Function, self; Sigmoid, Tanh, Silu, Gelu, GeluTanh, HardSwish, Mish, Softplus, Exp, Log, Sqrt,
              Reciprocal, Erf, Neg, Abs, Floor, Ceil, Round, Sign, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh,
              Asinh, Acosh, Atanh)
    }
}

impl BinaryFunction {
    /// The term for this function.
    pub fn term(self) -> Term {
        match self {
            BinaryFunction::Minimum => Term::Minimum,
            BinaryFunction::Maximum => Term::Maximum,
            BinaryFunction::Modulo => Term::Modulo,
            BinaryFunction::Remainder => Term::Remainder,
            BinaryFunction::And => Term::And,
            BinaryFunction::Or => Term::Or,
            BinaryFunction::Xor => Term::Xor,
            BinaryFunction::ShiftLeft => Term::BitShiftLeft,
            BinaryFunction::ShiftRight => Term::BitShiftRight,
            BinaryFunction::ShiftRightUnsigned => Term::BitShiftRightUnsigned,
        }
    }
}

impl Relation {
    /// The term for this relation.
    pub fn term(self) -> Term {
        each!(Relation, self; Equal, Less, LessOrEqual)
    }
}

impl Reduction {
    /// The term for this reduction.
    pub fn term(self) -> Term {
        match self {
            Reduction::Mean => Term::ReduceMean,
            Reduction::Sum => Term::ReduceSum,
            Reduction::Max => Term::ReduceMax,
            Reduction::Min => Term::ReduceMin,
            Reduction::Product => Term::ReduceProduct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BinaryFunction, Function, Op, Reduction, Relation, Term};
    use std::collections::BTreeSet;

    #[test]
    fn each_term_is_that_of_one_op_by_its_name() {
        let families = ["unary", "binary", "compare", "reduce"];
        let plain = Op::ALL
            .iter()
            .map(|(name, ..)| *name)
            .filter(|name| !families.contains(name));
        let functions = Function::ALL.iter().inspect(|f| assert_eq!(f.name(), f.term().name()));
        let reductions = Reduction::ALL
            .iter()
            .inspect(|r| assert_eq!(format!("reduce_{}", r.name()), r.term().name()));
        let two = BinaryFunction::ALL.iter().map(|f| f.term().name());
        let relations = Relation::ALL.iter().map(|r| r.term().name());
        assert!(BinaryFunction::ALL.iter().all(|f| f.name() == f.term().name()));
        assert!(Relation::ALL.iter().all(|r| r.name() == r.term().name()));
        let expected: BTreeSet<&str> = plain
            .chain(functions.map(|f| f.term().name()))
            .chain(two)
            .chain(relations)
            .chain(reductions.map(|r| r.term().name()))
            .collect();
        assert_eq!(Term::ALL.iter().map(|t| t.name()).collect::<BTreeSet<_>>(), expected);
        assert_eq!(expected.len(), Term::ALL.len());
        for term in Term::ALL {
            assert_eq!(Term::parse(term.name()), Some(*term));
            assert!(Op::find(term.op_name()).is_some(), "{term}");
        }
    }
}
