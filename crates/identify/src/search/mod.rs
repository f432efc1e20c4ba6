//! Searches for the parameters of one hypothesis.

mod affine;
mod constant;
mod doubling;
mod line;
mod nearest;
mod real;
mod votes;

use crate::edges::{Bounds, Edge};
use crate::hypothesis::{Family, Hypothesis};
use strait_requantize::{IntType, Narrowing, Per, Requantization, Rounding, Roundings, form};

pub(crate) use nearest::{Recorded, fits};

/// The real factor `factor · 2^-shift`, and a constant that is added to the product before the shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scalar {
    factor: i32,
    shift: u8,
    constant: i64,
}

impl Scalar {
    fn shift(shift: u8) -> Scalar {
        Scalar {
            factor: 1,
            shift,
            constant: 0,
        }
    }
}

/// The free parameters of a family, for each channel.
enum Parameters {
    Scalars(Vec<Scalar>),
    Floats(Vec<f32>),
    /// For each channel, a factor in `f64`: its significand of 53 bits and its exponent.
    Doubles(Vec<(i64, i8)>),
}

/// The form of a hypothesis that produces every recorded value; `None` if there is none.
pub(crate) fn exact(hypothesis: &Hypothesis, bounds: &Bounds<'_>) -> Option<Requantization> {
    let Hypothesis { family, rounding, bits } = *hypothesis;
    let zeros = bounds.zero_points();
    let scalars = |(found, zero)| (Parameters::Scalars(found), zero);
    let floats = |(found, zero)| (Parameters::Floats(found), zero);
    let (parameters, zero) = match family {
        Family::Shift => each(bounds, 0..=0, |edges, _| affine::shift(edges, rounding)).map(scalars),
        Family::After => each(bounds, zeros, |edges, zero| affine::factor(edges, zero, rounding, bits)).map(scalars),
        Family::Before => each(bounds, 0..=0, |edges, _| {
            let line = constant::search(edges, rounding, bits)?;
            line.explains.then_some(line.parameters)
        })
        .map(scalars),
        Family::Twice => each(bounds, zeros, doubling::search).map(scalars),
        Family::Float => each(bounds, zeros, |edges, zero| {
            real::cut(real::after(zero).narrow(edges)?, bits)
        })
        .map(floats),
        Family::FloatInside => each(bounds, zeros, |edges, zero| {
            real::cut(real::inside(zero).narrow(edges)?, bits)
        })
        .map(floats),
        Family::Double => each(bounds, zeros, |edges, zero| {
            real::parts(real::double(zero).narrow(edges)?)
        })
        .map(|(found, zero)| (Parameters::Doubles(found), zero)),
    }?;
    assembled(family, rounding, parameters, zero, bounds.layer.out)
}

/// Finds, for each width, the form with this family and rounding that produces the most recorded values. Returns `None`
/// for a width without such a form.
pub(crate) fn nearest(
    family: Family,
    rounding: Rounding,
    widths: &[u8],
    of: &Recorded<'_>,
) -> Vec<Option<Requantization>> {
    let form = |(parameters, zero)| assembled(family, rounding, parameters, zero, of.layer.out);
    let found = nearest::of(family, rounding, widths, of);
    found.into_iter().map(|found| found.and_then(form)).collect()
}

/// The form with these parameters; `None` if these are not parameters of the family.
fn assembled(
    family: Family,
    rounding: Rounding,
    parameters: Parameters,
    zp: i32,
    out: IntType,
) -> Option<Requantization> {
    Some(match (family, parameters) {
        (Family::Float, Parameters::Floats(found)) => form::Float {
            scale: per(&found, |&scale| scale),
            zp,
            out,
        }
        .into(),
        (Family::FloatInside, Parameters::Floats(found)) => form::FloatZeroInside {
            scale: per(&found, |&scale| scale),
            zp,
            out,
        }
        .into(),
        (Family::Double, Parameters::Doubles(found)) => form::Float64 {
            multiplier: per(&found, |&(multiplier, _)| multiplier),
            exponent: per(&found, |&(_, exponent)| exponent),
            zp,
            out,
        }
        .into(),
        (family, Parameters::Scalars(found)) => {
            let narrowing = Narrowing {
                shift: per(&found, |s| s.shift),
                rounding,
                out,
            };
            let sc = per(&found, |s| s.factor);
            match family {
                Family::Shift => form::ArithFolded { narrowing }.into(),
                Family::After => form::TfLite { sc, zp, narrowing }.into(),
                Family::Before => form::FractionalZero {
                    sc,
                    zp: per(&found, |s| s.constant),
                    narrowing,
                }
                .into(),
                Family::Twice => form::Gemmlowp {
                    multiplier: sc,
                    // The shift is from 1 to 62, so no bits are lost in the cast.
                    exponent: per(&found, |s| 31 - s.shift as i8),
                    zp,
                    roundings: Roundings::Two,
                    out,
                }
                .into(),
                Family::Float | Family::FloatInside | Family::Double => return None,
            }
        }
        _ => return None,
    })
}

/// Returns, for each channel, the smallest and the largest factor that the recorded values allow. The list is empty
/// unless the form has one factor and one rounding.
pub(crate) fn factors(hypothesis: &Hypothesis, form: &Requantization, bounds: &Bounds<'_>) -> Vec<[f64; 2]> {
    let (Family::After, Requantization::TfLite(its)) = (hypothesis.family, form) else {
        return Vec::new();
    };
    let ends = |edges: &Vec<_>| affine::ends(edges, its.zp.into(), hypothesis.rounding, hypothesis.bits);
    bounds.channels.iter().filter_map(ends).collect()
}

fn per<T, U>(found: &[T], value: impl Fn(&T) -> U) -> Per<U> {
    match found {
        [one] => Per::Tensor(value(one)),
        all => all.iter().map(value).collect(),
    }
}

/// Finds the first zero point of `zeros` with which parameters are found for every channel. Returns the parameters and
/// the zero point; `None` if there is no such zero point.
fn each<T>(
    bounds: &Bounds<'_>,
    mut zeros: std::ops::RangeInclusive<i32>,
    search: impl Fn(&[Edge], i64) -> Option<T>,
) -> Option<(Vec<T>, i32)> {
    zeros.find_map(|zero| {
        let found: Option<Vec<T>> = bounds.channels.iter().map(|edges| search(edges, zero.into())).collect();
        Some((found?, zero))
    })
}
