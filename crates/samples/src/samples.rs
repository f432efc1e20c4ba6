//! Samples for a model. They are read, preprocessed and checked one at a time, so that memory does not grow with their
//! number.

use crate::input_spec::InputSpec;
use std::{collections::BTreeMap, num::NonZeroU32, path::PathBuf, sync::OnceLock};

use sha2::{Digest as _, Sha256};

use strait_core::{Elem, F16, counted};

use crate::digest::text;
use crate::{
    error::{DataError, Kind},
    files::{self, InputSource},
    images::Images,
    layout,
    listing::is_image,
    marks::{Mark, Marks},
    numbers::NumberType,
    place::{Set, Unreadable},
    plan::{Operation, Plan},
    random::Random,
    sample::Sample,
    source::{Source, Stored},
    steps::Steps,
};

/// The samples for all inputs of a model.
#[derive(Debug)]
pub struct Samples {
    inputs: Vec<InputSamples>,
    count: usize,
    stored: usize,
    digested: OnceLock<Digested>,
}

/// The digest of the samples, and for each input the mark of each sample, which is a hash of the sample's bytes. Digest
/// and marks were computed at the same time.
#[derive(Debug)]
struct Digested {
    digest: [u8; 32],
    marks: Vec<Vec<Mark>>,
}

/// The samples for one input of a model.
#[derive(Debug)]
pub(crate) struct InputSamples {
    name: String,
    source: Source,
    /// The letters of the axes after the last step.
    layout: Option<String>,
    steps: Steps,
    /// The element type of the model's input.
    elem: Elem,
    /// The shape of the model's input.
    shape: Vec<usize>,
    elements: usize,
    /// True if the stored numbers are bytes, of which the input takes the difference to 128 as a number with a sign.
    is_signed: bool,
    /// True if numbers in the files may be NaN.
    takes_nan: bool,
}

/// Working memory for reading samples. Each thread needs its own.
#[derive(Debug, Default)]
pub struct Scratch(Vec<f32>);

impl Samples {
    /// Opens the samples of a set (see the table of [the crate](crate)).
    ///
    /// # Errors
    /// Files cannot be read or do not fit the inputs, there are no samples, or there are fewer samples than the set
    /// asks for.
    pub fn open(set: &Set, inputs: &[InputSpec]) -> Result<Samples, DataError> {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        Samples::new(files::open(&set.source, &names)?, inputs, set.most, set.unreadable)
    }

    /// Opens the samples in one file or folder for each input.
    ///
    /// # Errors
    /// As for [`Samples::open`]; also if a name is not the name of an input.
    pub fn open_by_name(files: &BTreeMap<String, PathBuf>, inputs: &[InputSpec]) -> Result<Samples, DataError> {
        let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
        Samples::new(files::open_by_name(files, &names)?, inputs, None, Unreadable::Refuse)
    }

    /// Allows NaN in the files of these samples. By default a NaN is an error. Infinities in the files are always
    /// allowed.
    pub fn with_nan(mut self) -> Samples {
        self.inputs.iter_mut().for_each(|input| input.takes_nan = true);
        self
    }

    /// A set without any samples.
    pub fn none() -> Samples {
        Samples {
            inputs: Vec::new(),
            count: 0,
            stored: 0,
            digested: OnceLock::new(),
        }
    }

