//! `[passes]`: lists of ops that the passes before lowering treat alike, and which of their operands and results share
//! a scale and zero point.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_core::Term;
use strait_document::words;

/// Lists of ops, by their terms, that the passes before lowering treat alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Passes {
    /// Ops, such as convolutions, that make it worth quantizing the ops around them, too. Connected nodes without such an op are
    /// an island if only ops on the host read their results.
    pub computing: Vec<String>,
    /// Ops whose first operand and results share a grid, which `alignment.passive` chooses. If the recipe of an op keeps the
    /// grid, its operand and results share a grid even if it is not listed here.
    pub passive: Vec<String>,
    /// Functions (`relu`, `clip`) that become a clamp in the requantization of their producer, if nothing else reads the
    /// producer's result.
    pub activation: Vec<String>,
    /// Which operands and results of an op share a grid, by the kind of the op.
    pub alignment: Alignments,
}

/// Which operands and results of an op share a grid, by the kind of the op, unless a configuration says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Alignments {
    /// For functions that become a clamp in the requantization of their producer. With `output`, the result of the producer has
    /// the grid of the function's result, so that no codes are wasted on values that are clipped away.
    pub activation: Alignment,
    /// For additions and subtractions.
    pub elementwise: Alignment,
    /// For concatenations.
    pub concat: Alignment,
    /// For average pools and means.
    pub pooling: Alignment,
    /// For resizes.
    pub resize: Alignment,
    /// For the ops of `passive` that belong to none of the other kinds. An op that only moves codes always needs the same grid
    /// for its operand and its result.
    pub passive: Alignment,
    /// If true, and all readers of a result want the same grid, the result is computed on that grid and rounded once.
    /// If false, the result is computed on the grid of its own range. If the target can requantize codes, the result is
    /// then requantized for readers that want another grid.
    pub simplify: bool,
    /// If true, and an operand was aligned to a grid, all other readers of this operand get the same grid. The report names
    /// these readers. If false, they keep the grid on which the operand was computed, and the operand is requantized for the
    /// alignment.
    pub force_overlap: bool,
}

words! {
    /// Which operands and results of an op share a grid. If the op only moves codes, all of them have the same grid in the end.
    /// The word then says which grid this is, and whether the operands are computed on it or requantized to it.
    Alignment {
        /// Every operand and every result has its own grid. If an op only moves codes, its operand is requantized to the grid
        /// of its result.
        None = "none",
        /// The operands share one grid that covers all of them.
        Large = "large",
        /// The operands have the grid of the result.
        Output = "output",
        /// The result has the grid of the first operand.
        Input = "input",
        /// As `large`, even for a concatenation that only the host reads and whose parts have very different ranges. With the
        /// other words, each part of such a concatenation has its own grid, and the host joins the dequantized parts.
        Share = "share",
    }
}

impl Default for Passes {
    /// The lists of PPQ, with esp-ppq's additions. In PPQ, a comma is missing between Dropout and Slice, which is
    /// corrected here.
    fn default() -> Passes {
        let list = |terms: &[Term]| terms.iter().map(|term| term.name().to_owned()).collect();
        Passes {
            computing: list(&[Term::Conv, Term::Gemm, Term::MatMul]),
            passive: list(&[
                Term::MaxPool,
                Term::Reshape,
                Term::Flatten,
                Term::Identity,
                Term::Slice,
                Term::Pad,
                Term::Split,
                Term::Transpose,
                Term::Resize,
                Term::Squeeze,
                Term::Unsqueeze,
                Term::Gather,
                Term::ReduceMax,
                Term::ReduceMin,
            ]),
            activation: list(&[Term::Relu, Term::Clip]),
            alignment: Alignments::default(),
        }
    }
}

impl Default for Alignments {
    /// By default, operands and results share no scale and zero point, except for functions that become a clamp and for
    /// concatenations. The operands of a concatenation share a grid that covers all of them. If they had the grid of
    /// the result instead, an observer that clips outliers of the result could clip most values of a single operand.
    fn default() -> Alignments {
        Alignments {
            activation: Alignment::Output,
            elementwise: Alignment::None,
            concat: Alignment::Large,
            pooling: Alignment::None,
            resize: Alignment::None,
            passive: Alignment::Input,
            simplify: true,
            force_overlap: false,
        }
    }
}

impl Alignments {
    /// Returns the alignment that the table states for the kind of an op. Returns `None` if the table has no key for
    /// this kind. The keys `activation` and `passive` are not returned, because an op's kind does not tell whether they
    /// apply to it.
    pub fn of(&self, term: Term) -> Option<Alignment> {
        match term {
            Term::Add | Term::Sub => Some(self.elementwise),
            Term::Concat => Some(self.concat),
            Term::AveragePool | Term::GlobalAveragePool | Term::ReduceMean => Some(self.pooling),
            Term::Resize => Some(self.resize),
            _ => None,
        }
    }
}

impl Passes {
    /// True if the table lists the op as `computing`, so that it is worth quantizing the ops around it.
    pub fn is_computing(&self, term: Term) -> bool {
        self.computing.iter().any(|name| name == term.name())
    }

    /// True if the first operand and the results of an op share a scale and zero point, whatever the op's recipe is.
    pub fn is_passive(&self, term: Term) -> bool {
        self.passive.iter().any(|name| name == term.name())
    }

    /// True if the function becomes a clamp in the requantization of its producer.
    pub fn is_activation(&self, term: Term) -> bool {
        self.activation.iter().any(|name| name == term.name())
    }
}
