//! The closed set of ops. Each is a struct in a file of its own.
//!
//! The same op is used for floats and integers; the types of the operands decide. Integer `conv`, `gemm`, `matmul`,
//! `add`, `sub`, `mul`, `sum_pool` and `reduce_sum` produce accumulators, in i32 or i64 ([`Carrier`](crate::Carrier)),
//! unless the node is `fused`.

mod add;
mod arg_reduce;
mod average_pool;
mod batch_normalization;
mod binary;
mod bit_cast;
mod call;
mod cast;
mod clamp;
mod clip;
mod col2im;
mod compare;
mod concat;
mod conv;
mod conv_transpose;
mod cumulative;
mod deform_conv;
mod dequantize;
mod det;
mod dft;
mod div;
mod elu;
mod expand;
mod flatten;
mod foreign;
mod gather;
mod gather_elements;
mod gather_nd;
mod gemm;
mod global_average_pool;
mod grid_sample;
mod hard_sigmoid;
mod identity;
mod if_else;
mod integer_layer_normalization;
mod integer_resize;
mod integer_softmax;
mod interpolate;
mod layer_normalization;
mod leaky_relu;
mod lookup;
mod loop_body;
mod matmul;
mod max_pool;
mod mul;
mod non_max_suppression;
mod non_zero;
mod pad;
mod pow;
mod quantize;
mod range;
mod recurrent;
mod reduce;
mod relu;
mod requantize;
mod reshape;
mod resize;
mod rms_normalization;
mod roi_align;
mod round_to;
mod scatter;
mod select;
mod shape_of;
mod shift_left;
mod slice;
mod softmax;
mod split;
mod squeeze;
mod sub;
mod sum_pool;
mod support;
mod top_k;
mod transpose;
mod unary;
mod unique;
mod unsqueeze;

pub use add::*;
pub use arg_reduce::*;
pub use average_pool::*;
pub use batch_normalization::*;
pub use binary::*;
pub use bit_cast::*;
pub use call::*;
pub use cast::*;
pub use clamp::*;
pub use clip::*;
pub use col2im::*;
pub use compare::*;
pub use concat::*;
pub use conv::*;
pub use conv_transpose::*;
pub use cumulative::*;
pub use deform_conv::*;
pub use dequantize::*;
pub use det::*;
pub use dft::*;
pub use div::*;
pub use elu::*;
pub use expand::*;
pub use flatten::*;
pub use foreign::*;
pub use gather::*;
pub use gather_elements::*;
pub use gather_nd::*;
pub use gemm::*;
pub use global_average_pool::*;
pub use grid_sample::*;
pub use hard_sigmoid::*;
pub use identity::*;
pub use if_else::*;
pub use integer_layer_normalization::*;
pub use integer_resize::*;
pub use integer_softmax::*;
pub use interpolate::*;
pub use layer_normalization::*;
pub use leaky_relu::*;
pub use lookup::*;
pub use loop_body::*;
pub use matmul::*;
pub use max_pool::*;
pub use mul::*;
pub use non_max_suppression::*;
pub use non_zero::*;
pub use pad::*;
pub use pow::*;
pub use quantize::*;
pub use range::*;
pub use recurrent::*;
pub use reduce::*;
pub use relu::*;
pub use requantize::*;
pub use reshape::*;
pub use resize::*;
pub use rms_normalization::*;
pub use roi_align::*;
pub use round_to::*;
pub use scatter::*;
pub use select::*;
pub use shape_of::*;
pub use shift_left::*;
pub use slice::*;
pub use softmax::*;
pub use split::*;
pub use squeeze::*;
pub use sub::*;
pub use sum_pool::*;
pub use top_k::*;
pub use transpose::*;
pub use unary::*;
pub use unique::*;
pub use unsqueeze::*;

use crate::attribute::{Attribute, AttributeError, Attributes};
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::shape::TensorType;
use crate::term::Term;
use smallvec::SmallVec;

/// The operand types that inference gets; `None` for an optional operand that is absent.
pub type Operands<'a> = [Option<&'a TensorType>];

/// The result types of a node.
pub type Results = SmallVec<[TensorType; 1]>;

/// What every op has besides its attributes.
pub trait Infer: Attributes {
    /// The smallest and the largest number of operands.
    const ARITY: (usize, usize);

    /// The types of the results, or why the operands are wrong. Named dimensions are kept where the op allows it. Never
    /// panics, whatever the attributes are.
    fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason>;
}

