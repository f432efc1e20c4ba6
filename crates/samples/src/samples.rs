//! Samples for a model: read, preprocessed and checked one at a time, so that memory does not depend on their number.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use half::{bf16, f16};
use sha2::{Digest as _, Sha256};

use strait_core::Elem;

use crate::{
    error::{DataError, Kind, count as counted},
    files::{self, Pieces},
    layout,
    npy::Array,
    numbers::NumberType,
    plan::Plan,
    sample::Sample,
    steps::Steps,
};

/// Properties of an input of the model that are needed to read samples for it.
#[derive(Clone, Debug)]
pub struct InputSpec {
    /// Its name.
    pub name: String,
    /// Its type.
    pub elem: Elem,
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
    elem: Elem,
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

    /// No samples at all.
    pub fn none() -> Samples {
        Samples {
            inputs: Vec::new(),
            count: 0,
            stored: 0,
        }
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

    /// One sample: the numbers for each input, in the order of the inputs.
    ///
    /// # Errors
    /// A sample for an input of floats with NaN or infinity in it, as stored, after preprocessing, or as a number of the input's
    /// type.
    ///
    /// # Panics
    /// A position that no sample has is a defect of the caller.
    pub fn sample(&self, sample: usize, scratch: &mut Scratch) -> Result<Vec<Sample>, DataError> {
        let inputs = self.inputs.iter();
        inputs.map(|input| input.read(sample, scratch)).collect()
    }

    /// The least and the largest number of the samples in use, for each input that holds integers or truth values; nothing for
    /// one of floats, and where there are no numbers.
    pub fn whole_ranges(&self) -> Vec<Option<[i64; 2]>> {
        let inputs = self.inputs.iter();
        inputs.map(|input| input.whole_range(self.count)).collect()
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
        if !spec.elem.is_float() {
            keeps_numbers(&pieces, &steps, spec)?;
        }
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
            elem: spec.elem,
            shape: spec.shape.clone(),
            steps,
            pieces,
        })
    }

    fn read(&self, sample: usize, scratch: &mut Scratch) -> Result<Sample, DataError> {
        let mut found = Sample::zeros(self.elem, &self.shape);
        let (array, position) = self.locate(sample);
        if !self.elem.is_float() {
            let out = found.bytes_mut();
            array.number_type().widen(&array.sample(position), self.elem, out);
            // Words are aligned for all types.
            match self.elem.size() {
                1 => self.steps.move_numbers(out),
                2 => self.steps.move_numbers(bytemuck::cast_slice_mut::<u8, u16>(out)),
                4 => self.steps.move_numbers(bytemuck::cast_slice_mut::<u8, u32>(out)),
                _ => self.steps.move_numbers(bytemuck::cast_slice_mut::<u8, u64>(out)),
            }
            return Ok(found);
        }
        if self.elem == Elem::F32 {
            self.floats(sample, bytemuck::cast_slice_mut(found.bytes_mut()), scratch)?;
            return Ok(found);
        }
        let mut floats = vec![0.0; self.elements];
        self.floats(sample, &mut floats, scratch)?;
        if self.elem == Elem::F64 {
            let out: &mut [f64] = bytemuck::cast_slice_mut(found.bytes_mut());
            (out.iter_mut().zip(&floats)).for_each(|(out, &x)| *out = f64::from(x));
            return Ok(found);
        }
        let rounded = |x: f32| match self.elem {
            Elem::BF16 => (bf16::from_f32(x).to_bits(), bf16::from_f32(x).is_finite()),
            _ => (f16::from_f32(x).to_bits(), f16::from_f32(x).is_finite()),
        };
        let out: &mut [u16] = bytemuck::cast_slice_mut(found.bytes_mut());
        (out.iter_mut().zip(&floats)).for_each(|(out, &x)| *out = rounded(x).0);
        match floats.iter().find(|&&x| !rounded(x).1) {
            None => Ok(found),
            Some(large) => {
                let message = format!(
                    "sample {sample} of the input {:?}: {large} is beyond {}, the input's type",
                    self.name, self.elem
                );
                let place = format!("it is number {position} of {}, counted from 0", array.name());
                Err(DataError::new(Kind::NotFinite, message).note(place))
            }
        }
    }

    /// Writes one sample to `out`, which is as long as the input's shape asks for.
    fn floats(&self, sample: usize, out: &mut [f32], scratch: &mut Scratch) -> Result<(), DataError> {
        let (array, position) = self.locate(sample);
        array.number_type().to_f32(&array.sample(position), out);
        self.steps.apply(out, &mut scratch.0);
        if out.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        let place = format!("it is number {position} of {}, counted from 0", array.name());
        array.number_type().to_f32(&array.sample(position), out);
        if let Some(overflow) = self.steps.overflow(out, &mut scratch.0) {
            let message = format!("sample {sample} of the input {:?}: {overflow}", self.name);
            let finding = DataError::new(Kind::NotFinite, message).note(place);
            return Err(finding.help("the numbers of the file are finite: change the steps of its preprocessing"));
        }
        let message = format!("sample {sample} of the input {:?} contains NaN or infinity", self.name);
        let finding = DataError::new(Kind::NotFinite, message).note(place);
        Err(finding.help("leave the sample out, or repair what made it"))
    }

    fn whole_range(&self, count: usize) -> Option<[i64; 2]> {
        if self.elem.is_float() {
            return None;
        }
        let mut range: Option<[i64; 2]> = None;
        for sample in 0..count {
            let (array, position) = self.locate(sample);
            let numbers = array.number_type();
            let bytes = array.sample(position);
            let whole = bytes
                .chunks_exact(numbers.size())
                .filter_map(|number| numbers.to_whole(number));
            range = whole.fold(range, |range, x| {
                let [low, high] = range.unwrap_or([x, x]);
                Some([low.min(x), high.max(x)])
            });
        }
        range
    }

    /// The array that a sample is in, and where.
    fn locate(&self, sample: usize) -> (&Array, usize) {
        let piece = self.ends.partition_point(|&end| end <= sample);
        let begin = piece.checked_sub(1).map_or(0, |before| self.ends[before]);
        (&self.pieces[piece], sample - begin)
    }
}

/// Holds samples for an input of integers or truth values against its type, and its preprocessing against what is done to
/// them.
fn keeps_numbers(pieces: &[Array], steps: &Steps, spec: &InputSpec) -> Result<(), DataError> {
    let wanted = NumberType::from(spec.elem).name();
    if let Some(array) = pieces.iter().find(|array| !array.number_type().fits(spec.elem)) {
        let found = array.number_type().name();
        let message = format!(
            "the input {:?} takes {wanted}, and {} holds {found}",
            spec.name,
            array.name()
        );
        let note =
            "numbers for an input of integers or truth values are not converted, but to a type that has all of them";
        let help = format!("convert the file: array.astype({wanted:?})");
        return Err(DataError::new(Kind::Type, message).note(note).help(help));
    }
    let Some(step) = steps.computing() else { return Ok(()) };
    let message = format!(
        "the input {:?} takes {wanted}, and the preprocessing step `{step}` computes with floats",
        spec.name
    );
    let help = format!(
        "give it a preprocessing of its own without such steps: [input.{:?}.preprocess]",
        spec.name
    );
    Err(DataError::new(Kind::Preprocess, message).help(help))
}

#[cfg(test)]
mod tests;
