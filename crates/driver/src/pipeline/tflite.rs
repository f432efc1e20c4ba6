//! Writes the TFLite file.

use std::{fs, io, path::Path};

use bytes::Bytes;
use strait_core::{Elem, Module};
use strait_lower::{FreeBatch, OneSample};
use strait_samples::{Operation, Plan};
use strait_target::{OptionValue, Options, Sink, TargetError};
use strait_tflite::ReadError;
use strait_tflite::accelerator::{Accelerator, verdicts};
use strait_tflite::write::{About, AboutInput, Borders, WriteError, encode, encode_free};

use super::{
    files::{Files, refused},
    inputs::preprocessing,
    job::Job,
    lowered::Lowered,
    operators::operators,
};
use crate::{
    checked::{CheckedFile, CheckedOperator},
    config::{
        KeyPath,
        types::{ColorOrder, FileLayout, FileType, OutputOfTarget, Preprocess, Step},
    },
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
    report::{FileOperators, OnCpu},
    stop::Stop,
};

/// Name of the file.
pub(super) const FILE: &str = "model.tflite";

/// The limit in bytes for a file with the names of classes.
const MOST_LABEL_BYTES: u64 = 1 << 24;

/// How many operators that run on the CPU are listed.
const MOST_TOLD: usize = 20;

/// True if the file may take several samples in one run. Accelerators for microcontrollers run one sample at a time, and
/// their compilers want fixed shapes.
pub(super) fn takes_several(job: &Job<'_>) -> bool {
    accelerator(&job.target.spec().chosen).is_none()
}

/// Makes the file for any number of samples in one run. The inner error names the first node with which the file takes
/// one sample at a time.
///
/// # Errors
/// If the file with the names of the classes cannot be used.
pub(super) fn free(job: &Job<'_>, free: &FreeBatch) -> Result<Result<Vec<u8>, OneSample>, Diagnostics> {
    let file = encode_free(|count| free.of(count), borders(&own(job)), &about(job)?);
    Ok(file.map_err(|error| match error {
        WriteError::Node { node, why } => OneSample {
            node: free.layer(&node).to_owned(),
            why,
        },
        error => OneSample {
            node: FILE.to_owned(),
            why: error.to_string(),
        },
    }))
}

/// Writes the TFLite file: `made`, or the file for one sample at a time. The inner error says why the format cannot
/// express the model.
///
/// # Errors
/// If the file with the names of the classes cannot be used.
pub(super) fn write(
    job: &Job<'_>,
    lowered: &Lowered,
    made: Option<Vec<u8>>,
    sink: &mut Files<'_>,
) -> Result<Result<(), TargetError>, Diagnostics> {
    let file = match made {
        Some(file) => Ok(file),
        None => match operators(job, lowered) {
            Ok(module) => one(job, &module)?,
            Err(error) => Err(error),
        },
    };
    Ok(file.and_then(|file| written(&file, sink)))
}

/// The file for one sample at a time, of the graph of operators on codes.
///
/// # Errors
/// If the file with the names of the classes cannot be used.
pub(super) fn one(job: &Job<'_>, module: &Module) -> Result<Result<Vec<u8>, TargetError>, Diagnostics> {
    let file = encode(module, borders(&own(job)), &about(job)?);
    Ok(file.map_err(|error| refused(format!("{FILE}: {error}"))))
}

fn written(bytes: &[u8], sink: &mut Files<'_>) -> Result<(), TargetError> {
    sink.bytes(FILE, bytes)?;
    sink.finish()
}

/// The accelerator that an option of the target names.
pub(super) fn accelerator(chosen: &Options) -> Option<Accelerator> {
    let OptionValue::String(name) = chosen.get("accelerator")? else {
        return None;
    };
    Accelerator::ALL
        .into_iter()
        .find(|accelerator| accelerator.name() == name)
}

