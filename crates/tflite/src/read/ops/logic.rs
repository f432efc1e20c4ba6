//! Reads comparisons, logical operators, and selection by a condition.

use super::Row;
use crate::read::site::{Arg, Refusal, Site};
use strait_core::Elem;
use strait_core::op::{Binary, BinaryFunction, Compare, Relation, Select};

pub(super) const ROWS: &[Row] = &[
    Row::new("EQUAL", 5, |site| compare(site, Relation::Equal, false, false)),
    Row::new("NOT_EQUAL", 4, |site| compare(site, Relation::Equal, false, true)),
    Row::new("LESS", 3, |site| compare(site, Relation::Less, false, false)),
    Row::new("LESS_EQUAL", 3, |site| {
        compare(site, Relation::LessOrEqual, false, false)
    }),
    Row::new("GREATER", 3, |site| compare(site, Relation::Less, true, false)),
    Row::new("GREATER_EQUAL", 3, |site| {
        compare(site, Relation::LessOrEqual, true, false)
    }),
    Row::new("LOGICAL_AND", 1, |site| logic(site, BinaryFunction::And)),
    Row::new("LOGICAL_OR", 1, |site| logic(site, BinaryFunction::Or)),
    Row::new("LOGICAL_NOT", 1, |site| {
        let truth = Arg::Constant(site.truths(&[], &[true])?);
        site.finish(
            Binary {
                function: BinaryFunction::Xor,
            },
            &[Arg::Operand(0), truth],
        )
    }),
    Row::new("SELECT", 4, |site| select(site, true)),
    Row::new("SELECT_V2", 2, |site| select(site, false)),
];

fn compare(site: &mut Site<'_, '_>, relation: Relation, turned: bool, negated: bool) -> Result<(), Refusal> {
    site.one_type([0, 1])?;
    let args = match turned {
        false => [Arg::Operand(0), Arg::Operand(1)],
        true => [Arg::Operand(1), Arg::Operand(0)],
    };
    if !negated {
        return site.finish(Compare { relation }, &args);
    }
    let holds = site.push(Compare { relation }, &args)?;
    let truth = Arg::Constant(site.truths(&[], &[true])?);
    site.finish(
        Binary {
            function: BinaryFunction::Xor,
        },
        &[holds, truth],
    )
}

fn logic(site: &mut Site<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    site.finish(Binary { function }, &[Arg::Operand(0), Arg::Operand(1)])
}

/// A selection. In the older operator, the condition may also have one element for each index of the first axis.
fn select(site: &mut Site<'_, '_>, by_first: bool) -> Result<(), Refusal> {
    site.one_type([1, 2])?;
    let mut condition = site.converted(&Arg::Operand(0), Elem::Bool)?;
    let (own, rank) = (site.rank(0)?, site.rank(1)?);
    if by_first && own == 1 && rank > 1 {
        let axes: Vec<i64> = (1..rank as i64).collect();
        condition = site.unsqueezed(&condition, &axes)?;
    }
    site.finish(Select {}, &[condition, Arg::Operand(1), Arg::Operand(2)])
}
