//! The files that a target asks for besides the artifact's own.

use std::{borrow::Cow, collections::BTreeMap, io, path::Path};

use strait_container::{ArtifactError, ArtifactWriter};
use strait_core::{
    ConfigId, Counts, Elem, GraphId, Module, PassError, Port, Reason, ReasonCode, Rewritten, Rule, RuleSet, Term,
};
use strait_lower::Parameters;
use strait_quantize::annotate::RangeFrom;
use strait_rewrite::rules::{Relu6ToRelu, Saturation, saturations};
use strait_target::{Emission, Observing, Sink, TargetError, TargetSpec, spec::Format};

use crate::{
    config::{KeyPath, Loaded, rule::Settings},
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
    stop::Stop,
};

use super::{
    directives::{Wishes, observer, wishes},
    lowered::{Job, Lowered, pass, whole, whole_of},
};

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
    if is_asked(job) || !job.formats.contains(&Format::QdqOnnx) {
        return None;
    }
    let (node, why) = strait_onnx::left_out(job.canonical)?;
    let message = format!("{QDQ_ONNX_FILE} is not written: in `{node}`, {why}");
    Some(Diagnostic::remark(codes::OUTPUT, message))
}

/// The annotated graph with its values quantized.
fn simulated(job: &Job<'_>, lowered: &Lowered) -> Result<Module, Stop> {
    let module = strait_lower::simulate(&lowered.annotated, Some(job.target.spec()), Parameters::Codes);
    module.map_err(|error| Stop::Defect(error.to_string()))
}

/// The rules of the target that look at final grids, but for those that are off.
fn on_grids(job: &Job<'_>) -> RuleSet {
    strait_rewrite::on_grids(&job.target.spec().rules).switched(job.switches)
}

/// The ReLU6 that are ReLU in what is written, and for how many of them the inequality says so that AMCT documents; and the rules
/// over final grids that found their pattern.
pub(super) fn saturated(job: &Job<'_>, lowered: &Lowered) -> Result<(Option<Diagnostic>, Rewritten), Stop> {
    let mut nodes = lowered.annotated.main().nodes();
    let has_clip = nodes.any(|(_, node)| node.op.term() == Term::Clip);
    if !has_clip || on_grids(job).rules().all(|rule| rule.name() != Relu6ToRelu.name()) {
        return Ok((None, Rewritten::default()));
    }
    let mut module = simulated(job, lowered)?;
    let saturations = saturations(&module);
    let main = module.main;
    let rewritten = on_grids(job).run(&mut module, main).map_err(pass)?;
    let exact: Vec<&Saturation> = saturations.iter().filter(|found| found.is_exact).collect();
    let documented = exact.iter().filter(|found| found.is_documented).count();
    let told = exact.first().map(|first| {
        let message = format!(
            "{} of {} ReLU6 are written as ReLU, among them `{}`: on their grids 6 has the greatest code. AMCT's inequality, \
             (greatest code - zero point) * scale < 6, holds for {documented} of these",
            exact.len(),
            saturations.len(),
            first.node
        );
        Diagnostic::remark(codes::OUTPUT, message)
    });
    Ok((told, rewritten))
}

/// True if the configuration names the formats.
fn is_asked(job: &Job<'_>) -> bool {
    job.loaded.config.output.emit.is_some()
}

/// Writes the job's formats. The answer is a remark where the target's package cannot say the model, and nobody has asked for it.
pub(super) fn emit(
    job: &Job<'_>,
    lowered: &Lowered,
    rewritten: &Rewritten,
    writer: &ArtifactWriter,
) -> Result<Option<Diagnostic>, Stop> {
    let mut sink = Files(writer);
    let mut left_out_package = None;
    for format in &job.formats {
        let written = match format {
            Format::Package => match package(
                job,
                lowered,
                (rewritten, &observing(job, &lowered.annotated)?),
                &mut sink,
            ) {
                Err(TargetError::Refused(reason)) if !is_asked(job) => {
                    let id = &job.target.spec().id;
                    let message = format!("the files of the target `{id}` are not written: {}", reason.text);
                    left_out_package = Some(Diagnostic::remark(codes::OUTPUT, message));
                    Ok(())
                }
                written => written,
            },
            Format::QdqOnnx if left_out(job).is_some() => Ok(()),
            Format::QdqOnnx => {
                let mut module = simulated(job, lowered)?;
                let main = module.main;
                let rewritten = on_grids(job).run(&mut module, main).map_err(pass)?;
                if !rewritten.applied.is_empty() {
                    whole(&module, "rewrite")?;
                }
                sink.graph(QDQ_ONNX_FILE, ONNX, &*whole_of(job.bodies, &module)?)
            }
        };
        written.map_err(|error| sink_error(job, &error))?;
    }
    Ok(left_out_package)
}

