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
    /// True if every feature map needs a scale.
    needs_scales: bool,
    u55: Option<&'static [Check]>,
    u85: Option<&'static [Check]>,
}

/// An operator whose feature maps all need scales.
const fn row(
    name: &'static str,
    features: Features,
    u55: Option<&'static [Check]>,
    u85: Option<&'static [Check]>,
) -> Row {
    Row {
        name,
        features,
        needs_scales: true,
        u55,
        u85,
    }
}

impl Row {
    /// The same operator, which may have tensors without scales.
    const fn without_scales(self) -> Row {
        Row {
            needs_scales: false,
            ..self
        }
    }
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

const ROWS: &[Row] = &[
    row("ABS", ONE, NARROW, ANY),
    row("ADD", TWO, ANY, ANY),
    row("ARG_MAX", ONE, Some(&[checks::arg_max]), ANY).without_scales(),
    row(
        "AVERAGE_POOL_2D",
        ONE,
        Some(&[checks::no_32_bits, checks::average_window, checks::wide_strides]),
        Some(&[checks::average_window]),
    ),
    row("BATCH_MATMUL", TWO, Some(&[checks::matmul]), ANY),
    row("CAST", ONE, None, ANY),
    row("CONCATENATION", Features::All, NARROW, ANY),
    row(
        "CONV_2D",
        ONE,
        Some(&[
            checks::no_32_bits,
            checks::weights,
            SMALL_BIAS,
            checks::wide_strides,
            SMALL_SUM,
        ]),
        LARGE,
    ),
    row(
        "DEPTHWISE_CONV_2D",
        ONE,
        Some(&[
            checks::no_32_bits,
            checks::weights,
            SMALL_BIAS,
            checks::strides,
            SMALL_SUM,
        ]),
        LARGE,
    ),
    row("DIV", TWO, None, ANY),
    row("ELU", ONE, Some(&[checks::int8_only]), Some(&[checks::int8_only])),
    row("EQUAL", TWO, None, ANY),
    row("EXP", ONE, NARROW, ANY),
    row("EXPAND_DIMS", ONE, ANY, ANY).without_scales(),
    row(
        "FULLY_CONNECTED",
        ONE,
        Some(&[checks::weights, SMALL_BIAS, SMALL_SUM]),
        LARGE,
    ),
    row("GATHER", ONE, None, Some(&[checks::gather_axis])).without_scales(),
    row(
        "GELU",
        ONE,
        Some(&[checks::int8_or_uint8]),
        Some(&[checks::int8_or_uint8]),
    ),
    row("GREATER", TWO, None, ANY),
    row("GREATER_EQUAL", TWO, None, ANY),
    row("HARD_SWISH", ONE, NARROW, ANY),
    row("LEAKY_RELU", ONE, NARROW, ANY),
    row("LESS", TWO, None, ANY),
    row("LESS_EQUAL", TWO, None, ANY),
    row(
        "LOG",
        ONE,
        Some(&[checks::int8_or_int16]),
        Some(&[checks::int8_or_int16]),
    ),
    row("LOGISTIC", ONE, NARROW, ANY),
    row(
        "MAXIMUM",
        TWO,
        Some(&[checks::no_32_bits, checks::same_grids]),
        Some(&[checks::same_grids]),
    ),
    row(
        "MAX_POOL_2D",
        ONE,
        Some(&[checks::no_32_bits, checks::wide_strides, checks::pool_window]),
        Some(&[checks::pool_window]),
    ),
    row(
        "MEAN",
        ONE,
        Some(&[checks::no_32_bits, checks::mean]),
        Some(&[checks::mean]),
    ),
    row(
        "MINIMUM",
        TWO,
        Some(&[checks::no_32_bits, checks::same_grids]),
        Some(&[checks::same_grids]),
    ),
    row(
        "MIRROR_PAD",
        ONE,
        Some(&[checks::constant_parameters]),
        Some(&[checks::constant_parameters]),
    )
    .without_scales(),
    row("MUL", TWO, ANY, ANY),
    row("NEG", ONE, ANY, ANY),
    row("NOT_EQUAL", TWO, None, ANY),
    row("PACK", Features::All, NARROW, ANY),
    row(
        "PAD",
        ONE,
        Some(&[checks::no_32_bits, checks::constant_parameters]),
        Some(&[checks::constant_parameters]),
    )
    .without_scales(),
    row(
        "PADV2",
        ONE,
        Some(&[checks::no_32_bits, checks::constant_parameters]),
        Some(&[checks::constant_parameters]),
    )
    .without_scales(),
    row("PRELU", TWO, NARROW, ANY),
    row("QUANTIZE", ONE, NARROW, ANY).without_scales(),
    row("REDUCE_MAX", ONE, NARROW, ANY),
    row("REDUCE_MIN", ONE, NARROW, ANY),
    row("RELU", ONE, NARROW, ANY),
    row("RELU6", ONE, NARROW, ANY),
    row("RELU_0_TO_1", ONE, NARROW, ANY),
    row("RELU_N1_TO_1", ONE, NARROW, ANY),
    row("RESHAPE", ONE, ANY, ANY),
    row(
        "RESIZE_BILINEAR",
        ONE,
        Some(&[checks::no_32_bits, checks::small_resize::<true>]),
        Some(&[checks::large_resize::<true>]),
    ),
    row(
        "RESIZE_NEAREST_NEIGHBOR",
        ONE,
        Some(&[checks::no_32_bits, checks::small_resize::<false>]),
        Some(&[checks::large_resize::<false>]),
    ),
    row(
        "RSQRT",
        ONE,
        Some(&[checks::operand_int8_or_int16]),
        Some(&[checks::operand_int8_or_int16]),
    ),
    row("SELECT", Features::First(3), None, ANY).without_scales(),
    row("SELECT_V2", Features::First(3), None, ANY).without_scales(),
    row(
        "SLICE",
        ONE,
        Some(&[checks::no_32_bits, checks::constant_parameters]),
        Some(&[checks::constant_parameters]),
    ),
    row(
        "SOFTMAX",
        ONE,
        Some(&[checks::no_32_bits, checks::softmax_positions]),
        Some(&[checks::softmax_positions]),
    ),
    row("SPLIT", Features::At(1), NARROW, ANY),
    row("SPLIT_V", ONE, NARROW, ANY),
    row("SQUARED_DIFFERENCE", TWO, NARROW, ANY),
    row("SQUEEZE", ONE, ANY, ANY),
    row(
        "STRIDED_SLICE",
        ONE,
        Some(&[checks::no_32_bits, checks::constant_parameters, checks::slice_strides]),
        Some(&[checks::constant_parameters, checks::slice_strides]),
    ),
    row("SUB", TWO, ANY, ANY),
    row("SUM", ONE, ANY, ANY),
    row("TANH", ONE, NARROW, ANY),
    row("TILE", ONE, NARROW, ANY),
    row(
        "TRANSPOSE",
        ONE,
        Some(&[checks::constant_parameters, checks::eight_axes, checks::small_transpose]),
        Some(&[checks::constant_parameters, checks::eight_axes]),
    )
    .without_scales(),
    row(
        "TRANSPOSE_CONV",
        Features::At(2),
        Some(&[
            checks::weights,
            SMALL_BIAS,
            checks::transposed_shape,
            checks::transposed_strides,
            SMALL_SUM,
        ]),
        Some(&[checks::weights, LARGE_BIAS, checks::transposed_shape, LARGE_SUM]),
    ),
    row("UNPACK", ONE, NARROW, ANY),
];

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
    if !tensor.has_scale && row.needs_scales && ty != "BOOL" {
        return Some(format!("`{}` has no scale", tensor.name));
    }
    let channels = tensor.grid.as_ref().is_some_and(|grid| grid.as_tensor().is_none());
    (channels && !PER_CHANNEL.contains(&row.name)).then(|| format!("`{}` has a scale for each channel", tensor.name))
}
