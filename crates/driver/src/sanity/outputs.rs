//! Compares one output of two models, number by number.
//!
//! Let x be the float model's numbers and y the integer model's numbers, over all samples for which the output has the
//! same shape in both models:
//!
//! ```text
//! snr        10 · log10 (Σ x² / Σ (x − y)²)
//! constant   all y are equal, and Σ (x − x̄)² ≥ 10⁻⁶ · Σ x², where x̄ is the mean of all x. Or the y of every sample are those
//!            of the first sample, and the same inequality holds if x̄ is the mean over the samples, element by element
//! answer     the index of the largest number, the first one if several are equal. If the output is a single integer, this
//!            integer
//! ```
//!
//! If a softmax makes or reads the output, it is an answer ([`Reading::Class`]), and every different answer is counted.
//! If nothing reads the output, it may be scores, or numbers of which the largest has no special meaning
//! ([`Reading::Scores`]). For example, a spectrum that an auto-encoder restores has several numbers that are nearly the
//! largest. So for such an output, a different index only counts if the float model's number at that index is clearly
//! smaller than its largest number: their difference must be more than [`TIE`] times d, where d is the largest number
//! minus the mean. There is a warning only if the answers differ on at least two samples.
//!
//! Where x is NaN or infinite, y is not compared: a score of −∞ becomes the lowest code, and NaN has no meaning. An
//! output that cannot be judged at all has a reason ([`Unjudged`]).

use strait_evaluate::{ConcatenatedParts, floats, metrics::ratio};
use strait_execute::Tensor;

use crate::{
    report::{Fault, SanityOutput, Unjudged},
    stop::Stop,
};

/// The SNR below which an output is at fault, in dB.
pub(super) const LEAST_SNR: f64 = 10.0;

/// At most this many answers may differ without a warning. Among a few samples, one different answer may come from a
/// tie.
const MOST_DIFFERING: u64 = 1;

/// Two numbers of an output count as about equal if they differ by less than this factor times d, where d is the
/// output's largest number minus the mean of its numbers.
const TIE: f64 = 0.125;

/// If the sum of the squared deviations from the mean is less than this fraction of the sum of all squares, the numbers
/// count as constant.
const CONSTANT: f64 = 1e-6;

/// Sums over the numbers x of the float model and y of another one: of x², (x − y)², y² and x·y.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Squares {
    pub(super) signal: f64,
    pub(super) error: f64,
    other: f64,
    product: f64,
}

impl Squares {
    pub(crate) fn add(&mut self, x: f32, y: f32) {
        if x.is_finite() && y.is_finite() {
            self.add_finite(x, y);
        }
    }

    fn add_finite(&mut self, x: f32, y: f32) {
        let (x, y) = (f64::from(x), f64::from(y));
        self.signal += x * x;
        self.error += (x - y) * (x - y);
        self.other += y * y;
        self.product += x * y;
    }

    /// Adds several pairs of numbers, one after the other.
    pub(crate) fn add_all(&mut self, x: &[f32], y: &[f32]) {
        let are_finite = |of: &[f32]| of.iter().fold(true, |all, number| all & number.is_finite());
        if !are_finite(x) || !are_finite(y) {
            return x.iter().zip(y).for_each(|(&x, &y)| self.add(x, y));
        }
        x.iter().zip(y).for_each(|(&x, &y)| self.add_finite(x, y));
    }

    /// Adds the sums over other numbers.
    pub(crate) fn merge(&mut self, more: Squares) {
        self.signal += more.signal;
        self.error += more.error;
        self.other += more.other;
        self.product += more.product;
    }

    /// The SNR in dB; `None` if the signal is 0.
    pub(crate) fn snr(self) -> Option<f64> {
        (self.signal > 0.0).then(|| ratio(self.signal, self.error))
    }

    /// The cosine of the angle between both; `None` if one of them is 0.
    pub(crate) fn cosine(self) -> Option<f64> {
        (self.signal > 0.0 && self.other > 0.0).then(|| self.product / (self.signal * self.other).sqrt())
    }
}

/// How an output is read as an answer: as a class, or as plain scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// A softmax makes or reads the output.
    Class,
    /// Nothing reads the output, so its numbers may be scores.
    Scores,
}

/// An output, or a part of one, compared with the float model's.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    compared: u64,
    snr: Option<f64>,
    differ: Option<u64>,
    faults: Vec<Fault>,
    unjudged: Option<Unjudged>,
}

