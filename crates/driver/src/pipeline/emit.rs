//! Writes the further formats of a target or a configuration, in addition to the files that every artifact has.

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use strait_compile::{CompileError, check_invariants};
use strait_container::ArtifactWriter;
use strait_core::{
    ConfigId, Counts, Elem, GraphId, Module, NodeId, PassError, Port, Reason, ReasonCode, Rewritten, Rule, RuleSet,
    Term,
};
use strait_lower::{FreeBatch, OneSample, Parameters, Signs, free_batch};
use strait_quantize::{Settings, annotate::RangeFrom};
use strait_rewrite::rules::relu6_to_relu::{self, Saturation, saturations};
use strait_target::{Balanced, Emission, Observing, Sink, TargetError, TargetSpec, spec::Format};

use crate::{
    config::{KeyPath, Loaded, types::QdqActivations},
    diagnostic::{Diagnostic, Diagnostics},
    evaluation::TAIL_FILE,
    failure::codes,
    report::FileOperators,
    stop::Stop,
};

use super::{
    cache::{self, Codes},
    files::{Files, ONNX, refused},
    lowered::Lowered,
    operators::operators,
    tflite,
};
use crate::pipeline::job::Job;

/// Name of the Q/DQ ONNX file.
pub(crate) const QDQ_ONNX_FILE: &str = "model.qdq.onnx";

/// Name of the ONNX file of quantized operators.
const QOPERATOR_ONNX_FILE: &str = "model.qoperator.onnx";

