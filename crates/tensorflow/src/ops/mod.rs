//! Translates TensorFlow's operators to ops. Each operator has a row in a table, and each family of operators has a
//! file.

mod activation;
mod arithmetic;
mod blocks;
mod conv;
mod fake_quant;
mod flow;
mod generate;
mod index;
mod layout;
mod matrix;
mod normalization;
mod pad;
mod pool;
mod reduce;
mod refused;
mod resize;
mod select;
mod shape;
mod window;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use strait_import::Refusal;

use crate::graph::Graph;
use crate::operator_reader::OperatorReader;
use crate::switches::Branch;

/// A function that reads one node.
pub(crate) type Map = fn(&mut OperatorReader<'_, '_>) -> Result<(), Refusal>;

/// An operator, and the function that reads it.
type Row = (&'static str, Map);

const FAMILIES: [&[Row]; 16] = [
    activation::ROWS,
    arithmetic::ROWS,
    blocks::ROWS,
    conv::ROWS,
    fake_quant::ROWS,
    flow::ROWS,
    generate::ROWS,
    index::ROWS,
    matrix::ROWS,
    normalization::ROWS,
    pad::ROWS,
    pool::ROWS,
    reduce::ROWS,
    resize::ROWS,
    select::ROWS,
    shape::ROWS,
];

fn rows() -> &'static BTreeMap<&'static str, Map> {
    static ROWS: OnceLock<BTreeMap<&str, Map>> = OnceLock::new();
    ROWS.get_or_init(|| FAMILIES.iter().flat_map(|family| family.iter().copied()).collect())
}

pub(crate) use refused::loops;

/// The names of all operators that are read, except `Const` and `Placeholder`, in alphabetical order.
pub fn operators() -> Vec<&'static str> {
    rows().keys().copied().collect()
}

/// The function that reads a node. The error is the reason why the node's operator is not read.
pub(crate) fn find(graph: &Graph, node: usize) -> Result<Map, Refusal> {
    if matches!(graph.branch(node), Branch::Passes { .. }) {
        return Ok(flow::passes);
    }
    let name = graph.node(node).op.as_str();
    rows()
        .get(name)
        .copied()
        .ok_or_else(|| Refusal::unsupported(refused::why(graph, node)))
}
