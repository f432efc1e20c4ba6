//! Annotate: a quantization config per operand of every node that the target computes, with its grid.
//!
//! [`place()`] dispatches nodes to accelerator and host. The passes then make configs, bind those that share a grid, and find
//! the grids, one file each. What they decide in a region of the graph (`scope.rs`) depends on nothing outside of it, so
//! that after a refusal only the regions around it are annotated anew ([`Progress`]).

mod binding;
mod draft;
mod effect;
mod equal_sums;
mod given;
mod given_away;
mod grid;
mod model_grids;
mod noise;
mod order;
mod passes;
mod place;
mod progress;
mod ranges;
mod reach;
mod requantized;
mod revise;
pub(crate) mod roles;
mod rule_ranges;
mod scope;
mod settings;
mod types;
mod unlike;
mod weights;
mod weights_alone;
mod widen;

pub use draft::Overlapped;
pub use given_away::{GivenAway, Loss};
pub use grid::grid;
pub use model_grids::{ModelGrids, take_model_grids};
pub use place::{denied, place, refused_by_code};
pub use progress::{Findings, Progress, annotate, refuse};
pub use ranges::Coarser;
pub use requantized::{Requantized, RequantizedLoss, requantized};
pub use rule_ranges::{RuleRange, Unfitting};
pub use settings::{
    Annotation, Constraints, Defaults, Entry, Given, GridSettings, LayerSettings, NodeConstraints, NodeTypes, OnCodes,
    OperandSettings, RangeFrom, Run, Settings, Unfit, ValueConstraints, ValueSettings, WeightSettings,
};
pub use unlike::{Place, Unlike, UnlikePart};
pub use weights::Raised;
pub use widen::widen;

/// Reason why annotation failed.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// A defect of ours.
    #[error("defect in Strait: {0}")]
    Ours(String),
}

/// The most often that the scale of a grid may double for the sake of a shift, or for that of a form that does not cover
/// what its site can reach. Past 2^7 an 8-bit grid has one code for each sign left, and float on the host serves better.
/// It also means that scales settle.
const MOST_DOUBLINGS: u32 = 7;

/// The same as a factor.
const COARSEST: f64 = (1u32 << MOST_DOUBLINGS) as f64;
