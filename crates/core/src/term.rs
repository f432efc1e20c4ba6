//! Properties of the op that a term stands for. Passes may rely on them.

use crate::kind::Kind;
use crate::op::{Op, Term};
use std::fmt;

impl Term {
    /// Returns the term that is written as `word`.
    pub fn parse(word: &str) -> Option<Term> {
        Term::ALL.iter().copied().find(|term| term.name() == word)
    }

    /// Returns all terms of a kind, in the order of [`Term::ALL`].
    pub fn of_kind(kind: Kind) -> impl Iterator<Item = Term> {
        Term::ALL.iter().copied().filter(move |term| term.kind() == kind)
    }

    /// True if the op only moves elements, so that on codes, its results are codes of the operands, on the same grid.
    pub const fn moves_codes(self) -> bool {
        matches!(self.kind(), Kind::Rearranges | Kind::Moves | Kind::Extends)
    }

    /// True if the op has two operands, and its result stays the same, bit for bit, if the operands are swapped. Only
    /// the payload of a NaN may differ.
    pub const fn commutes(self) -> bool {
        matches!(
            self,
            Term::Add | Term::Mul | Term::Minimum | Term::Maximum | Term::And | Term::Or | Term::Xor | Term::Equal
        )
    }

    /// True if the op computes nothing, and only gives its operand another shape or layout for other ops. False for
    /// `resize`, which is a layer of its own.
    pub const fn is_form(self) -> bool {
        let is_moved = self.moves_codes() && !matches!(self, Term::Resize);
        is_moved || matches!(self.kind(), Kind::Converts | Kind::Boundary)
    }

    /// True if the result has the operand's elements in the same order, in another shape.
    pub const fn keeps_order(self) -> bool {
        matches!(self.kind(), Kind::Rearranges) && !matches!(self, Term::Transpose)
    }

    /// True if the op computes a function of real numbers that is not defined on codes.
    pub const fn is_real_function(self) -> bool {
        matches!(self.kind(), Kind::Function | Kind::Real) || matches!(self, Term::ReduceMean)
    }

    /// True if only lowered graphs have this op.
    pub const fn is_lowered(self) -> bool {
        matches!(self.kind(), Kind::Integer) || matches!(self, Term::SumPool)
    }

    /// Returns the attribute keys of the op that the term stands for.
    pub fn attribute_keys(self) -> &'static [&'static str] {
        Op::find(self.op_name()).map_or(&[], |(_, _, keys)| keys)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::{Op, Term};
    use crate::op::{BinaryFunction, Function, Reduction, Relation};
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
