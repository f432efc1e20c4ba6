//! Samples for a model: read, preprocessed and checked one at a time, so that memory does not depend on their number.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use strait_container::Digest;
use strait_core::{Elem, TensorError};
use strait_execute::Tensor;

use crate::{
    config::preprocess::Plan,
    diagnostic::{Diagnostic, Diagnostics},
    table,
};

use super::{
    codes,
    files::{self, Pieces},
    npy::Array,
    preprocess::Steps,
};

/// What has to be known of an input of the model to read samples for it.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// Its name.
    pub name: String,
    /// Its shape, the batch dimension included where the model has one.
    pub shape: Vec<usize>,
    /// From stored samples to the input.
    pub preprocess: Plan,
}

/// The samples for all inputs of a model.
#[derive(Debug)]
pub struct Samples {
    inputs: Vec<InputSamples>,
    count: usize,
    stored: usize,
}

#[derive(Debug)]
struct InputSamples {
    name: String,
    pieces: Pieces,
    /// The number of samples up to and including each piece.
    ends: Vec<usize>,
    steps: Steps,
    /// The model's.
    shape: Vec<usize>,
    elements: usize,
}

/// Memory that reading a sample needs; one per thread.
#[derive(Debug, Default)]
pub struct Scratch(Vec<f32>);

impl Samples {
    /// The samples at `path` (a file or a folder; see the table of [`super`]), or only the first `most`.
    ///
    /// # Errors
    /// Files that cannot be read, that do not fit the inputs, or hold fewer than `most` samples or none.
    pub fn open(path: &Path, inputs: &[InputSpec], most: Option<NonZeroU32>) -> Result<Samples, Diagnostics> {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        Samples::new(files::open(path, &names)?, inputs, most)
    }

    /// The samples in one `.npy` for each input.
    ///
    /// # Errors
    /// As for [`Samples::open`], and names that are not those of the inputs.
    pub fn open_by_name(files: &BTreeMap<String, PathBuf>, inputs: &[InputSpec]) -> Result<Samples, Diagnostics> {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        Samples::new(files::open_by_name(files, &names)?, inputs, None)
    }

