//! Small networks from float to integers, on the target's kernels.

use super::lines::{Group, Line};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use strait_container::CertificateRecord;
use strait_core::text::{parse, random::SplitMix64};
use strait_core::verifier::verify;
use strait_core::{GraphId, Module, Placement};
use strait_execute::{LoopsFor, PlanOptions, StepError, Tensor, Threads};
use strait_kernels::integer::Loops;
use strait_lower::{Fusion, FusionPolicy, LowerError, Turns, fuse};
use strait_quantize::annotate::{Placing, TypeWishes, annotate, place, refuse};
use strait_quantize::observe::{Samples, observe};
use strait_quantize::statistics::Coverage;
use strait_quantize::{Annotation, Requests};
use strait_requantize::Requantization;
use strait_target::{Target, spec::Difference};
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

/// A line for each network, and in front of them one for the rows that fired in them.
pub(super) fn lines(target: &Arc<dyn Target>) -> Vec<Line> {
    let mut rows = Line::new(Group::Semantics, "fusions are certified");
    let mut fired: BTreeMap<String, usize> = BTreeMap::new();
    let mut networks = Vec::new();
    for (name, text) in NETWORKS {
        let mut line = Line::new(Group::Networks, name);
        match integers(target, text) {
            Err(fault) => line.find(fault),
            Ok(made) => {
                line.checked = format!(
                    "{} nodes on the accelerator, {} on the host, {} fusions",
                    made.accelerator,
                    made.host,
                    made.fusion.fired.len()
                );
                made.findings.into_iter().for_each(|finding| line.find(finding));
                for fused in &made.fusion.fired {
                    *fired.entry(fused.row.clone()).or_default() += 1;
                    let off = fused.certificate.worst().max_lsb();
                    if off > made.most {
                        rows.find(format!("fusion {} in {name}: off by up to {off}", fused.row));
                    }
                }
            }
        }
        networks.push(line);
    }
    let idle: Vec<&str> = target
        .spec()
        .fusion
        .iter()
        .map(|row| row.name.as_str())
        .filter(|name| !fired.contains_key(*name))
        .collect();
    let times = fired.values().sum::<usize>();
    let mut checked = format!(
        "{} of {} rows fired, {times} times",
        fired.len(),
        target.spec().fusion.len()
    );
    if !idle.is_empty() {
        checked = format!("{checked}; not reached by the six networks: {}", idle.join(", "));
    }
    std::iter::once(rows.checked(checked)).chain(networks).collect()
}

/// A network in integers.
struct Made {
    accelerator: usize,
    host: usize,
    fusion: Fusion,
    findings: Vec<String>,
    /// The largest difference that a fusion may make.
    most: u32,
}

/// Samples, each with the graph's inputs in order.
struct Drawn(Vec<Vec<Tensor>>);

impl Samples for Drawn {
    fn sample(&self, index: usize) -> Result<Vec<ndarray::ArrayD<f32>>, String> {
        let sample = self.0.get(index).ok_or_else(|| format!("there is no sample {index}"))?;
        let arrays = sample.iter().map(|tensor| tensor.array().map(|array| array.to_owned()));
        arrays.collect::<Result<_, _>>().map_err(|error| error.to_string())
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
fn integers(target: &Arc<dyn Target>, text: &str) -> Result<Made, String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let spec = target.spec();
    let mut float = parse(text).map_err(|error| said(&error))?;
    let main = float.main;
    strait_rewrite::canonical()
        .run(&mut float, main)
        .map_err(|error| said(&error))?;
    let samples = Drawn((0..4).map(|seed| inputs(&float, seed)).collect::<Result<_, _>>()?);
    let (requests, covered) = (Requests::all(&float, main), Coverage::all(samples.0.len() as u64));
    let plain = PlanOptions::default();
    let mut go_on = |_| ControlFlow::Continue(());
    let observation = observe(
        &float,
        main,
        &requests,
        &samples,
        &covered,
        NonZeroUsize::MIN,
        &plain,
        &mut go_on,
    )
    .map_err(|error| said(&error))?;
    let (placing, types) = (Placing::new(), TypeWishes::default());
    let mut progress = place(&mut float, main, spec, &placing, &types);
    let how = Annotation::new(spec, &observation, &placing);
    let mut turns = Turns::default();
    let mut module = loop {
        annotate(&mut float, main, &how, &mut progress).map_err(|error| said(&error))?;
        turns.touch(progress.touched());
        match turns.lower(&mut float, spec) {
            Ok(lowered) => break lowered.module,
            Err(LowerError::Nodes(nodes)) => {
                if !refuse(float.main_mut(), spec, &placing, &types, &mut progress, nodes) {
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
    let (fused, (policy, most)) = (module.main, policy(target));
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

/// The table's policy of fusions, and the largest difference that it allows.
fn policy(target: &Arc<dyn Target>) -> (FusionPolicy, u32) {
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