impl Judged {
    /// Compares an output of both models, sample by sample. If a part is given, only the numbers of that part are
    /// compared.
    pub(super) fn of(
        pairs: &[(&Tensor, &Tensor)],
        part: Option<(&ConcatenatedParts, usize)>,
        reading: Option<Reading>,
    ) -> Result<Judged, Stop> {
        let mut compared = Vec::new();
        let (mut is_float, mut empty) = (true, !pairs.is_empty());
        for (float, other) in pairs {
            empty &= other.shape().contains(&0) && !float.shape().contains(&0);
            is_float &= float.elem().is_float();
            if float.shape() != other.shape() {
                continue;
            }
            let numbers = |tensor: &Tensor| {
                let all = floats(tensor)?;
                Ok::<Vec<f32>, Stop>(match part {
                    Some((parts, part)) => parts.numbers(part, &all).collect(),
                    None => all,
                })
            };
            compared.push((numbers(float)?, numbers(other)?));
        }
        let mut judged = Judged::numbers(&compared, is_float, reading);
        if empty {
            judged.faults.push(Fault::Empty);
        }
        Ok(judged)
    }

    fn numbers(compared: &[(Vec<f32>, Vec<f32>)], is_float: bool, reading: Option<Reading>) -> Judged {
        let pairs = || {
            compared
                .iter()
                .flat_map(|(x, y)| x.iter().copied().zip(y.iter().copied()))
        };
        let mut squares = Squares::default();
        pairs().for_each(|(x, y)| squares.add(x, y));
        let snr = squares.snr().filter(|_| is_float);
        let is_one_integer = !is_float && compared.iter().all(|(x, _)| x.len() == 1);
        // If no number is finite, there is no largest number, and so no answer.
        let is_known = pairs().any(|(x, _)| x.is_finite());
        let is_answer = is_known && (reading.is_some() || is_one_integer);
        let differ = is_answer.then(|| {
            let differ = |(x, y): &&(Vec<f32>, Vec<f32>)| match is_one_integer {
                true => x != y,
                false => is_another(x, y, reading),
            };
            compared.iter().filter(differ).count() as u64
        });
        let faults = [
            (Fault::Noise, snr.is_some_and(|snr| snr < LEAST_SNR)),
            (Fault::Constant, is_constant(compared)),
            (Fault::Answers, differ.is_some_and(|differ| differ > MOST_DIFFERING)),
            (Fault::NotANumber, pairs().any(|(x, y)| x.is_finite() && !y.is_finite())),
        ];
        let unjudged = (snr.is_none() && differ.is_none()).then(|| {
            let mut numbers = compared.iter().flat_map(|(x, _)| x).peekable();
            match (compared.is_empty(), numbers.peek().is_none()) {
                (true, _) => Unjudged::Extents,
                (_, true) => Unjudged::Empty,
                _ if !is_float => Unjudged::Integers,
                _ if numbers.all(|x| !x.is_finite()) => Unjudged::NotANumber,
                _ => Unjudged::Zero,
            }
        });
        Judged {
            compared: compared.len() as u64,
            snr,
            differ,
            faults: faults
                .into_iter()
                .filter_map(|(fault, is)| is.then_some(fault))
                .collect(),
            unjudged,
        }
    }

    pub(super) fn told(self, output: &str, part: Option<String>) -> SanityOutput {
        SanityOutput {
            output: output.to_owned(),
            part,
            compared: self.compared,
            snr: self.snr,
            differ: self.differ,
            unjudged: self.unjudged.filter(|_| self.faults.is_empty()),
            faults: self.faults,
        }
    }
}

/// True if the scores `y` give another answer than the float model's scores `x`.
fn is_another(x: &[f32], y: &[f32], reading: Option<Reading>) -> bool {
    let Some(best) = largest(x) else { return false };
    let score = |at: usize| x.get(at).copied().map_or(0.0, f64::from);
    let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / x.len() as f64;
    let tie = match reading {
        Some(Reading::Scores) => TIE * (score(best) - mean),
        Some(Reading::Class) | None => return largest(y) != Some(best),
    };
    largest(y).is_none_or(|answer| answer != best && score(best) - score(answer) > tie)
}

/// Index of the largest number, or of the first one if several are equal; `None` if any number is NaN.
fn largest(numbers: &[f32]) -> Option<usize> {
    let best = |best: Option<(usize, f32)>, (at, &x): (usize, &f32)| match best {
        Some((_, most)) if x <= most => best,
        _ => Some((at, x)),
    };
    let has_nan = numbers.iter().any(|x| x.is_nan());
    let found = numbers.iter().enumerate().fold(None, best);
    found.filter(|_| !has_nan).map(|(at, _)| at)
}

