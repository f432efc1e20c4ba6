//! The lowest layer of annotation. It has the settings that rules make for nodes, values and operands of a graph, and
//! the constraints, which are given grids and codes. Settings and constraints are complete before anything is
//! annotated, and do not change afterwards.

mod annotation;
mod constraints;
mod entries;
mod exact;
mod node_types;
mod of_graph;

pub use annotation::{AnnotateError, Annotation};
pub use constraints::{Constraints, Given, NodeConstraints, OnCodes, ValueConstraints};
pub use entries::{GridSettings, LayerSettings, OperandSettings, RangeFrom, Run, Unfit, ValueSettings, WeightSettings};
pub use exact::Exact;
pub use node_types::NodeTypes;
pub use of_graph::{Defaults, Settings};
