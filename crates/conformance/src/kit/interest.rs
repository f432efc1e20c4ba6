//! Chooses the accumulators that a library is tested with.

use crate::{accumulators::CHANNELS, near_ties::near_ties, numbers::Numbers, runs::SPREAD, samples::FEW};
use strait_requantize::Requantization;

/// How many random accumulators, of all magnitudes, are added for each channel.
const OTHERS: usize = 48;

/// The number of accumulators around zero that are tested for a form with a single set of parameters.
const DENSE: i64 = 2048;

/// The smallest and the largest accumulator of 32 or 64 bits.
pub(super) fn ends(wide: bool) -> (i64, i64) {
    match wide {
        true => (i64::MIN, i64::MAX),
        false => (i32::MIN.into(), i32::MAX.into()),
    }
}

/// Chooses accumulators for each channel, equally many for all channels. They are: thresholds, at which the result
/// changes, and their predecessors; accumulators whose exact result, before rounding, lies close to halfway between two
/// integers; powers of two and their neighbours; the ends of the domain and accumulators beyond them; and others of
/// every magnitude. Their order is random, so that neighbours in a vector differ.
pub(super) fn accumulators(form: &Requantization, wide: bool, numbers: &mut Numbers) -> Vec<Vec<i64>> {
    let channels = form.channels().unwrap_or(1);
    let mut all: Vec<Vec<i64>> = (0..channels)
        .map(|channel| of_channel(form, channel, wide, numbers))
        .collect();
    let most = all.iter().map(Vec::len).max().unwrap_or(0);
    let (low, high) = ends(wide);
    for its in &mut all {
        while its.len() < most {
            its.push(numbers.of_any_size(low, high));
        }
        for at in (1..its.len()).rev() {
            its.swap(at, numbers.between(0, at as i64) as usize);
        }
    }
    all
}

fn of_channel(form: &Requantization, channel: usize, wide: bool, numbers: &mut Numbers) -> Vec<i64> {
    let Ok(scalars) = form.channel(channel) else {
        return Vec::new();
    };
    let (low, high) = ends(wide);
    let [least, most] = form.range().map(i64::from);
    let alone = form.channels().is_none_or(|channels| channels == 1);
    let step = match form.out().bits() {
        ..=8 => 1,
        ..=16 if alone => 1,
        _ => (most - least) / SPREAD + 1,
    };
    let mut its = Vec::new();
    // If only every `step`-th code is tested, each channel begins at a different code.
    let first = least + 1 + (channel as i64) % step;
    for code in (first..=most).step_by(usize::try_from(step).unwrap_or(1)) {
        let step = scalars.least_reaching(code);
        its.extend([step.saturating_sub(1), step]);
    }
    if channel < CHANNELS {
        its.extend(near_ties(&scalars, (low, high)));
    }
    let (first, last) = scalars.domain().into_inner();
    its.extend([
        low,
        low + 1,
        high - 1,
        high,
        first,
        first.saturating_sub(1),
        last,
        last.saturating_add(1),
    ]);
    // A kernel that is wrong for accumulators of some magnitude is also wrong if there are few channels. So powers of
    // two are only tested for forms with few channels.
    let few = form.channels().is_none_or(|channels| channels <= FEW);
    for power in (0..i64::BITS - 1).filter(|_| few) {
        let power = 1i64 << power;
        its.extend([power - 1, power, power + 1, -power + 1, -power, -power - 1]);
    }
    if form.channels().is_none() {
        its.extend(-DENSE..DENSE);
    }
    its.retain(|x| (low..=high).contains(x));
    its.extend((0..OTHERS).map(|_| numbers.of_any_size(low, high)));
    its
}
