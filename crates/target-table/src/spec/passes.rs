//! `[passes]`: lists of ops that annotation treats alike, and which of their operands and results share a scale and
//! zero point.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strait_core::Term;
use strait_document::words;

/// Ops that the passes treat alike, by their terms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Passes {
    /// Ops that are worth quantizing for. Nodes that are connected with none of them, or that only host ops read, are an
    /// island.
    pub computing: Vec<String>,
    /// Ops whose first operand and results share a grid, as `alignment.passive` says. Those whose recipe keeps the grid share
    /// one anyway.
    pub passive: Vec<String>,
    /// Functions (`relu`, `clip`) that become a clamp in the requantization of their producer, if nothing else reads the
    /// producer's result.
    pub activation: Vec<String>,
    /// Which grids the operands and results of other ops share.
    pub alignment: Alignments,
}

/// Which grids the operands and results of some ops share, unless a configuration says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Alignments {
    /// For functions that become a clamp of their producer's requantization. With `output` the producer's result has the
    /// grid of the function's result, so that no codes are wasted on values that are clipped away.
    pub activation: Alignment,
    /// For sums and differences.
    pub elementwise: Alignment,
    /// For concatenations.
    pub concat: Alignment,
    /// For average pools and means.
    pub pooling: Alignment,
    /// For resizes.
    pub resize: Alignment,
    /// For the ops of `passive` that no other key is for. An op that only moves codes always needs one grid.
    pub passive: Alignment,
    /// True: a result that all readers want on one grid is computed on that grid, and rounded once. False: it is computed
    /// on the grid of its own range, and requantized for readers that want another grid, if the target can requantize
    /// codes.
    pub simplify: bool,
    /// True: other readers of an aligned operand get its grid, too; the report names them. False: they keep the grid of its
    /// producer, and the aligned operand is requantized.
    pub force_overlap: bool,
}

words! {
    /// Which grids the operands and the result of one op share. If the op moves codes, all of them share one in the end;
    /// the word then says which one, and whether the operands are computed on it or requantized to it.
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
        /// As `large`, even for a concatenation that only the host reads and whose parts have very different ranges. With
        /// any other word each of these parts has its own grid, and the host joins them.
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
    /// concatenations. For a concatenation, an observer that clips would clip more of the whole than of its parts, so
    /// that a part would saturate.
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
    /// The alignment that the table states for the kind of an op; `None` if there is no key for its kind. Whether an op
    /// is an `activation` or `passive` does not follow from its kind.
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
    /// True if the op computes on codes, so that its operands are quantized.
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
