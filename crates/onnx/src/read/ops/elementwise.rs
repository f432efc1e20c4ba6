//! Arithmetic of two or more operands, element by element.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::ReasonCode;
use strait_core::op::{Add, Cast, Clip, Div, Mul, Op, Pow, Sub};

pub(super) const ROWS: &[Row] = &[
    Row::new("Add", 7, |site| binary(site, Add {})),
    Row::new("Sub", 7, |site| binary(site, Sub {})),
    Row::new("Mul", 7, |site| binary(site, Mul::float())),
    Row::new("Div", 7, |site| binary(site, Div {})),
    Row::new("Pow", 7, pow),
    Row::new("Sum", 8, sum),
    Row::new("Max", 8, |site| {
        bound(site, |min| Clip {
            min,
            max: f32::INFINITY,
        })
    }),
    Row::new("Min", 8, |site| {
        bound(site, |max| Clip {
            min: f32::NEG_INFINITY,
            max,
        })
    }),
];

fn binary(site: &mut NodeReader<'_, '_>, op: impl Into<Op>) -> Result<(), Refusal> {
    site.finish(op, &[Arg::Operand(0), Arg::Operand(1)])
}

/// The exponent may have another type than the base, whose type the result has.
fn pow(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let (base, exponent) = (site.ty(0)?.elem, site.ty(1)?.elem);
    let exponent = match base == exponent {
        true => Arg::Operand(1),
        false => site.push(Cast { to: base }, &[Arg::Operand(1)])?,
    };
    site.finish(Pow {}, &[Arg::Operand(0), exponent])
}

/// A sum of any number of operands, from the left.
fn sum(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let count = site.operand_count();
    let mut sum = Arg::Operand(0);
    for position in 1..count.saturating_sub(1) {
        sum = site.push(Add {}, &[sum, Arg::Operand(position)])?;
    }
    match count {
        0 => Err(Refusal::invalid(ReasonCode::MissingOperand, "it has no operands")),
        1 => site.finish(strait_core::op::Identity {}, &[sum]),
        _ => site.finish(Add {}, &[sum, Arg::Operand(count - 1)]),
    }
}

/// The maximum or minimum of a value and one known number, which is a clip.
fn bound(site: &mut NodeReader<'_, '_>, clip: fn(f32) -> Clip) -> Result<(), Refusal> {
    if site.operand_count() == 2 {
        for (value, number) in [(0, 1), (1, 0)] {
            let rank = site.rank(value)?;
            let Some(tensor) = site.constant(number)? else {
                continue;
            };
            // A number of a higher rank would give the result its rank.
            if tensor.len() == 1 && tensor.shape().len() <= rank && tensor.elem().is_float() {
                let number = site.known_float(number, "bound")?.unwrap_or_default();
                return site.finish(clip(number), &[Arg::Operand(value)]);
            }
        }
    }
    Err(Refusal::unsupported(
        "only the maximum or minimum with one constant number is read",
    ))
}
