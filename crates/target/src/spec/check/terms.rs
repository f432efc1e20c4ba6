//! The names of ops and of what can be limited about them.

use strait_core::{
    Op,
    op::{Function, Reduction},
};

/// Quantities that a row may limit besides the op's attributes: each with what it is.
pub(crate) const DERIVED: &[(&str, &str)] = &[
    ("rank", "number of axes of the first operand"),
    ("batch", "extent of the first axis of the first operand"),
    ("channels", "extent of the second axis of the first operand"),
    ("elements", "number of elements of the result"),
    (
        "kernel",
        "extents of the window: of the weight's spatial axes, of a pool's `size`, of the spatial axes for a global pool",
    ),
    ("window", "number of elements of the window"),
    ("k", "length of the sum behind one result: of a product, or of a window"),
    (
        "uncounted_pad",
        "of an average pool: 1 where windows reach into padding that does not count in the divisor, which then varies",
    ),
    (
        "counted_pad",
        "of an average pool: 1 where there is padding and it counts in the divisor",
    ),
    ("grouping", "of a convolution: `none`, `depthwise` or `grouped`"),
    ("broadcast", "of two operands: `none`, `scalar`, `channel` or `general`"),
    (
        "constant_operands",
        "positions of the operands that are tensors of the model",
    ),
    ("variable_operands", "positions of the operands that are not"),
    ("axis", "the op's axis or axes, counted from 0"),
    ("axis_from_end", "the op's axis or axes, -1 being the last"),
];

/// Every term that a row may stand for.
pub(crate) fn terms() -> Vec<&'static str> {
    let plain = Op::ALL
        .iter()
        .map(|(name, _, _)| *name)
        .filter(|name| !matches!(*name, "unary" | "reduce" | "call" | "foreign"));
    let functions = Function::ALL.iter().map(|f| f.name());
    plain
        .chain(functions)
        .chain(Reduction::ALL.iter().map(|r| reduction_term(*r)))
        .collect()
}

/// As [`Op::term`] has it.
fn reduction_term(reduction: Reduction) -> &'static str {
    Op::from(strait_core::op::Reduce {
        reduction,
        axes: smallvec::SmallVec::new(),
        keep_dims: false,
    })
    .term()
}

/// The attributes of the op behind a term.
pub(crate) fn attribute_keys(term: &str) -> &'static [&'static str] {
    let name = if Function::parse(term).is_some() {
        "unary"
    } else if Reduction::ALL.iter().any(|r| reduction_term(*r) == term) {
        "reduce"
    } else {
        term
    };
    Op::ALL
        .iter()
        .find(|(op, _, _)| *op == name)
        .map_or(&[], |(_, _, keys)| keys)
}
