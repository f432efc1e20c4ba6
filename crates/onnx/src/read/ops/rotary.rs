//! Reads rotary position embedding.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::smallvec;
use strait_core::op::{Concat, Gather, Op, Reshape};
use strait_core::{Elem, ReasonCode};
use strait_import::slice_along;

pub(super) const ROWS: &[Row] = &[
    Row::new("RotaryEmbedding", 23, rotary_embedding),
    Row::of_runtime("RotaryEmbedding", of_runtime),
];

/// Rotates pairs of elements by angles: (cos·a − sin·b, sin·a + cos·b). If `interleaved` is true, the elements of a
/// pair are neighbours; otherwise one is in the first half and the other in the second half. Elements from
/// `rotary_embedding_dim` on do not change.
fn rotary_embedding(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let interleaved = reader.flag("interleaved")?;
    let heads = reader.int("num_heads")?.unwrap_or(0);
    let rank = reader.rank(0)?;
    // The operand is [batch, heads, positions, size] or [batch, positions, heads·size].
    let (x, head_axis) = match rank {
        4 => (Arg::Operand(0), 1),
        3 if heads > 0 => (reader.reshaped(&Arg::Operand(0), &[0, 0, heads, -1])?, 2),
        3 => return Err(Refusal::invalid(ReasonCode::Blocks, "`num_heads` is missing")),
        _ => {
            return Err(Refusal::invalid(
                ReasonCode::Axis,
                format!("the operand has rank {rank}, 3 or 4 is needed"),
            ));
        }
    };
    let size = reader.extents(&x)?.last().copied().unwrap_or(0);
    let turned = match reader.int("rotary_embedding_dim")?.unwrap_or(0) {
        0 => size,
        turned => turned,
    };
    if turned % 2 != 0 || !(0..=size).contains(&turned) {
        let text = format!("{turned} of {size} elements are turned; an even number of them is needed");
        return Err(Refusal::invalid(ReasonCode::Blocks, text));
    }
    let mut angle = |operand: usize| -> Result<Arg, Refusal> {
        let table = match reader.has(3) {
            true => {
                let positions = reader.converted(&Arg::Operand(3), Elem::I64)?;
                reader.push(Gather { axis: 0 }, &[Arg::Operand(operand), positions])?
            }
            false => Arg::Operand(operand),
        };
        reader.unsqueezed(&table, &[head_axis])
    };
    let (cos, sin) = (angle(1)?, angle(2)?);
    let (a, mut steps) = rotated(reader, &x, [cos, sin], turned, interleaved)?;
    if rank == 3 {
        let shape = smallvec![0, 0, -1];
        steps.push((Reshape { shape }.into(), Vec::new()));
    }
    reader.finish_chain(a, steps)
}

/// Reads the operator of ONNX Runtime. Its positions are an operand: one for each element of the sequence, or only that
/// of the first. The attribute `scale` does nothing in ONNX Runtime.
fn of_runtime(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["scale"]);
    reader.only("is_packed_batching", 0)?;
    let interleaved = reader.flag("interleaved")?;
    let heads = reader.int("num_heads")?.unwrap_or(0);
    let dim = reader.int("rotary_embedding_dim")?.unwrap_or(0);
    let rank = reader.rank(0)?;
    let turned = 2 * reader.extent(&Arg::Operand(2), 1)?;
    if turned == 0 || (dim != 0 && dim != turned) || (dim != 0 && heads <= 0) {
        let text = format!(
            "`cos_cache` has angles for {turned} elements of a head, and `rotary_embedding_dim` is {dim} of {heads} heads"
        );
        return Err(Refusal::invalid(ReasonCode::Blocks, text));
    }
    let (x, head_axis, position_axis) = match rank {
        4 => (Arg::Operand(0), 1, 2),
        3 => {
            let width = reader.extent(&Arg::Operand(0), 2)?;
            let heads = if heads > 0 { heads } else { width / turned };
            (reader.reshaped(&Arg::Operand(0), &[0, 0, heads, -1])?, 2, 1)
        }
        _ => {
            return Err(Refusal::invalid(
                ReasonCode::Axis,
                format!("the operand has rank {rank}, 3 or 4 is needed"),
            ));
        }
    };
    let size = reader.extent(&x, 3)?;
    if turned > size || (dim == 0 && turned != size) {
        let text = format!("{turned} of {size} elements are turned; `rotary_embedding_dim` has to say so");
        return Err(Refusal::invalid(ReasonCode::Blocks, text));
    }
    let positions = reader.indices(1)?;
    let positions = match reader.rank(1)? {
        2 => positions,
        _ => {
            let count = reader.extent(&x, position_axis)?;
            let first = reader.reshaped(&positions, &[1, 1])?;
            let rest = reader.counted(&[1, count.unsigned_abs()], count)?;
            reader.plus(&first, &rest)?
        }
    };
    let angles = angles(reader, [2, 3], &positions, head_axis)?;
    let (a, mut steps) = rotated(reader, &x, angles, turned, interleaved)?;
    if rank == 3 {
        let shape = smallvec![0, 0, -1];
        steps.push((Reshape { shape }.into(), Vec::new()));
    }
    reader.finish_chain(a, steps)
}

