//! The names of ops, and the names of the quantities that a table can limit.

use super::super::place::WEIGHT_SUM;
use strait_core::{Kind, Op, Term};

/// A quantity that a row may limit and that is not an attribute of the op.
pub(crate) struct Quantity {
    /// Name of the quantity in the table.
    pub(crate) name: &'static str,
    /// Meaning of the quantity, for the reference page.
    pub(crate) meaning: &'static str,
    /// The words that the quantity can have as its value; empty if the value is a number.
    pub(crate) words: &'static [&'static str],
    /// True if the quantity has a value for each of several axes, in the order of the axes.
    pub(crate) by_axis: bool,
}

const fn number(name: &'static str, meaning: &'static str) -> Quantity {
    Quantity {
        name,
        meaning,
        words: &[],
        by_axis: false,
    }
}

const fn by_axis(name: &'static str, meaning: &'static str) -> Quantity {
    Quantity {
        by_axis: true,
        ..number(name, meaning)
    }
}

const fn word(name: &'static str, meaning: &'static str, words: &'static [&'static str]) -> Quantity {
    Quantity {
        words,
        ..number(name, meaning)
    }
}

/// The quantities that are derived from an op and its operands.
pub(crate) const DERIVED: &[Quantity] = &[
    number("rank", "number of axes of the first operand"),
    number("batch", "extent of the first axis of the first operand"),
    number("channels", "extent of the second axis of the first operand"),
    number("elements", "number of elements of the result"),
    by_axis("shape", "extents of the first operand"),
    by_axis("result_shape", "extents of the result"),
    by_axis(
        "kernel",
        "extents of the window: the spatial axes of a convolution's weights, the `size` of a pool, or all spatial axes for a global pool",
    ),
    by_axis(
        "factor",
        "for a resize: the extents of its result divided by those of its operand",
    ),
    number(
        "depth_dilation",
        "for a convolution over three axes: the dilation along the first of these axes",
    ),
    number("window", "number of elements of the window"),
    number(
        "k",
        "number of terms of the sum that makes one element of the result: for a product of matrices or a convolution, or for a window",
    ),
    number(
        "uncounted_pad",
        "for an average pool: 1 if windows reach into padding that does not count in the divisor, so that the divisor varies",
    ),
    number(
        "counted_pad",
        "for an average pool: 1 if there is padding and it counts in the divisor",
    ),
    word(
        "grouping",
        "for a convolution: `none`, `depthwise` or `grouped`",
        &["none", "depthwise", "grouped"],
    ),
    word(
        "broadcast",
        "for an op with two operands, how one is broadcast: `none`, `scalar`, `channel` or `general`",
        &["none", "scalar", "channel", "general"],
    ),
    number(
        "constant_operands",
        "positions of the operands that are constant tensors of the model",
    ),
    number("variable_operands", "positions of the operands that are not constant"),
    number(
        WEIGHT_SUM,
        "for a convolution or a fully connected layer: Σ |code − zero point| over the weights of one output, for the output with \
         the largest sum. It is checked when the weights have codes",
    ),
    number("axis", "the axis or axes of the op, counted from 0"),
    number(
        "axis_from_end",
        "the axis or axes of the op, counted from the end, where -1 is the last axis",
    ),
];

/// Splits a name such as `kernel[0]` into the quantity and the position among its values, if there is one.
pub(crate) fn position(name: &str) -> (&str, Option<usize>) {
    let split = || {
        let (quantity, position) = name.strip_suffix(']')?.split_once('[')?;
        let plain = position.bytes().all(|digit| digit.is_ascii_digit());
        Some((quantity, plain.then(|| position.parse().ok()).flatten()?))
    };
    split().map_or((name, None), |(quantity, position)| (quantity, Some(position)))
}

/// The factors of a limited product such as `kernel * channels`.
pub(crate) fn factors_of(name: &str) -> impl Iterator<Item = &str> {
    name.split('*').map(str::trim)
}

/// True if a quantity of the op with this term is a list, with a value for each of several positions.
pub(crate) fn has_positions(term: &str, quantity: &str) -> bool {
    if let Some(derived) = DERIVED.iter().find(|derived| derived.name == quantity) {
        return derived.by_axis;
    }
    Term::parse(term).is_some_and(|term| Op::is_list(term.op_name(), quantity))
}

/// Returns the words that a quantity of the op with this term can have as its value. If the value is a number, returns
/// an empty list. If the op has no such quantity, returns `None`.
pub(crate) fn quantity_words(term: &str, quantity: &str) -> Option<Vec<&'static str>> {
    if let Some(derived) = DERIVED.iter().find(|derived| derived.name == quantity) {
        return Some(derived.words.to_vec());
    }
    let term = Term::parse(term).filter(|term| term.attribute_keys().contains(&quantity))?;
    Some(Op::words(term.op_name(), quantity))
}

/// Every term that a row may be for.
pub(crate) fn terms() -> Vec<&'static str> {
    let known = Term::ALL.iter().filter(|term| term.kind() != Kind::Elsewhere);
    known.map(|term| term.name()).collect()
}

/// The names of the attributes of the op with this term.
pub(crate) fn attribute_keys(term: &str) -> &'static [&'static str] {
    Term::parse(term).map_or(&[], Term::attribute_keys)
}
