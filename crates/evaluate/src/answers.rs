//! Reads an output of a model as answers to questions, such as the class of a picture or of each token of a text.
//!
//! One axis of an output of floats has the classes, by default the last one; trailing axes of 1 do not count, so that
//! the head of a classifier `[1, classes, 1, 1]` gives one answer. Each position along the other axes is an answer of
//! its own:
//!
//! | output | axis of the classes | answers of a sample |
//! |---|---|---|
//! | `[1, classes]`, `[1, classes, 1, 1]` | the last one | 1 |
//! | `[1, tokens, classes]` | the last one | tokens |
//! | `[1, classes, height, width]` | 1, which has to be stated | height · width |
//! | integers or truth values, `[1, tokens]` | none: each number is a class | tokens |

use strait_execute::Tensor;

use crate::error::EvaluateError;
use crate::seen::{EvaluatedSample, Output};

/// Where the scores of an output are: `outer` blocks, each with `classes` rows of `inner` scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// Number of positions in front of the axis of the classes.
    pub outer: usize,
    /// Number of classes.
    pub classes: usize,
    /// Number of positions behind the axis of the classes.
    pub inner: usize,
}

impl Scores {
    /// The scores of all classes for the answer `at`, where answers count along the axes in front of the classes and
    /// then along those behind them.
    pub fn row(self, scores: &[f32], at: usize) -> impl Iterator<Item = f32> + Clone + '_ {
        let inner = self.inner.max(1);
        let start = at / inner * self.classes * inner + at % inner;
        let row = scores.get(start..).unwrap_or_default();
        row.iter().step_by(inner).take(self.classes).copied()
    }

    /// The class with the largest score, and this score. If several are equally large, it is the first of them.
    pub fn best(self, scores: &[f32], at: usize) -> (usize, f32) {
        let row = self.row(scores, at).enumerate();
        row.reduce(|best, next| if next.1 > best.1 { next } else { best })
            .unwrap_or((0, f32::NEG_INFINITY))
    }
}

/// The kind of answers that an output holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// One float for each class. An answer is the class with the largest float.
    Scores(Scores),
    /// Integers or booleans. Each is an answer: the class itself. The field says how many there are.
    Classes(usize),
    /// Integers or booleans whose number depends on the data. Two models agree if all of them are equal.
    Numbers,
}

impl Question {
    /// The kind of answers that an output holds if its last axis has the classes. `None` for an output of floats with
    /// fewer than two classes.
    pub fn of(output: &Output) -> Option<Question> {
        Question::along(output, None)
    }

    /// Like [`Question::of`], with the axis of the classes. Outputs of integers have no such axis.
    pub fn along(output: &Output, axis: Option<usize>) -> Option<Question> {
        if !output.elem.is_float() {
            return match output.count() {
                _ if axis.is_some() => None,
                0 => Some(Question::Numbers),
                count => Some(Question::Classes(count)),
            };
        }
        let axis = class_axis(output, axis)?;
        let (before, from) = output.shape.split_at_checked(axis)?;
        let (&classes, behind) = from.split_first()?;
        let scores = Scores {
            outer: before.iter().product(),
            classes,
            inner: behind.iter().product(),
        };
        (classes > 1 && output.count() > 0).then_some(Question::Scores(scores))
    }

    /// Number of classes, if it is known.
    pub fn classes(self) -> Option<usize> {
        match self {
            Question::Scores(scores) => Some(scores.classes),
            Question::Classes(_) | Question::Numbers => None,
        }
    }

    /// Number of answers to a sample. Numbers whose count depends on the data are one answer.
    pub fn answers(self) -> usize {
        match self {
            Question::Scores(scores) => scores.outer * scores.inner,
            Question::Classes(count) => count,
            Question::Numbers => 1,
        }
    }

    /// Returns the model's answers to a sample.
    ///
    /// # Errors
    /// As for [`EvaluatedSample::numbers`].
    pub fn answer(self, seen: &EvaluatedSample<'_>, index: usize, name: &str) -> Result<Answers, EvaluateError> {
        Ok(match self {
            Question::Scores(scores) => {
                let numbers = seen.numbers(index, name)?;
                let best = |at| scores.best(&numbers, at).0 as i64;
                Answers::Classes((0..self.answers()).map(best).collect())
            }
            Question::Classes(_) => Answers::Classes(integers(seen.output(index)?)?),
            Question::Numbers => Answers::Numbers(blake3::hash(seen.output(index)?.view().bytes()).into()),
        })
    }
}

