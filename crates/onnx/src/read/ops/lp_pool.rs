//! Reads pools that compute the norm (Σ |x|^p)^(1/p) of each window.

use super::window::{pool_size, window};
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::SmallVec;
use strait_core::op::{Function, Pow, Reduction};
use strait_core::{Dim, ReasonCode};
use strait_import::reduction_over;

pub(super) const ROWS: &[Row] = &[
    Row::new("LpPool", 2, lp_pool).and(&[11, 18, 22]),
    Row::new("GlobalLpPool", 2, global_lp_pool).and(&[22]),
];

/// Computes |x|^p for each element.
fn powers(reader: &mut OperatorReader<'_, '_>, p: i64) -> Result<Arg, Refusal> {
    let x = Arg::Operand(0);
    match p {
        1 => reader.function(Function::Abs, &x),
        2 => reader.times(&x, &x),
        _ => {
            let magnitudes = reader.function(Function::Abs, &x)?;
            let p = reader.number(&x, p as f64)?;
            reader.power(&magnitudes, &p)
        }
    }
}

/// The p-th root of the sums.
fn roots(reader: &mut OperatorReader<'_, '_>, sums: Arg, p: i64) -> Result<(), Refusal> {
    match p {
        1 => reader.finish(strait_core::op::Identity {}, &[sums]),
        2 => reader.finish(Function::Sqrt, &[sums]),
        _ => {
            let exponent = reader.number(&sums, 1.0 / p as f64)?;
            reader.finish(Pow {}, &[sums, exponent])
        }
    }
}

fn exponent(reader: &mut OperatorReader<'_, '_>) -> Result<i64, Refusal> {
    let p = reader.int("p")?.unwrap_or(2);
    match p {
        1.. => Ok(p),
        _ => Err(Refusal::invalid(
            ReasonCode::Window,
            format!("`p` is {p}; it has to be positive"),
        )),
    }
}

/// Reads LpPool, a pool that computes norms. The sums over windows are computed as a convolution of each channel with
/// ones. If the number of windows is rounded up, more padding is added at the end so that the last window fits.
fn lp_pool(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let p = exponent(reader)?;
    let size = pool_size(reader)?;
    let (mut window, is_auto) = window(reader, &size)?;
    let shape = reader.ty(0)?.shape;
    let channels = reader.extent(&Arg::Operand(0), 1)?;
    let channels =
        u32::try_from(channels).map_err(|_| Refusal::invalid(ReasonCode::Limit, "it has too many channels"))?;
    if reader.flag("ceil_mode")? && !is_auto {
        for (axis, &extent) in size.iter().enumerate() {
            let missing = missing(
                shape.get(axis + 2).copied(),
                extent,
                window.stride[axis],
                window.dilation[axis],
                (window.pad[axis], window.pad[axis + size.len()]),
            )?;
            window.pad[axis + size.len()] += missing;
        }
    }
    let weight_shape: Vec<u64> = [channels.into(), 1].into_iter().chain(size.iter().copied()).collect();
    let count = reader.room(&weight_shape)?;
    let ones = Arg::Constant(reader.floats_of(&weight_shape, &vec![1.0; count])?);
    let powers = powers(reader, p)?;
    let sums = reader.push(window.convolution(channels), &[powers, ones])?;
    roots(reader, sums, p)
}

/// Returns by how much the padding at the end has to grow so that one more window fits. Returns 0 if no more window is
/// needed: the windows already reach the end, or the next window would not begin on the operand or on the padding
/// before the operand.
fn missing(extent: Option<Dim>, size: u64, stride: u32, dilation: u32, pad: (u32, u32)) -> Result<u32, Refusal> {
    let refused = || Refusal::invalid(ReasonCode::Window, "the window does not fit the operand");
    let Some(Dim::Fixed(extent)) = extent else {
        let text = "the number of windows depends on a symbolic dimension; bind it to a number";
        return Err(Refusal::invalid(ReasonCode::SymbolicWindow, text));
    };
    let reach = size
        .checked_sub(1)
        .and_then(|steps| steps.checked_mul(dilation.into())?.checked_add(1))
        .ok_or_else(refused)?;
    let begin = u64::from(pad.0);
    let padded = extent.checked_add(begin).and_then(|sum| sum.checked_add(pad.1.into()));
    let room = padded
        .and_then(|padded| padded.checked_sub(reach))
        .ok_or_else(refused)?;
    let stride = u64::from(stride);
    let rest = room.checked_rem(stride).ok_or_else(refused)?;
    let next = room - rest + stride;
    match rest > 0 && next < extent + begin {
        true => u32::try_from(stride - rest).map_err(|_| refused()),
        false => Ok(0),
    }
}

fn global_lp_pool(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let p = exponent(reader)?;
    let axes: SmallVec<[i64; 4]> = (2..reader.rank(0)? as i64).collect();
    if axes.is_empty() {
        return Err(Refusal::invalid(
            ReasonCode::PoolRank,
            "the operand has no spatial axes",
        ));
    }
    let powers = powers(reader, p)?;
    let sums = reader.push(reduction_over(Reduction::Sum, &axes, true), &[powers])?;
    roots(reader, sums, p)
}
