//! The closed set of ops. Each op is a struct in a file of its own.
//!
//! The same op is used for floats and for integers; the types of the operands decide what it computes. Integer `conv`,
//! `gemm`, `matmul`, `add`, `sub`, `mul`, `sum_pool` and `reduce_sum` produce accumulators, in i32 or i64
//! ([`Carrier`](crate::Carrier)), unless the node is `fused`.

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
mod declare;
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
mod prelude;
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
mod scaled_add;
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

pub use support::{OpFacts, Operands, Results};

use crate::attribute::{Attribute, AttributeError, Attributes};
use crate::kind::Kind;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::zeros::{WeightZero, Zero};
use declare::ops;
use smallvec::SmallVec;
use strait_requantize::function::Real;

// The module and the struct of each op, in the order of [`Term::ALL`].
unary::functions! { ops! {
    ($)
    plain {
        conv::Conv,
        gemm::Gemm,
        matmul::MatMul,
        batch_normalization::BatchNormalization,
        layer_normalization::LayerNormalization,
        rms_normalization::RmsNormalization,
        add::Add,
        sub::Sub,
        mul::Mul,
        div::Div,
        pow::Pow,
        relu::Relu,
        clip::Clip,
        leaky_relu::LeakyRelu,
        hard_sigmoid::HardSigmoid,
        elu::Elu,
        max_pool::MaxPool,
        average_pool::AveragePool,
        global_average_pool::GlobalAveragePool,
        sum_pool::SumPool,
        conv_transpose::ConvTranspose,
        grid_sample::GridSample,
        deform_conv::DeformConv,
        col2im::Col2Im,
        recurrent::Recurrent,
        roi_align::RoiAlign,
        gather_elements::GatherElements,
        gather_nd::GatherNd,
        scatter::Scatter,
        arg_reduce::ArgReduce,
        cumulative::Cumulative,
        top_k::TopK,
        det::Det,
        dft::Dft,
        shape_of::ShapeOf,
        range::Range,
        non_zero::NonZero,
        unique::Unique,
        non_max_suppression::NonMaxSuppression,
        softmax::Softmax,
        reshape::Reshape,
        flatten::Flatten,
        squeeze::Squeeze,
        unsqueeze::Unsqueeze,
        transpose::Transpose,
        concat::Concat,
        split::Split,
        slice::Slice,
        pad::Pad,
        resize::Resize,
        gather::Gather,
        expand::Expand,
        select::Select,
        cast::Cast,
        bit_cast::BitCast,
        identity::Identity,
        quantize::Quantize,
        round_to::RoundTo,
        dequantize::Dequantize,
        requantize::Requantize,
        shift_left::ShiftLeft,
        scaled_add::ScaledAdd,
        lookup::Lookup,
        interpolate::Interpolate,
        integer_resize::IntegerResize,
        integer_softmax::IntegerSoftmax,
        integer_layer_normalization::IntegerLayerNormalization,
        clamp::Clamp,
    }
    families {
        binary::Binary by function: BinaryFunction {
            Minimum = "minimum" Minimum: Moves,
            Maximum = "maximum" Maximum: Moves,
            Modulo = "modulo" Modulo: Real,
            Remainder = "remainder" Remainder: Real,
            And = "and" And: Real,
            Or = "or" Or: Real,
            Xor = "xor" Xor: Real,
            BitShiftLeft = "bit_shift_left" ShiftLeft: Real,
            BitShiftRight = "bit_shift_right" ShiftRight: Real,
            BitShiftRightUnsigned = "bit_shift_right_unsigned" ShiftRightUnsigned: Real,
        }
        compare::Compare by relation: Relation {
            Equal = "equal" Equal: Compares,
            Less = "less" Less: Compares,
            LessOrEqual = "less_or_equal" LessOrEqual: Compares,
        }
        reduce::Reduce by reduction: Reduction {
            ReduceMean = "reduce_mean" Mean: Divides,
            ReduceSum = "reduce_sum" Sum: Accumulates,
            ReduceMax = "reduce_max" Max: Selects,
            ReduceMin = "reduce_min" Min: Selects,
            ReduceProduct = "reduce_product" Product: Real,
        }
    }
    last {
        call::Call,
        if_else::If,
        loop_body::Loop,
        foreign::Foreign,
    }
    functions of unary::Unary by function: Function
} }