/// The axis of the classes of an output of floats: the given one, or the last one with an extent other than 1.
fn class_axis(output: &Output, axis: Option<usize>) -> Option<usize> {
    axis.or_else(|| output.shape.iter().rposition(|&extent| extent != 1))
}

/// The extents along which the answers of a sample lie, without those of 1 at the batch axis and at the end. A label
/// for each answer has this shape.
pub fn positions(output: &Output, axis: Option<usize>) -> Vec<usize> {
    let mut shape = output.shape.clone();
    if output.elem.is_float()
        && let Some(axis) = class_axis(output, axis).filter(|&axis| axis < shape.len())
    {
        shape.remove(axis);
        // If the classes lie along the first axis, there is no batch axis in front of them.
        if axis == 0 {
            shape.insert(0, 1);
        }
    }
    let kept = shape.iter().rposition(|&extent| extent != 1).map_or(0, |last| last + 1);
    shape.truncate(kept);
    if shape.first() == Some(&1) {
        shape.remove(0);
    }
    shape
}

/// A model's answers to one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answers {
    /// The classes.
    Classes(Vec<i64>),
    /// A digest of several numbers. Digests can be compared without keeping the numbers.
    Numbers([u8; 32]),
}

/// The elements of a tensor of integers or booleans.
pub(crate) fn integers(output: &Tensor) -> Result<Vec<i64>, EvaluateError> {
    Ok(output.to_data()?.to_i64()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::Elem;

    #[test]
    fn the_axis_of_the_classes_says_how_many_answers_a_sample_has() {
        let scores = |outer, classes, inner| Some(Question::Scores(Scores { outer, classes, inner }));
        for (elem, shape, axis, question, labels) in [
            (Elem::F32, &[1, 10][..], None, scores(1, 10, 1), &[][..]),
            (Elem::F32, &[10], None, scores(1, 10, 1), &[]),
            (Elem::F32, &[1, 10, 1, 1], None, scores(1, 10, 1), &[]),
            (Elem::F32, &[1, 7, 10], None, scores(7, 10, 1), &[7]),
            (Elem::F32, &[7, 10], None, scores(7, 10, 1), &[7]),
            (Elem::F32, &[1, 3, 7, 10], None, scores(21, 10, 1), &[3, 7]),
            (Elem::F32, &[1, 6, 2, 3], Some(1), scores(1, 6, 6), &[2, 3]),
            (Elem::F32, &[1, 2, 6, 3], Some(2), scores(2, 6, 3), &[2, 3]),
            (Elem::F32, &[1, 6, 2, 3], Some(4), None, &[6, 2, 3]),
            (Elem::F32, &[1, 1, 2], Some(1), None, &[2]),
            (Elem::F32, &[1, 1], None, None, &[]),
            (Elem::F32, &[1, 0, 4], None, None, &[0]),
            (Elem::I64, &[1], None, Some(Question::Classes(1)), &[]),
            (Elem::I64, &[1, 7], None, Some(Question::Classes(7)), &[7]),
            (Elem::I64, &[1, 7], Some(1), None, &[7]),
            (Elem::I64, &[0, 3], None, Some(Question::Numbers), &[0, 3]),
        ] {
            let output = Output {
                name: "y".into(),
                elem,
                shape: shape.to_vec(),
            };
            assert_eq!(Question::along(&output, axis), question, "{shape:?} {axis:?}");
            assert_eq!(positions(&output, axis), labels, "{shape:?} {axis:?}");
        }
    }

    #[test]
    fn the_scores_of_an_answer_lie_along_the_axis_of_the_classes() {
        let numbers: Vec<f32> = (0..12).map(|at| at as f32).collect();
        let row = |scores: Scores, at| scores.row(&numbers, at).collect::<Vec<f32>>();
        let last = Scores {
            outer: 4,
            classes: 3,
            inner: 1,
        };
        assert_eq!(
            (row(last, 0), row(last, 3)),
            (vec![0.0, 1.0, 2.0], vec![9.0, 10.0, 11.0])
        );
        let middle = Scores {
            outer: 2,
            classes: 3,
            inner: 2,
        };
        assert_eq!(
            (row(middle, 1), row(middle, 2)),
            (vec![1.0, 3.0, 5.0], vec![6.0, 8.0, 10.0])
        );
        assert_eq!(last.best(&[1.0, 1.0, 0.0], 0), (0, 1.0));
    }
}
