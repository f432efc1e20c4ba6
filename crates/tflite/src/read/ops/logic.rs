//! Reads comparisons, logical operators, and selection by a condition.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal};
use strait_core::Elem;
use strait_core::op::{Binary, BinaryFunction, Compare, Relation, Select};

pub(super) const ROWS: &[Row] = &[
    Row::new("EQUAL", 5, |reader| compare(reader, Relation::Equal, false, false)),
    Row::new("NOT_EQUAL", 4, |reader| compare(reader, Relation::Equal, false, true)),
    Row::new("LESS", 3, |reader| compare(reader, Relation::Less, false, false)),
    Row::new("LESS_EQUAL", 3, |reader| {
        compare(reader, Relation::LessOrEqual, false, false)
    }),
    Row::new("GREATER", 3, |reader| compare(reader, Relation::Less, true, false)),
    Row::new("GREATER_EQUAL", 3, |reader| {
        compare(reader, Relation::LessOrEqual, true, false)
    }),
    Row::new("LOGICAL_AND", 1, |reader| logic(reader, BinaryFunction::And)),
    Row::new("LOGICAL_OR", 1, |reader| logic(reader, BinaryFunction::Or)),
    Row::new("LOGICAL_NOT", 1, |reader| {
        let truth = Arg::Constant(reader.truths(&[], &[true])?);
        reader.finish(
            Binary {
                function: BinaryFunction::Xor,
            },
            &[Arg::Operand(0), truth],
        )
    }),
    Row::new("SELECT", 4, |reader| select(reader, true)),
    Row::new("SELECT_V2", 2, |reader| select(reader, false)),
];

fn compare(
    reader: &mut OperatorReader<'_, '_>,
    relation: Relation,
    turned: bool,
    negated: bool,
) -> Result<(), Refusal> {
    reader.one_type([0, 1])?;
    let args = match turned {
        false => [Arg::Operand(0), Arg::Operand(1)],
        true => [Arg::Operand(1), Arg::Operand(0)],
    };
    if !negated {
        return reader.finish(Compare { relation }, &args);
    }
    let holds = reader.push(Compare { relation }, &args)?;
    let truth = Arg::Constant(reader.truths(&[], &[true])?);
    reader.finish(
        Binary {
            function: BinaryFunction::Xor,
        },
        &[holds, truth],
    )
}

fn logic(reader: &mut OperatorReader<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    reader.finish(Binary { function }, &[Arg::Operand(0), Arg::Operand(1)])
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
