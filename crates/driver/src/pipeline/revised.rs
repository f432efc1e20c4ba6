//! Compiles a configuration twice, as it is and with some keys changed, from the same kept statistics, and compares the
//! results. Nothing is written.

use std::{collections::BTreeMap, fmt, num::NonZeroUsize};

use serde::Serialize;
use strait_compile::{Built, TargetLoops, rules::requests};
use strait_core::{Counts, Module, NodeId, Placement, Port, State, ValueId};
use strait_evaluate::{Accuracy, Better, Figure};
use strait_target::Registry;

use crate::{
    config::Loaded,
    dialect::expanded,
    report::{self, SanityOutput, Size},
    sanity,
    session::Session,
    stop::Stop,
    table,
};

use super::{
    accuracy::{accuracy, integer_side},
    before::{Before, before_targets},
    job::Job,
    lowered::{Lowered, annotate_with, trial},
    mixed, params,
    single::Single,
};

/// Differences of an SNR below this, in dB, are no change.
const SAME: f64 = 0.05;

/// How two versions of a configuration differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Revised {
    /// The target that both were compiled for.
    pub target: String,
    /// The keys that were changed.
    pub set: Vec<String>,
    /// Each metric of the integer model, if the configuration evaluates.
    pub metrics: Vec<MetricChange>,
    /// The SNR of each output of the model on the first calibration samples, in dB.
    pub outputs: Vec<OutputChange>,
    /// The layers that have changed, those whose SNR changes most first.
    pub layers: Vec<LayerChange>,
    /// The number of layers whose SNR was compared.
    pub compared: usize,
    /// The bytes of the constants of the integer model, before and after.
    pub bytes: [u64; 2],
    /// The number of layers on the host, before and after.
    pub host: [usize; 2],
}

/// A metric before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricChange {
    /// The name of the metric.
    pub name: String,
    /// The output that it looks at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether more is better.
    pub better: Better,
    /// The figure of the float model.
    pub float: Option<f64>,
    /// The figures of the integer model.
    pub integer: [Option<f64>; 2],
}

/// An output of the model before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutputChange {
    /// The name of the output.
    pub output: String,
    /// Its SNR, in dB. Absent if there is none, for instance for integers.
    pub snr: [Option<f64>; 2],
}

/// A layer before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerChange {
    /// The name of the layer.
    pub layer: String,
    /// The SNR of its result in the integer model, in dB. Absent if the result is not in both models.
    pub snr: [Option<f64>; 2],
    /// The types of what it reads and makes: of its operands, then of its results.
    pub types: [String; 2],
    /// True where it runs on the host.
    pub host: [bool; 2],
}

/// One of the two versions.
struct Version {
    target: String,
    accuracy: Option<Accuracy>,
    outputs: Vec<SanityOutput>,
    layers: Vec<(String, Compiled)>,
    size: Size,
}

/// A layer of one version.
#[derive(Clone, Debug, Default, PartialEq)]
struct Compiled {
    snr: Option<f64>,
    types: String,
    host: bool,
}

/// Compiles both versions for one target, and compares them on the first `samples` calibration samples.
///
/// If only the quantization changes, the second version takes over the model, the samples, the float model's outputs and the
/// parts of the first version that do not change.
///
/// # Errors
/// If anything is wrong with either configuration, the model, the samples or the target, if there are several targets or no
/// samples, or if the user interrupts.
pub fn revised(
    versions: [&Loaded; 2],
    registry: impl Fn() -> Result<Registry, Stop>,
    (set, samples): (Vec<String>, NonZeroUsize),
    session: &Session<'_>,
) -> Result<Revised, Stop> {
    let [before, after] = versions;
    let (before, after) = (expanded(before, &registry()?)?, expanded(after, &registry()?)?);
    let is_same = is_same_basis(&before, &after);
    let revision = is_same.then_some(&*after);
    let (first, second) = version((&before, revision), registry()?, samples, session)?;
    let second = match second {
        Some(second) => second,
        None => version((&after, None), registry()?, samples, session)?.0,
    };
    Ok(compared(set, first, second))
}

