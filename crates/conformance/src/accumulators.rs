//! Chooses the accumulators of a channel at which a kernel is most likely to be wrong.

use crate::near_ties::near_ties;
use crate::numbers::Numbers;
use strait_requantize::Requantization;

/// `count` accumulators from the form's domain that fit the type which carries them. They are where the result changes,
/// at the ends, zero, next to exact halves, and others of any size. Their order is random, so that neighbours in a
/// vector differ. A form that is not legal has none.
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
    // These take long to find, and a few channels are enough.
    let near = match channel {
        ..CHANNELS if count > 1 => near_ties(&scalars, (low, high)),
        _ => Vec::new(),
    };
    let mut near = near.into_iter();
    (0..count)
        .map(|index| match index % 4 {
            0 => {
                // The first accumulator with some result, or one next to it: this hits ties and their neighbours.
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

/// For how many channels accumulators next to exact halves are searched.
pub(crate) const CHANNELS: usize = 6;
