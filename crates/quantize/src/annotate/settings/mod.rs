//! The floor below all others: what rules say of a graph (settings), and what is given of it (constraints), by node, value and
//! operand. Both are resolved before anything is annotated, and nothing changes them afterwards.

mod annotation;
mod constraints;
mod entries;
mod node_types;
mod of_graph;

pub use annotation::{AnnotateError, Annotation};
pub use constraints::{Constraints, Given, NodeConstraints, OnCodes, ValueConstraints};
pub use entries::{GridSettings, LayerSettings, OperandSettings, RangeFrom, Run, Unfit, ValueSettings, WeightSettings};
pub use node_types::NodeTypes;
pub use of_graph::{Defaults, Settings};
