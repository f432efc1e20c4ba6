//! The files that a target asks for besides the artifact's own.

use std::io;

use strait_container::{ArtifactError, ArtifactWriter};
use strait_core::Module;
use strait_target::{PACKAGE, Sink, TargetError};

use crate::{config::KeyPath, diagnostic::Diagnostic, failure::codes, stop::Stop};

use super::lowered::{Job, Lowered};

/// The ONNX format, as targets name it.
const ONNX: &str = "onnx";

/// Q/DQ ONNX, as tables and configurations name it, and its file.
const QDQ_ONNX: (&str, &str) = ("qdq-onnx", "model.qdq.onnx");

/// Writes the formats of the configuration, or those of the target's table.
pub(super) fn emit(job: &Job<'_>, lowered: &Lowered, writer: &mut ArtifactWriter) -> Result<(), Stop> {
    let spec = job.target.spec();
    let formats: Vec<&str> = match &job.loaded.config.output.emit {
        Some(formats) => formats.iter().map(|format| format.name()).collect(),
        None => spec.emit.iter().map(|format| format.as_str()).collect(),
    };
    let mut sink = Files(writer);
    for format in formats {
        if format == PACKAGE {
            job.target
                .emit(&lowered.module, &mut sink)
                .map_err(|error| sink_error(job, &error))?;
            continue;
        }
        if format != QDQ_ONNX.0 {
            let message = format!(
                "the target `{}` asks for the format `{format}`, which has no writer",
                *spec.id
            );
            return Err(Diagnostic::error(codes::TARGET, message)
                .help(format!("there are {} and {PACKAGE}, the target's own", QDQ_ONNX.0))
                .into());
        }
        let module =
            strait_lower::fake_quantize(&lowered.annotated, spec).map_err(|error| Stop::Defect(error.to_string()))?;
        sink.graph(QDQ_ONNX.1, ONNX, &module)
            .map_err(|error| sink_error(job, &error))?;
    }
    Ok(())
}

fn sink_error(job: &Job<'_>, error: &TargetError) -> Stop {
    let path = KeyPath::of(&["output"]);
    let message = format!("the files of the target `{}`: {error}", *job.target.spec().id);
    job.loaded.error(codes::OUTPUT, &path, message, "").into()
}

/// Files go into the artifact.
struct Files<'a>(&'a mut ArtifactWriter);

impl Sink for Files<'_> {
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
        self.0.add_bytes(path, content).map_err(|error| unwritten(path, &error))
    }

    fn graph(&mut self, path: &str, format: &str, module: &Module) -> Result<(), TargetError> {
        if format != ONNX {
            return Err(TargetError::Unsupported(format!("the format `{format}`")));
        }
        let write = |out: &mut dyn io::Write| strait_onnx::write(module, out).map_err(io::Error::other);
        self.0.add_with(path, write).map_err(|error| unwritten(path, &error))
    }
}

fn unwritten(path: &str, error: &ArtifactError) -> TargetError {
    TargetError::Sink {
        path: path.to_owned(),
        message: error.to_string(),
    }
}