    fn new(pieces: Vec<Pieces>, inputs: &[InputSpec], most: Option<NonZeroU32>) -> Result<Samples, Diagnostics> {
        let inputs: Vec<InputSamples> = pieces
            .into_iter()
            .zip(inputs)
            .map(|(pieces, spec)| InputSamples::new(pieces, spec))
            .collect::<Result<_, _>>()?;
        let available = |input: &InputSamples| input.ends.last().copied().unwrap_or(0);
        let count = inputs.first().map_or(0, available);
        if let Some(other) = inputs.iter().find(|input| available(input) != count) {
            let message = format!(
                "{} for {:?}, but {} for {:?}",
                table::count(count, "sample"),
                inputs[0].name,
                available(other),
                other.name
            );
            return Err(Diagnostic::error(codes::COUNT, message).into());
        }
        if count == 0 {
            return Err(Diagnostic::error(codes::COUNT, "there are no samples").into());
        }
        let wanted = most.map_or(count, |most| most.get() as usize);
        if wanted > count {
            let message = format!("{wanted} samples are asked for, and there are {count}");
            return Err(Diagnostic::error(codes::COUNT, message)
                .help("ask for fewer, or for none to take all")
                .into());
        }
        Ok(Samples {
            inputs,
            count: wanted,
            stored: count,
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many the set has, of which these are the first.
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// Writes one sample of one input, both by position, to `out`, which is as long as the input's shape asks for.
    ///
    /// # Errors
    /// A sample with NaN or infinity in it, as stored or after preprocessing.
    ///
    /// # Panics
    /// Positions and lengths that do not fit are defects of the caller.
    pub fn read(&self, input: usize, sample: usize, out: &mut [f32], scratch: &mut Scratch) -> Result<(), Diagnostics> {
        let input = &self.inputs[input];
        assert_eq!(out.len(), input.elements, "the length of the model's input");
        let (array, position) = input.locate(sample);
        array.number_type.to_f32(&array.sample_bytes(position), out);
        input.steps.apply(out, &mut scratch.0);
        if out.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        let message = format!("sample {sample} of the input {:?} contains NaN or infinity", input.name);
        let place = format!("it is number {position} of {}, counted from 0", array.name);
        let finding = Diagnostic::error(codes::NOT_FINITE, message).note(place);
        Err(finding.help("leave the sample out, or repair what made it").into())
    }

    /// One sample as the tensors that a run takes, in the order of the inputs.
    ///
    /// # Errors
    /// As for [`Samples::read`].
    pub fn tensors(&self, sample: usize, scratch: &mut Scratch) -> Result<Vec<Tensor>, Diagnostics> {
        let too_large = |error: TensorError| Diagnostic::error(codes::SHAPE, error.to_string());
        let tensor = |(index, input): (usize, &InputSamples)| {
            let mut tensor = Tensor::zeros(Elem::F32, &input.shape).map_err(too_large)?;
            self.read(index, sample, tensor.values_mut().map_err(too_large)?, scratch)?;
            Ok(tensor)
        };
        self.inputs.iter().enumerate().map(tensor).collect()
    }

    /// A digest of the samples that are used: types, shapes, numbers as stored, how they are split into arrays, and what
    /// is done to them.
    pub fn digest(&self) -> Digest {
        let mut hasher = Sha256::new();
        let text = |hasher: &mut Sha256, text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for input in &self.inputs {
            text(&mut hasher, &input.name);
            text(&mut hasher, &format!("{:?}", input.steps));
            for (array, &end) in input.pieces.arrays.iter().zip(&input.ends) {
                let available = array.shape[0];
                let begin = end - available;
                let used = available.min(self.count.saturating_sub(begin));
                if used > 0 {
                    text(
                        &mut hasher,
                        &format!("{} {:?}", array.number_type.name(), &array.shape[1..]),
                    );
                    for sample in 0..used {
                        hasher.update(array.sample_bytes(sample));
                    }
                }
            }
        }
        Digest(hasher.finalize().into())
    }
}

impl InputSamples {
    fn new(mut pieces: Pieces, spec: &InputSpec) -> Result<InputSamples, Diagnostics> {
        if let Some(single) = pieces.arrays.iter().find(|array| array.shape.is_empty()) {
            let message = format!("{} is a single number, not samples along a first axis", single.name);
            return Err(Diagnostic::error(codes::SHAPE, message).into());
        }
        pieces.arrays.retain(|array| array.samples() != Some(0));
        let Some(first) = pieces.arrays.first() else {
            return Err(Diagnostic::error(
                codes::COUNT,
                format!("there are no samples for the input {:?}", spec.name),
            )
            .into());
        };
        if let Some(other) = pieces.arrays.iter().find(|array| array.shape[1..] != first.shape[1..]) {
            let message = format!(
                "samples of the input {:?} have different shapes: {:?} in {}, {:?} in {}",
                spec.name,
                &first.shape[1..],
                first.name,
                &other.shape[1..],
                other.name
            );
            return Err(Diagnostic::error(codes::SHAPE, message).into());
        }
        let steps = Steps::new(&spec.preprocess, &first.shape[1..])
            .map_err(|what| Diagnostic::error(codes::PREPROCESS, format!("{}: {what}", first.name)))?;
        check_shape(first, &steps.shape, spec)?;
        let mut total = 0;
        let ends = pieces.arrays.iter().map(|array| {
            total += array.shape[0];
            total
        });
        Ok(InputSamples {
            name: spec.name.clone(),
            ends: ends.collect(),
            elements: steps.shape.iter().product(),
            shape: spec.shape.clone(),
            steps,
            pieces,
        })
    }

    /// The array that a sample is in, and where.
    fn locate(&self, sample: usize) -> (&Array, usize) {
        let piece = self.ends.partition_point(|&end| end <= sample);
        let begin = piece.checked_sub(1).map_or(0, |before| self.ends[before]);
        (&self.pieces.arrays[piece], sample - begin)
    }
}

/// A sample may leave out axes of size 1, or be flat; it may not have the model's axes in another order, which is no
/// reshape but a mistake.
fn check_shape(array: &Array, sample: &[usize], spec: &InputSpec) -> Result<(), Diagnostics> {
    let essential = |shape: &[usize]| shape.iter().copied().filter(|&extent| extent != 1).collect::<Vec<_>>();
    let (found, wanted) = (essential(sample), essential(&spec.shape));
    let sorted = |shape: &[usize]| {
        let mut shape = shape.to_vec();
        shape.sort_unstable();
        shape
    };
    let elements = |shape: &[usize]| {
        shape
            .iter()
            .try_fold(1usize, |product, &extent| product.checked_mul(extent))
    };
    let other_order = found != wanted && sorted(&found) == sorted(&wanted);
    if !other_order && elements(sample) == elements(&spec.shape) {
        return Ok(());
    }
    let message = format!(
        "samples of shape {sample:?} do not fit the input {:?} of shape {:?}",
        spec.name, spec.shape
    );
    let mut finding = Diagnostic::error(codes::SHAPE, message).note(format!(
        "{} has the shape {:?}, samples along the first axis",
        array.name, array.shape
    ));
    if other_order {
        finding = finding.help(
            "the axes are in another order: say so with `stored = { layout = \"NHWC\" }` and a step `{ layout = \"NCHW\" }` \
             in [preprocess]",
        );
    } else if elements(&array.shape) == elements(&spec.shape) {
        finding = finding.help("a single sample needs an axis of its own: array[None]");
    }
    Err(finding.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preprocess::Operation;
    use crate::data::numbers::NumberType;
    use bytes::Bytes;

    fn array(shape: &[usize], values: &[f32]) -> Array {
        Array {
            name: "x.npy".into(),
            number_type: NumberType::F32,
            shape: shape.to_vec(),
            bytes: Bytes::from(values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()),
            file: None,
        }
    }

    fn pieces(arrays: &[Array]) -> Pieces {
        Pieces {
            arrays: arrays.to_vec(),
            ..Pieces::default()
        }
    }

    fn spec(shape: &[usize]) -> InputSpec {
        InputSpec {
            name: "x".into(),
            shape: shape.to_vec(),
            preprocess: Plan::default(),
        }
    }

    fn samples(arrays: &[Array], spec: InputSpec, most: Option<u32>) -> Result<Samples, Diagnostics> {
        Samples::new(vec![pieces(arrays)], &[spec], most.and_then(NonZeroU32::new))
    }

    fn all(samples: &Samples) -> Vec<Vec<f32>> {
        let mut scratch = Scratch::default();
        let read = |sample| {
            let mut out = vec![0.0; samples.inputs[0].elements];
            samples.read(0, sample, &mut out, &mut scratch).map(|()| out)
        };
        (0..samples.count()).map(read).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn pieces_are_one_sequence() {
        let found = samples(
            &[
                array(&[1, 2], &[1., 2.]),
                array(&[0, 2], &[]),
                array(&[2, 2], &[3., 4., 5., 6.]),
            ],
            spec(&[1, 2]),
            None,
        );
        assert_eq!(all(&found.unwrap()), [[1., 2.], [3., 4.], [5., 6.]]);
    }

    #[test]
    fn preprocessing_comes_before_the_shape() {
        let operations = vec![Operation::Permute { axes: vec![0, 2, 1] }, Operation::Scale(2.)];
        let spec = InputSpec {
            preprocess: Plan {
                rank: Some(3),
                operations,
            },
            ..spec(&[1, 2, 3])
        };
        let found = samples(&[array(&[1, 3, 2], &[1., 2., 3., 4., 5., 6.])], spec, None).unwrap();
        assert_eq!(all(&found), [[2., 6., 10., 4., 8., 12.]]);
    }

    #[test]
    fn which_shapes_fit_a_model() {
        for (stored, model, fits) in [
            (&[2, 4, 3][..], &[1, 4, 3][..], true),
            (&[2, 4, 3], &[4, 3], true),
            (&[2, 1, 4, 3], &[1, 4, 3], true),
            (&[2, 12], &[1, 4, 3], true),
            (&[2, 4, 3], &[1, 1, 4, 3], true),
            (&[2, 3, 4], &[1, 4, 3], false),
            (&[2, 4, 3, 1], &[1, 1, 3, 4], false),
            (&[2, 4, 4], &[1, 4, 3], false),
            (&[4, 3], &[1, 4, 3], false),
            (&[], &[1], false),
        ] {
            let values = vec![0.0; stored.iter().product()];
            let found = samples(&[array(stored, &values)], spec(model), None);
            assert_eq!(found.is_ok(), fits, "{stored:?} for {model:?}");
            if let Err(error) = found {
                assert_eq!(error.0[0].code, codes::SHAPE);
            }
        }
    }

    #[test]
    fn counts_are_checked() {
        let two = array(&[2, 1], &[1., 2.]);
        assert_eq!(
            samples(std::slice::from_ref(&two), spec(&[1]), Some(1))
                .unwrap()
                .count(),
            1
        );
        assert_eq!(
            samples(std::slice::from_ref(&two), spec(&[1]), Some(3)).unwrap_err().0[0].code,
            codes::COUNT
        );
        assert_eq!(
            samples(&[array(&[0, 1], &[])], spec(&[1]), None).unwrap_err().0[0].code,
            codes::COUNT
        );
        let three = array(&[3, 1], &[1., 2., 3.]);
        let uneven = Samples::new(vec![pieces(&[two]), pieces(&[three])], &[spec(&[1]), spec(&[1])], None);
        assert_eq!(uneven.unwrap_err().0[0].code, codes::COUNT);
    }

    #[test]
    fn a_sample_that_is_not_finite_is_named() {
        let found = samples(
            &[array(&[1, 1], &[0.]), array(&[2, 1], &[0., f32::NAN])],
            spec(&[1]),
            None,
        )
        .unwrap();
        let error = found.read(0, 2, &mut [0.0], &mut Scratch::default()).unwrap_err();
        assert_eq!(error.0[0].code, codes::NOT_FINITE);
        assert!(
            error.to_string().contains("sample 2") && error.to_string().contains("number 1"),
            "{error}"
        );
    }

    #[test]
    fn the_digest_is_that_of_the_samples_in_use() {
        let digest = |values: &[f32], spec: InputSpec, most| {
            samples(&[array(&[values.len(), 1], values)], spec, most)
                .unwrap()
                .digest()
        };
        let one = digest(&[1., 2.], spec(&[1]), None);
        assert_eq!(one, digest(&[1., 2., 3.], spec(&[1]), Some(2)));
        assert_ne!(one, digest(&[1., 3.], spec(&[1]), None));
        let plan = Plan {
            rank: None,
            operations: vec![Operation::Scale(2.)],
        };
        assert_ne!(
            one,
            digest(
                &[1., 2.],
                InputSpec {
                    preprocess: plan,
                    ..spec(&[1])
                },
                None
            )
        );
    }
}
