//! Reads comparisons, logical operators, and selection by a condition.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal};
use strait_core::Elem;
use strait_core::op::{BinaryFunction, Relation, Select};

pub(super) const ROWS: &[Row] = &[
    Row::new("EQUAL", 5, |reader| compare(reader, Relation::Equal, [0, 1])),
    Row::new("NOT_EQUAL", 4, |reader| {
        reader.one_type([0, 1])?;
        let equal = reader.compare(Relation::Equal, &Arg::Operand(0), &Arg::Operand(1))?;
        reader.finish_negated(equal)
    }),
    Row::new("LESS", 3, |reader| compare(reader, Relation::Less, [0, 1])),
    Row::new("LESS_EQUAL", 3, |reader| compare(reader, Relation::LessOrEqual, [0, 1])),
    Row::new("GREATER", 3, |reader| compare(reader, Relation::Less, [1, 0])),
    Row::new("GREATER_EQUAL", 3, |reader| {
        compare(reader, Relation::LessOrEqual, [1, 0])
    }),
    Row::new("LOGICAL_AND", 1, |reader| logic(reader, BinaryFunction::And)),
    Row::new("LOGICAL_OR", 1, |reader| logic(reader, BinaryFunction::Or)),
    Row::new("LOGICAL_NOT", 1, |reader| reader.finish_negated(Arg::Operand(0))),
    Row::new("SELECT", 4, |reader| select(reader, true)).on_one_grid(),
    Row::new("SELECT_V2", 2, |reader| select(reader, false)).on_one_grid(),
];

fn compare(reader: &mut OperatorReader<'_, '_>, relation: Relation, order: [usize; 2]) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    reader.finish(relation, &order.map(Arg::Operand))
}

fn logic(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    reader.finish(function, &[Arg::Operand(0), Arg::Operand(1)])
}

/// Reads a selection. If `by_first` is true, as for the older operator, the condition may also be a list with one
/// element for each index of the first axis.
fn select(reader: &mut OperatorReader<'_, '_>, by_first: bool) -> Result<(), Refusal> {
    reader.one_type([1, 2])?;
    let mut condition = reader.converted(&Arg::Operand(0), Elem::Bool)?;
    let (own, rank) = (reader.rank(0)?, reader.rank(1)?);
    if by_first && own == 1 && rank > 1 {
        let axes: Vec<i64> = (1..rank as i64).collect();
        condition = reader.unsqueezed(&condition, &axes)?;
    }
    reader.finish(Select {}, &[condition, Arg::Operand(1), Arg::Operand(2)])
}
