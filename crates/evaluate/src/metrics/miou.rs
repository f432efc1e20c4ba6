//! **miou**: the mean over classes of intersection over union, in percent.
//!
//! For each class, let i be the number of pixels that both the label and the model assign to it, and u the number of
//! pixels that at least one of them assigns to it, over all samples. The class counts as i / u. A class to which
//! neither label nor model assigns any pixel is left out of the mean. A class that occurs only in the model's answers
//! counts as 0. Pixels with the label `ignore` are not counted at all.
//!
//! An output of floats has one number for each class at each pixel. The axis of the classes comes directly before the
//! axes of the mask, or directly after them. The class of a pixel is the index of the largest number; if several are
//! equally large, the index of the first of them. An output of integers has the class of each pixel itself.

use strait_samples::Array;

use crate::seen::{EvaluatedSample, Output};
use crate::{
    accuracy::{Change, Figure},
    answers::integers,
    error::EvaluateError,
    meter::{Meter, MetricFigures, Note, Runs},
    resample,
};

/// How an output states the class of each pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The output has a plane of scores for each class, one plane after the other. The field is the number of classes.
    Planes(usize),
    /// The output has the scores of all classes of a pixel next to each other. The field is the number of classes.
    Beside(usize),
    /// The output has the class of each pixel.
    Classes,
}

/// The largest class that is accepted in an integer output. A larger number is treated as a mistake.
const MOST_CLASSES: i64 = 1 << 16;

/// Compares one output with the masks of the labels.
pub struct Miou {
    /// Index of the output.
    pub index: usize,
    /// Name of the output.
    pub name: String,
    /// How the output states the class of each pixel.
    pub layout: Layout,
    /// The label of pixels that do not count.
    pub ignore: i64,
    /// The labels: the class of each pixel.
    pub masks: Array,
}

impl Layout {
    /// Returns how an output states the class of each pixel, for masks of the shape `mask`. Returns `None` if the
    /// output and the mask do not fit together.
    pub fn of(output: &Output, mask: &[usize]) -> Option<Layout> {
        let solid = |extents: &[usize]| {
            extents
                .iter()
                .copied()
                .filter(|&extent| extent != 1)
                .collect::<Vec<usize>>()
        };
        let mask = solid(mask);
        if !output.elem.is_float() {
            return (solid(&output.shape) == mask).then_some(Layout::Classes);
        }
        let shape = output.shape.strip_prefix(&[1]).unwrap_or(&output.shape);
        match shape {
            [classes, rest @ ..] if solid(rest) == mask => Some(Layout::Planes(*classes)),
            [rest @ .., classes] if solid(rest) == mask => Some(Layout::Beside(*classes)),
            _ => None,
        }
    }

    fn classes(self) -> Option<usize> {
        match self {
            Layout::Planes(classes) | Layout::Beside(classes) => Some(classes),
            Layout::Classes => None,
        }
    }
}