/// True if two configurations differ only in how the model is quantized.
fn is_same_basis(one: &Loaded, other: &Loaded) -> bool {
    let (one, mut like) = (&one.config, other.config.clone());
    like.quantize = one.quantize.clone();
    like.calibration.observer = one.calibration.observer;
    like.calibration.observer_options = one.calibration.observer_options.clone();
    like.optimize = one.optimize.clone();
    like.fusion = one.fusion.clone();
    like.gate = one.gate.clone();
    like.output = one.output.clone();
    like == *one
}

/// Compiles and measures a configuration, and a `revision` of it that has the same model and samples. The second result is
/// absent if there is no revision, or if it needs statistics that the first version does not have.
fn version(
    (loaded, revision): (&Loaded, Option<&Loaded>),
    registry: Registry,
    samples: NonZeroUsize,
    session: &Session<'_>,
) -> Result<(Version, Option<Version>), Stop> {
    let Single { target, origin, ready } = Single::new(loaded, registry, session)?;
    let (spec, id) = (target.spec(), target.spec().id.clone());
    let mut before = before_targets(loaded, &ready, &[spec], session)?;
    before.kept(Ok(()), session)?;
    let (of_target, selection) = ready.of_target(&before.observation, spec, loaded, session)?;
    let parts = (&*of_target.module, &*of_target.observation, &selection);
    let own = (target.clone(), origin);
    let job = Job::new(loaded, &ready, parts, own, &before.ranges);
    let counts = of_target.rewritten.counts();
    let measured = |job: &Job<'_>, from: Option<&Built>| {
        let mixed = mixed::search(job, session)?;
        let job = mixed.as_ref().map_or(job.clone(), |mixed| mixed.job(job));
        let lowered = trial(&job, from, session)?;
        let version = measure(&job, (&before, &lowered, &counts), samples, session)?;
        Ok::<_, Stop>((version, lowered.built))
    };
    let (first, built) = measured(&job, None)?;
    let Some(after) = revision else {
        return Ok((first, None));
    };
    let (rules, selection) = ready.ruled(after)?;
    let selection = selection.of_target(&rules.quantize, &id);
    let selection = selection.carried(&ready.canonical, &of_target.module);
    let params = params::read(after)?;
    let job = Job {
        loaded: after,
        rules: &rules,
        selection: &selection,
        params: params.as_ref(),
        algorithms: after.config.optimize.algorithms(),
        ..job
    };
    let requests = requests(job.canonical, job.rules, job.selection).map_err(|found| after.told(found))?;
    if !requests
        .unmet(job.canonical, job.canonical.main, job.observation)
        .is_empty()
    {
        return Ok((first, None));
    }
    // Only a model that was made without algorithms, and from the same module, can be taken over.
    let from = (built.optimised.is_none() && job.algorithms.is_none()).then_some(&built);
    let (second, _) = measured(&job, from)?;
    Ok((first, Some(second)))
}

