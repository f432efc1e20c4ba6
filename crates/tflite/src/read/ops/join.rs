//! Several tensors in one.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, option, options};
use crate::schema::tflite::Activation;
use strait_core::ReasonCode;
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

/// The most copies of one tensor side by side.
const MOST_COPIES: i64 = 1 << 12;

fn tile(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let repeats = site.known_ints(1, "repeats")?.unwrap_or_default();
    let rank = site.rank(0)?;
    if repeats.len() != rank {
        let text = format!("{} repeats for {rank} axes", repeats.len());
        return Err(Refusal::invalid(ReasonCode::Axes, text));
    }
    let mut x = Arg::Operand(0);
    // From the last axis on, so that what is copied is long.
    for (axis, &count) in repeats.iter().enumerate().rev().filter(|(_, count)| **count != 1) {
        if !(0..=MOST_COPIES).contains(&count) {
            return Err(Refusal::Unsupported(format!("axis {axis} is repeated {count} times")));
        }
        x = match count {
            0 => site.part(&x, axis as i64, 0, 0)?,
            _ => site.joined(&vec![x; count as usize], axis as i64)?,
        };
    }
    site.finish_value(&x)
}
