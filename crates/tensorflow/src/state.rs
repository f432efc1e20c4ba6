//! Detects graphs that are not frozen.
//!
//! The values of the variables of such a graph are in a separate checkpoint, so the graph by itself is not a complete
//! model. The error message explains how to freeze the graph with TensorFlow 2 or 1.

use strait_core::{Reason, ReasonCode};
use strait_import::{Cut, NodeFault, ReadError, Wiring};

use crate::graph::Graph;

/// Operators that create, read or restore variables.
const VARIABLES: [&str; 10] = [
    "Variable",
    "VariableV2",
    "VarHandleOp",
    "ReadVariableOp",
    "AutoReloadVariable",
    "TemporaryVariable",
    "ResourceGather",
    "ResourceGatherNd",
    "RestoreV2",
    "VarIsInitializedOp",
];

/// Instructions for freezing a graph: with TensorFlow 2 from the SavedModel in `FOLDER`, and with TensorFlow 1 from a
/// graph and its checkpoint.
pub const FREEZE: &str = "freeze it. With TensorFlow 2: \
    `from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2; \
    frozen = convert_variables_to_constants_v2(tf.saved_model.load('FOLDER').signatures['serving_default']); \
    tf.io.write_graph(frozen.graph, '.', 'model.pb', as_text=False)`. With TensorFlow 1: \
    `python -m tensorflow.python.tools.freeze_graph --input_graph graph.pb --input_binary=true \
    --input_checkpoint model.ckpt --output_node_names NODES --output_graph model.pb`, or with \
    `--input_saved_model_dir FOLDER` instead of graph and checkpoint";

/// Refuses a graph that has variables in the part that is read.
pub(crate) fn check(graph: &Graph, wiring: &Wiring<'_>, cut: &Cut) -> Result<(), ReadError> {
    let is_variable = |&&node: &&usize| VARIABLES.contains(&graph.node(node).op.as_str());
    let mut variables = cut.nodes.iter().filter(is_variable);
    let Some(&first) = variables.next() else {
        return Ok(());
    };
    let more = match variables.count() {
        0 => String::new(),
        more => format!(", and {more} more like it"),
    };
    let text = format!("the value of this variable{more} is not in the file, but in a checkpoint beside it: {FREEZE}");
    Err(ReadError::Unsupported(vec![NodeFault {
        node: wiring.node_name(first).into(),
        operator: graph.node(first).op.clone(),
        reason: Reason::new(ReasonCode::Unsupported, text),
    }]))
}