/// Measures a compiled model.
fn measure(
    job: &Job<'_>,
    (before, lowered, counts): (&Before<'_>, &Lowered, &BTreeMap<&'static str, Counts>),
    samples: NonZeroUsize,
    session: &Session<'_>,
) -> Result<Version, Stop> {
    let (spec, id) = (job.target.spec(), job.id());
    lowered.remarks.iter().for_each(|remark| session.remark(remark));
    let Some(reference) = &before.reference else {
        return Err(Stop::Defect("the float model was not run".into()));
    };
    let loops = TargetLoops(job.target.clone());
    let integer = integer_side((&lowered.built, job.ready.tail.as_ref()), &loops, session)?;
    let subject = sanity::Subject {
        canonical: lowered.built.float(job.canonical),
        bodies: &job.ready.bodies,
        annotated: &lowered.built.annotated,
        spec,
        integer: &lowered.built.module,
        loops: &loops,
        with: &|rules| annotate_with(job, rules, session),
    };
    let count = samples.get().min(reference.count());
    let errors = reference.errors(&subject, count, session)?;
    let outputs = reference.compared(&integer, &format!("sanity ({id})"), session)?;
    let accuracy = match (&before.evaluation, &before.float_notes) {
        (Some(evaluation), Some(notes)) => {
            let float = (before.float.as_ref(), notes.as_slice());
            Some(accuracy(evaluation, float, job, &integer, session)?.0)
        }
        _ => None,
    };
    let report = report::of_built(spec, job.canonical, &lowered.built, counts);
    let snr = |value| errors.get(&value).map(|error: &sanity::ValueError| error.after);
    Ok(Version {
        target: id.to_owned(),
        accuracy,
        outputs,
        layers: layers(&lowered.built.annotated, snr),
        size: report.size,
    })
}

/// The layers of an annotated module, in the order of the graph.
fn layers(module: &Module, snr: impl Fn(ValueId) -> Option<f64>) -> Vec<(String, Compiled)> {
    let graph = module.main();
    let mut found = Vec::new();
    for id in graph.topological_order().unwrap_or_default() {
        let Some(node) = graph.node(id) else { continue };
        let ports = (0..node.inputs.len()).map(Port::Operand);
        let operands: Vec<String> = ports.filter_map(|port| coded(module, id, port)).collect();
        let ports = (0..node.outputs.len()).map(Port::Result);
        let results: Vec<String> = ports.filter_map(|port| coded(module, id, port)).collect();
        let worst = node.outputs.iter().filter_map(|&value| snr(value)).reduce(f64::min);
        found.push((
            module.name(node.name).to_owned(),
            Compiled {
                snr: worst,
                types: format!("{} > {}", operands.join(","), results.join(",")),
                host: matches!(node.place, Placement::Host(_)),
            },
        ));
    }
    found
}

/// The type of the codes of an operand or a result; `None` if it has none.
fn coded(module: &Module, id: NodeId, port: Port) -> Option<String> {
    let graph = module.main();
    let config = graph.quant.id(id, port)?;
    let is_real = graph.quant.state(config) == Some(State::Float);
    let elem = graph.quant.config(config)?.scheme.elem().filter(|_| !is_real);
    Some(elem.map_or("float".to_owned(), |elem| elem.to_string()))
}

fn compared(set: Vec<String>, before: Version, after: Version) -> Revised {
    let host = |version: &Version| version.layers.iter().filter(|(_, layer)| layer.host).count();
    let metrics = |accuracy: &Option<Accuracy>| accuracy.as_ref().map_or(Vec::new(), |all| all.metrics.clone());
    let (earlier, later) = (metrics(&before.accuracy), metrics(&after.accuracy));
    let value = |figure: &Option<Figure>| figure.as_ref().map(|figure| figure.value);
    let metric = |now: &strait_evaluate::Measured| {
        let was = earlier
            .iter()
            .find(|was| (&was.name, &was.output) == (&now.name, &now.output));
        MetricChange {
            name: now.name.clone(),
            output: now.output.clone(),
            better: now.better,
            float: value(&now.float),
            integer: [was.and_then(|was| value(&was.integer)), value(&now.integer)],
        }
    };
    let output = |now: &SanityOutput| {
        let was = before
            .outputs
            .iter()
            .find(|was| (&was.output, &was.part) == (&now.output, &now.part));
        OutputChange {
            output: match &now.part {
                None => now.output.clone(),
                Some(part) => format!("{} ({part})", now.output),
            },
            snr: [was.and_then(|was| was.snr), now.snr],
        }
    };
    let (bytes, hosts) = (
        [before.size.integer_bytes, after.size.integer_bytes],
        [host(&before), host(&after)],
    );
    let (metrics, outputs) = (
        later.iter().map(metric).collect(),
        after.outputs.iter().map(output).collect(),
    );
    let known: BTreeMap<&str, &Compiled> = before
        .layers
        .iter()
        .map(|(name, layer)| (name.as_str(), layer))
        .collect();
    let none = Compiled::default();
    let mut layers = Vec::new();
    let mut count = 0;
    for (name, now) in &after.layers {
        let was = known.get(name.as_str()).copied().unwrap_or(&none);
        let change = LayerChange {
            layer: name.clone(),
            snr: [was.snr, now.snr],
            types: [was.types.clone(), now.types.clone()],
            host: [was.host, now.host],
        };
        count += usize::from(change.difference().is_some());
        let moved = change.difference().is_some_and(|difference| difference.abs() >= SAME);
        if moved || was.types != now.types || was.host != now.host {
            layers.push(change);
        }
    }
    let size = |change: &LayerChange| change.difference().map_or(0.0, f64::abs);
    layers.sort_by(|one, other| size(other).total_cmp(&size(one)));
    Revised {
        target: after.target,
        set,
        metrics,
        outputs,
        layers,
        compared: count,
        bytes,
        host: hosts,
    }
}

