//! What the network sees, as small pictures for the report, and the samples whose answer changed.

mod changed;
mod small;

use strait_samples::{InputSpec, Sample, Samples, Scratch};

use crate::{
    config::{
        Loaded,
        types::{ColorOrder, Step},
    },
    failure,
    report::{Look, MOST_BYTES, MOST_POINTS, MOST_SAMPLES, SeenInput, SeenSample},
    stop::Stop,
};

use super::inputs;

pub(super) use changed::{Single, changed, singles};
use small::Small;

/// A report shows at most this many inputs.
const MOST_INPUTS: usize = 4;

/// Less than this many rows or columns of numbers are drawn as a curve.
const LEAST_SIDE: usize = 4;

/// What the network sees at each input: the first calibration samples.
///
/// # Errors
/// If a sample cannot be read.
pub(super) fn seen(loaded: &Loaded, specs: &[InputSpec], samples: &Samples) -> Result<Vec<SeenInput>, Stop> {
    let shown = samples.count().min(MOST_SAMPLES);
    if shown == 0 || loaded.config.output.redact {
        return Ok(Vec::new());
    }
    let mut raw: Vec<Vec<Option<Raw>>> = specs.iter().map(|_| Vec::new()).collect();
    let mut scratch = Scratch::default();
    for index in 0..shown {
        let sample = samples.sample(index, &mut scratch).map_err(failure::data)?;
        let inputs = raw.iter_mut().zip(specs).zip(&sample).take(MOST_INPUTS).enumerate();
        for (input, ((looks, spec), sample)) in inputs {
            looks.push(Raw::of(loaded, (samples, input), spec, sample));
        }
    }
    let budget = MOST_BYTES / specs.len().clamp(1, MOST_INPUTS);
    let each = specs.iter().zip(raw).enumerate();
    let input = |(input, (spec, raw)): (usize, (&InputSpec, Vec<Option<Raw>>))| {
        let left_out = match raw.first() {
            None => Some(format!("only the first {MOST_INPUTS} inputs are shown")),
            Some(None) => Some(format!("{} are not drawn, because they are no quantities", spec.elem)),
            Some(Some(_)) => None,
        };
        let (looks, white) = looks(raw, budget);
        let looks = looks.into_iter().enumerate();
        let sample = |(index, look)| seen_sample(samples, index, look);
        SeenInput {
            input: spec.name.clone(),
            shape: spec.shape.iter().map(|&extent| extent as u64).collect(),
            of: samples.count() as u64,
            undone: samples.undoes_preprocessing(input),
            white,
            samples: match left_out {
                Some(_) => Vec::new(),
                None => looks.map(sample).collect(),
            },
            left_out,
        }
    };
    Ok(each.map(input).collect())
}

fn seen_sample(samples: &Samples, index: usize, look: Option<Look>) -> SeenSample {
    SeenSample {
        sample: index as u64,
        name: samples.image(index).map(str::to_owned),
        look,
    }
}

/// How a sample looks, before the pictures of a list are made to fit its limit.
enum Raw {
    Picture(Small),
    Curve(Vec<[f32; 2]>),
}

impl Raw {
    fn of(loaded: &Loaded, (samples, input): (&Samples, usize), spec: &InputSpec, sample: &Sample) -> Option<Raw> {
        let picture = samples.picture(input, sample);
        let large = |side: usize| side >= LEAST_SIDE;
        if let Some(mut picture) = picture.filter(|picture| large(picture.width) && large(picture.height)) {
            if is_bgr(loaded, &spec.name) && picture.channels == 3 {
                picture.levels.chunks_exact_mut(3).for_each(|pixel| pixel.swap(0, 2));
            }
            return Some(Raw::Picture(Small::new(&picture)));
        }
        // Integers may be numbers of words, whose size means nothing.
        spec.elem.is_float().then(|| Raw::Curve(curve(&sample.reals())))
    }
}

/// True if the first channel of the samples for an input is blue.
pub(super) fn is_bgr(loaded: &Loaded, input: &str) -> bool {
    let preprocess = inputs::preprocessing(loaded, input);
    let colors = preprocess.steps.iter().rev().find_map(|step| match step {
        Step::Color(order) => Some(*order),
        _ => None,
    });
    colors.or(preprocess.stored.color) == Some(ColorOrder::Bgr)
}

/// The smallest and the largest of neighbouring numbers.
fn curve(numbers: &[f32]) -> Vec<[f32; 2]> {
    let each = numbers.len().div_ceil(MOST_POINTS).max(1);
    let ends = |part: &[f32]| {
        let finite = part.iter().copied().filter(|number| number.is_finite());
        let ends = finite.fold(None, |ends: Option<[f32; 2]>, number| {
            let [low, high] = ends.unwrap_or([number; 2]);
            Some([low.min(number), high.max(number)])
        });
        ends.unwrap_or_default()
    };
    numbers.chunks(each).map(ends).collect()
}

/// Pictures in which no level is larger than this are too dark to see.
const DARK: u8 = 127;

/// Makes the pictures of a list so small that they fit the limit. If all of them are dark, they are made brighter by the same
/// factor. Also returns the level that is white.
fn looks(mut raw: Vec<Option<Raw>>, budget: usize) -> (Vec<Option<Look>>, u8) {
    let levels = raw.iter().filter_map(|raw| match raw {
        Some(Raw::Picture(picture)) => Some(picture.pixels.brightest()),
        _ => None,
    });
    let dark = levels.max().filter(|most| (1..=DARK).contains(most));
    let white = dark.unwrap_or(u8::MAX);
    for raw in &mut raw {
        if let Some(Raw::Picture(picture)) = raw {
            picture.pixels.brighten(white);
        }
    }
    let pictures = raw.iter().filter_map(|raw| match raw {
        Some(Raw::Picture(picture)) => Some(picture),
        _ => None,
    });
    let mut fitted = small::fit(&pictures.collect::<Vec<_>>(), budget).into_iter();
    let look = |raw: Option<Raw>| match raw? {
        Raw::Picture(_) => fitted.next(),
        Raw::Curve(points) => Some(Look::Curve(points)),
    };
    let looks = raw.into_iter().map(look).collect();
    (looks, white)
}

#[cfg(test)]
mod tests {
    use super::curve;

    #[test]
    fn a_curve_has_few_points_and_skips_what_is_infinite() {
        let numbers: Vec<f32> = (0..130).map(|at| at as f32).collect();
        let points = curve(&numbers);
        assert_eq!((points.len(), points[0], points[43]), (44, [0.0, 2.0], [129.0, 129.0]));
        assert_eq!(curve(&[f32::INFINITY, -1.0]), [[0.0; 2], [-1.0; 2]]);
    }
}
