//! Translation of the ONNX operators: a row for each, a file for each family.

mod activation;
mod attention;
mod composed;
mod constant;
mod conv;
mod einsum;
mod elementwise;
mod functions;
mod generated;
mod index;
mod logic;
mod lp_pool;
mod masks;
mod matrix;
mod normalization;
mod pool;
mod pool_positions;
mod quantized;
mod recurrent;
mod reduce;
mod repeat;
mod resize;
mod rotary;
mod sample;
mod select;
mod sequence;
mod shape;
mod softmax;
mod state;
mod transform;
mod window;

use super::index::STANDARD_DOMAIN;
use super::site::{NodeReader, Refusal};
use crate::OPSETS;
use std::ops::RangeInclusive;

/// Reads one node.
pub(crate) type Map = fn(&mut NodeReader<'_, '_>) -> Result<(), Refusal>;

/// One operator.
struct Row {
    name: &'static str,
    /// The first operator set that has it, and the last.
    since: i64,
    until: i64,
    map: Map,
}

impl Row {
    const fn new(name: &'static str, since: i64, map: Map) -> Row {
        Row {
            name,
            since,
            until: i64::MAX,
            map,
        }
    }

    const fn until(self, until: i64) -> Row {
        Row { until, ..self }
    }
}

const FAMILIES: [&[Row]; 29] = [
    conv::ROWS,
    matrix::ROWS,
    pool::ROWS,
    elementwise::ROWS,
    activation::ROWS,
    reduce::ROWS,
    normalization::ROWS,
    shape::ROWS,
    select::ROWS,
    sequence::ROWS,
    resize::ROWS,
    sample::ROWS,
    index::ROWS,
    transform::ROWS,
    recurrent::ROWS,
    constant::ROWS,
    composed::ROWS,
    einsum::ROWS,
    functions::ROWS,
    generated::ROWS,
    attention::ROWS,
    logic::ROWS,
    masks::ROWS,
    lp_pool::ROWS,
    quantized::ROWS,
    repeat::ROWS,
    rotary::ROWS,
    softmax::ROWS,
    state::ROWS,
];

/// An operator that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The domain; `ai.onnx` for the standard one.
    pub domain: &'static str,
    /// Its name there.
    pub name: &'static str,
    /// Operator sets of the domain in which it is read.
    pub sets: RangeInclusive<i64>,
}

/// All operators that are read, by name.
pub fn operators() -> Vec<Operator> {
    let rows = FAMILIES.iter().flat_map(|family| family.iter());
    let mut operators: Vec<Operator> = rows
        .map(|row| Operator {
            domain: STANDARD_DOMAIN,
            name: row.name,
            sets: row.since.max(*OPSETS.start())..=row.until.min(*OPSETS.end()),
        })
        .collect();
    operators.sort_by_key(|operator| operator.name);
    operators
}

/// The function that knows an operator, or why there is none.
pub(crate) fn find(name: &str, opset: i64) -> Result<Map, String> {
    let mut rows = FAMILIES.iter().flat_map(|family| family.iter());
    match rows.find(|row| row.name == name) {
        None => Err("the operator is not known".into()),
        Some(row) if opset < row.since => Err(format!("the operator exists from operator set {} on", row.since)),
        Some(row) if opset > row.until => Err(format!("the operator exists up to operator set {}", row.until)),
        Some(row) => Ok(row.map),
    }
}
