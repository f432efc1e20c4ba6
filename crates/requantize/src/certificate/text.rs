//! The text of a certificate, for people to read.

use super::{Argument, Because, Certificate, unordered};
use crate::certificate::numbers::{counted, grouped};
use crate::{
    Per, Verdict,
    decide::{Chain, MAX_STEPS},
};
use std::fmt::{self, Display};

/// Writes, for example, "exact on [−18 231, 20 110]: 255 equal thresholds", or "1 LSB at accumulator 4 127, 0.05 % of
/// the interval".
impl Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worst() {
            Verdict::Exact => self.exact(f),
            Verdict::Unknown => write!(f, "undecided on {}: 32-bit results", interval(&self.interval)),
            Verdict::Bounded {
                max_lsb,
                witness,
                share,
            } => self.bounded(f, *max_lsb, *witness, *share),
        }
    }
}

impl Certificate {
    fn exact(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("exact on ")?;
        match &self.argument {
            Argument::EveryEntry { entries: 1 } => return f.write_str("its one entry"),
            Argument::EveryEntry { entries } => return write!(f, "all of its {} entries", grouped(*entries as i64)),
            Argument::OrderedFloats { .. } => f.write_str("every float")?,
            _ => f.write_str(&interval(&self.interval))?,
        }
        if let Some(channels) = self.verdict.channels() {
            let (preposition, kind) = match self.elements() {
                Some(_) => ("for", "divisor"),
                None => ("in", "channel"),
            };
            write!(f, " {preposition} {}", counted(channels, kind))?;
        }
        match self.steps() {
            Some(1) => f.write_str(": 1 equal threshold")?,
            Some(steps) => write!(f, ": {} equal thresholds", grouped(steps))?,
            None => f.write_str(": the same form")?,
        }
        if self.argument == Argument::Commutes {
            f.write_str(", before the pool and behind it")?;
        }
        Ok(())
    }

    fn bounded(&self, f: &mut fmt::Formatter<'_>, max_lsb: u32, witness: i64, share: f64) -> fmt::Result {
        write!(f, "{} LSB at ", grouped(max_lsb.into()))?;
        let of = match &self.argument {
            Argument::EveryEntry { .. } => {
                write!(f, "the entry {}", grouped(witness))?;
                "entries"
            }
            Argument::OrderedFloats { .. } => {
                // tidy: allow(debug): the shortest digits of a float
                write!(f, "{:?}", unordered(witness))?;
                "floats"
            }
            _ => {
                write!(f, "accumulator {}", grouped(witness))?;
                "interval"
            }
        };
        let verdicts = self.verdict.values();
        if self.verdict.channels().is_some() {
            let worst = self.worst();
            let channel = verdicts.iter().position(|verdict| verdict == worst).unwrap_or(0);
            match self.elements().and_then(|most| most.get(channel)) {
                Some(elements) => write!(f, " of windows of {elements} elements")?,
                None => write!(f, " of channel {channel}")?,
            }
        }
        write!(f, ", {} % of the {of}", percent(share))?;
        if let Some(channels) = self.verdict.channels() {
            let differing = verdicts.iter().filter(|verdict| !verdict.is_exact()).count();
            let verb = if differing == 1 { "differs" } else { "differ" };
            let kind = match self.elements() {
                Some(_) => "divisor",
                None => "channel",
            };
            write!(f, "; {differing} of {} {verb}", counted(channels, kind))?;
        }
        Ok(())
    }

    /// The number of elements in the windows of each channel, if there is one channel for each divisor of a mean.
    fn elements(&self) -> Option<&[u64]> {
        self.because.iter().find_map(|fact| match fact {
            Because::Elements { most } => Some(&most[..]),
            _ => None,
        })
    }

