//! Annotate: gives each operand and result of a node on the accelerator a quantization config with a grid.
//!
//! [`place()`] decides for each node whether it runs on the accelerator or on the host. Then the passes, one file each,
//! make configs, bind configs that share a grid, and find the grids. What the passes decide in one region of the graph
//! (`analyses/scope.rs`) does not depend on the other regions. So after a refusal only the regions around the refused
//! node are annotated again ([`Fixpoint`]).
//!
//! The folders are layers, listed here from the lowest to the highest. No folder uses a higher one.

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
    AnnotateError, Annotation, Constraints, Defaults, Exact, Given, GridSettings, LayerSettings, NodeConstraints,
    NodeTypes, OnCodes, OperandSettings, RangeFrom, Run, Settings, Unfit, ValueConstraints, ValueSettings,
    WeightSettings,
};
pub use state::{Coarser, Overlapped, Raised};
