//! Derives the verdicts of a certificate.

use super::{Argument, FromFloat, ordered, unordered};
use crate::{
    Per, Step, Verdict,
    decide::{self, Chain, DecideError, Thresholds, listed},
};
use std::slice;

/// Returns one verdict if neither the steps nor the interval have channels, otherwise one verdict for each channel.
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
            // A quantization of floats has a single grid, so the steps behind it must not have channels either.
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

/// Compares two quantizations of floats, each followed by steps. The comparison covers NaN, and all floats whose
/// positions (see [`ordered`]) lie in an interval.
fn of_floats(
    before: (&FromFloat, &[Step]),
    after: (&FromFloat, &[Step]),
    interval: (i64, i64),
) -> Result<Verdict, DecideError> {
    let ((a, a_nan), (b, b_nan)) = (quantized(before, interval)?, quantized(after, interval)?);
    let mut found = listed(&a, &b);
    found.of += 1;
    found.add(a_nan.abs_diff(b_nan), ordered(f32::NAN), 1);
    Ok(found.into())
}

/// The thresholds of a quantization of floats followed by steps, and its result for NaN.
fn quantized((from, steps): (&FromFloat, &[Step]), interval: (i64, i64)) -> Result<(Thresholds, i32), DecideError> {
    if !from.is_legal() {
        return Err(DecideError::Scale(from.scale));
    }
    let chain = match steps {
        [] => None,
        steps => Some(Chain::new(steps, 0)?),
    };
    let at = |x: f32| -> Result<i32, DecideError> {
        let code = from.eval(x);
        match &chain {
            Some(chain) => Ok(chain.eval(code.into())?),
            None => Ok(code),
        }
    };
    let thresholds = Thresholds::by_bisection(interval, |place| at(unordered(place)))?;
    Ok((thresholds, at(f32::NAN)?))
}

/// Applies the chain to each old entry and compares the result with the new entry. Returns the number of entries, the
/// interval that contains the old entries, and the differences.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        IntType, Narrowing, Requantization, Rounding, certificate::Certificate, form::ArithFolded, quantize::ZeroPoint,
    };

    fn quantization(scale: f32, zero_point: i32) -> FromFloat {
        FromFloat {
            scale,
            zero_point,
            added: ZeroPoint::After,
            rounding: Rounding::HalfEven,
            reciprocal: false,
            out: IntType::I8,
        }
    }

    /// All numbers in the interval saturate, so another zero point does not change their codes. It only changes the
    /// code of NaN.
    #[test]
    fn not_a_number_is_compared_too() {
        let large = (ordered(1e9), ordered(f32::INFINITY));
        let of = |zero_point, steps: &[Step]| {
            let argument = Argument::OrderedFloats {
                before: quantization(1.0, 100),
                after: quantization(1.0, zero_point),
            };
            Certificate::derive(argument, steps.to_vec(), None, large.into())
                .unwrap()
                .to_string()
        };
        assert!(of(100, &[]).starts_with("exact on every float"), "{}", of(100, &[]));
        assert!(of(98, &[]).starts_with("2 LSB at NaN, "), "{}", of(98, &[]));
        // After a shift by 2, the code of numbers is 32 and that of NaN is 25, which are 95 and 35 away from 127 and 60.
        let shift = Step::from(Requantization::from(ArithFolded {
            narrowing: Narrowing {
                shift: 2.into(),
                rounding: Rounding::HalfEven,
                out: IntType::I8,
            },
        }));
        let text = of(60, &[shift]);
        assert!(text.starts_with("95 LSB at 1000000000.0, 100.00 %"), "{text}");
    }
}
