//! Runs an artifact on stored samples and writes its outputs, sample by sample.

use std::{
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use serde_json::{Value as Json, json};
use strait_container::Beside;
use strait_core::{Module, Op, ValueId};
use strait_execute::{Plan, Tensor, TensorView, Threads, Workspace, map_in_order};
use strait_requantize::Per;
use strait_samples::{NumberType, Sample, Samples, Scratch, Writer, escape};

use crate::{
    artifact::{self, Opened},
    diagnostic::{Diagnostic, Diagnostics},
    evaluation::{Spaces, views},
    failure::{self, codes, unwritten},
    session::Session,
    stop::Stop,
};

/// Name of the file that lists the outputs in a folder.
pub const INDEX_FILE: &str = "index.json";

/// Maximum number of characters of an output's name in a file name. Longer names are cut; the index has the full names.
const LONGEST_NAME: usize = 120;

/// One of the model's outputs, with what is needed to write it to a file.
struct Output {
    name: String,
    /// The value whose elements are written.
    value: ValueId,
    number_type: NumberType,
    /// Shape of the output for one sample, as it is written to the file. If the shape depends on the data, it is taken
    /// from the first sample.
    shape: Vec<usize>,
    /// True if a dimension depends on the data.
    is_open: bool,
    /// True if the first axis is the batch axis. In the file, this axis counts the samples.
    is_batch: bool,
    /// With `--raw`: scale and zero point of the integers.
    grid: Option<Json>,
}

/// Runs all samples in the files that are given for the inputs; see [`on_samples`].
///
/// # Errors
/// If samples do not fit the inputs, and the errors of [`on_samples`].
pub fn run(
    opened: &Opened,
    files: &BTreeMap<String, PathBuf>,
    output: &Path,
    raw: bool,
    session: &Session<'_>,
) -> Result<Vec<PathBuf>, Stop> {
    let samples = Samples::open_by_name(files, &artifact::inputs(opened)?).map_err(failure::data)?;
    let files: Vec<PathBuf> = files.values().cloned().collect();
    on_samples(opened, (&samples, &files), output, raw, session)
}

/// Runs all samples and writes the outputs. `files` are the files that the samples come from.
///
/// If the model has one output, `output` is a file, unless it is an existing folder or ends with a separator. Otherwise
/// `output` is a folder, which is made. Each file is written under a temporary name and moved to its place when it is
/// complete. With `raw`, an output that a dequantization computes is written as the integers that the dequantization
/// reads.
///
/// # Errors
/// If a run fails, a file cannot be written or is a device, an output would be inside an artifact or overwrite an
/// input, or the user interrupts.
pub fn on_samples(
    opened: &Opened,
    (samples, files): (&Samples, &[PathBuf]),
    output: &Path,
    raw: bool,
    session: &Session<'_>,
) -> Result<Vec<PathBuf>, Stop> {
    let side = artifact::plan(opened, session, !raw)?;
    // Codes are those of the integer model, whatever runs behind it.
    let tail = if raw { None } else { artifact::tail(opened)? };
    let side = side.followed_by(tail.as_ref(), session)?;
    let threads = session.admit(&side.demand, samples.count())?;
    let outputs = match &tail {
        Some(tail) => outputs_of(&tail.module, side.last(), raw),
        None => outputs_of(opened.whole(), &side.plan, raw),
    };
    let folder = outputs.len() != 1 || output.is_dir() || output.as_os_str().to_string_lossy().ends_with(['/', '\\']);
    failure::outside(output, "outputs are not written into", "name a place elsewhere")?;
    let names: Vec<PathBuf> = if folder {
        let names = outputs
            .iter()
            .enumerate()
            .map(|(index, one)| file_name(index, &one.name));
        names.map(|name| output.join(name)).collect()
    } else {
        vec![output.to_owned()]
    };
    let index = folder.then(|| output.join(INDEX_FILE));
    keeps_inputs(files, names.iter().chain(&index).map(PathBuf::as_path))?;
    if folder {
        fs::create_dir_all(output).map_err(|error| unwritten(output, &error))?;
    }
    let mut writers = names
        .iter()
        .zip(&outputs)
        .map(|(path, output)| Unfinished::create(path, output, samples.count()))
        .collect::<Result<Vec<_>, _>>()?;
    session.phase("run", Some(samples.count()), |done| {
        let worker = || {
            let own = Workspace::new(&side.plan, &Threads::one());
            Ok((side.spaces(), own, Scratch::default()))
        };
        let work = |(spaces, own, scratch): &mut (Spaces, Workspace, Scratch), index: usize| {
            let sample = samples.sample(index, scratch).map_err(failure::data)?;
            match raw {
                true => integers(&side.plan, own, &sample, &outputs, index),
                false => side.run(spaces, &views(&sample)?, index),
            }
        };
        let sink = |index: usize, results: Vec<Tensor>| -> Result<ControlFlow<()>, Stop> {
            for (writer, result) in writers.iter_mut().zip(&results) {
                writer.append(index, result.view())?;
            }
            Ok(done(index + 1))
        };
        map_in_order(samples.count(), threads, worker, work, sink).map_err(|error| error.or(Stop::Interrupted))
    })?;
    let mut outputs = outputs;
    for (writer, output) in writers.into_iter().zip(&mut outputs) {
        output.shape = writer.finish()?;
    }
    if let Some(index) = index {
        let text = format!("{:#}\n", index_of(&outputs, samples.count()));
        fs::write(&index, text).map_err(|error| unwritten(&index, &error))?;
    }
    Ok(names)
}

/// Refuses outputs that would overwrite a file from which the samples were read.
pub(crate) fn keeps_inputs<'a>(
    inputs: &[PathBuf],
    mut outputs: impl Iterator<Item = &'a Path>,
) -> Result<(), Diagnostics> {
    let there: Vec<PathBuf> = inputs.iter().filter_map(|input| fs::canonicalize(input).ok()).collect();
    let lost = outputs.find(|output| {
        let output = fs::canonicalize(output);
        output.is_ok_and(|output| there.iter().any(|input| output.starts_with(input)))
    });
    let Some(lost) = lost else { return Ok(()) };
    let message = format!("{} is an input, and is not overwritten by an output", lost.display());
    Err(Diagnostic::error(codes::OUTPUT, message)
        .help("name another file with --output")
        .into())
}

