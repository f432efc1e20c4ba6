//! Activation functions in front of a requantization: which of them move behind it, and which are not needed at all.

use super::thresholds::{DecideError, common_channels};
use crate::{IntType, Per, Requantization, Step};

/// An activation function on accumulators, by what is proved of it here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `min(max(x, low), high)`: ReLU, ReLU6, Clip, in the accumulator's integers.
    Clamp {
        /// The lower limit; `i64::MIN` where there is none.
        low: i64,
        /// The upper limit; `i64::MAX` where there is none. Not below `low`.
        high: i64,
    },
    /// A slope below zero, as of LeakyReLU and PReLU. Not a clamp, so nothing here moves it: its results are rounded
    /// once more than a requantization with the product of both factors would round.
    Sloped,
}

/// The clamp behind the requantization that replaces an activation in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Nothing: saturation, or what the accumulators can be, does the same.
    Redundant,
    /// A clamp of the results, the same on every channel.
    Clamp([i32; 2]),
    /// A clamp of the results whose limits differ; this is the first channel that another limit would change.
    PerChannel {
        /// The channel.
        channel: usize,
    },
    /// Nothing is proved.
    NotAClamp,
}

/// One limit for all channels: what those demand where it acts, and what the others bear.
#[derive(Default)]
struct Limit {
    demanded: Option<i32>,
    /// The nearest limit that would not change a channel where the activation does not act, and that channel.
    borne: Option<(i32, usize)>,
}

impl Limit {
    /// Takes in a channel; `false` if no limit serves both it and those before.
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

/// Moves an activation from in front of a requantization R to behind it, for the accumulators that can occur.
///
/// R does not decrease, so R(clamp(x, a, b)) = clamp(R(x), R(a), R(b)). On an interval a limit acts where R at the
/// interval's end differs from R at the limit; where it does not, any limit that is not nearer serves as well. One pair
/// of limits for all channels is right only if it is right for each.
///
/// # Errors
/// The interval, or a limit inside of it, lies outside the domain.
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

/// One clamp for all channels, on the interval of each, of results that do not decrease. `ends` are the results at the
/// ends of a channel's interval as they are, and as they are to be.
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
