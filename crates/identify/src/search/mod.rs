//! The search for the parameters of one hypothesis.

mod affine;
mod constant;
mod doubling;
mod real;

use crate::edges::Bounds;
use crate::hypothesis::{Family, Hypothesis};
use strait_requantize::{Narrowing, Per, Requantization, Roundings, form};

/// Parameters of one channel: those that explain it, or some that come near to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found<T> {
    pub(crate) parameters: T,
    /// Number of bounds that were met before one could not be.
    pub(crate) met: usize,
    pub(crate) explains: bool,
}

/// `factor · 2^-shift`, and a constant in front of the shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) factor: i32,
    pub(crate) shift: u8,
    pub(crate) constant: i64,
}

/// The form of a hypothesis that explains the layer, or one that comes near to it; `None` where it has none for this layer
/// at all.
pub(crate) fn form(hypothesis: &Hypothesis, bounds: &Bounds<'_>) -> Option<Requantization> {
    let Hypothesis { family, rounding, bits } = *hypothesis;
    let out = bounds.out();
    let narrowing = |found: &[Scalar]| Narrowing {
        shift: per(found, |s| s.shift),
        rounding,
        out,
    };
    let factors = |found: &[Scalar]| per(found, |s| s.factor);
    let form = match family {
        Family::Shift => {
            let (found, _) = each(bounds, 0..=0, |edges, _| affine::shift(edges, rounding))?;
            form::ArithFolded {
                narrowing: narrowing(&found),
            }
            .into()
        }
        Family::After => {
            let zeros = bounds.zero_points();
            let (found, zp) = each(bounds, zeros, |edges, zero| affine::factor(edges, zero, rounding, bits))?;
            form::TfLite {
                sc: factors(&found),
                zp,
                narrowing: narrowing(&found),
            }
            .into()
        }
        Family::Before => {
            let (found, _) = each(bounds, 0..=0, |edges, _| constant::search(edges, rounding, bits))?;
            form::FractionalZero {
                sc: factors(&found),
                zp: per(&found, |s| s.constant),
                narrowing: narrowing(&found),
            }
            .into()
        }
        Family::Twice => {
            let (found, zp) = each(bounds, bounds.zero_points(), doubling::search)?;
            form::Gemmlowp {
                multiplier: factors(&found),
                // The shift is 1 ..= 62.
                exponent: per(&found, |s| 31 - s.shift as i8),
                zp,
                roundings: Roundings::Two,
                out,
            }
            .into()
        }
        Family::Float => {
            let (found, zp) = each(bounds, bounds.zero_points(), |edges, zero| {
                real::after(edges, zero, bits)
            })?;
            form::Float {
                scale: per(&found, |&scale| scale),
                zp,
                out,
            }
            .into()
        }
        Family::FloatInside => {
            let (found, zp) = each(bounds, bounds.zero_points(), real::inside)?;
            form::FloatZeroInside {
                scale: per(&found, |&scale| scale),
                zp,
                out,
            }
            .into()
        }
        Family::Double => {
            let (found, zp) = each(bounds, bounds.zero_points(), real::double)?;
            form::Float64 {
                multiplier: per(&found, |&(multiplier, _)| multiplier),
                exponent: per(&found, |&(_, exponent)| exponent),
                zp,
                out,
            }
            .into()
        }
    };
    Some(form)
}

/// Of each channel the least and the largest factor that the data leave, where one factor and one rounding explain them.
pub(crate) fn factors(hypothesis: &Hypothesis, form: &Requantization, bounds: &Bounds<'_>) -> Vec<[f64; 2]> {
    let (Family::After, Requantization::TfLite(its)) = (hypothesis.family, form) else {
        return Vec::new();
    };
    let ends = |edges: &Vec<_>| affine::ends(edges, its.zp.into(), hypothesis.rounding, hypothesis.bits);
    bounds.channels.iter().map(ends).collect()
}

fn per<T, U>(found: &[T], value: impl Fn(&T) -> U) -> Per<U> {
    match found {
        [one] => Per::Tensor(value(one)),
        all => all.iter().map(value).collect(),
    }
}

/// The zero point with which all channels are explained, or most bounds are met, with the parameters of each channel.
fn each<T>(
    bounds: &Bounds<'_>,
    zeros: std::ops::RangeInclusive<i32>,
    search: impl Fn(&[crate::edges::Edge], i64) -> Option<Found<T>>,
) -> Option<(Vec<T>, i32)> {
    let mut best: Option<(usize, Vec<T>, i32)> = None;
    for zero in zeros {
        let found: Option<Vec<Found<T>>> = bounds.channels.iter().map(|edges| search(edges, zero.into())).collect();
        let Some(found) = found else { continue };
        let met = found.iter().map(|found| found.met).sum();
        let explains = found.iter().all(|found| found.explains);
        let parameters = found.into_iter().map(|found| found.parameters).collect();
        if explains {
            return Some((parameters, zero));
        }
        if best.as_ref().is_none_or(|&(most, ..)| met > most) {
            best = Some((met, parameters, zero));
        }
    }
    best.map(|(_, parameters, zero)| (parameters, zero))
}
