//! Reads non-maximum suppression of boxes.

use super::Row;
use super::shape::spread;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal};
use strait_core::op::{Cast, Gather, NonMaxSuppression};
use strait_core::{Elem, ReasonCode, TensorData};

pub(super) const ROWS: &[Row] = &[
    Row::new("NON_MAX_SUPPRESSION_V4", 1, |reader| suppression(reader, false)),
    Row::new("NON_MAX_SUPPRESSION_V5", 1, |reader| {
        match reader.known_float(5, "sigma")? {
            Some(0.0) => suppression(reader, true),
            _ => Err(Refusal::unsupported(
                "it takes something off the scores of boxes that overlap; with a sigma of 0 it is read",
            )),
        }
    }),
];

/// Reads a non-maximum suppression. Operands: the boxes as corners; their scores; the largest number of boxes to keep;
/// the overlap at which a box is dropped; and a score that every kept box has to exceed. Results: the boxes that are
/// kept, followed by zeros; the scores of these boxes, followed by zeros, if `has_scores` is true; and the number of
/// boxes that are kept.
fn suppression(reader: &mut OperatorReader<'_, '_>, has_scores: bool) -> Result<(), Refusal> {
    if reader.operand_grid(0).is_some() || reader.operand_grid(1).is_some() {
        return Err(Refusal::unsupported("it takes codes for numbers"));
    }
    reader.of_rank(0, 2)?;
    reader.of_rank(1, 1)?;
    let most = reader.given_int(2, "count")?;
    let overlap = reader.known_float(3, "overlap")?;
    let overlap = overlap.filter(|overlap| (0.0..=1.0).contains(overlap));
    let (Some(overlap), 0..) = (overlap, most) else {
        return Err(Refusal::invalid(
            ReasonCode::Operands,
            "its overlap is no share, or its count is negative",
        ));
    };
    let boxes = reader.unsqueezed(&Arg::Operand(0), &[0])?;
    let scores = reader.unsqueezed(&Arg::Operand(1), &[0, 1])?;
    let count = Arg::Constant(TensorData::scalar(most));
    // The op drops boxes whose overlap is above the threshold. LiteRT also drops boxes whose overlap equals the
    // threshold, so the op gets the next smaller float as its threshold.
    let share = Arg::Constant(TensorData::scalar(overlap.next_down()));
    let op = NonMaxSuppression { centers: false };
    let rows = reader.push(op, &[boxes, scores, count, share, Arg::Operand(4)])?;
    let column = reader.part(&rows, 1, 2, 3)?;
    let chosen = reader.reshaped(&column, &[-1])?;
    let filled = filled_up(reader, &chosen, most)?;
    if has_scores && reader.has_result(1) {
        let scores = reader.push(Gather { axis: 0 }, &[Arg::Operand(1), chosen.clone()])?;
        let scores = filled_up(reader, &scores, most)?;
        reader.finish_result(1, strait_core::op::Identity {}, &[scores])?;
    }
    let length = reader.extent_at(&chosen, 0)?;
    let length = reader.reshaped(&length, &[])?;
    reader.finish_result(1 + usize::from(has_scores), Cast { to: Elem::I32 }, &[length])?;
    reader.finish(Cast { to: Elem::I32 }, &[filled])
}

/// Appends zeros to a list and then cuts it, so that it has `most` elements.
fn filled_up(reader: &mut OperatorReader<'_, '_>, list: &Arg, most: i64) -> Result<Arg, Refusal> {
    let zero = reader.number(list, 0.0)?;
    let zeros = spread(reader, &zero, &[most])?;
    let all = reader.joined(&[list.clone(), zeros], 0)?;
    let first = reader.part(&all, 0, 0, most)?;
    reader.reshaped(&first, &[most])
}
