//! Decides which activation functions can move from the front of a requantization to behind it, and which of them have
//! no effect.

use super::thresholds::{DecideError, common_channels};
use crate::{IntType, Per, Requantization, Step};

/// An activation function that is applied to accumulators. The variants say what can be proven about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `min(max(x, low), high)`: ReLU, ReLU6, Clip, in the accumulator's integers.
    Clamp {
        /// The lower limit. `i64::MIN` if there is none.
        low: i64,
        /// The upper limit, not below `low`. `i64::MAX` if there is none.
        high: i64,
    },
    /// A function with a slope for negative numbers, such as LeakyReLU and PReLU. It is not a clamp, so it is never
    /// moved. The function rounds its results, and the requantization rounds them again. A single requantization,
    /// with the slope multiplied into its factor, would round only once, so it would give other results.
    Sloped,
}

/// What has to be added behind a requantization to replace an activation in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Nothing has to be added: saturation, or the range of the accumulators, has the same effect.
    Redundant,
    /// A clamp of the results that is the same for every channel.
    Clamp([i32; 2]),
    /// Only a clamp of the results with a different limit for each channel could replace the activation.
    PerChannel {
        /// The first channel in which the limit of another channel would change results.
        channel: usize,
    },
    /// It cannot be proven that anything replaces the activation.
    NotAClamp,
}

/// Searches for one limit of a clamp that is right for all channels. Each channel in which the activation has an effect
/// requires a certain limit. All these channels must require the same limit, `demanded`. In the other channels, the
/// limit must not change any result, which gives the bound `borne`.
#[derive(Default)]
struct Limit {
    demanded: Option<i32>,
    /// In the channels in which the activation has no effect, the limit must not change any result. This is the
    /// tightest such limit, and the channel that requires it.
    borne: Option<(i32, usize)>,
}

impl Limit {
    /// Adds a channel. Returns `false` if this channel and an earlier one require different limits.
    fn serves(&mut self, acts: bool, value: i32, channel: usize, nearer: impl Fn(i32, i32) -> bool) -> bool {
        if acts {
            *self.demanded.get_or_insert(value) == value
        } else {
            if self.borne.is_none_or(|(borne, _)| nearer(value, borne)) {
                self.borne = Some((value, channel));
            }
            true
        }
    }
}

/// Moves an activation from the front of a requantization R to behind R, for the accumulators that can occur.
///
/// A larger accumulator never gives a smaller result, so R(clamp(x, a, b)) = clamp(R(x), R(a), R(b)). A limit has an
/// effect in a channel if R gives different results at the limit and at the end of the channel's interval. If a limit
/// has no effect, any wider limit is right too. One pair of limits can be used for all channels only if it is right for
/// each of them.
///
/// # Errors
/// The interval, or a limit inside the interval, lies outside of the domain of R.
pub fn move_behind(
    activation: Activation,
    form: &Requantization,
    interval: &Per<(i64, i64)>,
) -> Result<Behind, DecideError> {
    let Activation::Clamp { low, high } = activation else {
        return Ok(Behind::NotAClamp);
    };
    let step = Step::from(form.clone());
    let ends = |channel: usize, (first, last): (i64, i64)| {
        let scalars = form.channel(channel)?;
        let at = |x: i64| scalars.eval(x);
        Ok(([at(first)?, at(last)?], [at(first.max(low))?, at(last.min(high))?]))
    };
    common(common_channels([&step], interval)?, interval, form.out(), ends)
}

/// Finds a single clamp of results that is right for all channels, each on its interval. `ends` gives, for each
/// channel, the results at the ends of its interval, both without the clamp and as they should be with the clamp.
pub(super) fn common(
    channels: Option<usize>,
    interval: &Per<(i64, i64)>,
    out: IntType,
    ends: impl Fn(usize, (i64, i64)) -> Result<([i32; 2], [i32; 2]), DecideError>,
) -> Result<Behind, DecideError> {
    let (mut below, mut above) = (Limit::default(), Limit::default());
    for channel in 0..channels.unwrap_or(1) {
        let missing = DecideError::Channels {
            expected: channels.unwrap_or(1),
            found: channel,
        };
        let &(first, last) = interval.get(channel).ok_or(missing)?;
        if first > last {
            return Err(DecideError::Interval(first, last));
        }
        let (ends, limits) = ends(channel, (first, last))?;
        let serves = below.serves(ends[0] != limits[0], limits[0], channel, |a, b| a < b)
            && above.serves(ends[1] != limits[1], limits[1], channel, |a, b| a > b);
        if !serves {
            return Ok(Behind::PerChannel { channel });
        }
    }
    for (limit, wrong) in [(&below, i32::gt as fn(&i32, &i32) -> bool), (&above, i32::lt)] {
        if let (Some(demanded), Some((borne, channel))) = (limit.demanded, limit.borne)
            && wrong(&demanded, &borne)
        {
            return Ok(Behind::PerChannel { channel });
        }
    }
    Ok(match (below.demanded, above.demanded) {
        (None, None) => Behind::Redundant,
        (low, high) => Behind::Clamp([low.unwrap_or(out.min()), high.unwrap_or(out.max())]),
    })
}
