//! Samples for a model: read, preprocessed and checked one at a time, so that memory does not depend on their number.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use ndarray::{ArrayD, IxDyn};
use sha2::{Digest as _, Sha256};

use crate::{
    error::{DataError, Kind, count as counted},
    files::{self, Pieces},
    layout,
    npy::Array,
    plan::Plan,
    steps::Steps,
};

/// Properties of an input of the model that are needed to read samples for it.
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
    /// The samples at `path` (a file or a folder; see the table of [the crate](crate)), or only the first `most`.
    ///
    /// # Errors
    /// Files that cannot be read, that do not fit the inputs, or hold fewer than `most` samples or none.
    pub fn open(path: &Path, inputs: &[InputSpec], most: Option<NonZeroU32>) -> Result<Samples, DataError> {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        Samples::new(files::open(path, &names)?, inputs, most)
    }

    /// The samples in one `.npy` for each input.
    ///
    /// # Errors
    /// As for [`Samples::open`], and names that are not those of the inputs.
    pub fn open_by_name(files: &BTreeMap<String, PathBuf>, inputs: &[InputSpec]) -> Result<Samples, DataError> {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        Samples::new(files::open_by_name(files, &names)?, inputs, None)
    }

    fn new(pieces: Vec<Pieces>, inputs: &[InputSpec], most: Option<NonZeroU32>) -> Result<Samples, DataError> {
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
                counted(count, "sample"),
                inputs[0].name,
                available(other),
                other.name
            );
            return Err(DataError::new(Kind::Count, message));
        }
        if count == 0 {
            return Err(DataError::new(Kind::Count, "there are no samples"));
        }
        let wanted = most.map_or(count, |most| most.get() as usize);
        if wanted > count {
            let message = format!("{wanted} samples are asked for, and there are {count}");
            return Err(DataError::new(Kind::Wanted, message).help("ask for fewer, or for none to take all"));
        }
        Ok(Samples {
            inputs,
            count: wanted,
            stored: count,
        })
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of samples of the set, of which these are the first.
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
    pub fn read(&self, input: usize, sample: usize, out: &mut [f32], scratch: &mut Scratch) -> Result<(), DataError> {
        let input = &self.inputs[input];
        assert_eq!(out.len(), input.elements, "the length of the model's input");
        let (array, position) = input.locate(sample);
        array.number_type().to_f32(&array.sample(position), out);
        input.steps.apply(out, &mut scratch.0);
        if out.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        let place = format!("it is number {position} of {}, counted from 0", array.name());
        array.number_type().to_f32(&array.sample(position), out);
        if let Some(overflow) = input.steps.overflow(out, &mut scratch.0) {
            let message = format!("sample {sample} of the input {:?}: {overflow}", input.name);
            let finding = DataError::new(Kind::NotFinite, message).note(place);
            return Err(finding.help("the numbers of the file are finite: change the steps of its preprocessing"));
        }
        let message = format!("sample {sample} of the input {:?} contains NaN or infinity", input.name);
        let finding = DataError::new(Kind::NotFinite, message).note(place);
        Err(finding.help("leave the sample out, or repair what made it"))
    }

    /// One sample: an array for each input, in the order of the inputs.
    ///
    /// # Errors
    /// As for [`Samples::read`].
    pub fn sample(&self, sample: usize, scratch: &mut Scratch) -> Result<Vec<ArrayD<f32>>, DataError> {
        let array = |(index, input): (usize, &InputSamples)| {
            let mut numbers = vec![0.0; input.elements];
            self.read(index, sample, &mut numbers, scratch)?;
            let array = ArrayD::from_shape_vec(IxDyn(&input.shape), numbers);
            array.map_err(|error| DataError::new(Kind::Shape, format!("the input {:?}: {error}", input.name)))
        };
        self.inputs.iter().enumerate().map(array).collect()
    }

    /// The SHA-256 of the samples that are used: types, shapes, numbers as stored, how they are split into arrays, and
    /// what is done to them.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        let text = |hasher: &mut Sha256, text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        for input in &self.inputs {
            text(&mut hasher, &input.name);
            text(&mut hasher, &format!("{:?}", input.steps));
            for (array, &end) in input.pieces.iter().zip(&input.ends) {
                let available = array.shape()[0];
                let begin = end - available;
                let used = available.min(self.count.saturating_sub(begin));
                if used > 0 {
                    text(
                        &mut hasher,
                        &format!("{} {:?}", array.number_type().name(), &array.shape()[1..]),
                    );
                    for sample in 0..used {
                        hasher.update(array.sample(sample));
                    }
                }
            }
        }
        hasher.finalize().into()
    }
}