/// The rows of two tables, of cosines and sines, at these positions, with a new axis for the heads.
pub(super) fn angles(
    reader: &mut OperatorReader<'_, '_>,
    tables: [usize; 2],
    positions: &Arg,
    head_axis: i64,
) -> Result<[Arg; 2], Refusal> {
    let mut of = |table: usize| -> Result<Arg, Refusal> {
        let rows = reader.push(Gather { axis: 0 }, &[Arg::Operand(table), positions.clone()])?;
        reader.unsqueezed(&rows, &[head_axis])
    };
    Ok([of(tables[0])?, of(tables[1])?])
}

/// Rotates the first `turned` elements along the last axis of `x`, which has rank 4. Returns a value and the ops that
/// have to follow it.
pub(super) fn rotated(
    reader: &mut OperatorReader<'_, '_>,
    x: &Arg,
    [cos, sin]: [Arg; 2],
    turned: i64,
    interleaved: bool,
) -> Result<(Arg, Vec<(Op, Vec<Arg>)>), Refusal> {
    let size = reader.extent(x, 3)?;
    let half = turned / 2;
    let moved = match turned == size {
        true => x.clone(),
        false => reader.part(x, 3, 0, turned)?,
    };
    let (a, b) = match interleaved {
        true => (
            every_second(reader, &moved, 0, turned)?,
            every_second(reader, &moved, 1, turned)?,
        ),
        false => (reader.part(&moved, 3, 0, half)?, reader.part(&moved, 3, half, turned)?),
    };
    let (cos_a, sin_b) = (reader.times(&cos, &a)?, reader.times(&sin, &b)?);
    let (sin_a, cos_b) = (reader.times(&sin, &a)?, reader.times(&cos, &b)?);
    let mut parts = [reader.minus(&cos_a, &sin_b)?, reader.plus(&sin_a, &cos_b)?];
    if interleaved {
        for part in &mut parts {
            *part = reader.unsqueezed(part, &[4])?;
        }
    }
    let [a, b] = parts;
    let mut steps: Vec<(Op, Vec<Arg>)> = vec![(Concat { axis: -1 }.into(), vec![b])];
    if interleaved {
        let shape = smallvec![0, 0, 0, turned];
        steps.push((Reshape { shape }.into(), Vec::new()));
    }
    if turned != size {
        let rest = reader.part(x, 3, turned, size)?;
        steps.push((Concat { axis: 3 }.into(), vec![rest]));
    }
    Ok((a, steps))
}

/// Every second element of the last axis, beginning with `start`. `count` is the number of these elements.
fn every_second(reader: &mut OperatorReader<'_, '_>, x: &Arg, start: i64, count: i64) -> Result<Arg, Refusal> {
    reader.push(slice_along([(3, [start, count, 2])]), std::slice::from_ref(x))
}
