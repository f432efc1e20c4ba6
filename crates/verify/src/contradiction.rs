//! Checks that the verdicts of a certificate follow from the certificate's own steps and interval, by the kind of proof
//! that the certificate names (its argument).

use crate::finding::Fault;
use crate::functions::{Chains, Undecided, compare_floats};
use crate::intervals::Interval;
use strait_requantize::{Argument, Certificate, Per, Step, Verdict};

/// Compares the verdicts of a certificate with the verdicts that follow from its own steps and interval. Returns their
/// contradiction, if there is one.
pub(crate) fn of(certificate: &Certificate) -> Option<Fault> {
    let derived = match derived(certificate) {
        Ok(derived) => derived?,
        Err(error) => return Some(Fault::Certificate(error)),
    };
    let claimed = &certificate.verdict;
    if derived.channels() != claimed.channels() {
        let (expected, found) = (derived.values().len(), claimed.values().len());
        return Some(Fault::Certificate(Undecided::Channels { expected, found }));
    }
    let mut both = claimed.values().iter().zip(derived.values()).enumerate();
    let (channel, (claimed, derived)) = both.find(|(_, (claimed, derived))| claimed != derived)?;
    Some(Fault::Contradiction {
        channel,
        claimed: claimed.clone(),
        derived: derived.clone(),
    })
}

/// Derives the verdicts that follow from a certificate's own steps and interval. Returns `None` for a certificate that
/// compares single entries of a constant or table, because it does not contain these entries.
fn derived(certificate: &Certificate) -> Result<Option<Per<Verdict>>, Undecided> {
    let (before, after) = (&certificate.before[..], certificate.after.as_slice());
    match &certificate.argument {
        Argument::EveryEntry { .. } => {
            before.iter().try_for_each(Step::check)?;
            Ok(None)
        }
        Argument::OrderedFloats {
            before: from,
            after: to,
        } => {
            let Per::Tensor((low, high)) = certificate.interval else {
                let (expected, found) = (1, certificate.interval.values().len());
                return Err(Undecided::Channels { expected, found });
            };
            let interval = Interval { low, high };
            Ok(Some(compare_floats((from, before), (to, after), interval)?.into()))
        }
        _ if after.is_empty() => Err(Undecided::NoStep),
        _ => Chains::new(before, after).verdicts(&certificate.interval).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_requantize::{IntType, Narrowing, Requantization, Rounding, form::ArithFolded};

    fn shifted(rounding: Rounding) -> Step {
        let narrowing = Narrowing {
            shift: [4, 5, 6].into_iter().collect(),
            rounding,
            out: IntType::I8,
        };
        Step {
            form: Requantization::from(ArithFolded { narrowing }),
            clamp: Some([0, 127]),
        }
    }

    /// The compiler derives certificates by thresholds, and this module by runs. Both agree.
    #[test]
    fn a_certificate_that_was_derived_holds_and_a_false_one_does_not() {
        let interval: Per<(i64, i64)> = [(-500, 500), (9, 15), (0, 1 << 20)].into_iter().collect();
        let [before, after] = [Rounding::HalfUp, Rounding::HalfEven].map(shifted);
        let argument = Argument::SameAccumulator;
        let good = Certificate::derive(argument, vec![before], Some(after), interval).unwrap();
        assert_eq!(of(&good), None);
        assert_eq!(good.verdict.get(1), Some(&Verdict::Exact));
        let contradicts =
            |certificate: &Certificate| matches!(of(certificate), Some(Fault::Contradiction { channel: 0, .. }));

        let mut claims_too_much = good.clone();
        claims_too_much.verdict = [Verdict::Exact, Verdict::Exact, Verdict::Exact].into_iter().collect();
        assert!(contradicts(&claims_too_much));
        let mut other_interval = good.clone();
        other_interval.interval = Per::Tensor((9, 15));
        assert!(contradicts(&other_interval));

        let undecided = |certificate: &Certificate| match of(certificate) {
            Some(Fault::Certificate(undecided)) => undecided,
            other => panic!("{other:?}"),
        };
        let mut short = good.clone();
        short.verdict = Per::Tensor(Verdict::Exact);
        assert_eq!(undecided(&short), Undecided::Channels { expected: 3, found: 1 });
        let mut few_intervals = good.clone();
        few_intervals.interval = [(0, 1)].into_iter().collect();
        assert_eq!(undecided(&few_intervals), Undecided::Channels { expected: 1, found: 3 });
        let mut reversed = good.clone();
        reversed.interval = Per::Tensor((1, 0));
        assert_eq!(undecided(&reversed), Undecided::Interval(1, 0));
        let mut alone = good;
        alone.after = None;
        assert_eq!(undecided(&alone), Undecided::NoStep);
    }

    /// Two equal steps agree on the accumulators for which they are defined, and on no others.
    #[test]
    fn the_same_steps_are_held_against_their_domain() {
        let step = shifted(Rounding::HalfUp);
        let wide: Per<(i64, i64)> = (0, 1 << 20).into();
        let mut certificate =
            Certificate::derive(Argument::SameAccumulator, vec![step.clone()], Some(step), wide).unwrap();
        assert_eq!(of(&certificate), None);
        certificate.interval = Per::Tensor((0, i64::MAX));
        assert!(matches!(
            of(&certificate),
            Some(Fault::Certificate(Undecided::Domain(_)))
        ));
    }
}
