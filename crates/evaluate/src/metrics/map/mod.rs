//! **map**: the mean average precision of boxes, in percent, as COCO defines it.
//!
//! In each image, the boxes of one class are matched in the order of their scores, beginning with the largest. Boxes
//! with equal scores keep their order. In an image, at most a hundred boxes of a class count, and at most a thousand
//! boxes of all classes. A box is matched with the free object of its class that it overlaps most, if their overlap
//! (intersection over union) reaches the threshold. Then the box is a hit, and the object is no longer free.
//!
//! Precision and recall are computed over the boxes of all images, again in the order of their scores. If h of the
//! first k boxes are hits, the precision is h / k and the recall is h / objects. The average precision is a mean of 101
//! precisions, one for each of the recalls 0, 0.01, … 1. For each recall, this is the largest precision at that recall
//! or a higher one, or 0 if no box reaches that recall. The result is the mean over the classes that have objects, and
//! over the thresholds 0.50, 0.55, … 0.95, or over the one threshold that was asked for. Crowds and object sizes are
//! not treated specially.
//!
//! Boxes are only matched with objects of the same image, so the note of a sample has the scores and hits of the boxes
//! in this image. The bootstrap draws images: an image counts with all its boxes and objects as often as it is drawn.
//! If none of the images with objects of a class is drawn, the class is left out of that draw. Therefore, if there are
//! few objects, the interval may not contain the figure.

mod ranked;

use std::collections::BTreeMap;

use serde_json::Value as Json;
use strait_samples::{MOST_CLASSES, Object};

use crate::{
    accuracy::{Change, Figure},
    error::EvaluateError,
    interval::Spread,
    meter::{Meter, MetricFigures, Note, Runs},
    metrics::claim::Claim,
    resample,
    seen::{EvaluatedSample, floats},
    words::BoxFormat,
};

use ranked::Ranked;

/// The largest number of boxes of one class that count in an image.
const MOST_BOXES: usize = 100;

/// The largest number of boxes of all classes that count in an image. Without this limit, memory would grow with
/// outputs that have a score for every class of every box.
const MOST_IN_ALL: usize = 1000;

/// The overlap thresholds over which the mean is taken by default.
pub const OVERLAPS: [f64; 10] = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];

/// Where the boxes come from.
pub enum BoxSource {
    /// The boxes are in outputs of the model, which have these indices.
    Outputs {
        /// Index of the output with four numbers for each box.
        boxes: usize,
        /// Index of the output with a score for each box, or for each box and class.
        scores: usize,
        /// Index of the output with a class for each box.
        classes: Option<usize>,
    },
    /// A command prints the boxes.
    Printed,
}

/// Compares the boxes that a model finds with those of the labels.
pub struct Map {
    /// Where the boxes come from.
    pub source: BoxSource,
    /// What the four numbers of a box mean.
    pub format: BoxFormat,
    /// The overlap thresholds over which the mean is taken; ten at most.
    pub overlaps: Vec<f64>,
    /// The labelled objects of each sample.
    pub objects: Vec<Vec<Object>>,
}

/// A box that the model found.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Detection {
    class: u32,
    score: f64,
    corners: [f64; 4],
}

impl Meter for Map {
    fn note(&self, seen: &EvaluatedSample<'_>) -> Result<Note, EvaluateError> {
        match self.source {
            BoxSource::Printed => Ok(Note::Nothing),
            BoxSource::Outputs { boxes, scores, classes } => {
                let found = self.detections(seen, boxes, scores, classes)?;
                Ok(Note::Claims(self.claims(seen.sample, &found)))
            }
        }
    }

    fn printed(&self, json: &Json) -> Result<Vec<Note>, EvaluateError> {
        let count = self.objects.len();
        let samples = json.as_array().filter(|samples| samples.len() == count);
        let samples = samples.ok_or_else(|| {
            let wanted = format!("prints no list of {count} lists of boxes, one for each sample");
            EvaluateError::Printed(wanted)
        })?;
        let notes = samples.iter().enumerate().map(|(sample, boxes)| {
            let found: Option<Vec<Detection>> = boxes
                .as_array()
                .and_then(|boxes| boxes.iter().map(|one| self.of_json(one)).collect());
            let found = found.ok_or_else(|| {
                let wanted =
                    format!("prints something else than boxes [class, score, and four numbers] for sample {sample}");
                EvaluateError::Printed(wanted)
            })?;
            Ok(Note::Claims(self.claims(sample, &found)))
        });
        notes.collect()
    }

