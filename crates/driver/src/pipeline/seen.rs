//! Writes the samples as the network sees them, after preprocessing, so that people and other programs can look at
//! them.

use std::{
    fmt,
    fs::{self, File},
    io::BufWriter,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::json;
use strait_execute::Tensor;
use strait_images::encode_png;
use strait_samples::{InputSpec, NumberType, Samples, Scratch, Writer, escape};

use crate::{
    config::{KeyPath, Loaded},
    evaluation::{Side, whole_of},
    failure::{self, codes, unwritten},
    sanity::ran,
    session::Session,
    stop::Stop,
    table,
};

use super::{inputs, pictures};
use crate::pipeline::read::read;

/// Name of the file that lists the samples.
const INDEX_FILE: &str = "index.json";

/// Which samples are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenSamples {
    /// True for the samples of `[evaluation]`, false for those of `[calibration]`.
    pub evaluation: bool,
    /// The number of samples to write, counted from the first; `None` for all.
    pub most: Option<NonZeroU32>,
}

/// The files that were written, and the numbers in them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Seen {
    /// The folder that was written to.
    pub folder: PathBuf,
    /// Number of samples that were written.
    pub samples: usize,
    /// One entry for each input.
    pub inputs: Vec<SeenInput>,
}

/// An input of the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SeenInput {
    /// Name of the input.
    pub name: String,
    /// File with the input's numbers, as one array. The first axis of the array counts the samples.
    pub file: PathBuf,
    /// Folder of the pictures, if the samples have the shape of images.
    pub pictures: Option<PathBuf>,
    /// Shape of one sample.
    pub shape: Vec<usize>,
    /// Smallest number in all samples.
    pub least: f64,
    /// Largest number in all samples.
    pub greatest: f64,
    /// Mean of the numbers in all samples.
    pub mean: f64,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for input in &self.inputs {
            let shape: Vec<String> = input.shape.iter().map(usize::to_string).collect();
            let samples = table::count(self.samples, "sample");
            writeln!(f, "{}: {samples} of {}", input.name, shape.join("×"))?;
            writeln!(
                f,
                "  numbers from {:.6} to {:.6}, mean {:.6}: {}",
                input.least,
                input.greatest,
                input.mean,
                input.file.display()
            )?;
            if let Some(pictures) = &input.pictures {
                writeln!(f, "  pictures: {}", pictures.display())?;
            }
        }
        Ok(())
    }
}

/// An input whose files are being written.
struct Unfinished {
    seen: SeenInput,
    writer: Writer,
    /// True if the first channel is blue, false if it is red.
    is_bgr: bool,
    sum: f64,
    count: usize,
}

/// For each input of the model, writes the samples after preprocessing into a folder: an `.npy` file with all samples
/// and, if the samples have the shape of images, a PNG file of each sample. Pictures are in color if the preprocessing
/// says in which order the channels are.
///
/// # Errors
/// If anything is wrong with the configuration, the model or the samples, if the folder cannot be written, or if the
/// user interrupts.
pub fn seen(loaded: &Loaded, chosen: SeenSamples, out: &Path, session: &Session<'_>) -> Result<Seen, Stop> {
    failure::outside(
        out,
        "samples are not written into",
        "name a folder elsewhere with --out",
    )?;
    let mut float = session.phase("read", None, |_| read(loaded, session.threads))?;
    let main = float.module.main;
    let bodies = float.module.lay_open(main);
    let specs = inputs::specs(&float.module, &bodies, loaded)?;
    let samples = opened(loaded, chosen, &specs)?;
    fs::create_dir_all(out).map_err(|error| unwritten(out, &error))?;
    let mut inputs = specs
        .iter()
        .map(|spec| Unfinished::create(loaded, spec, samples.count(), out))
        .collect::<Result<Vec<_>, _>>()?;
    let mut names = Vec::new();
    session.phase("write", Some(samples.count()), |done| {
        let mut scratch = Scratch::default();
        for index in 0..samples.count() {
            let sample = samples.sample(index, &mut scratch).map_err(failure::data)?;
            for (input, (position, one)) in inputs.iter_mut().zip(sample.iter().enumerate()) {
                input.append(&samples, position, one, index)?;
            }
            names.push(json!({ "sample": index, "image": samples.image(index) }));
            if done(index + 1).is_break() {
                return Err(Stop::Interrupted);
            }
        }
        Ok(())
    })?;
    let inputs = inputs.into_iter().map(Unfinished::finish).collect::<Result<_, _>>()?;
    let seen = Seen {
        folder: out.to_owned(),
        samples: samples.count(),
        inputs,
    };
    let index = out.join(INDEX_FILE);
    let reading = samples.reading();
    let text = json!({
        "inputs": &seen.inputs,
        "decoder": reading.as_ref().map(|reading| &reading.decoder),
        "arithmetic": reading.as_ref().map(|reading| &reading.arithmetic),
        "left_out": samples.left_out(),
        "samples": names,
    });
    fs::write(&index, format!("{text:#}\n")).map_err(|error| unwritten(&index, &error))?;
    Ok(seen)
}

