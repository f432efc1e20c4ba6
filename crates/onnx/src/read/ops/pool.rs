//! Reads pools.

use super::pool_positions;
use super::window::{narrow, pool_size, window};
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Cast, GlobalAveragePool, Reduction};
use strait_core::{Elem, ReasonCode};
use strait_import::{Window, reduction_over};

pub(super) const ROWS: &[Row] = &[
    Row::new("MaxPool", 1, max_pool).and(&[8, 10, 11, 12, 22]),
    Row::new("AveragePool", 7, average_pool).and(&[10, 11, 19, 22]),
    Row::new("GlobalAveragePool", 1, |reader| {
        reader.finish(GlobalAveragePool {}, &[Arg::Operand(0)])
    })
    .and(&[22]),
    Row::new("GlobalMaxPool", 1, global_max_pool).and(&[22]),
];

/// True if rounding the number of windows up makes a difference, because one more window along some axis would begin on
/// the padded operand and reach beyond its end. Also true if an extent is not known.
fn hangs_over(reader: &mut OperatorReader<'_, '_>, size: &[u64], window: &Window) -> Result<bool, Refusal> {
    let shape = reader.ty(0)?.shape;
    let rest = |axis: usize| {
        let of = |list: &[u32]| list.get(axis).map(|&n| u64::from(n));
        let (begins, ends) = window.pad.split_at(window.pad.len() / 2);
        let reach = (size.get(axis)?.checked_sub(1)?)
            .checked_mul(of(&window.dilation)?)?
            .checked_add(1)?;
        let padded = (shape.get(axis + 2)?.fixed()?)
            .checked_add(of(begins)?)?
            .checked_add(of(ends)?)?;
        padded.checked_sub(reach)?.checked_rem(of(&window.stride)?)
    };
    Ok((0..size.len()).any(|axis| rest(axis) != Some(0)))
}

fn max_pool(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let size = pool_size(reader)?;
    let (window, is_auto) = window(reader, &size)?;
    let columns = reader.flag("storage_order")?;
    let hangs_over = hangs_over(reader, &size, &window)?;
    let ceil = reader.flag("ceil_mode")? && !is_auto && hangs_over;
    let op = window.max_pool(narrow(&size)?, ceil);
    if reader.has_result(1) {
        pool_positions::finish(reader, &op, columns)?;
    }
    let elem = reader.ty(0)?.elem;
    if elem.int_type().is_some_and(|codes| codes.bits() <= 16) {
        // A float can represent all integers of these types exactly.
        let x = reader.converted(&Arg::Operand(0), Elem::F32)?;
        let largest = reader.push(op, &[x])?;
        return reader.finish(Cast { to: elem }, &[largest]);
    }
    reader.finish(op, &[Arg::Operand(0)])
}

fn average_pool(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let size = pool_size(reader)?;
    let (window, is_auto) = window(reader, &size)?;
    let hangs_over = hangs_over(reader, &size, &window)?;
    let ceil = reader.flag("ceil_mode")? && !is_auto && hangs_over;
    let op = window.average_pool(narrow(&size)?, ceil, reader.flag("count_include_pad")?);
    reader.finish(op, &[Arg::Operand(0)])
}

fn global_max_pool(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rank = reader.rank(0)?;
    if rank < 3 {
        return Err(Refusal::invalid(
            ReasonCode::PoolRank,
            format!("the operand has rank {rank}, at least 3 is needed"),
        ));
    }
    let axes: Vec<i64> = (2..rank as i64).collect();
    reader.finish(reduction_over(Reduction::Max, &axes, true), &[Arg::Operand(0)])
}
