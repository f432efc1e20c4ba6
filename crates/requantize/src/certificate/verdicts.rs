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
            let mut all = before.iter().chain(after);
            if let Some(found) = all.find_map(|step| step.form.channels()) {
                return Err(DecideError::Channels { expected: 1, found });
            }
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

/// The number of entries, the interval around them, and how far what the chain makes of them is from what replaces them.
pub(super) fn of_entries(
    before: &[Step],
    entries: impl IntoIterator<Item = (usize, i64, i64)>,
) -> Result<(u64, (i64, i64), Verdict), DecideError> {
    before.iter().try_for_each(Step::check)?;
    let (mut count, mut differing, mut interval) = (0u64, 0u64, None::<(i64, i64)>);
    let (mut max_lsb, mut witness) = (0, 0);
    for (channel, from, to) in entries {
        count += 1;
        interval = Some(interval.map_or((from, from), |(low, high)| (low.min(from), high.max(from))));
        let made = before
            .iter()
            .try_fold(from, |x, step| step.eval(channel, x).map(i64::from))?;
        let lsb = u32::try_from(made.abs_diff(to)).unwrap_or(u32::MAX);
        differing += u64::from(lsb > 0);
        if lsb > max_lsb {
            (max_lsb, witness) = (lsb, from);
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