    fn measure(&self, runs: Runs<'_>) -> MetricFigures {
        let ranked = |notes: &[Note]| Ranked::new(notes, &self.objects, self.overlaps.len());
        let (integer, float) = (ranked(runs.integer), runs.float.map(ranked));
        let simulated = runs.simulated.map(ranked);
        let value = |ranked: &Option<Ranked>, weights: Option<&[u32]>| {
            ranked.as_ref().map_or(f64::NAN, |one| one.value(weights))
        };
        let integer = Some(integer);
        let [of_integer, of_float, of_simulated, of_change] = resample::together(self.objects.len(), |weights| {
            let [integer, float, simulated] = [&integer, &float, &simulated].map(|one| value(one, Some(weights)));
            [integer, float, simulated, integer - float]
        });
        let figure = |ranked: &Option<Ranked>, spread: Spread| {
            let value = value(ranked, None);
            value.is_finite().then(|| Figure::spread(value, spread))
        };
        let change = value(&integer, None) - value(&float, None);
        MetricFigures {
            answers: None,
            change: change.is_finite().then(|| Change::new(change, of_change)),
            float: figure(&float, of_float),
            integer: figure(&integer, of_integer),
            simulated: figure(&simulated, of_simulated),
            note: (self.objects.iter().all(Vec::is_empty)).then(|| "no sample has an object".to_owned()),
            parts: Vec::new(),
        }
    }
}

impl Map {
    /// Reads the boxes from the model's outputs, without the padding.
    fn detections(
        &self,
        seen: &EvaluatedSample<'_>,
        boxes: usize,
        scores: usize,
        classes: Option<usize>,
    ) -> Result<Vec<Detection>, EvaluateError> {
        let [corners, scores] = [floats(seen.output(boxes)?)?, floats(seen.output(scores)?)?];
        let kinds = classes.map(|classes| floats(seen.output(classes)?)).transpose()?;
        let count = corners.len() / 4;
        let refused = |message: String| {
            let refused = EvaluateError::unfit(format!("{message} (sample {})", seen.sample));
            refused.help("name the outputs by `boxes`, `scores` and `classes`")
        };
        let each = scores.len().checked_div(count).unwrap_or(0);
        let fits = corners.len() == 4 * count && scores.len() == each * count;
        let fit = |kinds: &Vec<f32>| kinds.len() == count && scores.len() == count;
        if !fits || !kinds.as_ref().is_none_or(fit) {
            let kinds = kinds.map_or(String::new(), |kinds| format!(" and {} classes", kinds.len()));
            let message = format!(
                "{} numbers of boxes, {} scores{kinds} do not fit",
                corners.len(),
                scores.len()
            );
            return Err(refused(message));
        }
        let mut found = Vec::new();
        let boxes = corners.chunks_exact(4).zip(scores.chunks_exact(each.max(1)));
        for (at, (four, scores)) in boxes.enumerate() {
            for (class, &score) in scores.iter().enumerate() {
                let four: [f32; 4] = four.try_into().unwrap_or_default();
                let kind = |kinds: &Vec<f32>| kinds.get(at).copied().unwrap_or_default();
                let class = kinds.as_ref().map_or(class as f32, kind);
                if score.is_nan() || (score > 0.0 && four.iter().chain([&class]).any(|x| !x.is_finite())) {
                    let message = format!("box {at} of sample {} is NaN or infinite", seen.sample);
                    return Err(EvaluateError::not_finite(message));
                }
                if score <= 0.0 {
                    continue;
                }
                if class < 0.0 || class.fract() != 0.0 || class >= MOST_CLASSES as f32 {
                    return Err(refused(format!("box {at} has the class {class}")));
                }
                found.push(Detection {
                    class: class as u32,
                    score: score.into(),
                    corners: self.corners(four.map(f64::from)),
                });
            }
        }
        Ok(found)
    }

    /// Reads a box from a JSON list `[class, score, and four numbers]`.
    fn of_json(&self, json: &Json) -> Option<Detection> {
        let numbers: Vec<f64> = json.as_array()?.iter().map(Json::as_f64).collect::<Option<_>>()?;
        let [class, score, four @ ..] = numbers.as_slice() else {
            return None;
        };
        let whole = class.fract() == 0.0 && (0.0..f64::from(MOST_CLASSES)).contains(class);
        whole.then_some(Detection {
            class: *class as u32,
            score: *score,
            corners: self.corners(four.try_into().ok()?),
        })
    }

    /// Converts a box to left, top, right and bottom.
    fn corners(&self, [a, b, c, d]: [f64; 4]) -> [f64; 4] {
        match self.format {
            BoxFormat::Xyxy => [a, b, c, d],
            BoxFormat::Yxyx => [b, a, d, c],
            BoxFormat::Cxcywh => [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0],
        }
    }

