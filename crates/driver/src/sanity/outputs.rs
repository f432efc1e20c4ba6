//! One output of two models, number by number.
//!
//! With x the float model's numbers and y the integer model's, over all samples for which both have the same extents:
//!
//! ```text
//! snr        10 · log10 (Σ x² / Σ (x − y)²)
//! constant   all y are equal, and Σ (x − x̄)² is at least 10⁻⁶ of Σ x², x̄ the mean of all x; or each y is that of the first
//!            sample, and the same holds with x̄ the mean of the samples at each place
//! answer     the position of the largest number, the first one where several are equal; of one integer the integer
//! ```
//!
//! Two answers of scores may differ because these are nearly equal, as those of a healthy model do now and then. So an answer is
//! counted as wrong where the float model's score of it is nearer to the mean of all its scores than to the largest. Where there
//! is noise, half of them have to be wrong.
//!
//! Where x is NaN or infinite nothing is known of y: an infinite score is a lowest code, and nobody reads what is NaN.

use strait_execute::Tensor;

use crate::{
    evaluation::{floats, ratio},
    report::{Fault, SanityOutput},
    stop::Stop,
};

use super::parts::Part;

/// The least SNR, in dB.
pub(super) const LEAST_SNR: f64 = 10.0;

/// Wrong answers that are none: one of a few may be a tie.
const MOST_WRONG: u64 = 1;

/// With a better SNR, in dB, noise is no reason for a wrong answer.
const QUIET: f64 = 20.0;

/// Squares of deviations below this part of all squares are none.
const CONSTANT: f64 = 1e-6;

/// Sums of squares: of the float model's numbers, and of the errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Squares {
    pub(super) signal: f64,
    pub(super) error: f64,
}

impl Squares {
    pub(super) fn add(&mut self, x: f32, y: f32) {
        if x.is_finite() && y.is_finite() {
            let (x, y) = (f64::from(x), f64::from(y));
            self.signal += x * x;
            self.error += (x - y) * (x - y);
        }
    }

    /// In dB; `None` where there is no signal.
    pub(super) fn snr(self) -> Option<f64> {
        (self.signal > 0.0).then(|| ratio(self.signal, self.error))
    }
}

/// An output, or a part of one, held against the float model's.
#[derive(Clone, Debug, Default)]
pub(super) struct Judged {
    compared: u64,
    snr: Option<f64>,
    differ: Option<u64>,
    faults: Vec<Fault>,
}

impl Judged {
    /// Of an output in both models, sample by sample; of the numbers of a part alone where one is given.
    pub(super) fn of(pairs: &[(&Tensor, &Tensor)], part: Option<&Part>, answers: bool) -> Result<Judged, Stop> {
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
                    Some(part) => part.of(tensor.shape(), &all).copied().collect(),
                    None => all,
                })
            };
            compared.push((numbers(float)?, numbers(other)?));
        }
        let mut judged = Judged::numbers(&compared, is_float, answers);
        if empty {
            judged.faults.push(Fault::Empty);
        }
        Ok(judged)
    }

    fn numbers(compared: &[(Vec<f32>, Vec<f32>)], is_float: bool, answers: bool) -> Judged {
        let pairs = || {
            compared
                .iter()
                .flat_map(|(x, y)| x.iter().copied().zip(y.iter().copied()))
        };
        let mut squares = Squares::default();
        pairs().for_each(|(x, y)| squares.add(x, y));
        let snr = squares.snr().filter(|_| is_float);
        let is_one_integer = !is_float && compared.iter().all(|(x, _)| x.len() == 1);
        let differ = (answers || is_one_integer).then(|| {
            let wrong = |(x, y): &&(Vec<f32>, Vec<f32>)| match is_one_integer {
                true => x != y,
                false => is_wrong(x, y),
            };
            compared.iter().filter(wrong).count() as u64
        });
        // Noise that is no fault by itself makes a few answers wrong.
        let are_wrong = |wrong: u64| {
            let is_quiet = snr.is_none_or(|snr| snr >= QUIET);
            wrong > MOST_WRONG && (is_quiet || 2 * wrong >= compared.len() as u64)
        };
        let faults = [
            (Fault::Noise, snr.is_some_and(|snr| snr < LEAST_SNR)),
            (Fault::Constant, is_constant(compared)),
            (Fault::Answers, differ.is_some_and(are_wrong)),
            (Fault::NotANumber, pairs().any(|(x, y)| x.is_finite() && !y.is_finite())),
        ];
        Judged {
            compared: compared.len() as u64,
            snr,
            differ,
            faults: faults
                .into_iter()
                .filter_map(|(fault, is)| is.then_some(fault))
                .collect(),
        }
    }

    pub(super) fn told(self, output: &str, part: Option<String>) -> SanityOutput {
        SanityOutput {
            output: output.to_owned(),
            part,
            compared: self.compared,
            snr: self.snr,
            differ: self.differ,
            faults: self.faults,
        }
    }
}

