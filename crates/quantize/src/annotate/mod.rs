//! Annotate: a quantization config per operand of every node that the target computes, with its grid.
//!
//! [`place()`] dispatches nodes to accelerator and host. The passes then make configs, bind those that share a grid, and find
//! the grids, one file each. What they decide in a region of the graph (`analyses/scope.rs`) depends on nothing outside of it,
//! so that after a refusal only the regions around it are annotated anew ([`Fixpoint`]).
//!
//! The folders are floors, the lowest first; none uses one above it.

mod settings;

mod model_grids;

mod analyses;

mod placing;

mod state;

mod findings;

mod passes;

mod fixpoint;

pub use findings::{
    Findings, GivenAway, Loss, PartKind, Requantized, RequantizedLoss, RuleRange, Unfitting, Unlike, UnlikePart,
    requantized,
};
pub use fixpoint::{Fixpoint, annotate, denied, place, refuse};
pub use model_grids::{ModelGrids, take_model_grids};
pub use placing::{refused_by_code, widen};
pub use settings::{
    AnnotateError, Annotation, Constraints, Defaults, Given, GridSettings, LayerSettings, NodeConstraints, NodeTypes,
    OnCodes, OperandSettings, RangeFrom, Run, Settings, Unfit, ValueConstraints, ValueSettings, WeightSettings,
};
pub use state::{Coarser, Overlapped, Raised};