/// The names of the inputs that samples have to have, in the order of the model.
///
/// # Errors
/// If the model cannot be read as the configuration says.
pub fn input_names(loaded: &Loaded) -> Result<Vec<String>, Stop> {
    let mut float = read(loaded, std::num::NonZeroUsize::MIN)?;
    let main = float.module.main;
    let bodies = float.module.lay_open(main);
    Ok(inputs::inputs(&float.module, &bodies)
        .into_iter()
        .map(|input| input.name)
        .collect())
}

/// The outputs of the float model for the first calibration samples, `most` of them or fewer.
///
/// # Errors
/// If anything is wrong with the configuration, the model or the samples, or if the user interrupts.
pub(crate) fn float_outputs(loaded: &Loaded, most: usize, session: &Session<'_>) -> Result<Vec<Vec<Tensor>>, Stop> {
    let mut float = session.phase("read", None, |_| read(loaded, session.threads))?;
    let main = float.module.main;
    let bodies = float.module.lay_open(main);
    let specs = inputs::specs(&float.module, &bodies, loaded)?;
    let chosen = SeenSamples {
        evaluation: false,
        most: None,
    };
    let samples = opened(loaded, chosen, &specs)?;
    let side = Side::new(
        whole_of(&bodies, &float.module)?.as_ref(),
        &session.means().options,
        session,
    )?;
    ran(&side, &samples, samples.count().min(most), session, "run")
}

fn opened(loaded: &Loaded, chosen: SeenSamples, specs: &[InputSpec]) -> Result<Samples, Stop> {
    let calibration = &loaded.config.calibration;
    if !chosen.evaluation {
        let most = chosen.most.or(calibration.samples);
        return inputs::calibration(loaded, most, specs)?.ok_or_else(|| {
            let path = KeyPath::of(&["calibration"]);
            let text = "there are no samples to show: it has no `data`";
            loaded.error(codes::RULE, &path, text, "").into()
        });
    }
    let Some(evaluation) = &loaded.config.evaluation else {
        let path = KeyPath::of(&["evaluation"]);
        return Err(loaded
            .error(codes::EVALUATION, &path, "there is no [evaluation]", "")
            .into());
    };
    let data = (&evaluation.data, evaluation.unreadable);
    let most = chosen.most.or(evaluation.samples);
    Ok(inputs::open_samples(loaded, "evaluation", data, most, specs)?)
}

impl Unfinished {
    fn create(loaded: &Loaded, spec: &InputSpec, samples: usize, out: &Path) -> Result<Unfinished, Stop> {
        let shape: Vec<usize> = match spec.shape.as_slice() {
            [1, rest @ ..] => rest.to_vec(),
            shape => shape.to_vec(),
        };
        let file = out.join(format!("{}.npy", escape(&spec.name)));
        let all: Vec<usize> = [samples].into_iter().chain(shape.iter().copied()).collect();
        let writer = Writer::create(&file, NumberType::from(spec.elem), &all);
        Ok(Unfinished {
            writer: writer.map_err(|error| unwritten(&file, &error))?,
            is_bgr: pictures::is_bgr(loaded, &spec.name),
            sum: 0.0,
            count: 0,
            seen: SeenInput {
                name: spec.name.clone(),
                file,
                pictures: None,
                shape,
                least: f64::INFINITY,
                greatest: f64::NEG_INFINITY,
                mean: 0.0,
            },
        })
    }

    fn append(
        &mut self,
        samples: &Samples,
        input: usize,
        sample: &strait_samples::Sample,
        index: usize,
    ) -> Result<(), Stop> {
        let file = self.seen.file.clone();
        let appended = self.writer.append(sample.bytes());
        appended.map_err(|error| unwritten(&file, &error))?;
        for number in sample.reals() {
            let number = f64::from(number);
            self.seen.least = self.seen.least.min(number);
            self.seen.greatest = self.seen.greatest.max(number);
            self.sum += number;
            self.count += 1;
        }
        let Some(mut picture) = samples.picture(input, sample) else {
            return Ok(());
        };
        if self.is_bgr && picture.channels == 3 {
            picture.levels.chunks_exact_mut(3).for_each(|pixel| pixel.swap(0, 2));
        }
        let folder = file.with_extension("");
        if self.seen.pictures.is_none() {
            fs::create_dir_all(&folder).map_err(|error| unwritten(&folder, &error))?;
            self.seen.pictures = Some(folder.clone());
        }
        let path = folder.join(format!("{index:06}.png"));
        let written = File::create(&path).and_then(|file| encode_png(&picture, BufWriter::new(file)));
        Ok(written.map_err(|error| unwritten(&path, &error))?)
    }

    fn finish(mut self) -> Result<SeenInput, Stop> {
        let file = self.seen.file.clone();
        self.writer.finish().map_err(|error| unwritten(&file, &error))?;
        self.seen.mean = self.sum / self.count.max(1) as f64;
        Ok(self.seen)
    }
}
