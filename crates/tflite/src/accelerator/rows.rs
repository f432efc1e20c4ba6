//! The table of operators that the accelerators take, with the constraints of each.

use super::Accelerator;
use super::checks::{self, Check};
use super::site::Site;
use crate::graph::{Graph, Node, Tensor};

/// Which operands of an operator are feature maps. The others are parameters, such as axes.
#[derive(Clone, Copy)]
enum Features {
    /// The first operands, this many.
    First(usize),
    /// The operand at this position.
    At(usize),
    All,
}

/// An operator, and its constraints on each accelerator. `None`: the accelerator does not have the operator.
struct Row {
    name: &'static str,
    features: Features,
    /// True if the operator may have tensors without scales.
    without_grids: bool,
    u55: Option<&'static [Check]>,
    u85: Option<&'static [Check]>,
}

macro_rules! rows {
    ($($name:ident $features:expr, $(($without:ident))? u55 $u55:expr, u85 $u85:expr;)*) => { &[$(Row {
        name: stringify!($name),
        features: $features,
        without_grids: false $(|| { stringify!($without); true })?,
        u55: $u55,
        u85: $u85,
    }),*] };
}

const NARROW: Option<&[Check]> = Some(&[checks::no_32_bits]);
const ANY: Option<&[Check]> = Some(&[]);
const ONE: Features = Features::First(1);
const TWO: Features = Features::First(2);

const SMALL_BIAS: Check = checks::wide_bias::<1099511627775>;
const SMALL_SUM: Check = checks::weight_sum::<8323072, 8323072>;
const LARGE_BIAS: Check = checks::wide_bias::<281474976710655>;
const LARGE_SUM: Check = checks::weight_sum::<8323072, 2130706432>;
const LARGE: Option<&[Check]> = Some(&[checks::weights, LARGE_BIAS, LARGE_SUM]);

const ROWS: &[Row] = rows! {
    ABS ONE, u55 NARROW, u85 ANY;
    ADD TWO, u55 ANY, u85 ANY;
    ARG_MAX ONE, (without) u55 Some(&[checks::arg_max]), u85 ANY;
    AVERAGE_POOL_2D ONE, u55 Some(&[checks::no_32_bits, checks::average_window, checks::wide_strides]), u85 Some(&[checks::average_window]);
    BATCH_MATMUL TWO, u55 Some(&[checks::matmul]), u85 ANY;
    CAST ONE, u55 None, u85 ANY;
    CONCATENATION Features::All, u55 NARROW, u85 ANY;
    CONV_2D ONE, u55 Some(&[checks::no_32_bits, checks::weights, SMALL_BIAS, checks::wide_strides, SMALL_SUM]), u85 LARGE;
    DEPTHWISE_CONV_2D ONE, u55 Some(&[checks::no_32_bits, checks::weights, SMALL_BIAS, checks::strides, SMALL_SUM]), u85 LARGE;
    DIV TWO, u55 None, u85 ANY;
    ELU ONE, u55 Some(&[checks::int8_only]), u85 Some(&[checks::int8_only]);
    EQUAL TWO, u55 None, u85 ANY;
    EXP ONE, u55 NARROW, u85 ANY;
    EXPAND_DIMS ONE, (without) u55 ANY, u85 ANY;
    FULLY_CONNECTED ONE, u55 Some(&[checks::weights, SMALL_BIAS, SMALL_SUM]), u85 LARGE;
    GATHER ONE, (without) u55 None, u85 Some(&[checks::gather_axis]);
    GELU ONE, u55 Some(&[checks::int8_or_uint8]), u85 Some(&[checks::int8_or_uint8]);
    GREATER TWO, u55 None, u85 ANY;
    GREATER_EQUAL TWO, u55 None, u85 ANY;
    HARD_SWISH ONE, u55 NARROW, u85 ANY;
    LEAKY_RELU ONE, u55 NARROW, u85 ANY;
    LESS TWO, u55 None, u85 ANY;
    LESS_EQUAL TWO, u55 None, u85 ANY;
    LOG ONE, u55 Some(&[checks::int8_or_int16]), u85 Some(&[checks::int8_or_int16]);
    LOGISTIC ONE, u55 NARROW, u85 ANY;
    MAXIMUM TWO, u55 Some(&[checks::no_32_bits, checks::same_grids]), u85 Some(&[checks::same_grids]);
    MAX_POOL_2D ONE, u55 Some(&[checks::no_32_bits, checks::wide_strides, checks::pool_window]), u85 Some(&[checks::pool_window]);
    MEAN ONE, u55 Some(&[checks::no_32_bits, checks::mean]), u85 Some(&[checks::mean]);
    MINIMUM TWO, u55 Some(&[checks::no_32_bits, checks::same_grids]), u85 Some(&[checks::same_grids]);
    MIRROR_PAD ONE, (without) u55 Some(&[checks::constant_parameters]), u85 Some(&[checks::constant_parameters]);
    MUL TWO, u55 ANY, u85 ANY;
    NEG ONE, u55 ANY, u85 ANY;
    NOT_EQUAL TWO, u55 None, u85 ANY;
    PACK Features::All, u55 NARROW, u85 ANY;
    PAD ONE, (without) u55 Some(&[checks::no_32_bits, checks::constant_parameters]), u85 Some(&[checks::constant_parameters]);
    PADV2 ONE, (without) u55 Some(&[checks::no_32_bits, checks::constant_parameters]), u85 Some(&[checks::constant_parameters]);
    PRELU TWO, u55 NARROW, u85 ANY;
    QUANTIZE ONE, (without) u55 NARROW, u85 ANY;
    REDUCE_MAX ONE, u55 NARROW, u85 ANY;
    REDUCE_MIN ONE, u55 NARROW, u85 ANY;
    RELU ONE, u55 NARROW, u85 ANY;
    RELU6 ONE, u55 NARROW, u85 ANY;
    RELU_0_TO_1 ONE, u55 NARROW, u85 ANY;
    RELU_N1_TO_1 ONE, u55 NARROW, u85 ANY;
    RESHAPE ONE, u55 ANY, u85 ANY;
    RESIZE_BILINEAR ONE, u55 Some(&[checks::no_32_bits, checks::small_resize::<true>]), u85 Some(&[checks::large_resize::<true>]);
    RESIZE_NEAREST_NEIGHBOR ONE, u55 Some(&[checks::no_32_bits, checks::small_resize::<false>]), u85 Some(&[checks::large_resize::<false>]);
    RSQRT ONE, u55 Some(&[checks::operand_int8_or_int16]), u85 Some(&[checks::operand_int8_or_int16]);
    SELECT Features::First(3), (without) u55 None, u85 ANY;
    SELECT_V2 Features::First(3), (without) u55 None, u85 ANY;
    SLICE ONE, u55 Some(&[checks::no_32_bits, checks::constant_parameters]), u85 Some(&[checks::constant_parameters]);
    SOFTMAX ONE, u55 Some(&[checks::no_32_bits, checks::softmax_positions]), u85 Some(&[checks::softmax_positions]);
    SPLIT Features::At(1), u55 NARROW, u85 ANY;
    SPLIT_V ONE, u55 NARROW, u85 ANY;
    SQUARED_DIFFERENCE TWO, u55 NARROW, u85 ANY;
    SQUEEZE ONE, u55 ANY, u85 ANY;
    STRIDED_SLICE ONE, u55 Some(&[checks::no_32_bits, checks::constant_parameters, checks::slice_strides]), u85 Some(&[checks::constant_parameters, checks::slice_strides]);
    SUB TWO, u55 ANY, u85 ANY;
    SUM ONE, u55 ANY, u85 ANY;
    TANH ONE, u55 NARROW, u85 ANY;
    TILE ONE, u55 NARROW, u85 ANY;
    TRANSPOSE ONE, (without) u55 Some(&[checks::constant_parameters, checks::eight_axes, checks::small_transpose]), u85 Some(&[checks::constant_parameters, checks::eight_axes]);
    TRANSPOSE_CONV Features::At(2), u55 Some(&[checks::weights, SMALL_BIAS, checks::transposed_shape, checks::transposed_strides, SMALL_SUM]), u85 Some(&[checks::weights, LARGE_BIAS, checks::transposed_shape, LARGE_SUM]);
    UNPACK ONE, u55 NARROW, u85 ANY;
};