    fn new(
        found: Vec<InputSource>,
        inputs: &[InputSpec],
        most: Option<NonZeroU32>,
        unreadable: Unreadable,
    ) -> Result<Samples, DataError> {
        let skips = unreadable == Unreadable::Skip;
        let each = found.into_iter().zip(inputs).enumerate();
        let mut inputs: Vec<InputSamples> = each
            .map(|(input, (found, spec))| InputSamples::new(found, spec, input, skips))
            .collect::<Result<_, _>>()?;
        same_count(&inputs)?;
        if skips {
            leave_out(&mut inputs, most)?;
        }
        let count = match inputs.iter().find_map(|input| input.source.count()) {
            Some(count) => count,
            // Each input has one array for all samples.
            None => usize::from(!inputs.is_empty()),
        };
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
            digested: OnceLock::new(),
        })
    }

    /// Number of samples.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of samples in the whole set, of which the first [`count`](Samples::count) are used.
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// Returns one sample: the numbers for each input, in the order of the inputs.
    ///
    /// # Errors
    /// The sample has a NaN for an input of floats, or a number becomes infinite when it is preprocessed or converted
    /// to the input's type.
    ///
    /// # Panics
    /// If there is no such sample, which would be a bug in the caller.
    pub fn sample(&self, sample: usize, scratch: &mut Scratch) -> Result<Vec<Sample>, DataError> {
        let inputs = self.inputs.iter().enumerate();
        inputs
            .map(|(position, input)| input.read((sample, self.marks(position)), scratch))
            .collect()
    }

    /// Returns an entry for each input. For an input of integers or booleans, the entry has the smallest and the
    /// largest number in all samples that are used. The entry is `None` for an input of floats, and if there are no
    /// numbers.
    pub fn whole_ranges(&self) -> Vec<Option<[i64; 2]>> {
        let inputs = self.inputs.iter().enumerate();
        inputs
            .map(|(position, input)| input.whole_range(self.count, self.marks(position)))
            .collect()
    }

    /// Returns the SHA-256 of the samples that are used. The hash covers types and shapes, the stored numbers or files,
    /// how they are split into arrays, the decoder, and the preprocessing. It is computed only once. If the file of a
    /// sample changes later, reading the sample fails. So everything that is computed from the samples is computed from
    /// exactly those samples that the digest covers.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn digest(&self) -> Result<[u8; 32], DataError> {
        if let Some(digested) = self.digested.get() {
            return Ok(digested.digest);
        }
        let mut hasher = Sha256::new();
        let each = self.inputs.iter().map(|input| {
            text(&mut hasher, &input.name);
            text(&mut hasher, &format!("{:?}", input.steps));
            if input.is_signed {
                text(&mut hasher, "less 128");
            }
            input.source.digest(self.count, &mut hasher)
        });
        let marks = each.collect::<Result<_, _>>()?;
        let digest = hasher.finalize().into();
        Ok(self.digested.get_or_init(|| Digested { digest, marks }).digest)
    }

    fn marks(&self, input: usize) -> Marks<'_> {
        self.digested.get().map_or(&[], |digested| &digested.marks[input])
    }

    pub(crate) fn input(&self, input: usize) -> &InputSamples {
        &self.inputs[input]
    }

    /// The images of the first input that has images.
    pub(crate) fn images(&self) -> Option<&Images> {
        self.inputs.iter().find_map(|input| match &input.source {
            Source::Images(images) => Some(images),
            Source::Arrays { .. } | Source::Shared(_) | Source::Random(_) => None,
        })
    }
}

/// Checks that all inputs have the same number of samples.
fn same_count(inputs: &[InputSamples]) -> Result<(), DataError> {
    let mut counted_inputs = inputs.iter().filter_map(|input| Some((input, input.source.count()?)));
    let Some((first, count)) = counted_inputs.next() else {
        return Ok(());
    };
    let Some((other, others)) = counted_inputs.find(|&(_, others)| others != count) else {
        return Ok(());
    };
    let message = format!(
        "{} for {:?}, but {} for {:?}",
        counted(count, "sample"),
        first.name,
        others,
        other.name
    );
    Err(DataError::new(Kind::Count, message))
}

/// Leaves out the images that cannot be decoded.
fn leave_out(inputs: &mut [InputSamples], most: Option<NonZeroU32>) -> Result<(), DataError> {
    let [only] = inputs else {
        let message = "images that cannot be decoded are left out for a model of one input, and this one has several";
        return Err(DataError::new(Kind::Count, message).help("repair the images, or leave `unreadable` out"));
    };
    if let Source::Images(images) = &mut only.source {
        let unreadable = images.unreadable(most.map(|most| most.get() as usize));
        images.leave_out(&unreadable);
    }
    Ok(())
}

