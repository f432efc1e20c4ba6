//! Finds the parameters that produce the most recorded values, if no parameters produce all of them.

use super::{
    Parameters, Scalar,
    affine::{self, Interval},
    doubling, line, real,
    votes::{Voted, Votes, best, sampled},
};
use crate::{
    edges::{bounds, once, twice},
    hypothesis::Family,
    vectors::{RecordedLayer, RecordedValue},
};
use strait_requantize::{Rounding, form::MAX_SHIFT};

/// A layer in which some recorded values may be wrong.
pub(crate) struct Recorded<'a> {
    pub(crate) layer: &'a RecordedLayer,
    /// Lowest and highest output. Results may be saturated there.
    pub(crate) ends: [i32; 2],
    /// The zero points to be tried.
    pub(crate) zeros: Vec<i32>,
}

/// Finds, for each width, the parameters with this family and rounding that produce the most outputs. Returns them with
/// their zero point; `None` for a width without such parameters.
pub(super) fn of(
    family: Family,
    rounding: Rounding,
    widths: &[u8],
    of: &Recorded<'_>,
) -> Vec<Option<(Parameters, i32)>> {
    let ends = of.ends;
    let none = &[0][..];
    match family {
        Family::Shift => each(of, none, widths, Parameters::Scalars, |values, _| {
            vec![Some(shift(values, ends, rounding))]
        }),
        Family::After => each(of, &of.zeros, widths, Parameters::Scalars, |values, zero| {
            factors(values, ends, zero, rounding, widths)
        }),
        Family::Before => each(of, none, widths, Parameters::Scalars, |values, _| {
            line::search(values, ends, rounding, widths)
        }),
        Family::Twice => each(of, &of.zeros, widths, Parameters::Scalars, |values, zero| {
            vec![doubled(values, ends, zero)]
        }),
        Family::Float => each(of, &of.zeros, widths, Parameters::Floats, |values, zero| {
            floats(values, ends, &real::after(zero), widths)
        }),
        Family::FloatInside => each(of, &of.zeros, widths, Parameters::Floats, |values, zero| {
            floats(values, ends, &real::inside(zero), widths)
        }),
        Family::Double => each(of, &of.zeros, widths, Parameters::Doubles, |values, zero| {
            let cell = best(&patterns(values, ends, &real::double(zero)).cells(), |_| true);
            vec![cell.and_then(|cell| Some(cell.voted(real::parts(real::ends(cell.interval))?)))]
        }),
    }
}

/// Finds, for each width, the zero point with which all channels together produce the most outputs. Returns it with the
/// parameters of each channel.
fn each<T>(
    of: &Recorded<'_>,
    zeros: &[i32],
    widths: &[u8],
    parameters: impl Fn(Vec<T>) -> Parameters,
    search: impl Fn(&[RecordedValue], i64) -> Vec<Option<Voted<T>>>,
) -> Vec<Option<(Parameters, i32)>> {
    let mut best: Vec<Option<(u64, Vec<T>, i32)>> = widths.iter().map(|_| None).collect();
    for &zero in zeros {
        let mut all: Vec<Option<(u64, Vec<T>)>> = widths.iter().map(|_| Some((0, Vec::new()))).collect();
        for values in &of.layer.channels {
            for (all, found) in all.iter_mut().zip(search(values, zero.into())) {
                *all = all.take().zip(found).map(|((votes, mut parameters), found)| {
                    parameters.push(found.parameters);
                    (votes + found.votes, parameters)
                });
            }
        }
        for (best, all) in best.iter_mut().zip(all) {
            let Some((votes, parameters)) = all else { continue };
            if best.as_ref().is_none_or(|&(most, ..)| votes > most) {
                *best = Some((votes, parameters, zero));
            }
        }
    }
    let with_zero = |(_, found, zero)| (parameters(found), zero);
    best.into_iter().map(|best| best.map(with_zero)).collect()
}

/// Sets up a vote on integer factors: each value votes for the interval of factors with which it is produced, with one
/// rounding or two.
fn products<'v>(
    values: &'v [RecordedValue],
    ends: [i32; 2],
    zero: i64,
    all: Interval,
    least: impl Fn(i128) -> i128 + Copy + 'v,
) -> Votes<'v, impl Fn(&RecordedValue, Interval) -> Option<Interval>> {
    Votes {
        values,
        all,
        of: move |value: &RecordedValue, within: Interval| {
            let bounds = bounds(value, ends)?.into_iter().flatten();
            let left = bounds.fold(within, |left, edge| left.cut(edge.x, edge.product(zero, least)));
            (!left.is_empty()).then_some(left)
        },
    }
}

fn shift(values: &[RecordedValue], ends: [i32; 2], rounding: Rounding) -> Voted<Scalar> {
    let one = Interval::point(1);
    let votes = |values: &[RecordedValue], shift| products(values, ends, 0, one, &once(rounding, shift)).count(1);
    let sample: Vec<RecordedValue> = sampled(values, 256).copied().collect();
    let mut shifts: Vec<u8> = (0..=MAX_SHIFT).collect();
    shifts.sort_by_key(|&shift| std::cmp::Reverse(votes(&sample, shift)));
    let all = shifts.into_iter().take(3).map(|shift| Voted {
        parameters: Scalar::shift(shift),
        votes: votes(values, shift),
    });
    all.max_by_key(|voted| voted.votes).unwrap_or(Voted {
        parameters: Scalar::shift(0),
        votes: 0,
    })
}