/// Says which operators of a file the accelerator leaves to the CPU, and why.
///
/// # Errors
/// If the bytes are not a TFLite file.
pub(super) fn on_accelerator(file: &[u8], accelerator: Accelerator) -> Result<FileOperators, ReadError> {
    let verdicts = verdicts(&Bytes::copy_from_slice(file), accelerator)?;
    let operators = verdicts.len();
    let left = verdicts.into_iter().filter_map(|one| {
        Some(OnCpu {
            operator: one.operator,
            result: one.result,
            why: one.why?,
        })
    });
    Ok(FileOperators {
        accelerator: accelerator.name().to_owned(),
        operators,
        on_cpu: left.collect(),
    })
}

/// Where the operators of the TFLite file run and what they cost, if an option of the target names an accelerator.
///
/// # Errors
/// If the file with the names of the classes cannot be used.
pub(super) fn cost(job: &Job<'_>, lowered: &Lowered) -> Result<Option<CheckedFile>, Stop> {
    let Some(accelerator) = accelerator(&job.target.spec().chosen) else {
        return Ok(None);
    };
    let file = match operators(job, lowered) {
        Ok(module) => one(job, &module)?,
        Err(error) => Err(error),
    };
    let mut cost = CheckedFile {
        accelerator: accelerator.name().to_owned(),
        configuration: accelerator.estimated().map(str::to_owned),
        operators: Vec::new(),
        refused: None,
    };
    match file {
        Ok(file) => {
            let verdicts = verdicts(&file.into(), accelerator).map_err(|error| Stop::Defect(error.to_string()))?;
            let operators = verdicts.into_iter().map(|one| CheckedOperator {
                operator: one.operator,
                result: one.result,
                cpu: one.why,
                cycles: one.cycles,
            });
            cost.operators = operators.collect();
        }
        Err(error) => cost.refused = Some(error.to_string()),
    }
    Ok(Some(cost))
}

/// The remark on the operators that the accelerator leaves to the CPU.
pub(super) fn fallbacks(found: &FileOperators) -> Diagnostic {
    let FileOperators {
        accelerator,
        operators,
        on_cpu,
    } = found;
    let message = match on_cpu.len() {
        0 => format!("{accelerator} takes all {operators} operators of {FILE}"),
        count => format!("{accelerator} leaves {count} of {operators} operators of {FILE} to the CPU"),
    };
    let told = on_cpu.iter().take(MOST_TOLD);
    let remark = told.fold(Diagnostic::remark(codes::OUTPUT, message), |remark, one| {
        remark.note(format!("{} `{}`: {}", one.operator, one.result, one.why))
    });
    match on_cpu.len().saturating_sub(MOST_TOLD) {
        0 => remark,
        more => remark.note(format!("and {more} more")),
    }
}

fn own(job: &Job<'_>) -> OutputOfTarget {
    let of_target = job.loaded.config.output.target.get(job.id());
    of_target.cloned().unwrap_or_default()
}

/// What the inputs and the outputs of the file are.
fn borders(own: &OutputOfTarget) -> Borders {
    let elem = |ty: FileType| match ty {
        FileType::Float => None,
        FileType::Int8 => Some(Elem::I8),
        FileType::Uint8 => Some(Elem::U8),
        FileType::Int16 => Some(Elem::I16),
    };
    Borders {
        channels_last: own.layout == FileLayout::ChannelsLast,
        inputs: elem(own.inputs),
        outputs: elem(own.outputs),
    }
}

/// The metadata of the file.
fn about(job: &Job<'_>) -> Result<About, Diagnostics> {
    let specs = &job.ready.specs;
    let inputs = specs.iter().map(|spec| {
        let steps = preprocessing(job.loaded, &spec.name);
        let letters = spec.preprocess.layout.as_deref().unwrap_or_default();
        let is_image = ["H", "W", "C"].iter().all(|letter| letters.contains(letter));
        // MediaPipe refuses an image of real numbers for which the metadata has no normalization.
        let unchanged = || is_image.then(|| [vec![0.0], vec![1.0]]);
        AboutInput {
            is_image,
            is_rgb: is_rgb(&steps),
            normalization: normalization(&spec.preprocess).or_else(unchanged).unwrap_or_default(),
        }
    });
    let file: &Path = job.loaded.config.model.file.as_ref();
    let name = file.file_stem();
    Ok(About {
        name: name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        inputs: inputs.collect(),
        labels: labels(job)?,
    })
}