    /// The boxes of an image that count, with the thresholds at which each box is a hit.
    fn claims(&self, sample: usize, found: &[Detection]) -> Vec<Claim> {
        let objects = self.objects.get(sample).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<&Detection> = found.iter().collect();
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(MOST_IN_ALL);
        let mut of_class: BTreeMap<u32, Vec<&Detection>> = BTreeMap::new();
        for one in found {
            of_class.entry(one.class).or_default().push(one);
        }
        let mut claims = Vec::new();
        for (class, mut found) in of_class {
            found.truncate(MOST_BOXES);
            let objects: Vec<&Object> = objects.iter().filter(|object| object.class == class).collect();
            let overlap = |one: &Detection, object: &Object| overlap(one.corners, object.corners);
            let overlaps: Vec<Vec<f64>> = (found.iter())
                .map(|one| objects.iter().map(|object| overlap(one, object)).collect())
                .collect();
            let mut hits = vec![0u16; found.len()];
            for (bit, &least) in self.overlaps.iter().enumerate() {
                let mut free = vec![true; objects.len()];
                for (hits, overlaps) in hits.iter_mut().zip(&overlaps) {
                    let overlaps = overlaps.iter().enumerate();
                    let candidates = overlaps.filter(|&(at, _)| free.get(at) == Some(&true));
                    let best = candidates.reduce(|best, next| if next.1 > best.1 { next } else { best });
                    if let Some((at, _)) = best.filter(|&(_, &overlap)| overlap >= least) {
                        free.iter_mut().skip(at).take(1).for_each(|free| *free = false);
                        *hits |= 1 << bit;
                    }
                }
            }
            claims.extend(found.iter().zip(hits).map(|(one, hits)| Claim {
                class,
                score: one.score,
                hits,
            }));
        }
        claims
    }
}

