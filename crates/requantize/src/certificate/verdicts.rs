//! How the verdicts of a certificate are derived.

use super::{Argument, FromFloat, unordered};
use crate::{
    Per, Step, Verdict,
    decide::{self, Chain, DecideError, Thresholds, difference},
};
use std::slice;

/// One verdict where steps and interval are the same for all channels, one per channel otherwise.
pub(super) fn verdicts(
    argument: &Argument,
    before: &[Step],
    after: Option<&Step>,
    interval: &Per<(i64, i64)>,
) -> Result<Per<Verdict>, DecideError> {
    match argument {
        Argument::OrderedFloats {
            before: from,
            after: to,
        } => {
            let after = after.map_or(&[][..], slice::from_ref);
            // What is quantized from floats has one grid, and so have the steps behind it.
            let Per::Tensor(ends) = interval else {
                let found = interval.values().len();
                return Err(DecideError::Channels { expected: 1, found });
            };
            of_floats((from, before), (to, after), *ends).map(Per::Tensor)
        }
        _ => decide::verdicts(before, after.ok_or(DecideError::Empty)?, interval),
    }
}

/// Two quantizations of floats, each with steps behind it, on the floats at the places of an interval.
fn of_floats(
    before: (&FromFloat, &[Step]),
    after: (&FromFloat, &[Step]),
    interval: (i64, i64),
) -> Result<Verdict, DecideError> {
    let thresholds = |(from, steps): (&FromFloat, &[Step])| {
        if !from.is_legal() {
            return Err(DecideError::Scale(from.scale));
        }
        let chain = if steps.is_empty() {
            None
        } else {
            Some(Chain::new(steps, 0)?)
        };
        Thresholds::by_bisection(interval, |place| {
            let code = from.eval(unordered(place));
            match &chain {
                Some(chain) => Ok(chain.eval(code.into())?),
                None => Ok(code),
            }
        })
    };
    Ok(difference(&thresholds(before)?, &thresholds(after)?))
}

/// The number of entries, the interval around them, and how the chains differ on them.
pub(super) fn of_entries(
    before: &[Step],
    after: Option<&Step>,
    entries: impl IntoIterator<Item = (usize, i64)>,
) -> Result<(u64, (i64, i64), Verdict), DecideError> {
    let after = slice::from_ref(after.ok_or(DecideError::Empty)?);
    before.iter().chain(after).try_for_each(Step::check)?;
    let eval = |steps: &[Step], channel, x| match steps {
        [] => Err(DecideError::Empty),
        [step] => Ok(i64::from(step.eval(channel, x)?)),
        steps => Ok(i64::from(Chain::new(steps, channel)?.eval(x)?)),
    };
    let (mut count, mut differing, mut interval) = (0u64, 0u64, None::<(i64, i64)>);
    let (mut max_lsb, mut witness) = (0, 0);
    for (channel, x) in entries {
        count += 1;
        interval = Some(interval.map_or((x, x), |(low, high)| (low.min(x), high.max(x))));
        let lsb = eval(before, channel, x)?.abs_diff(eval(after, channel, x)?);
        let lsb = u32::try_from(lsb).unwrap_or(u32::MAX);
        differing += u64::from(lsb > 0);
        if lsb > max_lsb {
            (max_lsb, witness) = (lsb, x);
        }
    }
    let verdict = match max_lsb {
        0 => Verdict::Exact,
        _ => Verdict::Bounded {
            max_lsb,
            witness,
            share: differing as f64 / count as f64,
        },
    };
    Ok((count, interval.ok_or(DecideError::Empty)?, verdict))
}
