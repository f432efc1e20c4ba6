//! Steps as thresholds.

use crate::{
    Per, Requantization, Step, form,
    thresholds::{DecideError, Thresholds, common_channels},
};

/// A chain of steps as thresholds: equal to it on each channel's interval. Above it a channel keeps its largest code; below
/// it, it falls to the smallest code of all channels, which is where all of them start counting.
///
/// `intervals` has both ends included; the chain's result must fit the eight bits of its last step.
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
    // A channel that starts above the common lowest value has reached the codes up to its own at its lower end.
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