impl Meter for Miou {
    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        let refused = |message: String, help: &'static str| EvaluateError::unfit(message).help(help);
        let found = self.predicted(seen)?;
        let mask = self.masks.integers_of(seen.sample).ok_or_else(|| {
            let message = format!(
                "mask {} of {} holds numbers that are not whole",
                seen.sample,
                self.masks.name()
            );
            refused(message, "a mask has the class of each pixel")
        })?;
        if mask.len() != found.len() {
            return Err(EvaluateError::Defect(
                "a mask has another number of pixels than the output".into(),
            ));
        }
        let most = self.layout.classes().map_or(MOST_CLASSES, |classes| classes as i64);
        let mut regions: Vec<[u64; 2]> = Vec::new();
        for (&label, &class) in mask.iter().zip(&found) {
            if label == self.ignore {
                continue;
            }
            let wrong = |what: &str, class: i64| {
                let message = format!(
                    "{what} {} holds the class {class}, and the model has {most} classes",
                    seen.sample
                );
                refused(
                    message,
                    "classes count from 0; `ignore` names the label of pixels that do not count",
                )
            };
            let at = |what: &str, class: i64| match usize::try_from(class) {
                Ok(index) if class < most => Ok(index),
                _ => Err(wrong(what, class)),
            };
            let (label, class) = (at("mask", label)?, at("the output of sample", class)?);
            let needed = label.max(class) + 1;
            if regions.len() < needed {
                regions.resize(needed, [0; 2]);
            }
            let both = u64::from(label == class);
            for one in [label, class].into_iter().take(2 - both as usize) {
                if let Some([common, either]) = regions.get_mut(one) {
                    *common += both;
                    *either += 1;
                }
            }
        }
        let occurring = regions.into_iter().zip(0..).filter(|([_, either], _)| *either > 0);
        Ok(Note::Regions(
            occurring.map(|(counts, class)| (class, counts)).collect(),
        ))
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        // If no pixel is counted, there is no figure.
        let figure = |notes: &[Note]| {
            let value = value(notes, None);
            let spread = || resample::drawn(notes.len(), |weights| self::value(notes, Some(weights)));
            value.is_finite().then(|| Figure::spread(value, spread()))
        };
        let change = runs.float.and_then(|float| {
            let change = value(runs.integer, None) - value(float, None);
            let drawn = |weights: &[u32]| value(runs.integer, Some(weights)) - value(float, Some(weights));
            change
                .is_finite()
                .then(|| Change::new(change, resample::drawn(float.len(), drawn)))
        });
        let integer = figure(runs.integer);
        MetricFigures {
            answers: None,
            parts: Vec::new(),
            float: runs.float.and_then(figure),
            integer,
            simulated: runs.simulated.and_then(figure),
            change,
            note: integer.is_none().then(|| "no pixel has a label that counts".to_owned()),
        }
    }
}

impl Miou {
    /// The class that the model assigns to each pixel.
    fn predicted(&self, seen: &EvaluatedSample<'_>) -> Result<Vec<i64>, EvaluateError> {
        let (classes, between, along) = match self.layout {
            Layout::Classes => return integers(seen.output(self.index)?),
            Layout::Planes(classes) => (classes, 1, true),
            Layout::Beside(classes) => (classes, classes, false),
        };
        let scores = seen.numbers(self.index, &self.name)?;
        let pixels = scores.len() / classes.max(1);
        let step = if along { pixels } else { 1 };
        let class = |pixel: usize| {
            let of_pixel = scores
                .iter()
                .skip(pixel * between)
                .step_by(step.max(1))
                .take(classes)
                .enumerate();
            let best = of_pixel.reduce(|best, next| if next.1 > best.1 { next } else { best });
            best.map_or(0, |(class, _)| class as i64)
        };
        Ok((0..pixels).map(class).collect())
    }
}