/// The folder that contains a file.
fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Computes the outputs for the sample at `index`. An output that a dequantization computes is replaced by the integers
/// that the dequantization reads.
fn integers(
    plan: &Plan,
    space: &mut Workspace,
    inputs: &[Sample],
    outputs: &[Output],
    index: usize,
) -> Result<Vec<Tensor>, Stop> {
    let views = views(inputs)?;
    let failed = |error| failure::execute_sample(error, index);
    let mut seen: BTreeMap<ValueId, Tensor> = BTreeMap::new();
    let mut observe = |value: ValueId, tensor: TensorView<'_>| {
        if outputs.iter().any(|output| output.value == value) {
            seen.insert(value, tensor.to_tensor());
        }
    };
    plan.run_observed(space, &views, &mut observe).map_err(failed)?;
    let result = |output: &Output| {
        let seen = seen.get(&output.value).cloned();
        seen.ok_or_else(|| Stop::Defect(format!("the integers of the output `{}` were not seen", output.name)))
    };
    outputs.iter().map(result).collect()
}

/// The outputs of a plan that was made from `module`.
fn outputs_of(module: &Module, plan: &Plan, raw: bool) -> Vec<Output> {
    let graph = module.main();
    let mut found = Vec::new();
    for port in plan.outputs() {
        let dequantized = graph
            .producer(port.value)
            .filter(|(_, node)| matches!(node.op, Op::Dequantize(_)));
        let integer = dequantized.and_then(|(_, node)| node.inputs.first().copied().flatten());
        let value = integer.filter(|_| raw).unwrap_or(port.value);
        let elem = graph.value(value).map_or(port.elem, |value| value.ty.elem);
        let quant = graph.value(value).and_then(|value| value.quant.as_deref());
        found.push(Output {
            name: port.name.clone(),
            value,
            number_type: NumberType::from(elem),
            shape: match port.shape.as_slice() {
                // Each sample has a batch dimension of 1, and all samples are stacked along it.
                [1, rest @ ..] => rest.to_vec(),
                shape => shape.to_vec(),
            },
            is_open: !port.open.is_empty(),
            is_batch: port.shape.first() == Some(&1),
            grid: quant.map(|quant| {
                json!({ "scale": list(&quant.scale), "zero_point": list(&quant.zero_point), "axis": quant.axis })
            }),
        });
    }
    found
}

fn list<T: Copy + Into<f64>>(per: &Per<T>) -> Vec<f64> {
    per.values().iter().map(|&one| one.into()).collect()
}

/// Returns the name of an output's file: `NNN_escaped-name.npy`.
fn file_name(index: usize, name: &str) -> String {
    let escaped: String = escape(name).chars().take(LONGEST_NAME).collect();
    format!("{index:03}_{escaped}.npy")
}