macro_rules! ops {
    (plain: $($plain:ident),*; families: $($family:ident by $field:ident),*;) => {
        ops! { all: $($plain),*, $($family),* }

        impl Op {
            /// The term that tables, rules and reports use for this op.
            pub fn term(&self) -> Term {
                match self {
                    $(Op::$plain(_) => Term::$plain,)*
                    $(Op::$family(op) => op.$field.term(),)*
                }
            }
        }
    };
    (all: $($variant:ident),*) => {
        /// An operation with its attributes.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op { $(
            #[doc = concat!("See [`struct@", stringify!($variant), "`].")]
            $variant(Box<$variant>)
        ),* }

        impl Op {
            /// Name, version and attribute keys of every op, in declaration order.
            pub const ALL: &'static [(&'static str, u16, &'static [&'static str])] =
                &[$((<$variant as Attributes>::NAME, <$variant as Attributes>::VERSION, <$variant as Attributes>::KEYS)),*];

            /// The name in the text form, IR bytes and tables.
            pub fn name(&self) -> &'static str {
                match self { $(Op::$variant(_) => <$variant as Attributes>::NAME),* }
            }

            /// The words that the attribute `key` of the op called `name` may have; empty unless it is a word out of a
            /// closed set.
            pub fn words(name: &str, key: &str) -> Vec<&'static str> {
                $(if name == <$variant as Attributes>::NAME {
                    return <$variant as Attributes>::words(key);
                })*
                Vec::new()
            }

            /// True if the attribute `key` of the op called `name` is a list.
            pub fn is_list(name: &str, key: &str) -> bool {
                $(if name == <$variant as Attributes>::NAME {
                    return <$variant as Attributes>::is_list(key);
                })*
                false
            }

            /// The version of the op's attributes.
            pub fn version(&self) -> u16 {
                match self { $(Op::$variant(_) => <$variant as Attributes>::VERSION),* }
            }

            /// Passes every attribute to `put`, in order.
            pub fn attributes(&self, put: &mut dyn FnMut(&'static str, Attribute)) {
                match self { $(Op::$variant(op) => op.write(put)),* }
            }

            /// Makes the op called `name`; `None` if there is no such op.
            pub fn read(
                name: &str,
                get: &mut dyn FnMut(&'static str) -> Option<Attribute>,
            ) -> Option<Result<Op, AttributeError>> {
                $(if name == <$variant as Attributes>::NAME {
                    return Some(<$variant as Attributes>::read(get).map(|op| Op::$variant(Box::new(op))));
                })*
                None
            }

            /// The smallest and the largest number of operands.
            pub fn arity(&self) -> (usize, usize) {
                match self { $(Op::$variant(_) => <$variant as Infer>::ARITY),* }
            }

            /// The types of the results; see [`Infer::infer`]. This checks the number of operands, and that required
            /// ones are present, so an op's own inference may index its required operands.
            pub fn infer(&self, operands: &Operands<'_>) -> Result<Results, Reason> {
                let (least, most) = self.arity();
                if operands.len() < least || operands.len() > most {
                    return Err(Reason::new(ReasonCode::Arity, format!(
                        "{} takes {least} to {most} operands, but has {}", self.name(), operands.len())));
                }
                if let Some(absent) = operands.iter().take(least).position(Option::is_none) {
                    return Err(Reason::new(ReasonCode::Arity, format!("{}: operand {absent} is absent", self.name())));
                }
                let results = match self { $(Op::$variant(op) => op.infer(operands)),* }?;
                support::within_limits(&results)?;
                Ok(results)
            }
        }

        $(impl From<$variant> for Op { fn from(op: $variant) -> Op { Op::$variant(Box::new(op)) } })*
    };
}

ops! {
    plain:
    Conv,
    ConvTranspose,
    DeformConv,
    Gemm,
    MatMul,
    BatchNormalization,
    LayerNormalization,
    RmsNormalization,
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Relu,
    Clip,
    LeakyRelu,
    HardSigmoid,
    Elu,
    Recurrent,
    MaxPool,
    AveragePool,
    GlobalAveragePool,
    SumPool,
    RoiAlign,
    Col2Im,
    Softmax,
    Cumulative,
    ArgReduce,
    TopK,
    Det,
    Dft,
    ShapeOf,
    Range,
    NonZero,
    Unique,
    NonMaxSuppression,
    Reshape,
    Flatten,
    Squeeze,
    Unsqueeze,
    Transpose,
    Concat,
    Split,
    Slice,
    GatherElements,
    GatherNd,
    Scatter,
    Pad,
    GridSample,
    Resize,
    Gather,
    Expand,
    Select,
    Cast,
    BitCast,
    Identity,
    Quantize,
    RoundTo,
    Dequantize,
    Requantize,
    ShiftLeft,
    Lookup,
    Interpolate,
    IntegerResize,
    IntegerSoftmax,
    IntegerLayerNormalization,
    Clamp,
    Call,
    If,
    Loop,
    Foreign;
    families:
    Unary by function,
    Binary by function,
    Compare by relation,
    Reduce by reduction;
}
