//! Operators that the IR does not have, as several of its ops that compute the same.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::Dim;
use strait_core::ReasonCode;
use strait_core::op::{Add, Clip, LeakyRelu, Mul, Relu, Reshape, Transpose};

pub(super) const ROWS: &[Row] = &[
    Row::new("PRelu", 7, prelu).and(&[9, 16]),
    Row::new("DepthToSpace", 1, depth_to_space).and(&[11, 13, 28]),
    Row::new("SpaceToDepth", 1, space_to_depth).and(&[13, 28]),
];

/// max(x, 0) + slope·min(x, 0): one of the two is always zero, so the sum is exact.
/// With one constant slope it is a leaky ReLU.
fn prelu(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let rank = site.rank(0)?;
    if let Some(slope) = site.constant(1)?
        && slope.len() == 1
        && slope.elem().is_float()
        && slope.shape().len() <= rank
        && let Some(slope) = slope.to_f32().ok().and_then(|slope| slope.first().copied())
        && slope.is_finite()
    {
        return site.finish(LeakyRelu { alpha: slope }, &[Arg::Operand(0)]);
    }
    site.one_type([0, 1])?;
    let positive = site.push(Relu {}, &[Arg::Operand(0)])?;
    let clip = Clip {
        min: f32::NEG_INFINITY,
        max: 0.0,
    };
    let negative = site.push(clip, &[Arg::Operand(0)])?;
    let scaled = site.push(Mul::float(), &[negative, Arg::Operand(1)])?;
    site.finish(Add {}, &[positive, scaled])
}

/// Blocks of b·b channels become squares of b by b positions. Where the mode is DCR, the channel that a block belongs to
/// runs fastest in the operand, where it is CRD slowest.
fn depth_to_space(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let (b, [c, h, w]) = blocks(site)?;
    let depth = exact(c, b.checked_mul(b))?;
    let (split, permutation): ([i64; 6], [u32; 6]) = match site.text("mode", "DCR")? {
        "DCR" => ([0, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([0, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]),
        other => return Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    };
    let joined = [0, depth, product(h, b)?, product(w, b)?];
    regroup(site, split, permutation, joined)
}

/// The inverse.
fn space_to_depth(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let (b, [c, h, w]) = blocks(site)?;
    let permutation = match site.text("mode", "DCR")? {
        "DCR" => [0, 3, 5, 1, 2, 4],
        "CRD" => [0, 1, 3, 5, 2, 4],
        other => return Err(Refusal::Unsupported(format!("`mode` is {other}"))),
    };
    let (rows, columns) = (exact(h, Some(b))?, exact(w, Some(b))?);
    let joined = [0, product(product(c, b)?, b)?, rows, columns];
    regroup(site, [0, c, rows, b, columns, b], permutation, joined)
}

/// The axes split, permuted and joined again; a 0 keeps the batch as it is.
fn regroup(
    site: &mut NodeReader<'_, '_>,
    split: [i64; 6],
    permutation: [u32; 6],
    joined: [i64; 4],
) -> Result<(), Refusal> {
    let split = site.push(
        Reshape {
            shape: split.as_slice().into(),
        },
        &[Arg::Operand(0)],
    )?;
    let permutation = permutation.as_slice().into();
    let permuted = site.push(Transpose { permutation }, &[split])?;
    site.finish(
        Reshape {
            shape: joined.as_slice().into(),
        },
        &[permuted],
    )
}

/// The attribute `blocksize`, and the extents of the operand behind the batch.
fn blocks(site: &mut NodeReader<'_, '_>) -> Result<(i64, [i64; 3]), Refusal> {
    let invalid = |text: &str| Refusal::invalid(ReasonCode::Blocks, text);
    let size = site
        .int("blocksize")?
        .filter(|&b| b > 0)
        .ok_or_else(|| invalid("`blocksize` has to be positive"))?;
    let shape = site.ty(0)?.shape;
    let [_, rest @ ..] = shape.as_slice() else {
        return Err(invalid("the operand is a scalar"));
    };
    let extent = |dim: &Dim| dim.fixed().and_then(|d| i64::try_from(d).ok()).filter(|&d| d > 0);
    let extents: Option<Vec<i64>> = rest.iter().map(extent).collect();
    let extents =
        extents.ok_or_else(|| invalid("an axis behind the batch is symbolic or empty; bind it to a number"))?;
    let extents = extents.try_into().map_err(|_| invalid("the operand needs rank 4"))?;
    Ok((size, extents))
}

fn product(a: i64, b: i64) -> Result<i64, Refusal> {
    a.checked_mul(b)
        .ok_or_else(|| Refusal::invalid(ReasonCode::Blocks, "an extent overflows"))
}

/// A quotient without remainder.
fn exact(extent: i64, divisor: Option<i64>) -> Result<i64, Refusal> {
    match divisor {
        Some(divisor) if extent % divisor == 0 => Ok(extent / divisor),
        _ => Err(Refusal::invalid(
            ReasonCode::Blocks,
            format!("an extent of {extent} is not made of whole blocks"),
        )),
    }
}