/// The intersection over union of two boxes; 0 if the boxes have no area in common.
fn overlap(a: [f64; 4], b: [f64; 4]) -> f64 {
    let extent = |low: f64, high: f64| (high - low).max(0.0);
    let area = |[left, top, right, bottom]: [f64; 4]| extent(left, right) * extent(top, bottom);
    let common = [a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])];
    let (common, all) = (area(common), area(a) + area(b));
    if common > 0.0 { common / (all - common) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_execute::Tensor;

    fn object(class: u32, corners: [f64; 4]) -> Object {
        Object { class, corners }
    }

    fn map(objects: Vec<Vec<Object>>, overlaps: &[f64]) -> Map {
        let source = BoxSource::Outputs {
            boxes: 0,
            scores: 1,
            classes: Some(2),
        };
        Map {
            source,
            format: BoxFormat::Xyxy,
            overlaps: overlaps.to_vec(),
            objects,
        }
    }

    fn found(class: u32, score: f64, corners: [f64; 4]) -> Detection {
        Detection { class, score, corners }
    }

    #[test]
    fn a_box_takes_the_free_object_that_it_overlaps_most() {
        let (left, right) = ([0., 0., 10., 10.], [5., 0., 15., 10.]);
        let map = map(vec![vec![object(0, left), object(0, right)]], &[0.5, 0.9]);
        let claims = map.claims(
            0,
            &[
                found(0, 0.7, left),              // taken by the better one
                found(0, 0.9, [0., 0., 9., 10.]), // 0.9 of the left
                found(0, 0.8, right),
                found(1, 0.9, left),
            ],
        );
        let hits: Vec<(u32, f64, u16)> = claims
            .iter()
            .map(|claim| (claim.class, claim.score, claim.hits))
            .collect();
        assert_eq!(hits, [(0, 0.9, 0b11), (0, 0.8, 0b11), (0, 0.7, 0b00), (1, 0.9, 0)]);
        assert_eq!(overlap(left, right), 50.0 / 150.0);
        assert_eq!(overlap([1.; 4], [1.; 4]), 0.0);
    }

    #[test]
    fn a_hundred_boxes_of_a_class_and_a_thousand_in_all_count() {
        let map = map(vec![vec![]], &[0.5]);
        let all: Vec<Detection> = (0..3000)
            .map(|i| found(i % 20, f64::from(i) / 3000.0, [0.; 4]))
            .collect();
        let claims = map.claims(0, &all);
        assert_eq!(
            (claims.len(), claims.iter().filter(|claim| claim.class == 19).count()),
            (1000, 50)
        );
        assert_eq!(
            map.claims(
                0,
                &all.iter().map(|one| Detection { class: 1, ..*one }).collect::<Vec<_>>()
            )
            .len(),
            100
        );
    }

    #[test]
    fn the_mean_is_over_classes_that_have_objects() {
        let unit = [0., 0., 1., 1.];
        let map = map(vec![vec![object(0, unit), object(3, unit)], vec![]], &[0.5]);
        let notes = [
            Note::Claims(map.claims(0, &[found(0, 0.5, unit), found(5, 0.9, unit)])),
            Note::Claims(map.claims(1, &[found(0, 0.6, unit)])),
        ];
        let ranked = Ranked::new(&notes, &map.objects, 1);
        // In class 0, a false box on the other image ranks first. The object of class 3 was not found. Class 5 has no
        // object, so it does not count.
        assert_eq!(ranked.value(None), 100.0 * 0.5 / 2.0);
        assert_eq!(ranked.value(Some(&[1, 0])), 100.0 * 1.0 / 2.0);
        assert!(ranked.value(Some(&[0, 2])).is_nan());
    }

    #[test]
    fn what_is_drawn_several_times_is_as_if_it_were_there_several_times() {
        let at = |x: f64| [x, 0., x + 1., 1.];
        let objects: Vec<Vec<Object>> = (0..4)
            .map(|i| (0..=i).map(|k| object(k % 2, at(f64::from(k)))).collect())
            .collect();
        let boxes = |i: u32| -> Vec<Detection> {
            let one = |k: u32| {
                found(
                    k % 2,
                    f64::from((i * 7 + k * 5) % 11 + 1) / 12.0,
                    at(f64::from(k) + 0.1 * f64::from(i)),
                )
            };
            (0..5).map(one).collect()
        };
        let weights = [2u32, 0, 1, 3];
        let repeated: Vec<u32> = weights
            .iter()
            .zip(0..)
            .flat_map(|(&weight, i)| vec![i; weight as usize])
            .collect();
        let ranked = |order: &[u32]| {
            let map = map(order.iter().map(|&i| objects[i as usize].clone()).collect(), &OVERLAPS);
            let notes: Vec<Note> = (order.iter().enumerate())
                .map(|(at, &i)| Note::Claims(map.claims(at, &boxes(i))))
                .collect();
            Ranked::new(&notes, &map.objects, OVERLAPS.len())
        };
        let (once, several) = (
            ranked(&[0, 1, 2, 3]).value(Some(&weights)),
            ranked(&repeated).value(None),
        );
        assert!(once > 0.0 && (once - several).abs() < 1e-9, "{once} and {several}");
    }

    #[test]
    fn outputs_are_read_in_every_form_and_what_does_not_fit_is_refused() {
        let mut map = map(vec![vec![]], &[0.5]);
        let read = |map: &Map, corners: &[f32], scores: &[f32], classes: Option<&[f32]>| {
            let tensor = |values: &[f32]| Tensor::from_values(&[1, values.len()], values).unwrap();
            let outputs = [tensor(corners), tensor(scores), tensor(classes.unwrap_or_default())];
            let seen = EvaluatedSample {
                sample: 7,
                inputs: &[],
                outputs: &outputs,
                beside: [None; 2],
            };
            map.detections(&seen, 0, 1, classes.map(|_| 2))
                .map_err(|stop| stop.to_string())
        };
        let one = [1., 2., 3., 6.];
        assert_eq!(
            read(&map, &one, &[0.5], Some(&[4.])),
            Ok(vec![found(4, 0.5, [1., 2., 3., 6.])])
        );
        assert_eq!(read(&map, &one, &[0.5], None).unwrap()[0].class, 0);
        // One score per class. A score of 0 is padding and is skipped.
        assert_eq!(
            read(&map, &one, &[0.0, 0.5, 0.25], None)
                .unwrap()
                .iter()
                .map(|one| one.class)
                .collect::<Vec<_>>(),
            [1, 2]
        );
        assert_eq!(read(&map, &[], &[], Some(&[])), Ok(vec![]));
        map.format = BoxFormat::Yxyx;
        assert_eq!(read(&map, &one, &[0.5], None).unwrap()[0].corners, [2., 1., 6., 3.]);
        map.format = BoxFormat::Cxcywh;
        assert_eq!(read(&map, &one, &[0.5], None).unwrap()[0].corners, [-0.5, -1., 2.5, 5.]);
        for (corners, scores, classes, part) in [
            (
                &one[..3],
                &[0.5][..],
                None,
                "3 numbers of boxes, 1 scores do not fit (sample 7)",
            ),
            (&one, &[0.5, 0.5], Some(&[1.][..]), "2 scores and 1 classes do not fit"),
            (&one, &[f32::NAN], None, "box 0 of sample 7 is NaN"),
            (&[1., 2., f32::INFINITY, 4.], &[0.5], None, "NaN or infinite"),
            (&one, &[0.5], Some(&[1.5]), "box 0 has the class 1.5"),
            (&one, &[0.5], Some(&[-1.]), "box 0 has the class -1"),
        ] {
            let told = read(&map, corners, scores, classes).unwrap_err();
            assert!(told.contains(part), "{told}");
        }
    }
}
