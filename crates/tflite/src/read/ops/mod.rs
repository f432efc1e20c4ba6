//! Translates the builtin operators to ops. Each operator has a row in a table, and each family of operators has a
//! file.

mod activation;
mod block;
mod boxes;
mod conv;
mod dense;
mod elementwise;
mod index;
mod join;
mod logic;
mod matrix;
mod normalization;
mod pad;
mod pool;
mod recurrent;
mod reduce;
mod refused;
mod resize;
mod scatter;
mod shape;
mod slice;
mod typed;
mod window;

use super::operator_reader::{OperatorReader, Refusal};
use crate::graph::Code;

/// A function that reads an operator.
type Map = fn(&mut OperatorReader<'_, '_>) -> Result<(), Refusal>;

/// A TFLite operator that this crate can read: its name in the format, the last version that is read, and the function
/// that reads it.
pub(super) struct Row {
    name: &'static str,
    last: i32,
    pub(super) map: Map,
    /// True if the operator has states, which are variables among its operands.
    pub(super) has_states: bool,
    /// True if the kernel only moves or compares codes, and needs the same grid for operands and result.
    pub(super) keeps_grid: bool,
}

impl Row {
    const fn new(name: &'static str, last: i32, map: Map) -> Row {
        Row {
            name,
            last,
            map,
            has_states: false,
            keeps_grid: false,
        }
    }

    const fn with_states(mut self) -> Row {
        self.has_states = true;
        self
    }

    const fn on_one_grid(mut self) -> Row {
        self.keeps_grid = true;
        self
    }
}

const FAMILIES: &[&[Row]] = &[
    activation::ROWS,
    block::ROWS,
    boxes::ROWS,
    conv::ROWS,
    dense::ROWS,
    elementwise::ROWS,
    index::ROWS,
    join::ROWS,
    logic::ROWS,
    matrix::ROWS,
    normalization::ROWS,
    pad::ROWS,
    pool::ROWS,
    recurrent::ROWS,
    reduce::ROWS,
    resize::ROWS,
    scatter::ROWS,
    shape::ROWS,
    slice::ROWS,
    typed::ROWS,
];

/// A TFLite operator that this crate can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operator {
    /// The operator's name in the format.
    pub name: &'static str,
    /// The last version that is read. All earlier versions are read, too.
    pub last: i32,
}

/// The operators that are read, by name.
pub fn operators() -> Vec<Operator> {
    let rows = FAMILIES.iter().copied().flatten();
    let mut all: Vec<Operator> = rows
        .map(|row| Operator {
            name: row.name,
            last: row.last,
        })
        .collect();
    all.sort_unstable();
    all
}

/// The row for an operator, or the reason why there is none.
pub(super) fn find(code: &Code<'_>) -> Result<&'static Row, String> {
    let name = code.name();
    match code.custom {
        Some(_) if name.starts_with("Flex") => {
            return Err("operators of TensorFlow inside of a TFLite file are not read".into());
        }
        Some("TFLite_Detection_PostProcess") => {
            return Err("decoding of boxes and suppression of those that overlap are left to the host program".into());
        }
        Some(_) => return Err("custom operators are not read".into()),
        None => {}
    }
    let row = FAMILIES.iter().copied().flatten().find(|row| row.name == name);
    let row = row.ok_or_else(|| refused::why(&name))?;
    match (1..=row.last).contains(&code.version) {
        true => Ok(row),
        false => Err(format!(
            "version {} of it is not read; versions up to {} are",
            code.version, row.last
        )),
    }
}