/// The artifact's module as it is written elsewhere: what the rules that look at final grids make of it.
fn written<'a>(job: &Job<'_>, lowered: &'a Lowered) -> Result<Cow<'a, Module>, PassError> {
    let rules = on_grids(job);
    let mut module = Cow::Borrowed(&lowered.module);
    if rules.rules().next().is_some() {
        for graph in (0..module.graphs.len()).map(GraphId::new) {
            rules.run(module.to_mut(), graph)?;
        }
    }
    Ok(module)
}

/// Lets the target write its package.
fn package(
    job: &Job<'_>,
    lowered: &Lowered,
    (rewritten, observing): (&Rewritten, &[(String, Observing)]),
    sink: &mut dyn Sink,
) -> Result<(), TargetError> {
    if let Some((node, why)) = strait_onnx::left_out(job.canonical).filter(|_| !is_asked(job)) {
        let text = format!("in `{node}`, {why}");
        return Err(Reason::new(ReasonCode::Foreign, text).into());
    }
    let module = written(job, lowered).map_err(|error| TargetError::Unsupported(error.to_string()))?;
    let joined = match job.target.counts_outputs() {
        true => job.outputs.joined(job.canonical),
        false => Vec::new(),
    };
    let rules: Vec<(&str, Counts)> = rewritten.counts().into_iter().collect();
    let file: &Path = job.loaded.config.model.file.as_ref();
    let model = file.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
    let observer = observer(job.loaded, job.target.spec(), &Settings::default()).observer;
    let kept: Vec<&str> = job.switches.kept.iter().map(String::as_str).collect();
    let emission = Emission::new(&module, &model)
        .with_rules(&rules)
        .with_observer(observer.name())
        .with_observing(observing)
        .with_joined(&joined)
        .with_fusions(!job.switches.no_fusion, &kept);
    job.target.emit_all(&emission, sink)
}

/// The ways in which the ranges of what layers compute on were found, by the layers' names.
fn observing(job: &Job<'_>, annotated: &Module) -> Result<Vec<(String, Observing)>, Diagnostics> {
    let Wishes {
        directives,
        observer: default,
        ..
    } = wishes(job.canonical, job.loaded, job.selection, job.target.spec())?;
    let (graph, table) = (annotated.main(), &annotated.main().quant);
    // Those that share a grid have one range: what is said of one of them is said of all, and of the first of them most.
    let mut said: BTreeMap<ConfigId, &RangeFrom> = BTreeMap::new();
    for (config, at) in table.iter() {
        let root = table.root(config);
        let of_operand = match at.port {
            Port::Operand(index) => directives.operands.get(&(at.node, index)),
            _ => None,
        };
        let of_value = || directives.ranges.get(&graph.value_at(at.node, at.port)?);
        if let Some(from) = of_operand.or_else(of_value)
            && (config == root || !said.contains_key(&root))
        {
            said.insert(root, from);
        }
    }
    let mut nodes: Vec<_> = graph.nodes().collect();
    // Of the nodes that answer for a layer, the one that has its name speaks for it.
    nodes.sort_by_key(|(_, node)| (!node.sources.contains(&node.name), node.op.term().is_form()));
    let mut found = BTreeMap::new();
    for (id, node) in nodes {
        let root = table.id(id, Port::Operand(0)).map(|config| table.root(config));
        let choice = match root.and_then(|root| said.get(&root)) {
            None => Some(&default),
            Some(RangeFrom::Observer(choice)) => Some(choice),
            Some(RangeFrom::Stated(_) | RangeFrom::Grid(_)) => None,
        };
        let observing = Observing {
            observer: choice.map_or("range", |choice| choice.observer.name()).to_owned(),
            options: choice.map(|choice| choice.options.clone()).unwrap_or_default(),
        };
        let is_own = node.sources.contains(&node.name);
        for &source in node.sources.iter().filter(|&&source| !is_own || source == node.name) {
            let layer = annotated.name(source).to_owned();
            found.entry(layer).or_insert_with(|| observing.clone());
        }
    }
    Ok(found.into_iter().collect())
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
