//! Converts chains of steps to thresholds.

use crate::{
    Per, Requantization, Step, form,
    thresholds::{DecideError, Thresholds, common_channels},
};

/// Expresses a chain of steps as thresholds. On the interval of each channel, the thresholds give the same results as
/// the chain. Above its interval, a channel keeps its largest code. Below its interval, a channel falls to the smallest
/// code of all channels, because `lowest`, the code below the first threshold, is the same for all channels.
///
/// Both ends of each interval belong to it. The chain's result must have eight bits.
pub fn to_steps(steps: &[Step], intervals: &Per<(i64, i64)>) -> Result<Requantization, DecideError> {
    let out = steps.last().ok_or(DecideError::Empty)?.out();
    let count = common_channels(steps.iter(), intervals)?;
    let channels = (0..count.unwrap_or(1)).map(|c| {
        let no_interval = DecideError::Channels {
            expected: count.unwrap_or(1),
            found: c,
        };
        Thresholds::of(steps, c, *intervals.get(c).ok_or(no_interval)?)
    });
    let channels = channels.collect::<Result<Vec<_>, _>>()?;
    let lowest = channels.iter().map(Thresholds::lowest).min().unwrap_or(out.min());
    // At the lower end of its interval, a channel may have a code above `lowest`. Then this end is the threshold of
    // each code above `lowest` up to that code.
    let list = |t: &Thresholds| {
        (i64::from(lowest) + 1..=i64::from(t.highest()))
            .map(|code| {
                let at = t.reaching(code as i32);
                i32::try_from(at).map_err(|_| DecideError::Wide(at))
            })
            .collect::<Result<_, _>>()
    };
    let thresholds = channels.iter().map(list).collect::<Result<_, _>>()?;
    let form = Requantization::Steps(form::Steps {
        thresholds,
        lowest,
        out,
    });
    form.check()?;
    Ok(form)
}