/// The operators whose weights may have a scale for each channel.
const PER_CHANNEL: &[&str] = &["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"];

impl Row {
    fn is_feature(&self, operand: usize) -> bool {
        match self.features {
            Features::First(count) => operand < count,
            Features::At(position) => operand == position,
            Features::All => true,
        }
    }
}

/// Returns the reason why an operator runs on the CPU. `None` if the accelerator takes it.
pub(super) fn why_not(graph: &Graph<'_>, node: &Node<'_>, operator: &str, accelerator: Accelerator) -> Option<String> {
    let row = ROWS.iter().find(|row| row.name == operator);
    let checks = row.and_then(|row| match accelerator {
        Accelerator::EthosU55 => row.u55,
        Accelerator::EthosU85 => row.u85,
    });
    let (Some(row), Some(checks)) = (row, checks) else {
        return Some(format!("{} has no {operator}", accelerator.name()));
    };
    let site = Site::of(graph, node, |operand| row.is_feature(operand));
    let general = site
        .features
        .iter()
        .find_map(|tensor| of_feature(tensor, accelerator, row));
    general.or_else(|| checks.iter().find_map(|check| check(&site)))
}

/// The constraints on the feature maps of every operator.
fn of_feature(tensor: &Tensor, accelerator: Accelerator, row: &Row) -> Option<String> {
    let ty = tensor.type_name();
    let is_known = match ty {
        "INT8" | "UINT8" | "INT16" | "INT32" => true,
        "INT64" => accelerator == Accelerator::EthosU85 || row.name == "ARG_MAX",
        "BOOL" => accelerator == Accelerator::EthosU85,
        _ => false,
    };
    if !is_known {
        return Some(format!("`{}` is {ty}", tensor.name));
    }
    if tensor.shape.iter().any(|&extent| extent < 0) || (!tensor.has_shape && tensor.data.is_none()) {
        return Some(format!("the shape of `{}` is not fixed", tensor.name));
    }
    if !tensor.has_scale && !row.without_grids && ty != "BOOL" {
        return Some(format!("`{}` has no scale", tensor.name));
    }
    let channels = tensor.grid.as_ref().is_some_and(|grid| grid.as_tensor().is_none());
    (channels && !PER_CHANNEL.contains(&row.name)).then(|| format!("`{}` has a scale for each channel", tensor.name))
}
