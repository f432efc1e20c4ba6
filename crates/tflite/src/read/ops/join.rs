//! Reads operators that join several tensors into one.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, option, options};
use crate::schema::Activation;
use strait_core::op::Concat;

pub(super) const ROWS: &[Row] = &[
    Row::new("CONCATENATION", 7, concatenation),
    Row::new("PACK", 5, pack),
    Row::new("TILE", 3, tile),
];

fn concatenation(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, ConcatenationOptions);
    let axis = i64::from(option!(options, axis, 0));
    let activation = option!(options, fused_activation_function, Activation::None);
    let count = site.operand_count();
    site.one_type(0..count)?;
    let all: Vec<Arg> = (0..count).map(Arg::Operand).collect();
    site.finish_activated(Concat { axis }, &all, activation)
}

fn pack(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, PackOptions);
    let count = site.operand_count();
    site.one_type(0..count)?;
    let rank = site.rank(0)? + 1;
    let axis = site.axis(option!(options, axis, 0).into(), rank)? as i64;
    let mut parts = Vec::with_capacity(count);
    for position in 0..count {
        parts.push(site.unsqueezed(&Arg::Operand(position), &[axis])?);
    }
    site.finish(Concat { axis }, &parts)
}

fn tile(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let repeats = site.known_ints(1, "repeats")?.unwrap_or_default();
    let (op, args) = site.tiled(Arg::Operand(0), &repeats)?;
    site.finish(op, &args)
}
