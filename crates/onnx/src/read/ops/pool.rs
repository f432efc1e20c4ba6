//! Reads pools.

use super::pool_positions;
use super::window::{Window, kernel_shape, narrow, window};
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{AveragePool, Cast, GlobalAveragePool, MaxPool, Reduce, Reduction};
use strait_core::{Carrier, Elem, ReasonCode};

pub(super) const ROWS: &[Row] = &[
    Row::new("MaxPool", 1, max_pool).and(&[8, 10, 11, 12, 22]),
    Row::new("AveragePool", 7, average_pool).and(&[10, 11, 19, 22]),
    Row::new("GlobalAveragePool", 1, |reader| {
        reader.finish(GlobalAveragePool {}, &[Arg::Operand(0)])
    })
    .and(&[22]),
    Row::new("GlobalMaxPool", 1, global_max_pool).and(&[22]),
];

/// The kernel size, which every pool must state.
fn size(reader: &mut OperatorReader<'_, '_>) -> Result<Vec<u64>, Refusal> {
    kernel_shape(reader)?.ok_or_else(|| Refusal::invalid(ReasonCode::Window, "`kernel_shape` is missing"))
}

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
    let size = size(reader)?;
    let window = window(reader, &size)?;
    let columns = reader.flag("storage_order")?;
    let hangs_over = hangs_over(reader, &size, &window)?;
    let op = MaxPool {
        size: narrow(&size)?,
        stride: window.stride,
        pad: window.pad,
        dilation: window.dilation,
        ceil: reader.flag("ceil_mode")? && !window.is_auto && hangs_over,
    };
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
    let size = size(reader)?;
    let window = window(reader, &size)?;
    let hangs_over = hangs_over(reader, &size, &window)?;
    let op = AveragePool {
        size: narrow(&size)?,
        stride: window.stride,
        pad: window.pad,
        dilation: window.dilation,
        ceil: reader.flag("ceil_mode")? && !window.is_auto && hangs_over,
        count_include_pad: reader.flag("count_include_pad")?,
    };
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
    let op = Reduce {
        reduction: Reduction::Max,
        axes: (2..rank as i64).collect(),
        keep_dims: true,
        accumulator: Carrier::I32,
    };
    reader.finish(op, &[Arg::Operand(0)])
}
