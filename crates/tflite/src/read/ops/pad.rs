//! Padding.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, option, options};
use crate::schema::tflite::MirrorPadMode;
use strait_core::ReasonCode;
use strait_core::op::{Gather, Pad, PadMode};

pub(super) const ROWS: &[Row] = &[
    Row::new("PAD", 6, |site| pad(site, 0.0)),
    Row::new("PADV2", 6, |site| {
        let value = match site.operand_of_file(2).is_some_and(|tensor| tensor.grid.is_some()) {
            false if !site.ty(2)?.elem.is_float() => super::reduce::known_int(site, 2, "value")? as f32,
            _ => site.known_float(2, "value")?.unwrap_or(0.0),
        };
        pad(site, value)
    }),
    Row::new("MIRROR_PAD", 3, mirror_pad),
];

/// Begins and ends of each axis, from an operand with a row of two for each.
fn amounts(site: &mut Site<'_, '_>) -> Result<(Vec<i64>, Vec<i64>), Refusal> {
    let rank = site.rank(0)?;
    let pairs = site.known_ints(1, "paddings")?.unwrap_or_default();
    if pairs.len() != 2 * rank || pairs.iter().any(|&amount| amount < 0) {
        let text = format!("paddings {pairs:?} do not fit {rank} axes");
        return Err(Refusal::invalid(ReasonCode::Pad, text));
    }
    let begins = pairs.iter().step_by(2).copied().collect();
    let ends = pairs.iter().skip(1).step_by(2).copied().collect();
    Ok((begins, ends))
}

fn pad(site: &mut Site<'_, '_>, value: f32) -> Result<(), Refusal> {
    let (begins, ends) = amounts(site)?;
    let op = Pad {
        amounts: begins.into_iter().chain(ends).collect(),
        mode: PadMode::Constant,
        value,
    };
    site.finish(op, &[Arg::Operand(0)])
}

/// With `SYMMETRIC` the element at the border is repeated: the places of the elements say so, axis by axis.
fn mirror_pad(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, MirrorPadOptions);
    let (begins, ends) = amounts(site)?;
    if option!(options, mode, MirrorPadMode::Reflect) == MirrorPadMode::Reflect {
        let op = Pad {
            amounts: begins.into_iter().chain(ends).collect(),
            mode: PadMode::Reflect,
            value: 0.0,
        };
        return site.finish(op, &[Arg::Operand(0)]);
    }
    let extents = site.extents(&Arg::Operand(0))?;
    let mut x = Arg::Operand(0);
    for (axis, &extent) in extents.iter().enumerate() {
        let (begin, end) = (begins[axis], ends[axis]);
        if (begin, end) == (0, 0) {
            continue;
        }
        if begin > extent || end > extent {
            let text = format!("axis {axis} has {extent} elements, too few to mirror {begin} and {end}");
            return Err(Refusal::invalid(ReasonCode::Pad, text));
        }
        let behind = (0..end).map(|place| extent - 1 - place);
        let places: Vec<i64> = (0..begin).rev().chain(0..extent).chain(behind).collect();
        site.room(&[places.len() as u64])?;
        let places = Arg::Constant(site.integers(&[places.len() as u64], &places)?);
        x = site.push(Gather { axis: axis as i64 }, &[x, places])?;
    }
    site.finish_value(&x)
}