    /// The number of thresholds of all channels together. `None` if there are too many to compare them one by one.
    fn steps(&self) -> Option<i64> {
        let (from, chain) = match &self.argument {
            Argument::OrderedFloats { before, .. } => (Some(before), &self.before),
            _ => (None, &self.before),
        };
        let mut all = 0i64;
        for channel in 0..self.verdict.values().len() {
            let (low, high) = *self.interval.get(channel)?;
            // The interval is empty only in a damaged certificate. It then has no thresholds.
            if low > high {
                return None;
            }
            let ends = [low, high].map(|end| {
                let start = from.map_or(end, |from| from.eval(unordered(end)).into());
                match &chain[..] {
                    [] => i32::try_from(start).ok(),
                    steps => Chain::new(steps, channel).ok()?.eval(start).ok(),
                }
            });
            let steps = i64::from(ends[1]?) - i64::from(ends[0]?);
            if steps > MAX_STEPS.into() {
                return None;
            }
            all += steps;
        }
        Some(all)
    }
}

/// The smallest interval that contains the intervals of all channels, as text.
fn interval(intervals: &Per<(i64, i64)>) -> String {
    let all = intervals.values().iter().copied();
    let (low, high) = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or_default();
    format!("[{}, {}]", grouped(low), grouped(high))
}

/// A share as a percentage, with two decimals. A smaller share has as many decimals as its first nonzero digit needs.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = (2..12).find(|&n| percent * 10f64.powi(n) >= 1.0).unwrap_or(12);
    format!("{percent:.*}", decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IntType, Narrowing, Requantization, Rounding, Step, form::ArithFolded};

    fn shift(shift: u8, rounding: Rounding, out: IntType) -> Step {
        let shift = shift.into();
        let narrowing = Narrowing { shift, rounding, out };
        Requantization::from(ArithFolded { narrowing }).into()
    }

    #[test]
    fn a_certificate_reads_as_a_sentence() {
        let step = shift(7, Rounding::HalfEven, IntType::I8);
        let exact = |after: Step, interval: Per<(i64, i64)>| {
            let same = Argument::SameAccumulator;
            Certificate::derive(same, vec![step.clone()], Some(after), interval)
                .unwrap()
                .to_string()
        };
        assert_eq!(
            exact(step.clone(), (-18_231, 20_110).into()),
            "exact on [−18 231, 20 110]: 255 equal thresholds"
        );
        let up = shift(7, Rounding::HalfUp, IntType::I8);
        assert_eq!(
            exact(up.clone(), (65, 199).into()),
            "exact on [65, 199]: 1 equal threshold"
        );
        assert_eq!(
            exact(up.clone(), (0, 1999).into()),
            "1 LSB at accumulator 64, 0.40 % of the interval"
        );
        let channels = || [(0, 63), (0, 64), (-5, 9)].into_iter().collect();
        assert_eq!(
            exact(up.clone(), channels()),
            "1 LSB at accumulator 64 of channel 1, 1.54 % of the interval; 1 of 3 channels differs"
        );
        let by_divisor = |after: Step| {
            let same = Argument::SameAccumulator;
            let certificate = Certificate::derive(same, vec![step.clone()], Some(after), channels()).unwrap();
            let most = vec![4, 6, 9];
            let because = vec![Because::Elements { most }];
            certificate
                .grounded(because, super::super::Digest::default())
                .to_string()
        };
        assert_eq!(
            by_divisor(step.clone()),
            "exact on [−5, 64] for 3 divisors: 0 equal thresholds"
        );
        assert_eq!(
            by_divisor(up),
            "1 LSB at accumulator 64 of windows of 6 elements, 1.54 % of the interval; 1 of 3 divisors differs"
        );
        let same = Argument::SameAccumulator;
        let certificate = Certificate::derive(same, vec![step.clone()], Some(step), (0, 9).into());
        let damaged = Certificate {
            interval: (9, 0).into(),
            ..certificate.unwrap()
        };
        assert_eq!(damaged.to_string(), "exact on [9, 0]: the same form");
    }

    #[test]
    fn small_shares_show_their_first_digit() {
        assert_eq!(percent(0.000_5), "0.05");
        assert_eq!(percent(0.5), "50.00");
        assert_eq!(percent(0.000_000_31), "0.00003");
        // The smallest possible share is a single one of all 2^32 accumulators.
        for bits in 0..=32 {
            let said = percent(0.5f64.powi(bits));
            assert!(said.parse::<f64>().unwrap() > 0.0, "{said}");
        }
    }
}
