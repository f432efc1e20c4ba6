//! Small networks from float to integers, on the target's kernels.

use super::{
    Progress,
    fusions::{self, Fusions},
    lines::{Group, Line},
};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use strait_container::CertificateRecord;
use strait_core::text::{parse, random::SplitMix64};
use strait_core::verifier::verify;
use strait_core::{Bodies, GraphId, Module, Placement};
use strait_execute::{LoopsFor, PlanOptions, StepError, Tensor, Threads};
use strait_kernels::integer::Loops;
use strait_lower::{Fusion, FusionPolicy, LowerError, Turns, fuse};
use strait_quantize::annotate::{Placing, TypeWishes, annotate, place, refuse};
use strait_quantize::observe::{Samples, observe};
use strait_quantize::statistics::Coverage;
use strait_quantize::{Annotation, Requests};
use strait_requantize::Requantization;
use strait_target::{
    Target,
    spec::{Activation, Difference, Integer},
};
use strait_verify::{VerifyOptions, verify_module};

/// The networks, by name.
const NETWORKS: [(&str, &str); 6] = [
    ("pooled", include_str!("../../networks/pooled.strait")),
    ("residual", include_str!("../../networks/residual.strait")),
    ("separable", include_str!("../../networks/separable.strait")),
    ("classifier", include_str!("../../networks/classifier.strait")),
    ("gated", include_str!("../../networks/gated.strait")),
    ("joined", include_str!("../../networks/joined.strait")),
];

/// A line for each network, and those about fusions ([`Fusions`]).
pub(super) fn lines(
    target: &Arc<dyn Target>,
    variants: &[(String, Arc<dyn Target>)],
    progress: &dyn Progress,
) -> Vec<Line> {
    let mut fusions = Fusions::new(target, variants);
    let others = fusions::others(target, variants);
    progress.begin("small networks", NETWORKS.len() + others.len());
    let mut networks = Vec::new();
    for (at, (name, text)) in NETWORKS.into_iter().enumerate() {
        let mut line = Line::new(Group::Networks, name);
        match integers(target, text, &Asked::default()) {
            Err(fault) => line.find(fault),
            Ok(made) => {
                fusions.add(name, &made);
                line.checked = format!(
                    "{} nodes on the accelerator, {} on the host, {} fusions",
                    made.accelerator,
                    made.host,
                    made.fusion.fired.len()
                );
                made.findings.into_iter().for_each(|finding| line.find(finding));
            }
        }
        networks.push(line);
        progress.advance(at + 1);
    }
    for (at, other) in others.iter().enumerate() {
        fusions.run(other);
        progress.advance(NETWORKS.len() + at + 1);
    }
    networks.extend(fusions.lines());
    networks
}

/// Wishes of a configuration about a network, as far as the table has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// Of the activations of all nodes, and of their weights.
    pub(super) pair: Option<(Activation, Integer)>,
    /// Values, by name, that leave their nodes, or the host, in a type of their own.
    pub(super) leaves: Option<(&'static [&'static str], Integer)>,
    /// The largest difference of a fusion, instead of the table's.
    pub(super) most: Option<u32>,
}

impl Asked {
    /// The types, for a module whose values have their names.
    fn types(&self, module: &Module) -> TypeWishes {
        let (names, of) = self.leaves.unzip();
        let values = module.main().values();
        let asked = values.filter(|(_, value)| names.is_some_and(|names| names.contains(&module.name(value.name))));
        let values = asked.filter_map(|(id, _)| Some((id, of?))).collect();
        let (activation, weight) = self.pair.unzip();
        TypeWishes {
            activation,
            weight,
            values,
            ..TypeWishes::default()
        }
    }
}

/// A network in integers.
pub(super) struct Made {
    accelerator: usize,
    host: usize,
    pub(super) fusion: Fusion,
    pub(super) findings: Vec<String>,
    /// The largest difference that a fusion may make.
    pub(super) most: u32,
}

/// Samples, each with the graph's inputs in order.
struct Drawn(Vec<Vec<Tensor>>);

impl Samples for Drawn {
    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
        let sample = self.0.get(index).cloned();
        sample.ok_or_else(|| format!("there is no sample {index}"))
    }
}

/// The target's loops, for the runs that compare.
struct Its(Arc<dyn Target>);