/// True if the integer model's numbers are all equal, or the same for each sample, while the float model's numbers are
/// not.
fn is_constant(compared: &[(Vec<f32>, Vec<f32>)]) -> bool {
    let Some((_, first)) = compared.first() else {
        return false;
    };
    let all: Vec<f64> = (compared.iter())
        .flat_map(|(x, _)| x.iter().map(|&x| f64::from(x)))
        .filter(|x| x.is_finite())
        .collect();
    let squares: f64 = all.iter().map(|x| x * x).sum();
    let varies = |deviation: f64| deviation > 0.0 && deviation >= CONSTANT * squares;
    let one = first.first();
    let is_one = compared.iter().flat_map(|(_, y)| y).all(|y| Some(y) == one);
    if is_one && varies(deviation(&all)) {
        return true;
    }
    let is_same = compared.len() > 1 && compared.iter().all(|(_, y)| y == first);
    is_same && {
        let at = |place: usize| {
            compared
                .iter()
                .filter_map(move |(x, _)| x.get(place))
                .map(|&x| f64::from(x))
        };
        let places = (0..first.len()).map(|place| at(place).filter(|x| x.is_finite()).collect::<Vec<f64>>());
        varies(places.map(|numbers| deviation(&numbers)).sum())
    }
}

/// The sum of the squared deviations from the mean.
fn deviation(numbers: &[f64]) -> f64 {
    let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
    numbers.iter().map(|x| (x - mean) * (x - mean)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(shape: &[usize], values: &[f32]) -> Tensor {
        Tensor::from_values(shape, values).unwrap()
    }

    fn judged(shape: &[usize], float: &[&[f32]], integer: &[&[f32]], reading: Option<Reading>) -> Judged {
        let tensors = |all: &[&[f32]]| all.iter().map(|values| tensor(shape, values)).collect::<Vec<_>>();
        let (float, integer) = (tensors(float), tensors(integer));
        let pairs: Vec<_> = float.iter().zip(&integer).collect();
        Judged::of(&pairs, None, reading).unwrap()
    }

    #[test]
    fn faults_are_those_of_the_definitions() {
        use Fault::{Constant, Noise, NotANumber};
        const NAN: f32 = f32::NAN;
        const LOW: f32 = f32::NEG_INFINITY;
        let cases: [(&str, &[&[f32]], &[&[f32]], &[Fault]); 11] = [
            ("equal", &[&[1.0, 2.0]], &[&[1.0, 2.0]], &[]),
            ("11.0 dB", &[&[5.0, 0.0]], &[&[5.0, 1.41]], &[]),
            ("9.0 dB", &[&[5.0, 0.0]], &[&[5.0, 1.77]], &[Noise]),
            ("all zero", &[&[1.0, 2.0]], &[&[0.0, 0.0]], &[Noise, Constant]),
            ("a mean of all", &[&[100.0, 101.0]], &[&[100.5, 100.5]], &[Constant]),
            (
                "the same for each sample",
                &[&[100.0, 1.0], &[101.0, 1.0]],
                &[&[100.5, 1.0], &[100.5, 1.0]],
                &[Constant],
            ),
            (
                "both constant",
                &[&[3.0, 3.0], &[3.0, 3.0]],
                &[&[3.1, 3.1], &[3.1, 3.1]],
                &[],
            ),
            ("one sample says nothing of others", &[&[1.0, 2.0]], &[&[1.0, 2.1]], &[]),
            (
                "NaN in both",
                &[&[NAN, 1.0], &[2.0, 1.0]],
                &[&[NAN, 1.0], &[2.0, 1.0]],
                &[],
            ),
            ("nothing is known", &[&[LOW, NAN, 2.0]], &[&[-9.0, 4.0, 2.0]], &[]),
            ("NaN in one", &[&[9.0, 1.0]], &[&[9.0, NAN]], &[NotANumber]),
        ];
        for (name, float, integer, expected) in cases {
            let found = judged(&[1, float[0].len()], float, integer, None);
            assert_eq!(found.faults, expected, "{name}: {found:?}");
            assert_eq!(found.differ, None);
        }
    }

    #[test]
    fn where_no_sample_has_the_same_extents_nothing_is_an_answer() {
        for reading in [None, Some(Reading::Class), Some(Reading::Scores)] {
            let [float, integer] = [2, 4].map(|rows| tensor(&[rows, 1], &vec![1.0; rows]));
            let found = Judged::of(&[(&float, &integer)], None, reading).unwrap();
            assert_eq!(
                (found.differ, found.unjudged),
                (None, Some(Unjudged::Extents)),
                "{reading:?}"
            );
        }
    }

    #[test]
    fn what_is_nan_throughout_is_no_answer() {
        let found = judged(&[1, 2], &[&[f32::NAN; 2]], &[&[f32::NAN; 2]], Some(Reading::Class));
        assert_eq!((found.differ, found.unjudged), (None, Some(Unjudged::NotANumber)));
    }

    #[test]
    fn two_other_answers_are_a_fault_and_near_numbers_that_nothing_reads_are_none() {
        let row: &[&[f32]] = &[&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0], &[5.0, 5.0, 0.0], &[9.0, 8.0, 1.0]];
        // In the third row two scores are equal and the first counts as the answer. The row means are 2, 2, 3.3 and 6.
        let one: &[&[f32]] = &[&[1.0, 2.0, 3.0], &[2.9, 2.0, 1.0], &[5.0, 5.0, 0.0], &[8.0, 8.5, 1.0]];
        let two: &[&[f32]] = &[&[1.0, 3.1, 3.0], &[2.9, 2.0, 1.0], &[5.0, 5.0, 0.0], &[8.0, 8.5, 1.0]];
        for reading in [Reading::Class, Reading::Scores] {
            for (integer, differ, faults) in [(one, 1, &[][..]), (two, 2, &[Fault::Answers])] {
                let found = judged(&[1, 3], row, integer, Some(reading));
                assert_eq!((found.differ, &found.faults[..]), (Some(differ), faults), "{reading:?}");
            }
        }
        // The tie limit is an eighth of the largest score minus the mean: (4 − 0) / 8 = 0.5.
        let near: &[&[f32]] = &[&[4.0, 3.5, -7.5], &[4.0, 3.5, -7.5]];
        let far: &[&[f32]] = &[&[4.0, 3.4, -7.4], &[4.0, 3.4, -7.4]];
        let other: &[&[f32]] = &[&[3.9, 4.0, -7.5], &[3.9, 4.0, -7.5]];
        for (float, reading, differ) in [
            (near, Reading::Class, 2),
            (near, Reading::Scores, 0),
            (far, Reading::Scores, 2),
        ] {
            assert_eq!(
                judged(&[1, 3], float, other, Some(reading)).differ,
                Some(differ),
                "{float:?}"
            );
        }
    }

    #[test]
    fn no_signal_has_no_ratio() {
        const NAN: f32 = f32::NAN;
        for (float, why) in [([0.0, 0.0], Unjudged::Zero), ([NAN, NAN], Unjudged::NotANumber)] {
            let found = judged(&[1, 2], &[&float], &[&[0.1, 0.2]], None);
            assert_eq!(
                (found.snr, &found.faults[..], found.unjudged),
                (None, &[][..], Some(why))
            );
        }
        let empty = judged(&[1, 0], &[&[]], &[&[]], None);
        assert_eq!((empty.unjudged, empty.faults.len()), (Some(Unjudged::Empty), 0));
        let found = judged(&[1, 2], &[&[3.0, 4.0]], &[&[3.0, 3.5]], None);
        assert_eq!(found.unjudged, None);
        assert!((found.snr.unwrap() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn other_extents_are_not_compared_and_integers_are_answers() {
        let empty = tensor(&[0, 2], &[]);
        let (two, other) = (tensor(&[1, 2], &[1.0, 2.0]), tensor(&[2, 2], &[0.0; 4]));
        let of = |pairs: &[(&Tensor, &Tensor)]| Judged::of(pairs, None, None).unwrap();
        let found = of(&[(&two, &empty), (&two, &empty)]);
        assert_eq!((found.compared, &found.faults[..]), (0, &[Fault::Empty][..]));
        assert_eq!(of(&[(&two, &other)]).unjudged, Some(Unjudged::Extents));
        let found = of(&[(&two, &other), (&two, &two)]);
        assert_eq!((found.compared, found.snr, found.faults.len()), (1, Some(200.0), 0));
        assert!(of(&[]).faults.is_empty());
        let counts = Tensor::from_values(&[2], &[3i64, 4]).unwrap();
        assert_eq!(of(&[(&counts, &counts)]).unjudged, Some(Unjudged::Integers));
        let class = |class: i64| Tensor::from_values(&[1], &[class]).unwrap();
        let (a, b) = (class(3), class(4));
        let found = of(&[(&a, &b), (&b, &a), (&a, &a)]);
        assert_eq!(
            (found.snr, found.differ, &found.faults[..]),
            (None, Some(2), &[Fault::Answers][..])
        );
    }
}
