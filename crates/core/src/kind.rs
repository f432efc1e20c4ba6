//! Kinds of computation.

/// The kind of computation that an op does. Passes use the kind to treat many ops alike, without a case for each op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The op computes sums or products. If its operands are integers, its result is an i32 or i64 accumulator, unless
    /// a requantization is fused.
    Accumulates,
    /// The op picks one of several elements by their order, as a maximum does. It gives the same result whether a
    /// non-decreasing function is applied before or after the op.
    Selects,
    /// The op is a mean, which divides and rounds by itself.
    Divides,
    /// The op compares two operands and gives booleans. It works on codes of one grid, too, because they have the order
    /// of the real numbers that they stand for.
    Compares,
    /// The op applies a function of one real number to each element.
    Function,
    /// The op computes any other function of real numbers. It is not defined on codes.
    Real,
    /// The result has all elements of the operand, once each, in another shape.
    Rearranges,
    /// The result has only elements of the operands: some of them, or several tensors joined.
    Moves,
    /// The result has the elements of the operand, and further elements, as after padding.
    Extends,
    /// The op converts elements to another type.
    Converts,
    /// The op computes on integers, and occurs only in graphs that are not float graphs.
    Integer,
    /// The op converts floats to codes, or back.
    Boundary,
    /// Nothing is known about the op, because what it computes is not defined in this crate.
    Elsewhere,
}
