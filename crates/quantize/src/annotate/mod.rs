//! Annotate: gives each operand of every node that the target computes a quantization config with a grid.
//!
//! [`place()`] decides for each node whether it runs on the accelerator or on the host. Then the passes, one file each,
//! make configs, bind those that share a grid, and find the grids. What they decide in one region of the graph
//! (`analyses/scope.rs`) depends on nothing outside of it. So after a refusal only the regions around it are annotated
//! again ([`Fixpoint`]).
//!
//! The folders are layers, the lowest first. None of them uses a higher one.

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
