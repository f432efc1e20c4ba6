//! Finds out where the layers of a model run on targets, and what they cost, without any data.
//!
//! Ranges are measured on one random sample. So layers are placed as in a compilation, unless a placement depends on ranges: a
//! layer whose scales do not fit the target's arithmetic.

use std::{collections::BTreeMap, num::NonZeroU32};

use strait_compile::types::node_operations;
use strait_core::{Elem, Kind, Module, Node, NodeId, Op, Placement, Port, ValueId, shape::element_count};
use strait_target::{
    Registry,
    spec::{Rates, Work},
};

use crate::{
    checked::{Checked, CheckedLayer, Checks},
    config::{
        Loaded,
        leaf::{DataPath, FilePath},
        types::Data,
    },
    diagnostic::Diagnostic,
    dialect::expanded,
    failure::codes,
    report::of_built,
    session::Session,
    stop::Stop,
    targets,
};

use super::{inputs, job::Job, lowered, ready::make_ready, tflite};

/// Checks a model for every target of the configuration. The samples of the configuration are not read.
///
/// # Errors
/// If anything is wrong with the configuration, the model or a target, or the user interrupts.
pub fn check(loaded: &Loaded, registry: Registry, session: &Session<'_>) -> Result<Checks, Stop> {
    let mut loaded = expanded(loaded, &registry)?.into_owned();
    let temporary = tempfile::tempdir()
        .map_err(|error| Diagnostic::error(codes::OUTPUT, format!("a temporary folder cannot be made: {error}")))?;
    let calibration = &mut loaded.config.calibration;
    if calibration.record.is_none() {
        calibration.data = Some(Data::One(DataPath::of_random(NonZeroU32::MIN)));
    }
    (calibration.samples, calibration.cache) = (None, FilePath::new(&temporary.path().to_string_lossy()));
    let chosen = targets::chosen(&loaded, registry, session)?;
    let ready = make_ready(&loaded, session)?;
    let observation = ready.of_canonical(&loaded, session)?.kept(&ready.model, session)?;
    let ranges = inputs::ranges(&ready.specs, &ready.samples);
    let mut checks = Checks { targets: Vec::new() };
    for (target, origin) in chosen {
        let (of_target, selection) = ready.of_target(&observation, target.spec(), &loaded, session)?;
        let parts = (&*of_target.module, &*of_target.observation, &selection);
        let own = (target.clone(), origin);
        let job = Job {
            algorithms: None,
            ..Job::new(&loaded, &ready, parts, own, &ranges)
        };
        let lowered = lowered::unverified(&job, session)?;
        let report = of_built(target.spec(), job.canonical, &lowered.built, &BTreeMap::new());
        let rates = target.spec().silicon.as_ref().and_then(|silicon| silicon.rates);
        checks.targets.push(Checked {
            target: job.id().to_owned(),
            summary: report.summary,
            layers: layers(&lowered.built.annotated, rates),
            file: tflite::cost(&job, &lowered)?,
        });
    }
    Ok(checks)
}

/// The layers of an annotated graph in the order in which they run.
fn layers(annotated: &Module, rates: Option<Rates>) -> Vec<CheckedLayer> {
    let graph = annotated.main();
    let codes: BTreeMap<(NodeId, Port), Elem> = graph
        .quant
        .iter()
        .filter_map(|(_, config)| Some(((config.node, config.port), config.scheme.elem()?)))
        .collect();
    let order = graph.topological_order().unwrap_or_default();
    let nodes = order.into_iter().filter_map(|id| Some((id, graph.node(id)?)));
    // Conversions between codes and real numbers are no layers.
    nodes
        .filter(|(_, node)| node.op.term().kind() != Kind::Boundary)
        .map(|(id, node)| {
            let [constant_bytes, value_bytes] = bytes(annotated, (id, node), &codes);
            let operations = node_operations(annotated, id);
            let work = match node.op {
                Op::Conv(_) | Op::ConvTranspose(_) | Op::Gemm(_) | Op::MatMul(_) => Work::MultiplyAdds(operations),
                _ => Work::Elements(operations),
            };
            let cycles = |rates: Rates| rates.cycles(work, constant_bytes.saturating_add(value_bytes));
            CheckedLayer {
                name: annotated.name(node.name).to_owned(),
                op: node.op.term().to_string(),
                host: match &node.place {
                    Placement::Host(reason) => Some(reason.as_ref().into()),
                    _ => None,
                },
                operations,
                constant_bytes,
                value_bytes,
                cycles: rates.filter(|_| node.place == Placement::Accelerator).map(cycles),
            }
        })
        .collect()
}

/// The bytes of a node's constants, and of the other values that it reads and writes. What has codes has the size of its codes.
fn bytes(module: &Module, (id, node): (NodeId, &Node), codes: &BTreeMap<(NodeId, Port), Elem>) -> [u64; 2] {
    let graph = module.main();
    let size = |value: ValueId, port: Port| {
        let ty = &graph.value(value)?.ty;
        let elem = codes.get(&(id, port)).copied().unwrap_or(ty.elem);
        elem.packed_bytes(element_count(&ty.shape)?)
    };
    let (mut constants, mut values) = (0u64, 0u64);
    for (at, &value) in node.inputs.iter().enumerate() {
        let Some(value) = value else { continue };
        let bytes = size(value, Port::Operand(at)).unwrap_or(0);
        let sum = match graph.data_of(value) {
            Some(_) => &mut constants,
            None => &mut values,
        };
        *sum = sum.saturating_add(bytes);
    }
    for (at, &value) in node.outputs.iter().enumerate() {
        values = values.saturating_add(size(value, Port::Result(at)).unwrap_or(0));
    }
    [constants, values]
}
