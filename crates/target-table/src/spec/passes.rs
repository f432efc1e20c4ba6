//! `[passes]`: lists of ops that annotation treats alike, and which grids their operands and results share.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Deserialize;
use strait_core::Term;
use strait_document::words;

/// Ops that the passes treat alike, by their terms.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Passes {
    /// Ops for whose sake codes are made: what is connected with none of them, and what host ops alone read, is an island.
    pub computing: Vec<String>,
    /// Ops whose first operand and results share a grid, as `alignment.passive` says. Those whose recipe keeps the grid share
    /// one anyway.
    pub passive: Vec<String>,
    /// Functions, of `relu` and `clip`, that become a clamp of their producer's requantization, where nothing else reads
    /// what that makes.
    pub activation: Vec<String>,
    /// Which grids the operands and results of other ops share.
    pub alignment: Alignments,
}

/// Which grids the operands and results of some ops share, unless a configuration says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Alignments {
    /// Of functions that become a clamp of their producer's requantization: `output` makes the producer's result on the grid
    /// of the function's, so that no codes are spent on what is clipped away.
    pub activation: Alignment,
    /// Of sums and differences.
    pub elementwise: Alignment,
    /// Of concatenations.
    pub concat: Alignment,
    /// Of average pools and means.
    pub pooling: Alignment,
    /// Of resizes.
    pub resize: Alignment,
    /// Of the ops of `passive` of which none of the others speaks. An op that only moves codes cannot do without one grid.
    pub passive: Alignment,
    /// True: a result that all readers want on one grid is made on that, and rounds once. False: it is made on a range of its
    /// own, and requantized for readers of another grid, as far as the target requantizes codes.
    pub simplify: bool,
    /// True: what an aligned operand is made on is imposed on its other readers, too; the report names them. False: they
    /// have the grid that its producer leaves, and the aligned operand is requantized.
    pub force_overlap: bool,
}

words! {
    /// Grids that the operands and the result of one op share. Where the op moves codes, all of them share one in the end;
    /// the word then says which, and whether what makes the operands makes them on it.
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
        /// As `large`, and also for a concatenation whose operands have very different ranges and whose result only the host
        /// reads. With the other words each of these operands keeps its own grid, and the host concatenates them.
        Share = "share",
    }
}

impl Default for Passes {
    /// PPQ's lists, with the comma that is missing there between Dropout and Slice, and with esp-ppq's additions.
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
    /// Each for itself, but for functions that are clipped for, and for concatenations: an observer that clips sees less of
    /// the whole than of its parts, one of which would then saturate.
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
    /// That of an op by its kind; none for ops of no such kind. Whether an op is clipped for, or passive, is not told by its
    /// kind.
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
    /// True if codes are made for the sake of an op.
    pub fn is_computing(&self, term: Term) -> bool {
        self.computing.iter().any(|name| name == term.name())
    }

    /// True if the first operand and the results of an op share a grid, whatever its recipe.
    pub fn is_passive(&self, term: Term) -> bool {
        self.passive.iter().any(|name| name == term.name())
    }

    /// True if the op in front of a function clips for it.
    pub fn is_activation(&self, term: Term) -> bool {
        self.activation.iter().any(|name| name == term.name())
    }
}