impl LayerChange {
    /// By how much the SNR rises, in dB.
    fn difference(&self) -> Option<f64> {
        let [before, after] = self.snr;
        before.zip(after).map(|(before, after)| after - before)
    }
}

/// What is shown of two versions, with at most this many layers.
#[derive(Clone, Copy, Debug)]
pub struct Changes<'a> {
    /// The comparison.
    pub revised: &'a Revised,
    /// The largest number of layers.
    pub layers: usize,
}

impl fmt::Display for Changes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let revised = self.revised;
        writeln!(f, "{}: {}", revised.target, revised.set.join(" "))?;
        for metric in &revised.metrics {
            let of = metric
                .output
                .as_ref()
                .map(|output| format!(" of {output}"))
                .unwrap_or_default();
            let float = metric
                .float
                .map(|float| format!(" (float {float:.4})"))
                .unwrap_or_default();
            writeln!(f, "{}{of}: {}{float}", metric.name, arrow(metric.integer, 4, ""))?;
        }
        for output in &revised.outputs {
            writeln!(f, "SNR of {}: {}", output.output, arrow(output.snr, 1, " dB"))?;
        }
        let [before, after] = revised.bytes;
        writeln!(f, "constants: {before} -> {after} bytes")?;
        let [before, after] = revised.host;
        writeln!(f, "on the host: {before} -> {}", table::count(after, "layer"))?;
        if revised.layers.is_empty() {
            return write!(f, "no layer has changed, of {} compared", revised.compared);
        }
        write!(f, "{} changed:", table::count(revised.layers.len(), "layer"))?;
        for layer in revised.layers.iter().take(self.layers) {
            write!(f, "\n  {:<40} {}", layer.layer, arrow(layer.snr, 1, " dB"))?;
            if layer.types[0] != layer.types[1] {
                write!(f, ", {} -> {}", layer.types[0], layer.types[1])?;
            }
            match layer.host {
                [false, true] => write!(f, ", moves to the host")?,
                [true, false] => write!(f, ", leaves the host")?,
                _ => {}
            }
        }
        match revised.layers.len().saturating_sub(self.layers) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more: `--layers` shows them"),
        }
    }
}

/// Two numbers and their difference.
fn arrow(numbers: [Option<f64>; 2], digits: usize, unit: &str) -> String {
    let [before, after] = numbers.map(|number| match number {
        None => "none".to_owned(),
        Some(number) => format!("{number:.digits$}{unit}"),
    });
    match numbers {
        [Some(one), Some(other)] => format!("{before} -> {after} ({:+.digits$})", other - one),
        _ => format!("{before} -> {after}"),
    }
}