/// The mean over classes, in percent; NaN if there is no class. A sample with weight w counts as w samples.
fn value(notes: &[Note], weights: Option<&[u32]>) -> f64 {
    let mut regions: Vec<[u64; 2]> = Vec::new();
    for (sample, note) in notes.iter().enumerate() {
        let weight = weights.map_or(1, |weights| weights.get(sample).copied().unwrap_or(0).into());
        let Note::Regions(found) = note else { continue };
        for &(class, [common, either]) in found {
            let class = class as usize;
            if regions.len() <= class {
                regions.resize(class + 1, [0; 2]);
            }
            if let Some(region) = regions.get_mut(class) {
                region[0] += weight * common;
                region[1] += weight * either;
            }
        }
    }
    let ratios = regions.iter().filter(|[_, either]| *either > 0);
    let ratios: Vec<f64> = ratios.map(|[common, either]| *common as f64 / *either as f64).collect();
    100.0 * ratios.iter().sum::<f64>() / ratios.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::Elem;
    use strait_execute::Tensor;
    use strait_samples::{NumberType, encode};

    fn masks(values: &[u8]) -> Array {
        Array::parse("m", &encode(NumberType::U8, &[values.len() / 4, 2, 2], values).into()).unwrap()
    }

    fn output(elem: Elem, shape: &[usize]) -> Output {
        Output {
            name: "y".into(),
            elem,
            shape: shape.to_vec(),
        }
    }

    #[test]
    fn the_axis_of_the_classes_is_in_front_or_behind() {
        let of = |elem, shape: &[usize]| Layout::of(&output(elem, shape), &[4, 5]);
        assert_eq!(of(Elem::F32, &[1, 3, 4, 5]), Some(Layout::Planes(3)));
        assert_eq!(of(Elem::F32, &[1, 4, 5, 3]), Some(Layout::Beside(3)));
        assert_eq!(of(Elem::I64, &[1, 1, 4, 5]), Some(Layout::Classes));
        assert_eq!(of(Elem::F32, &[1, 3, 5, 4]), None);
        assert_eq!(of(Elem::F32, &[1, 4, 5]), None);
    }

    fn note(layout: Layout, labels: &[u8], shape: &[usize], values: &[f32]) -> Result<Note, EvaluateError> {
        let miou = Miou {
            index: 0,
            name: "y".into(),
            layout,
            ignore: 255,
            masks: masks(labels),
        };
        let outputs = [Tensor::from_values(shape, values).unwrap()];
        miou.note(&EvaluatedSample {
            sample: 0,
            inputs: &[],
            outputs: &outputs,
            beside: [None; 2],
        })
    }

    #[test]
    fn absent_classes_have_no_part_and_false_ones_count_as_nothing() {
        // The outputs of three classes as planes. The predicted classes of the four pixels are 0, 0, 1 and 1.
        let planes = [1., 1., 0., 0., 0., 0., 1., 1., 0., 0., 0., 0.];
        let found = note(Layout::Planes(3), &[0, 1, 1, 255], &[1, 3, 2, 2], &planes).unwrap();
        // Class 0: 1 of 2 pixels. Class 1: 1 of 2. Class 2 does not occur.
        assert_eq!(value(std::slice::from_ref(&found), None), 50.0);
        let beside = [1., 0., 0., 1., 0., 0., 0., 1., 0., 0., 0., 1.];
        let found = note(Layout::Beside(3), &[0, 0, 1, 1], &[1, 2, 2, 3], &beside).unwrap();
        // Class 0: 2 of 2 pixels. Class 1: 1 of 2. Class 2 is in no label but predicted once: 0 of 1.
        assert_eq!(value(&[found], None), 50.0);
        assert!(value(&[Note::Regions(vec![])], None).is_nan());
    }

    #[test]
    fn a_class_that_the_model_lacks_is_refused_with_its_mask() {
        let stop = note(Layout::Planes(3), &[0, 3, 0, 0], &[1, 3, 2, 2], &[0.0; 12]).unwrap_err();
        assert!(
            stop.to_string()
                .contains("mask 0 holds the class 3, and the model has 3"),
            "{stop}"
        );
    }

    #[test]
    fn the_difference_is_drawn_in_pairs() {
        let notes = |counts: &[[u64; 2]]| {
            counts
                .iter()
                .map(|&counts| Note::Regions(vec![(0, counts)]))
                .collect::<Vec<_>>()
        };
        let float = notes(&[[9, 10]; 20]);
        let integer = notes(&[[8, 10]; 20]);
        let masks = masks(&[0; 4]);
        let miou = Miou {
            index: 0,
            name: "y".into(),
            layout: Layout::Classes,
            ignore: 255,
            masks,
        };
        let change = miou
            .measure(Runs {
                integer: &integer,
                float: Some(&float),
                simulated: None,
            })
            .change
            .unwrap();
        let [low, high] = change.interval.unwrap();
        assert!((change.value + 10.0).abs() < 1e-9 && (low + 10.0).abs() < 1e-9 && (high + 10.0).abs() < 1e-9);
    }
}