/// The names of the classes, if the configuration has a file with them.
fn labels(job: &Job<'_>) -> Result<Option<String>, Diagnostics> {
    let Some(file) = own(job).labels else { return Ok(None) };
    let path = KeyPath::of(&["output", "target", job.id(), "labels"]);
    let wrong = |message: String| Diagnostics::from(job.loaded.error(codes::OUTPUT, &path, message, ""));
    let unreadable = |error: io::Error| wrong(format!("{file} cannot be read: {error}"));
    let size = fs::metadata(&file).map_err(unreadable)?.len();
    if size > MOST_LABEL_BYTES {
        return Err(wrong(format!(
            "{file} has {size} bytes, and {MOST_LABEL_BYTES} are allowed"
        )));
    }
    let text = fs::read_to_string(&file).map_err(unreadable)?;
    let graph = job.canonical.main();
    let [output] = graph.outputs() else {
        let count = graph.outputs().len();
        return Err(wrong(format!(
            "labels are for a model with one output, and this one has {count}"
        )));
    };
    let classes = graph.value(*output).and_then(|value| value.ty.shape.last()?.fixed());
    let (lines, classes) = (text.lines().count() as u64, classes.unwrap_or_default());
    match classes == lines {
        true => Ok(Some(text)),
        false => Err(wrong(format!(
            "{file} has {lines} lines, and the last axis of the output {classes} elements"
        ))),
    }
}

/// True if the preprocessed images have the colours red, green and blue, in this order.
fn is_rgb(steps: &Preprocess) -> bool {
    let decoded = matches!(steps.steps.first(), Some(Step::Decode(_))).then_some(ColorOrder::Rgb);
    let changed = steps.steps.iter().rev().find_map(|step| match step {
        Step::Color(order) => Some(*order),
        _ => None,
    });
    changed.or(steps.stored.color).or(decoded) == Some(ColorOrder::Rgb)
}

/// Returns `mean` and `std` such that the operations of a preprocessing together compute (x − mean) / std. Returns `None`
/// if they do no arithmetic.
///
/// The operations compute `factor` · x + `offset` for each channel. So `std` is 1 / `factor`, and `mean` is
/// −`offset` / `factor`.
fn normalization(plan: &Plan) -> Option<[Vec<f32>; 2]> {
    let mut channels: Vec<[f64; 2]> = vec![[1.0, 0.0]];
    let normalized = |[factor, offset]: [f64; 2], mean: f32, std: f32| {
        let (mean, std) = (f64::from(mean), f64::from(std));
        [factor / std, (offset - mean) / std]
    };
    for operation in &plan.operations {
        if let Operation::NormalizeChannels { mean, .. } = operation
            && channels.len() == 1
        {
            channels = vec![channels[0]; mean.len()];
        }
        for (at, channel) in channels.iter_mut().enumerate() {
            *channel = match (operation, *channel) {
                (&Operation::Scale(by), channel) => channel.map(|number| number * f64::from(by)),
                (&Operation::Offset(by), [factor, offset]) => [factor, offset + f64::from(by)],
                (&Operation::NormalizeAll { mean, std }, channel) => normalized(channel, mean, std),
                (Operation::NormalizeChannels { mean, std, .. }, channel) => {
                    normalized(channel, *mean.get(at)?, *std.get(at)?)
                }
                (Operation::SwapColors { .. } | Operation::Permute { .. }, channel) => channel,
            };
        }
        if matches!(operation, Operation::SwapColors { .. }) && channels.len() == 3 {
            channels.swap(0, 2);
        }
    }
    let moves = |operation: &Operation| matches!(operation, Operation::SwapColors { .. } | Operation::Permute { .. });
    if plan.operations.iter().all(moves) {
        return None;
    }
    let mean = channels.iter().map(|[factor, offset]| (0.0 - offset / factor) as f32);
    let std = channels.iter().map(|[factor, _]| (1.0 / factor) as f32);
    let [mean, std]: [Vec<f32>; 2] = [mean.collect(), std.collect()];
    let all_finite = mean.iter().chain(&std).all(|number| number.is_finite());
    all_finite.then_some([mean, std])
}