fn factors(
    values: &[RecordedValue],
    ends: [i32; 2],
    zero: i64,
    rounding: Rounding,
    widths: &[u8],
) -> Vec<Option<Voted<Scalar>>> {
    let widest = widths.iter().copied().max().unwrap_or(31);
    let least = once(rounding, MAX_SHIFT);
    let votes = products(values, ends, zero, affine::all(widest), &least);
    let cells = votes.cells();
    let of_width = |&bits: &u8| {
        let cell = best(&cells, |interval| interval.has_number_of(bits));
        let inside = cell.and_then(|cell| Some(cell.voted(affine::within(cell.interval, bits)?)));
        // If no cell (an interval of factors with the same votes) contains a factor of `bits` bits, three such factors
        // are tried: the one nearest to the middle of the best cell, and its two neighbours.
        let middle = best(&cells, |_| true)?.interval.middle();
        let unit = (middle >> bits).max(1);
        let beside = [middle - unit, middle, middle + unit].into_iter().filter_map(|factor| {
            let parameters = affine::rounded(factor.max(1), bits)?;
            let key = i128::from(parameters.factor) << (MAX_SHIFT - parameters.shift);
            let votes = votes.count(key);
            Some(Voted { parameters, votes })
        });
        inside.or_else(|| beside.max_by_key(|voted| voted.votes))
    };
    widths.iter().map(of_width).collect()
}

/// Finds the parameters for two roundings. The shift follows from the factor that is found with one rounding.
fn doubled(values: &[RecordedValue], ends: [i32; 2], zero: i64) -> Option<Voted<Scalar>> {
    let half_up = once(Rounding::HalfUp, MAX_SHIFT);
    let one = products(values, ends, zero, affine::all(31), &half_up).cells();
    let factor = best(&one, |_| true)?.interval.middle();
    let length = 128 - factor.leading_zeros();
    // In units of 2^-62, the factor is m · 2^(62 - s), where s is the shift and the multiplier m has 31 bits. Near a
    // power of two, a shift that is larger or smaller by one may be better.
    let shift = 93u32.saturating_sub(length);
    let shifts = [shift.saturating_sub(1), shift, shift + 1].into_iter();
    let of = |shift: u8| {
        let least = twice(shift);
        let cells = products(values, ends, zero, doubling::ALL, &least).cells();
        let cell = best(&cells, |_| true)?;
        Some(cell.voted(doubling::scalar(cell.interval, shift)))
    };
    let legal = shifts.filter_map(|shift| u8::try_from(shift).ok().filter(|shift| (1..=MAX_SHIFT).contains(shift)));
    legal.filter_map(of).max_by_key(|voted| voted.votes)
}

/// Sets up a vote on float factors: each value votes for the interval of bit patterns of factors with which it is
/// produced.
fn patterns<'v, R: Fn(u64, i64) -> i64>(
    values: &'v [RecordedValue],
    ends: [i32; 2],
    of: &'v real::Patterns<R>,
) -> Votes<'v, impl Fn(&RecordedValue, Interval) -> Option<Interval>> {
    Votes {
        values,
        all: real::as_integers(of.all),
        of: move |value: &RecordedValue, within: Interval| {
            let mut bounds = bounds(value, ends)?.into_iter().flatten();
            let left = bounds.try_fold(real::ends(within), |left, edge| of.cut(left, &edge))?;
            Some(real::as_integers(left))
        },
    }
}

fn floats<R: Fn(u64, i64) -> i64>(
    values: &[RecordedValue],
    ends: [i32; 2],
    of: &real::Patterns<R>,
    widths: &[u8],
) -> Vec<Option<Voted<f32>>> {
    let votes = patterns(values, ends, of);
    let cells = votes.cells();
    let of_width = |&bits: &u8| {
        let cell = best(&cells, |interval| real::cut(real::ends(interval), bits).is_some());
        let inside = cell.and_then(|cell| Some(cell.voted(real::cut(real::ends(cell.interval), bits)?)));
        let middle = best(&cells, |_| true)?.interval.middle() as u64;
        let beside = [middle, middle.saturating_add(1 << 24u8.saturating_sub(bits))].map(|pattern| {
            let parameters = real::nearest(pattern, bits);
            let votes = votes.count(parameters.to_bits().into());
            Voted { parameters, votes }
        });
        inside.or_else(|| beside.into_iter().max_by_key(|voted| voted.votes))
    };
    widths.iter().map(of_width).collect()
}

/// Says how well a zero point fits. Counts the outputs, among a few values of each channel, that the best factor with
/// one rounding produces.
pub(crate) fn fits(layer: &RecordedLayer, ends: [i32; 2], zero: i32) -> u64 {
    let each = (2048 / layer.channels.len().max(1)).clamp(64, 1024);
    let of = |values: &Vec<RecordedValue>| {
        let sample: Vec<RecordedValue> = sampled(values, each).copied().collect();
        let least = once(Rounding::HalfUp, MAX_SHIFT);
        let cells = products(&sample, ends, zero.into(), affine::all(31), &least).cells();
        best(&cells, |_| true).map_or(0, |cell| cell.votes)
    };
    layer.channels.iter().map(of).sum()
}