/// True where the answer of the scores `y` is wrong by those of the float model.
fn is_wrong(x: &[f32], y: &[f32]) -> bool {
    let Some(best) = largest(x) else { return false };
    let score = |at: usize| x.get(at).copied().map_or(0.0, f64::from);
    let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / x.len() as f64;
    largest(y).is_none_or(|answer| answer != best && score(answer) - mean < score(best) - score(answer))
}

/// The position of the largest number, the first one of several; `None` where a number is NaN.
fn largest(numbers: &[f32]) -> Option<usize> {
    let best = |best: Option<(usize, f32)>, (at, &x): (usize, &f32)| match best {
        Some((_, most)) if x <= most => best,
        _ => Some((at, x)),
    };
    let has_nan = numbers.iter().any(|x| x.is_nan());
    let found = numbers.iter().enumerate().fold(None, best);
    found.filter(|_| !has_nan).map(|(at, _)| at)
}

/// True where the integer model's numbers are all the same, or the same for each sample, and the float model's are not.
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

/// The sum of the squares of deviations from the mean.
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

    fn judged(shape: &[usize], float: &[&[f32]], integer: &[&[f32]], answers: bool) -> Judged {
        let tensors = |all: &[&[f32]]| all.iter().map(|values| tensor(shape, values)).collect::<Vec<_>>();
        let (float, integer) = (tensors(float), tensors(integer));
        let pairs: Vec<_> = float.iter().zip(&integer).collect();
        Judged::of(&pairs, None, answers).unwrap()
    }

    #[test]
    fn faults_are_those_of_the_definitions() {
        use Fault::{Answers, Constant, Noise, NotANumber};
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
            let found = judged(&[1, float[0].len()], float, integer, false);
            assert_eq!(found.faults, expected, "{name}: {found:?}");
            assert_eq!(found.differ, None);
        }
        let row: &[&'static [f32]] = &[&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0], &[5.0, 5.0, 0.0], &[9.0, 8.0, 1.0]];
        // Of the third, the first of two is the answer in both; of the last, the second answer is nearly as good.
        let one: &[&[f32]] = &[&[1.0, 2.0, 3.0], &[2.9, 3.0, 1.0], &[5.0, 5.0, 0.0], &[8.0, 8.5, 1.0]];
        let two: &[&[f32]] = &[&[1.0, 3.1, 3.0], &[2.9, 3.0, 1.0], &[5.0, 5.0, 0.0], &[8.0, 8.5, 1.0]];
        let of = |integer| judged(&[1, 3], row, integer, true);
        // More than noise explains, and no more than that.
        let noisy: &[&'static [f32]] = &[&[2.0, 3.5, 3.0], &[2.0, 3.0, 1.0], &[5.0, 5.0, 0.0], &[8.0, 8.5, 1.0]];
        let more = |all: &[&'static [f32]]| -> Vec<&'static [f32]> {
            let same: &[&'static [f32]] = &[&[5.0, 0.0, 0.0]];
            all.iter().chain(same).copied().collect()
        };
        let found = judged(&[1, 3], &more(row), &more(noisy), true);
        assert!(found.snr.unwrap() < QUIET && found.faults.is_empty(), "{found:?}");
        assert_eq!(found.differ, Some(2));
        assert_eq!((of(one).differ, &of(one).faults[..]), (Some(1), &[][..]));
        assert_eq!((of(two).differ, &of(two).faults[..]), (Some(2), &[Answers][..]));
    }

    #[test]
    fn no_signal_has_no_ratio() {
        let found = judged(&[1, 2], &[&[0.0, 0.0]], &[&[0.1, 0.2]], false);
        assert_eq!((found.snr, &found.faults[..]), (None, &[][..]));
        let found = judged(&[1, 2], &[&[3.0, 4.0]], &[&[3.0, 3.5]], false);
        assert!((found.snr.unwrap() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn other_extents_are_not_compared_and_integers_are_answers() {
        let empty = tensor(&[0, 2], &[]);
        let (two, other) = (tensor(&[1, 2], &[1.0, 2.0]), tensor(&[2, 2], &[0.0; 4]));
        let of = |pairs: &[(&Tensor, &Tensor)]| Judged::of(pairs, None, false).unwrap();
        let found = of(&[(&two, &empty), (&two, &empty)]);
        assert_eq!((found.compared, &found.faults[..]), (0, &[Fault::Empty][..]));
        let found = of(&[(&two, &other), (&two, &two)]);
        assert_eq!((found.compared, found.snr, found.faults.len()), (1, Some(200.0), 0));
        assert!(of(&[]).faults.is_empty());
        let class = |class: i64| Tensor::from_values(&[1], &[class]).unwrap();
        let (a, b) = (class(3), class(4));
        let found = of(&[(&a, &b), (&b, &a), (&a, &a)]);
        assert_eq!(
            (found.snr, found.differ, &found.faults[..]),
            (None, Some(2), &[Fault::Answers][..])
        );
    }
}
