//! The files that a target asks for besides the artifact's own.

use std::io;

use strait_container::{ArtifactError, ArtifactWriter};
use strait_core::{Elem, Module, Port};
use strait_lower::Parameters;
use strait_target::{Sink, TargetError, TargetSpec, spec::Format};

use crate::{
    config::{KeyPath, Loaded},
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
    stop::Stop,
};

use super::lowered::{Job, Lowered, whole_of};

/// The ONNX format, as targets name it.
const ONNX: &str = "onnx";

/// The file of the Q/DQ ONNX.
const QDQ_ONNX_FILE: &str = "model.qdq.onnx";

/// The formats of the configuration, or those of the target's table.
///
/// # Errors
/// One that the target does not have.
pub(super) fn formats(loaded: &Loaded, spec: &TargetSpec) -> Result<Vec<Format>, Diagnostics> {
    let Some(asked) = &loaded.config.output.emit else {
        return Ok(spec.emit.clone());
    };
    let known = spec.formats();
    let refused = asked.iter().enumerate().filter(|(_, format)| !known.contains(format));
    let findings = refused.map(|(index, format)| {
        let path = KeyPath::of(&["output", "emit"]).index(index);
        let message = format!("the target `{}` has no format `{format}`", spec.id);
        let names: Vec<String> = known.iter().map(|format| format!("`{format}`")).collect();
        let finding = loaded.error(codes::UNSUPPORTED, &path, message, "not one of its formats");
        finding.help(format!("what can be written for it: {}", names.join(", ")))
    });
    let findings: Vec<Diagnostic> = findings.collect();
    if findings.is_empty() {
        Ok(asked.clone())
    } else {
        Err(Diagnostics(findings))
    }
}

/// The biases that the Q/DQ file has in float, since DequantizeLinear takes no codes of 64 bits.
pub(super) fn float_biases(job: &Job<'_>, lowered: &Lowered) -> Option<Diagnostic> {
    let module = &lowered.annotated;
    let (graph, table) = (module.main(), &module.main().quant);
    let wide = graph.nodes().filter(|&(id, _)| {
        let bias = table.scheme_of(id, Port::Operand(2));
        bias.is_some_and(|scheme| scheme.elem() == Some(Elem::I64))
    });
    let names: Vec<&str> = wide.map(|(_, node)| module.name(node.name)).collect();
    let first = names.first().filter(|_| job.formats.contains(&Format::QdqOnnx))?;
    let others = match names.len() {
        1 => String::new(),
        count => format!(" and of {} more layers", count - 1),
    };
    let message = format!(
        "{QDQ_ONNX_FILE} has the bias of layer `{first}`{others} in float: it has 64 bits, which DequantizeLinear does not \
         take"
    );
    Some(Diagnostic::remark(codes::OUTPUT, message))
}

/// The node for which the Q/DQ file is not written, though the target has it by default, and why.
pub(super) fn left_out(job: &Job<'_>) -> Option<Diagnostic> {
    let is_asked = job.loaded.config.output.emit.is_some();
    if is_asked || !job.formats.contains(&Format::QdqOnnx) {
        return None;
    }
    let (node, why) = strait_onnx::left_out(job.canonical)?;
    let message = format!("{QDQ_ONNX_FILE} is not written: in `{node}`, {why}");
    Some(Diagnostic::remark(codes::OUTPUT, message))
}

/// Writes the job's formats.
pub(super) fn emit(job: &Job<'_>, lowered: &Lowered, writer: &ArtifactWriter) -> Result<(), Stop> {
    let mut sink = Files(writer);
    for format in &job.formats {
        let written = match format {
            Format::Package => job.target.emit(&lowered.module, &mut sink),
            Format::QdqOnnx if left_out(job).is_some() => Ok(()),
            Format::QdqOnnx => {
                let module = strait_lower::simulate(&lowered.annotated, Some(job.target.spec()), Parameters::Codes);
                let module = module.map_err(|error| Stop::Defect(error.to_string()))?;
                sink.graph(QDQ_ONNX_FILE, ONNX, &*whole_of(job.bodies, &module)?)
            }
        };
        written.map_err(|error| sink_error(job, &error))?;
    }
    Ok(())
}

fn sink_error(job: &Job<'_>, error: &TargetError) -> Stop {
    let path = KeyPath::of(&["output"]);
    let message = format!("the files of the target `{}`: {error}", job.target.spec().id);
    job.loaded.error(codes::OUTPUT, &path, message, "").into()
}

/// Files go into the artifact.
struct Files<'a>(&'a ArtifactWriter);

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