fn index_of(outputs: &[Output], samples: usize) -> Json {
    let output = |(index, output): (usize, &Output)| {
        let shape: Vec<usize> = [samples].into_iter().chain(output.shape.iter().copied()).collect();
        json!({
            "name": output.name,
            "file": file_name(index, &output.name),
            "type": output.number_type.name(),
            "shape": shape,
            "grid": output.grid,
        })
    };
    json!({ "samples": samples, "outputs": outputs.iter().enumerate().map(output).collect::<Vec<_>>() })
}

/// A file that is written beside its destination and replaces it when it is complete.
struct Unfinished {
    /// The writer. `None` until the first sample is written, if the shape depends on the data.
    writer: Option<Writer>,
    beside: Beside,
    destination: PathBuf,
    number_type: NumberType,
    samples: usize,
    /// Shape of one sample.
    shape: Vec<usize>,
    /// True if the first axis of the output is a batch axis, which counts the samples in the file.
    is_batch: bool,
}

impl Unfinished {
    fn create(path: &Path, output: &Output, samples: usize) -> Result<Unfinished, Diagnostics> {
        let failed = |error: std::io::Error| unwritten(path, &error);
        // If the path is a symbolic link, the file that it points to is replaced and the link stays. The same holds for
        // a link to an artifact's folder.
        let place = match fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
            true => fs::canonicalize(path).map_err(failed)?,
            false => path.to_owned(),
        };
        let path = place.as_path();
        let failed = |error: std::io::Error| unwritten(path, &error);
        let folder = folder_of(path);
        if !folder.is_dir() {
            let message = format!(
                "{} cannot be written: there is no folder {}",
                path.display(),
                folder.display()
            );
            return Err(Diagnostic::error(codes::OUTPUT, message).into());
        }
        // Devices are refused, because moving the finished file to this path would replace the device.
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            let message = format!(
                "{} cannot be written: it is there, and is not a regular file",
                path.display()
            );
            return Err(Diagnostic::error(codes::OUTPUT, message).into());
        }
        let mut unfinished = Unfinished {
            writer: None,
            beside: Beside::new(folder, ".npy").map_err(failed)?,
            destination: path.to_owned(),
            number_type: output.number_type,
            samples,
            shape: output.shape.clone(),
            is_batch: output.is_batch,
        };
        if !output.is_open {
            unfinished.begin()?;
        }
        Ok(unfinished)
    }

    fn begin(&mut self) -> Result<&mut Writer, Diagnostics> {
        let shape: Vec<usize> = [self.samples].into_iter().chain(self.shape.iter().copied()).collect();
        let writer = Writer::create(self.beside.path(), self.number_type, &shape);
        let writer = writer.map_err(|error| unwritten(&self.destination, &error))?;
        Ok(self.writer.insert(writer))
    }

    fn append(&mut self, sample: usize, result: TensorView<'_>) -> Result<(), Diagnostics> {
        let shape = match result.shape() {
            [_, rest @ ..] if self.is_batch => rest,
            shape => shape,
        };
        if self.writer.is_none() {
            self.shape = shape.to_vec();
            self.begin()?;
        }
        if self.shape != shape {
            let message = format!(
                "{} cannot be written: its extents depend on data, and are {shape:?} for sample {sample} where they were {:?}",
                self.destination.display(),
                self.shape
            );
            let finding = Diagnostic::error(codes::OUTPUT, message);
            return Err(finding.help("run the samples one by one").into());
        }
        let appended = self
            .writer
            .as_mut()
            .map_or(Ok(()), |writer| writer.append(result.bytes()));
        Ok(appended.map_err(|error| unwritten(&self.destination, &error))?)
    }

    /// Completes the file and returns the shape of one sample.
    fn finish(mut self) -> Result<Vec<usize>, Diagnostics> {
        if self.writer.is_none() {
            self.begin()?;
        }
        let finished = self.writer.map_or(Ok(()), Writer::finish);
        finished.map_err(|error| unwritten(&self.destination, &error))?;
        self.beside
            .put_in_place(&self.destination)
            .map_err(|error| unwritten(&self.destination, &error))?;
        Ok(self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_place_and_name() {
        assert_eq!(file_name(0, "logits"), "000_logits.npy");
        assert_eq!(file_name(12, "/model.22/a:0"), "012_%2Fmodel.22%2Fa%3A0.npy");
        assert_eq!(file_name(1, &"a".repeat(500)).len(), 4 + LONGEST_NAME + 4);
    }
}
