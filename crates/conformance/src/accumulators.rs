//! Chooses the accumulators of a channel at which a kernel is most likely to be wrong.

use crate::near_ties::near_ties;
use crate::numbers::Numbers;
use strait_requantize::Requantization;

/// Chooses `count` accumulators of one channel. They lie in the form's domain and fit the type that carries
/// accumulators. Among them are: accumulators at which the result changes; the ends of the domain; zero; accumulators
/// whose exact result, before rounding, lies close to halfway between two integers; and others of every magnitude.
/// Their order is random, so that neighbours in a vector differ. The list is empty if the form is not legal.
pub(crate) fn accumulators(
    form: &Requantization,
    channel: usize,
    count: usize,
    ends: (i64, i64),
    numbers: &mut Numbers,
) -> Vec<i64> {
    let Ok(scalars) = form.channel(channel) else {
        return Vec::new();
    };
    let domain = scalars.domain();
    let (low, high) = ((*domain.start()).max(ends.0), (*domain.end()).min(ends.1));
    let out = form.out();
    let inside = |x: i64| x.clamp(low, high);
    // It takes long to find accumulators whose exact results lie close to halfway between two integers. So they are
    // searched for only in a few channels.
    let near = match channel {
        ..CHANNELS if count > 1 => near_ties(&scalars, (low, high)),
        _ => Vec::new(),
    };
    let mut near = near.into_iter();
    (0..count)
        .map(|index| match index % 4 {
            0 => {
                // Picks a random code and the accumulator at which the results reach this code, or a neighbour of that
                // accumulator. Such accumulators are ties or lie next to a tie.
                let code = numbers.between(out.min().into(), out.max().into());
                let step = scalars.least_reaching(code);
                inside(step.saturating_add(numbers.between(-2, 1)))
            }
            1 if index < 32 => {
                let ends = [low, high, 0, 1, -1, low + 1, high - 1, low / 2];
                inside(ends[index / 4])
            }
            2 => numbers.of_any_size(low, high),
            _ => near.next().unwrap_or_else(|| numbers.between(low, high)),
        })
        .collect()
}

/// The number of channels in which accumulators with exact results close to a half are searched for.
pub(crate) const CHANNELS: usize = 6;