impl InputSamples {
    fn new(mut pieces: Pieces, spec: &InputSpec) -> Result<InputSamples, DataError> {
        if let Some(single) = pieces.iter().find(|array| array.shape().is_empty()) {
            let message = format!("{} is a single number, not samples along a first axis", single.name());
            return Err(DataError::new(Kind::Shape, message));
        }
        pieces.retain(|array| array.samples() != Some(0));
        let Some(first) = pieces.first() else {
            return Err(DataError::new(
                Kind::Count,
                format!("there are no samples for the input {:?}", spec.name),
            ));
        };
        if let Some(other) = pieces.iter().find(|array| array.shape()[1..] != first.shape()[1..]) {
            let message = format!(
                "samples of the input {:?} have different shapes: {:?} in {}, {:?} in {}",
                spec.name,
                &first.shape()[1..],
                first.name(),
                &other.shape()[1..],
                other.name()
            );
            return Err(DataError::new(Kind::Shape, message));
        }
        let steps = Steps::new(&spec.preprocess, &first.shape()[1..])
            .map_err(|what| DataError::new(Kind::Preprocess, format!("{}: {what}", first.name())))?;
        layout::check(first, &steps.shape, spec)?;
        let mut total = 0;
        let ends = pieces.iter().map(|array| {
            total += array.shape()[0];
            total
        });
        Ok(InputSamples {
            name: spec.name.clone(),
            ends: ends.collect(),
            elements: steps.shape.iter().product::<usize>(),
            shape: spec.shape.clone(),
            steps,
            pieces,
        })
    }

    /// The array that a sample is in, and where.
    fn locate(&self, sample: usize) -> (&Array, usize) {
        let piece = self.ends.partition_point(|&end| end <= sample);
        let begin = piece.checked_sub(1).map_or(0, |before| self.ends[before]);
        (&self.pieces[piece], sample - begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NumberType, Operation, npy};

    fn array(shape: &[usize], values: &[f32]) -> Array {
        let numbers: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        Array::parse("x.npy", &npy::encode(NumberType::F32, shape, &numbers).into()).unwrap()
    }

    fn spec(shape: &[usize]) -> InputSpec {
        InputSpec {
            name: "x".into(),
            shape: shape.to_vec(),
            preprocess: Plan::default(),
        }
    }

    fn samples(arrays: &[Array], spec: InputSpec, most: Option<u32>) -> Result<Samples, DataError> {
        Samples::new(vec![arrays.to_vec()], &[spec], most.and_then(NonZeroU32::new))
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
                operations,
                ..Plan::default()
            },
            ..spec(&[1, 2, 3])
        };
        let found = samples(&[array(&[1, 3, 2], &[1., 2., 3., 4., 5., 6.])], spec, None).unwrap();
        assert_eq!(all(&found), [[2., 6., 10., 4., 8., 12.]]);
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
            samples(std::slice::from_ref(&two), spec(&[1]), Some(3))
                .unwrap_err()
                .kind,
            Kind::Wanted
        );
        assert_eq!(
            samples(&[array(&[0, 1], &[])], spec(&[1]), None).unwrap_err().kind,
            Kind::Count
        );
        let three = array(&[3, 1], &[1., 2., 3.]);
        let uneven = Samples::new(vec![vec![two], vec![three]], &[spec(&[1]), spec(&[1])], None);
        assert_eq!(uneven.unwrap_err().kind, Kind::Count);
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
        assert_eq!(error.kind, Kind::NotFinite);
        assert!(
            error.sentence().contains("sample 2") && error.sentence().contains("number 1"),
            "{error}"
        );
    }

    #[test]
    fn a_step_that_makes_infinity_of_finite_numbers_is_named() {
        let plan = Plan {
            operations: vec![Operation::Offset(-1.), Operation::Scale(1e38)],
            ..Plan::default()
        };
        let spec = InputSpec {
            preprocess: plan,
            ..spec(&[2])
        };
        let samples = samples(&[array(&[2, 2], &[1., 2., 3., 16.])], spec, None).unwrap();
        let mut out = [0.; 2];
        samples.read(0, 0, &mut out, &mut Scratch::default()).unwrap();
        let error = samples.read(0, 1, &mut out, &mut Scratch::default()).unwrap_err();
        assert_eq!(error.kind, Kind::NotFinite);
        let sentence = error.sentence();
        assert!(
            sentence.contains("sample 1") && sentence.contains("the preprocessing step `scale` makes inf of 15"),
            "{sentence}"
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
            operations: vec![Operation::Scale(2.)],
            ..Plan::default()
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
