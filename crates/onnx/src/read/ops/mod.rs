//! Translates ONNX operators. There is one row for each operator and one file for each family.

mod activation;
mod attention;
mod composed;
mod constant;
mod control;
mod conv;
mod data;
mod elementwise;
mod functions;
mod generated;
mod grouped_attention;
mod index;
mod logic;
mod lp_pool;
mod masks;
mod matrix;
mod multi_head_attention;
mod normalization;
mod packed_weights;
mod pad;
mod pool;
mod pool_positions;
mod quantized;
mod quantized_layers;
mod recurrent;
mod reduce;
mod repeat;
mod resize;
mod rotary;
mod runtime;
mod sample;
mod select;
mod sequence;
mod sequences;
mod shape;
mod softmax;
mod state;
mod transform;
mod window;

use super::index::{RUNTIME_DOMAIN, STANDARD_DOMAIN};
use super::row::{Map, Row};
use crate::functions as functions_of_one;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

const FAMILIES: [&[Row]; 38] = [
    functions_of_one::ROWS,
    control::ROWS,
    data::ROWS,
    conv::ROWS,
    matrix::ROWS,
    pool::ROWS,
    elementwise::ROWS,
    activation::ROWS,
    reduce::ROWS,
    normalization::ROWS,
    shape::ROWS,
    pad::ROWS,
    select::ROWS,
    sequence::ROWS,
    sequences::ROWS,
    resize::ROWS,
    sample::ROWS,
    index::ROWS,
    transform::ROWS,
    recurrent::ROWS,
    constant::ROWS,
    composed::ROWS,
    functions::ROWS,
    generated::ROWS,
    attention::ROWS,
    logic::ROWS,
    masks::ROWS,
    lp_pool::ROWS,
    quantized::ROWS,
    quantized_layers::ROWS,
    repeat::ROWS,
    rotary::ROWS,
    runtime::ROWS,
    grouped_attention::ROWS,
    multi_head_attention::ROWS,
    packed_weights::ROWS,
    softmax::ROWS,
    state::ROWS,
];

/// An operator that Strait reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The operator's domain. For the standard domain it is `ai.onnx`.
    pub domain: &'static str,
    /// The operator's name in the domain.
    pub name: &'static str,
    /// The versions that Strait reads. A version is named by the operator set that introduced it.
    pub versions: Vec<i64>,
    /// The operator sets of the domain in which Strait reads the operator.
    pub sets: RangeInclusive<i64>,
}

impl Operator {
    /// The name of the operator, with the domain in front of it unless that is the standard domain.
    pub fn qualified(&self) -> String {
        match self.domain == STANDARD_DOMAIN {
            true => self.name.into(),
            false => format!("{}.{}", self.domain, self.name),
        }
    }
}

/// True if a row reads the operator with this name, in any domain.
pub(crate) const fn is_read(name: &str) -> bool {
    let mut family = 0;
    while family < FAMILIES.len() {
        let mut row = 0;
        while row < FAMILIES[family].len() {
            if same(FAMILIES[family][row].name.as_bytes(), name.as_bytes()) {
                return true;
            }
            row += 1;
        }
        family += 1;
    }
    false
}

/// Compares texts while Strait is compiled, which `==` cannot do.
const fn same(mut a: &[u8], mut b: &[u8]) -> bool {
    while let ([x, left @ ..], [y, right @ ..]) = (a, b) {
        if *x != *y {
            return false;
        }
        (a, b) = (left, right);
    }
    a.is_empty() && b.is_empty()
}

fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().flat_map(|family| family.iter())
}

/// All operators that Strait reads, sorted by domain, name and operator set.
pub fn operators() -> Vec<Operator> {
    let operator = |row: &Row| Operator {
        domain: row.domain,
        name: row.name,
        versions: std::iter::once(row.first).chain(row.later.iter().copied()).collect(),
        sets: row.sets(),
    };
    let mut operators: Vec<Operator> = rows().map(operator).collect();
    operators.sort_by_key(|operator| (operator.domain, operator.name, *operator.sets.start()));
    operators
}

/// The rows of each operator, by name and domain.
fn rows_by_name() -> &'static BTreeMap<(&'static str, &'static str), Vec<&'static Row>> {
    static ROWS: OnceLock<BTreeMap<(&str, &str), Vec<&Row>>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut by_name: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
        for row in rows() {
            by_name.entry((row.name, row.domain)).or_default().push(row);
        }
        by_name
    })
}

/// The function that reads an operator in this operator set, with its version. The error says why there is none.
pub(crate) fn find(domain: &str, name: &str, opset: Option<i64>) -> Result<(i64, Map), String> {
    if ![STANDARD_DOMAIN, RUNTIME_DOMAIN].contains(&domain) {
        return Err(format!("operators of the domain {domain} are not read"));
    }
    let opset = opset.ok_or("the model does not say which operator set it uses")?;
    let named = rows_by_name().get(&(name, domain)).map_or(&[][..], Vec::as_slice);
    if let Some(row) = named.iter().find(|row| row.sets().contains(&opset)) {
        return Ok((opset, row.map));
    }
    Err(match named {
        [] => "the operator is not known".into(),
        [.., row] if opset < row.first => format!("the operator exists from operator set {} on", row.first),
        [.., row] => format!("the operator exists up to operator set {}", row.until),
    })
}