/// Returns the formats that the configuration names or, if it names none, the formats that the target's table lists.
///
/// # Errors
/// If the target does not have one of the formats, or if a key of the configuration is for a format that is not written.
pub(super) fn formats(loaded: &Loaded, spec: &TargetSpec) -> Result<Vec<Format>, Diagnostics> {
    let formats = named(loaded, spec)?;
    let cache = KeyPath::of(&["output", "target", &spec.id, "cache"]);
    if loaded.node(&cache).is_some() && !formats.contains(&Format::QOperatorOnnx) {
        let message = format!("`{cache}` is for the ONNX file of quantized operators, which is not written");
        let finding = loaded.error(codes::OUTPUT, &cache, message, "");
        return Err(finding
            .help(r#"add "qoperator-onnx" to `emit`, or leave the key out"#)
            .into());
    }
    let unused = unused(loaded, spec).filter(|_| !formats.contains(&Format::TfLite));
    match unused {
        None => Ok(formats),
        Some(path) => {
            let message = format!("`{path}` is for the TFLite file, which is not written");
            let finding = loaded.error(codes::OUTPUT, &path, message, "");
            Err(finding.help(r#"add "tflite" to `emit`, or leave the key out"#).into())
        }
    }
}

/// The first key that only the TFLite file heeds, and that the configuration sets for this target.
fn unused(loaded: &Loaded, spec: &TargetSpec) -> Option<KeyPath> {
    let of_output = ["layout", "inputs", "outputs", "labels"].map(|key| ["output", "target", &spec.id, key]);
    let accelerator = tflite::accelerator(&spec.chosen).map(|_| ["target", "options", &spec.id, "accelerator"]);
    let mut paths = of_output.into_iter().chain(accelerator).map(|keys| KeyPath::of(&keys));
    paths.find(|path| loaded.node(path).is_some())
}

fn named(loaded: &Loaded, spec: &TargetSpec) -> Result<Vec<Format>, Diagnostics> {
    let Some((key, asked)) = loaded.config.output.formats_of(&spec.id) else {
        return Ok(spec.emit.clone());
    };
    let known = spec.formats();
    let refused = asked.iter().enumerate().filter(|(_, format)| !known.contains(format));
    let findings = refused.map(|(index, format)| {
        let path = key.clone().index(index);
        let message = format!("the target `{}` has no format `{format}`", spec.id);
        let finding = loaded.error(codes::UNSUPPORTED, &path, message, "not one of its formats");
        // The format needs another value of this option than the one that the configuration sets.
        if let Some((option, value)) = spec.option_for(*format) {
            let path = KeyPath::of(&["target", "options", &spec.id, option]);
            let place = loaded.node(&path).and_then(|node| node.location.excerpt("").position());
            let line = place.map_or(String::new(), |(line, _)| format!(" in line {line}"));
            let finding = finding.note(format!("`{path}`{line} has another value than `{value}`"));
            return finding.help(format!("set `{path} = \"{value}\"`, or leave the option out"));
        }
        // The key that chose the target, if it is in the file.
        let path = KeyPath::of(&["target", "use"]);
        let place = loaded.node(&path).and_then(|node| node.location.excerpt("").position());
        let finding = match place {
            Some((line, _)) => finding.note(format!("`{path}` in line {line} chooses the target")),
            None => finding,
        };
        let names: Vec<String> = known.iter().map(|format| format!("`{format}`")).collect();
        finding.help(format!("what can be written for it: {}", names.join(", ")))
    });
    Diagnostics(findings.collect()).or(asked.to_vec())
}

/// Returns a remark if biases are written as float in the Q/DQ file, because DequantizeLinear does not accept codes of
/// 64 bits.
pub(super) fn float_biases(job: &Job<'_>, lowered: &Lowered) -> Option<Diagnostic> {
    let module = &lowered.built.annotated;
    let (graph, table) = (module.main(), &module.main().quant);
    let wide = graph.nodes().filter(|&(id, _)| {
        let bias = table.scheme_of(id, Port::Operand(2));
        bias.is_some_and(|scheme| scheme.elem() == Some(Elem::I64))
    });
    let names: Vec<&str> = wide.map(|(_, node)| module.name(node.name)).collect();
    let first = names.first().filter(|_| job.formats.contains(&Format::QdqOnnx))?;
    let others = match names.len() {
        1 => String::new(),
        2 => " and of 1 more layer".into(),
        count => format!(" and of {} more layers", count - 1),
    };
    let message = format!(
        "{QDQ_ONNX_FILE} has the bias of layer `{first}`{others} in float: it has 64 bits, which DequantizeLinear does not \
         take"
    );
    Some(Diagnostic::remark(codes::OUTPUT, message))
}

/// Returns a remark if the Q/DQ file cannot be written and the configuration did not ask for it. The remark names the
/// node that prevents it, and the reason.
pub(super) fn left_out(job: &Job<'_>) -> Option<Diagnostic> {
    if are_named(job) || !job.formats.contains(&Format::QdqOnnx) {
        return None;
    }
    let (node, why) = strait_onnx::left_out(job.canonical)?;
    let message = format!("{QDQ_ONNX_FILE} is not written: in `{node}`, {why}");
    Some(Diagnostic::remark(codes::OUTPUT, message))
}

/// The annotated graph with explicit nodes that quantize and dequantize its values.
fn simulated(job: &Job<'_>, lowered: &Lowered) -> Result<Module, Stop> {
    let signs = match job.loaded.config.output.qdq_activations {
        QdqActivations::Uint8 => Signs::Unsigned,
        QdqActivations::Int8 => Signs::Signed,
    };
    let module = strait_lower::simulate(
        &lowered.built.annotated,
        Some(job.target.spec()),
        Parameters::Codes(signs),
    );
    module.map_err(|error| Stop::Defect(error.to_string()))
}

/// The target's rules that depend on final scales, except those that the configuration switches off.
fn on_grids(job: &Job<'_>) -> RuleSet {
    strait_rewrite::on_grids(&job.target.spec().rules).switched(&job.ready.switches.0)
}

/// Returns a remark on the ReLU6 layers that are written as ReLU. AMCT documents an inequality as the condition for
/// writing a ReLU. The remark says for how many of these layers the inequality holds. Also returns which of the rules
/// that depend on final scales found their pattern.
pub(super) fn saturated(job: &Job<'_>, lowered: &Lowered) -> Result<(Option<Diagnostic>, Rewritten), Stop> {
    let mut nodes = lowered.built.annotated.main().nodes();
    let has_clip = nodes.any(|(_, node)| node.op.term() == Term::Clip);
    let name = relu6_to_relu::RULE.name();
    if !has_clip || on_grids(job).rules().all(|rule| rule.name() != name) {
        return Ok((None, Rewritten::default()));
    }
    let mut module = simulated(job, lowered)?;
    let saturations = saturations(&module);
    let main = module.main;
    let rewritten = on_grids(job).run(&mut module, main).map_err(CompileError::from)?;
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

/// The graphs of files for any number of samples in one run, and such files themselves. They are made before the report,
/// which says what makes a file take one sample at a time.
#[derive(Default)]
pub(super) struct Made {
    /// The graph of the Q/DQ file, also if it takes one sample at a time.
    qdq: Option<Module>,
    /// The graph of the ONNX file of quantized operators, also if it takes one sample at a time.
    operators: Option<Module>,
    /// The TFLite file, also if it takes one sample at a time.
    tflite: Option<Vec<u8>>,
    /// True if there is no Q/DQ file ([`left_out`]).
    has_no_qdq: bool,
}

/// Returns the graph of the Q/DQ file. If the model takes any number of samples, the graph does too, if possible. If it
/// is not possible, the graph takes one sample, and the second result names the node that works for one sample only.
fn qdq(job: &Job<'_>, lowered: &Lowered) -> Result<(Module, Option<OneSample>), Stop> {
    let mut module = simulated(job, lowered)?;
    let main = module.main;
    for rules in [
        on_grids(job),
        strait_rewrite::for_runtimes().switched(&job.ready.switches.0),
    ] {
        rules.run(&mut module, main).map_err(CompileError::from)?;
    }
    strait_lower::name_outputs(&mut module, &lowered.built.annotated);
    let (module, fixed) = match job.ready.batch.first().map(|batch| free(job, &module, &batch.name)) {
        None => (module, None),
        Some(Ok(free)) => (free.module, None),
        Some(Err(fixed)) => (module, Some(fixed)),
    };
    check_invariants(&module, "rewrite")?;
    Ok((module, fixed))
}

/// Changes the graph so that it takes any number of samples.
fn free(job: &Job<'_>, module: &Module, batch: &str) -> Result<FreeBatch, OneSample> {
    if !job.ready.bodies.is_empty() {
        let node = module.name(module.main().name).to_owned();
        let why = "there is control flow".into();
        return Err(OneSample { node, why });
    }
    free_batch(module, batch, &job.loaded.config.batch_axes())
}

/// For a model that takes any number of samples: makes what [`emit`] writes for any number of samples. For each file that
/// can take only one sample at a time, also returns a remark with the reason. For a model with a fixed number of samples,
/// nothing is made before the files are written. `has_no_qdq` is true if [`left_out`] gave a remark.
pub(super) fn free_batches(
    job: &Job<'_>,
    lowered: &Lowered,
    has_no_qdq: bool,
) -> Result<(Made, Vec<Diagnostic>), Stop> {
    let mut made = Made {
        has_no_qdq,
        ..Made::default()
    };
    let mut remarks = Vec::new();
    let Some(batch) = job.ready.batch.first().map(|batch| batch.name.as_str()) else {
        return Ok((made, remarks));
    };
    if job.formats.contains(&Format::QdqOnnx) && !has_no_qdq {
        let (module, fixed) = qdq(job, lowered)?;
        made.qdq = Some(module);
        remarks.extend(fixed.map(|fixed| fixed_batch(QDQ_ONNX_FILE, &fixed)));
    }
    let has_operators = [Format::TfLite, Format::QOperatorOnnx];
    if !has_operators.iter().any(|format| job.formats.contains(format)) {
        return Ok((made, remarks));
    }
    // If there are no operators for a node, the reason is told where the file is written.
    let Ok(module) = operators(job, lowered) else {
        return Ok((made, remarks));
    };
    let free = free(job, &module, batch);
    if job.formats.contains(&Format::TfLite) && tflite::takes_several(job) {
        let file = match &free {
            Ok(free) => tflite::free(job, free)?,
            Err(fixed) => Err(fixed.clone()),
        };
        // If the file cannot be written at all, the reason is told where it is written.
        let one = |fixed| tflite::one(job, &module).map(|one| one.ok().map(|one| (one, fixed)));
        match file {
            Ok(file) => made.tflite = Some(file),
            Err(fixed) => {
                if let Some((file, fixed)) = one(fixed)? {
                    made.tflite = Some(file);
                    remarks.push(fixed_batch(tflite::FILE, &fixed));
                }
            }
        }
    }
    if job.formats.contains(&Format::QOperatorOnnx) {
        let refusal = |module: &Module| strait_onnx::operators_left_out(module);
        let free = free.and_then(|free| match refusal(&free.module) {
            None => Ok(free.module),
            Some((node, why)) => Err(OneSample { node, why }),
        });
        match free {
            Ok(module) => made.operators = Some(module),
            Err(fixed) if refusal(&module).is_none() => {
                remarks.push(fixed_batch(QOPERATOR_ONNX_FILE, &fixed));
                made.operators = Some(module);
            }
            Err(_) => {}
        }
    }
    Ok((made, remarks))
}

/// Makes the TFLite file if an option of the target names an accelerator, and says which operators the accelerator takes.
/// If the file cannot be written, the reason is told where it is written.
pub(super) fn on_accelerator(
    job: &Job<'_>,
    lowered: &Lowered,
    made: &mut Made,
) -> Result<Option<(Diagnostic, FileOperators)>, Stop> {
    let accelerator = tflite::accelerator(&job.target.spec().chosen);
    let accelerator = accelerator.filter(|_| job.formats.contains(&Format::TfLite));
    let Some((accelerator, Ok(module))) = accelerator.map(|accelerator| (accelerator, operators(job, lowered))) else {
        return Ok(None);
    };
    let Ok(file) = tflite::one(job, &module)? else {
        return Ok(None);
    };
    let found = tflite::on_accelerator(&file, accelerator).map_err(|error| Stop::Defect(error.to_string()))?;
    made.tflite = Some(file);
    Ok(Some((tflite::fallbacks(&found), found)))
}

/// The remark on a file that takes one sample at a time, although the model takes any number.
fn fixed_batch(file: &str, OneSample { node, why }: &OneSample) -> Diagnostic {
    let message = format!("{file} takes one sample at a time, and no other batch: in `{node}`, {why}");
    Diagnostic::remark(codes::OUTPUT, message)
}

/// True if the configuration names the formats to write. Otherwise the target's table lists them.
fn are_named(job: &Job<'_>) -> bool {
    job.loaded.config.output.formats_of(job.id()).is_some()
}

/// Writes the formats of the job. `made` has what has already been made of them. The target's own package or the TFLite
/// file may be unable to represent the model. In this case, returns an error if the configuration asks for this format,
/// and a remark if only the target's table asks for it.
pub(super) fn emit(
    job: &Job<'_>,
    lowered: &Lowered,
    (rewritten, mut made): (&Rewritten, Made),
    writer: &ArtifactWriter,
) -> Result<Vec<Diagnostic>, Stop> {
    let mut sink = Files::new(writer);
    let mut told = Vec::new();
    for format in &job.formats {
        let written = match format {
            Format::Package => {
                let observing = observing(&lowered.settings, &lowered.built.annotated);
                let written = package(job, lowered, (rewritten, &observing), &mut sink);
                written.and_then(|()| sink.finish())
            }
            Format::TfLite => tflite::write(job, lowered, made.tflite.take(), &mut sink)?,
            Format::QOperatorOnnx => {
                let module = made.operators.take().map_or_else(|| operators(job, lowered), Ok);
                let caches = cache::codes(job.loaded, job.id(), job.canonical)?;
                let module = module.and_then(|module| cached(module, &caches));
                module.and_then(|module| sink.operators(QOPERATOR_ONNX_FILE, &module))
            }
            Format::QdqOnnx if made.has_no_qdq => Ok(()),
            Format::QdqOnnx => {
                let module = match made.qdq.take() {
                    Some(module) => module,
                    None => qdq(job, lowered)?.0,
                };
                let closed = job.ready.bodies.closed(&module);
                let closed = closed.map_err(|error| Stop::Defect(error.to_string()))?;
                sink.graph(QDQ_ONNX_FILE, ONNX, &closed)
            }
        };
        match written {
            Err(TargetError::Refused(reason)) if !are_named(job) => {
                let id = &job.target.spec().id;
                let message = format!(
                    "the format `{format}` of the target `{id}` is not written: {}",
                    reason.text
                );
                told.push(Diagnostic::remark(codes::OUTPUT, message));
            }
            written => written.map_err(|error| sink_error(job, &error))?,
        }
    }
    Ok(told)
}

/// The graph on codes, with codes at the inputs and outputs that are caches.
fn cached(module: Module, caches: &Codes) -> Result<Module, TargetError> {
    if caches.is_empty() {
        return Ok(module);
    }
    let broken = || refused("the graph of the file is broken".into());
    cache::with_codes(&module, caches).ok_or_else(broken)
}

/// The artifact's module after the rules that depend on final scales. This module is written to other formats.
fn written<'a>(job: &Job<'_>, lowered: &'a Lowered) -> Result<Cow<'a, Module>, PassError> {
    let rules = on_grids(job);
    let mut module = Cow::Borrowed(&lowered.built.module);
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
    if let Some((node, why)) = strait_onnx::left_out(job.canonical).filter(|_| !are_named(job)) {
        let text = format!("in `{node}`, {why}");
        return Err(Reason::new(ReasonCode::Foreign, text).into());
    }
    let module = written(job, lowered).map_err(|error| TargetError::Unsupported(error.to_string()))?;
    let joined = match job.target.counts_outputs() {
        true => job.ready.outputs.joined(job.canonical),
        false => Vec::new(),
    };
    let rules: Vec<(&str, Counts)> = rewritten.counts().into_iter().collect();
    let file: &Path = job.loaded.config.model.file.as_ref();
    let model = file.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
    let observer = lowered.settings.default.observer.observer;
    let kept: Vec<&str> = job.ready.switches.0.kept.iter().map(String::as_str).collect();
    let balance = balance(job, lowered);
    let emission = Emission::new(&module, &model)
        .with_rules(&rules)
        .with_observer(observer.name())
        .with_observing(observing)
        .with_joined(&joined)
        .with_balance(&balance)
        .with_fusions(!job.ready.switches.0.no_fusion, &kept);
    job.target.emit_all(&emission, sink)
}

/// The layers whose channels were divided by factors, by name.
fn balance(job: &Job<'_>, lowered: &Lowered) -> Vec<(String, Balanced)> {
    let graph = job.canonical.main();
    let of = |(id, own): (&NodeId, &strait_compile::Balance)| {
        let name = job.canonical.name(graph.node(*id)?.name).to_owned();
        let [input, output] = [&own.input, &own.output].map(Clone::clone);
        Some((name, Balanced { input, output }))
    };
    let copy = lowered.built.migrated();
    let found: BTreeMap<String, Balanced> = copy.iter().flat_map(|copy| &copy.balance).filter_map(of).collect();
    found.into_iter().collect()
}

/// For each layer, by name, how the range of its activations was found.
fn observing(settings: &Settings, annotated: &Module) -> Vec<(String, Observing)> {
    let (graph, table) = (annotated.main(), &annotated.main().quant);
    // Values that share a scale have one range. So if it is described how the range of one value was found, this
    // description holds for all these values. The most detailed description is taken. If several are equally detailed,
    // the first one is taken.
    let mut said: BTreeMap<ConfigId, &RangeFrom> = BTreeMap::new();
    for (config, at) in table.iter() {
        let root = table.root(config);
        let of_operand = match at.port {
            Port::Operand(index) => settings.operand_range(at.node, index),
            _ => None,
        };
        let of_value = || settings.values.get(&graph.value_at(at.node, at.port)?)?.range.as_ref();
        if let Some(from) = of_operand.or_else(of_value)
            && (config == root || !said.contains_key(&root))
        {
            said.insert(root, from);
        }
    }
    let mut nodes: Vec<_> = graph.nodes().collect();
    // If several nodes belong to a layer, the node with the layer's name comes first.
    nodes.sort_by_key(|(_, node)| (!node.sources.contains(&node.name), node.op.term().is_form()));
    let mut found = BTreeMap::new();
    for (id, node) in nodes {
        let root = table.id(id, Port::Operand(0)).map(|config| table.root(config));
        let choice = match root.and_then(|root| said.get(&root)) {
            None => Some(&settings.default.observer),
            Some(RangeFrom::Observer(choice)) => Some(choice),
            Some(RangeFrom::Rule(_) | RangeFrom::Grid(_)) => None,
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
    found.into_iter().collect()
}

/// Writes what lies behind the outputs at which the model is cut.
pub(super) fn tail(job: &Job<'_>, writer: &ArtifactWriter) -> Result<(), Stop> {
    let Some(tail) = &job.ready.tail else { return Ok(()) };
    let written = Files::new(writer).graph(TAIL_FILE, ONNX, &tail.module);
    written.map_err(|error| sink_error(job, &error))
}

fn sink_error(job: &Job<'_>, error: &TargetError) -> Stop {
    let path = KeyPath::of(&["output"]);
    let message = format!("the files of the target `{}`: {error}", job.target.spec().id);
    job.loaded.error(codes::OUTPUT, &path, message, "").into()
}
