//! The kinds of options. In the format, options are a union, and each operator has its own kind.

/// Operators, each with the number of its kind of options in the union `BuiltinOptions`.
const KINDS: &[(&str, i8)] = &[
    ("CONV_2D", 1),
    ("DEPTHWISE_CONV_2D", 2),
    ("AVERAGE_POOL_2D", 5),
    ("MAX_POOL_2D", 5),
    ("FULLY_CONNECTED", 8),
    ("SOFTMAX", 9),
    ("CONCATENATION", 10),
    ("ADD", 11),
    ("RESIZE_BILINEAR", 15),
    ("RESHAPE", 17),
    ("MUL", 21),
    ("GATHER", 23),
    ("MEAN", 27),
    ("REDUCE_MAX", 27),
    ("REDUCE_MIN", 27),
    ("REDUCE_PROD", 27),
    ("SUM", 27),
    ("SUB", 28),
    ("DIV", 29),
    ("STRIDED_SLICE", 32),
    ("SPLIT", 35),
    ("ARG_MAX", 40),
    ("ARG_MIN", 57),
    ("PACK", 59),
    ("UNPACK", 64),
    ("RESIZE_NEAREST_NEIGHBOR", 74),
    ("LEAKY_RELU", 75),
    ("MIRROR_PAD", 77),
    ("SPLIT_V", 79),
    ("BATCH_MATMUL", 101),
    ("CONV_3D", 106),
    ("GELU", 116),
];

/// The number of the kind of options that an operator has.
pub(super) fn kind(operator: &str) -> Option<i8> {
    KINDS.iter().find(|(own, _)| *own == operator).map(|(_, kind)| *kind)
}