impl InputSamples {
    /// The samples for the input at position `input`.
    fn new(found: InputSource, spec: &InputSpec, input: usize, skips: bool) -> Result<InputSamples, DataError> {
        let plan = &spec.preprocess;
        let preprocess = |message: String| DataError::new(Kind::Preprocess, message);
        let mut has_steps = true;
        let source = match (found, &plan.pixels) {
            (InputSource::Arrays(pieces), None) if spec.is_shared => {
                Source::arrays_or_shared(pieces, &spec.name, &spec.shape)?
            }
            (InputSource::Arrays(pieces), None) => Source::arrays(pieces, &spec.name)?,
            (InputSource::Arrays(pieces), Some(_)) => {
                let name = pieces.first().map_or("", |array| array.name());
                let message = format!(
                    "the preprocessing of {:?} decodes images, and {name} is an array",
                    spec.name
                );
                return Err(preprocess(message).help("leave the steps out that stand for what was done to the array"));
            }
            (InputSource::Images(listing), Some(pipeline)) => Source::Images(Images::new(listing, pipeline, skips)?),
            (InputSource::Images(listing), None) if !is_image(listing.name(0)) => {
                let shown = listing.path(0);
                let message = format!(
                    "{} is neither an array (.npy, .npz) nor an image (.png, .jpg, .jpeg)",
                    shown.display()
                );
                let help = "write arrays with numpy.save or numpy.savez; images of other names are decoded where [preprocess] says so";
                return Err(DataError::new(Kind::Format, message).help(help));
            }
            (InputSource::Images(listing), None) => {
                let message = format!(
                    "{} is an image, and the preprocessing does not decode it",
                    listing.path(0).display()
                );
                let help = "begin the steps of [preprocess] with { decode = {} }, and say in further ones what the network sees";
                return Err(preprocess(message).help(help));
            }
            (InputSource::Random(count), _) => {
                has_steps = spec.elem.is_float() && spec.range.is_none();
                let computes = plan.pixels.is_some() || !plan.operations.is_empty();
                let (number_type, range) = Random::kind(spec.elem, computes, spec.range);
                let model = match spec.shape.as_slice() {
                    [1, rest @ ..] if !rest.is_empty() => rest,
                    shape => shape,
                };
                let shape = if has_steps {
                    plan.stored_shape(model)
                } else {
                    model.to_vec()
                };
                Source::Random(Random {
                    count,
                    input,
                    shape,
                    number_type,
                    range,
                })
            }
        };
        let plan = if has_steps { plan } else { &Plan::default() };
        let is_signed = signs_bytes(&source, plan, spec.elem);
        let moves = Plan {
            operations: plan
                .operations
                .iter()
                .filter(|step| !is_signed || **step != SIGN)
                .cloned()
                .collect(),
            ..plan.clone()
        };
        let steps = Steps::new(&moves, source.shape()).map_err(|what| {
            preprocess(format!(
                "{}: {what}",
                source.types().first().map_or("", |(_, name)| *name)
            ))
        })?;
        if !spec.elem.is_float() {
            keeps_numbers(&source, &steps, spec, is_signed)?;
        }
        layout::check(&source, &steps.shape, spec)?;
        Ok(InputSamples {
            name: spec.name.clone(),
            elements: steps.shape.iter().product::<usize>(),
            elem: spec.elem,
            shape: spec.shape.clone(),
            layout: spec.preprocess.layout.clone(),
            steps,
            source,
            is_signed,
            takes_nan: false,
        })
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn layout(&self) -> Option<&str> {
        self.layout.as_deref()
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// The result of preprocessing a sample of `count` numbers that are all `stored`.
    pub(crate) fn made_of(&self, stored: f32, count: usize) -> Vec<f32> {
        let mut sample = vec![stored; count];
        self.steps.apply(&mut sample, &mut Vec::new());
        sample
    }

    fn read(&self, marked: (usize, Marks<'_>), scratch: &mut Scratch) -> Result<Sample, DataError> {
        let (sample, marks) = marked;
        let mut found = Sample::zeros(self.elem, &self.shape);
        if !self.elem.is_float() {
            let out = found.bytes_mut();
            let Stored { number_type, bytes } = self.source.read(sample, marks)?;
            number_type.widen(&bytes, self.elem, out);
            if self.is_signed {
                // A byte less 128, as a number with a sign, has the bits of the byte apart from the first.
                out.iter_mut().for_each(|byte| *byte ^= 0x80);
            }
            // The words in which samples are stored are aligned for all types.
            match self.elem.size() {
                1 => self.steps.move_numbers(out),
                2 => self.steps.move_numbers(bytemuck::cast_slice_mut::<u8, u16>(out)),
                4 => self.steps.move_numbers(bytemuck::cast_slice_mut::<u8, u32>(out)),
                _ => self.steps.move_numbers(bytemuck::cast_slice_mut::<u8, u64>(out)),
            }
            return Ok(found);
        }
        if self.elem == Elem::F32 {
            self.floats(marked, bytemuck::cast_slice_mut(found.bytes_mut()), scratch)?;
            return Ok(found);
        }
        let mut floats = vec![0.0; self.elements];
        self.floats(marked, &mut floats, scratch)?;
        if self.elem == Elem::F64 {
            let out: &mut [f64] = bytemuck::cast_slice_mut(found.bytes_mut());
            (out.iter_mut().zip(&floats)).for_each(|(out, &x)| *out = f64::from(x));
            return Ok(found);
        }
        let format = self.elem.half_float().unwrap_or(F16);
        let rounded = |x: f32| format.encode(x.into());
        let is_beyond = |x: f32| x.is_finite() && format.decode(rounded(x)).is_infinite();
        let out: &mut [u16] = bytemuck::cast_slice_mut(found.bytes_mut());
        (out.iter_mut().zip(&floats)).for_each(|(out, &x)| *out = rounded(x));
        match floats.iter().find(|&&x| is_beyond(x)) {
            None => Ok(found),
            Some(large) => {
                let message = format!(
                    "sample {sample} of the input {:?}: {large} is beyond {}, the input's type",
                    self.name, self.elem
                );
                Err(DataError::new(Kind::NotFinite, message).note(self.source.place(sample)))
            }
        }
    }

    /// Preprocesses one sample, and writes it to `out`. `out` has as many numbers as the shape of the input.
    fn floats(
        &self,
        (sample, marks): (usize, Marks<'_>),
        out: &mut [f32],
        scratch: &mut Scratch,
    ) -> Result<(), DataError> {
        let Stored { number_type, bytes } = self.source.read(sample, marks)?;
        number_type.to_f32(&bytes, out);
        self.steps.apply(out, &mut scratch.0);
        if out.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        let place = self.source.place(sample);
        number_type.to_f32(&bytes, out);
        // An infinity in a file is intended, as in a mask that is added to scores. An infinity that a step produces is
        // an error.
        let number = |x: f32| if self.takes_nan && x.is_nan() { 0.0 } else { x };
        let mut finite: Vec<f32> = out.iter().map(|&x| if x.is_infinite() { 0.0 } else { x }).collect();
        let overflow = self.steps.overflow(&mut finite, &mut scratch.0);
        let mut made: Vec<f32> = out.iter().copied().map(number).collect();
        self.steps.apply(&mut made, &mut scratch.0);
        if overflow.is_none() && !made.iter().any(|x| x.is_nan()) {
            self.steps.apply(out, &mut scratch.0);
            return Ok(());
        }
        if let Some(overflow) = overflow {
            let message = format!("sample {sample} of the input {:?}: {overflow}", self.name);
            let finding = DataError::new(Kind::NotFinite, message).note(place);
            return Err(finding.help("the numbers of the file are finite: change the steps of its preprocessing"));
        }
        let message = format!("sample {sample} of the input {:?} contains NaN", self.name);
        let finding = DataError::new(Kind::NotFinite, message).note(place);
        Err(finding.help("leave the sample out, or repair what made it"))
    }

    fn whole_range(&self, count: usize, marks: Marks<'_>) -> Option<[i64; 2]> {
        if self.elem.is_float() {
            return None;
        }
        if let Source::Images(_) = self.source {
            return Some(if self.is_signed { [-128, 127] } else { [0, 255] });
        }
        let mut range: Option<[i64; 2]> = None;
        for sample in 0..count {
            // The error of a sample that cannot be read is reported when the sample is used.
            let Stored { number_type, bytes } = self.source.read(sample, marks).ok()?;
            let whole = bytes.chunks_exact(number_type.size());
            let whole = whole.filter_map(|number| number_type.to_whole(number));
            let whole = whole.map(|number| if self.is_signed { number - 128 } else { number });
            range = whole.fold(range, |range, x| {
                let [low, high] = range.unwrap_or([x, x]);
                Some([low.min(x), high.max(x)])
            });
        }
        range
    }
}

/// The step that makes numbers with a sign of bytes.
const SIGN: Operation = Operation::Offset(-128.0);

/// True if the stored numbers are bytes, and the only computation on them is the difference to 128 for an input of `i8`.
fn signs_bytes(source: &Source, plan: &Plan, elem: Elem) -> bool {
    let are_bytes = source.types().iter().all(|(found, _)| *found == NumberType::U8);
    let signs = plan.operations.iter().filter(|operation| **operation == SIGN).count();
    elem == Elem::I8 && are_bytes && signs == 1
}

/// Checks the samples for an input of integers or booleans: their type has to fit the input's type, and their
/// preprocessing may only have steps that move numbers.
fn keeps_numbers(source: &Source, steps: &Steps, spec: &InputSpec, is_signed: bool) -> Result<(), DataError> {
    let wanted = NumberType::from(spec.elem).name();
    let fits = |found: &NumberType| is_signed || found.fits(spec.elem);
    if let Some((number_type, name)) = source.types().into_iter().find(|(found, _)| !fits(found)) {
        let found = number_type.name();
        let message = format!("the input {:?} takes {wanted}, and {name} holds {found}", spec.name);
        let note =
            "numbers for an input of integers or truth values are not converted, but to a type that has all of them";
        let help = match (number_type, spec.elem) {
            (NumberType::U8, Elem::I8) => {
                "if the input takes bytes less 128, end the preprocessing with the step { offset = -128 }".to_owned()
            }
            _ => format!("convert the file: array.astype({wanted:?})"),
        };
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