impl LoopsFor for Its {
    fn loops_for(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, StepError> {
        let loops = self.0.loops(form, clamp);
        loops.map_err(|error| StepError::Target(error.to_string()))
    }
}

/// Canonicalises, observes, places, annotates, lowers, fuses and verifies.
pub(super) fn integers(target: &Arc<dyn Target>, text: &str, asked: &Asked) -> Result<Made, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let spec = target.spec();
    let mut float = parse(text).map_err(|error| said(&error))?;
    let main = float.main;
    strait_rewrite::canonical()
        .run(&mut float, main)
        .map_err(|error| said(&error))?;
    verify(&float).map_err(|error| said(&error))?;
    let types = &asked.types(&float);
    let samples = Drawn((0..4).map(|seed| inputs(&float, seed)).collect::<Result<_, _>>()?);
    let (requests, covered) = (Requests::all(&float, main), Coverage::all(samples.0.len() as u64));
    let plain = PlanOptions::default();
    let mut go_on = |_| ControlFlow::Continue(());
    let observation = observe(
        &float,
        &Bodies::default(),
        &requests,
        &samples,
        &covered,
        NonZeroUsize::MIN,
        &plain,
        &mut go_on,
    )
    .map_err(|error| said(&error))?;
    let placing = Placing::new();
    let mut progress = place(&mut float, main, spec, &placing, types);
    let how = Annotation {
        types: types.clone(),
        ..Annotation::new(spec, &observation, &placing)
    };
    let mut turns = Turns::default();
    let mut module = loop {
        annotate(&mut float, main, &how, &mut progress).map_err(|error| said(&error))?;
        turns.touch(progress.touched());
        match turns.lower(&mut float, spec) {
            Ok(lowered) => break lowered.module,
            Err(LowerError::Nodes(nodes)) => {
                if !refuse(float.main_mut(), spec, &placing, types, &mut progress, nodes) {
                    return Err("recipes refuse nodes of the host".into());
                }
            }
            Err(LowerError::Ours(defect)) => return Err(defect),
        }
    };
    verify(&module).map_err(|error| said(&error))?;
    let mut fused = module.main().clone();
    fused.name = module.names.fresh("main");
    module.graphs.push(fused);
    module.main = GraphId::new(module.graphs.len() - 1);
    let (fused, (policy, most)) = (module.main, policy(target, asked.most));
    let fusion = fuse(&mut module, fused, target.as_ref(), policy).map_err(|error| said(&error))?;
    verify(&module).map_err(|error| said(&error))?;
    let records: Vec<CertificateRecord> = fusion
        .fired
        .iter()
        .map(|fired| CertificateRecord {
            node: fired.value.clone(),
            row: fired.row.clone(),
            certificate: fired.certificate.clone(),
        })
        .collect();
    let threads = Threads::new(NonZeroUsize::MIN).map_err(|error| said(&error))?;
    let loops = Its(target.clone());
    let options = VerifyOptions {
        loops: &loops,
        ..VerifyOptions::new(&threads)
    };
    let report = verify_module(&module, &records, &options).map_err(|error| said(&error))?;
    let nodes = || float.main().nodes();
    let host = nodes()
        .filter(|(_, node)| matches!(node.place, Placement::Host(_)))
        .count();
    Ok(Made {
        accelerator: nodes().count() - host,
        host,
        findings: report.findings.iter().map(ToString::to_string).collect(),
        fusion,
        most,
    })
}

/// The policy of fusions that is asked for, or that of the table, and the largest difference that it allows.
fn policy(target: &Arc<dyn Target>, asked: Option<u32>) -> (FusionPolicy, u32) {
    if let Some(most) = asked {
        return (FusionPolicy::Bounded(most), most);
    }
    let default = &target.spec().fusion_default;
    match default.accept {
        Difference::Exact => (FusionPolicy::Exact, 0),
        Difference::Bounded => {
            let most = default.max_lsb.unwrap_or(1);
            (FusionPolicy::Bounded(most), most)
        }
        Difference::Any => (FusionPolicy::Any, u32::MAX),
    }
}

/// Inputs of the main graph, uniform between -1 and 1.
fn inputs(module: &Module, seed: u64) -> Result<Vec<Tensor>, String> {
    let mut random = SplitMix64::new(seed);
    let graph = module.main();
    let shapes = graph.inputs().iter().map(|&input| {
        let dims = graph.value(input).and_then(|value| value.ty.dims());
        let dims = dims.ok_or("an input has no shape")?;
        Ok(dims.iter().map(|&extent| extent as usize).collect::<Vec<usize>>())
    });
    let shapes: Vec<Vec<usize>> = shapes.collect::<Result<_, &str>>()?;
    let mut tensors = Vec::new();
    for shape in shapes {
        let real = |_| (random.next_u64() >> 40) as f32 / 8_388_608.0 - 1.0;
        let values: Vec<f32> = (0..shape.iter().product::<usize>()).map(real).collect();
        tensors.push(Tensor::from_values(&shape, &values).map_err(|error| error.to_string())?);
    }
    Ok(tensors)
}
