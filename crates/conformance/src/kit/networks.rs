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
use strait_target::{
    Target,
    spec::{Difference, FusionRow},
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

/// Sums, products, pools and constants that those do not have, for the fusions behind them.
const ROWS: (&str, &str) = ("rows", include_str!("../../networks/rows.strait"));

/// A line for each network, one for others, and one for the fusions: a graph of rows is also tried with each pair of types, and on
/// the target with the other values of its options.
pub(super) fn lines(target: &Arc<dyn Target>, variants: &[(String, Arc<dyn Target>)]) -> Vec<Line> {
    let mut fusions = Fusions::new();
    let mut networks = Vec::new();
    for (name, text) in NETWORKS {
        let mut line = Line::new(Group::Networks, name);
        match integers(target, text, &TypeWishes::default()) {
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
    }
    fusions.run(target, "", [ROWS], &TypeWishes::default());
    for pair in target
        .spec()
        .types
        .pairs
        .iter()
        .skip(1)
        .filter(|pair| !pair.is_weight_only())
    {
        let wishes = TypeWishes {
            activation: Some(pair.activation),
            weight: Some(pair.weight),
            ..TypeWishes::default()
        };
        let with = format!(" on {}, {}", pair.activation, pair.weight);
        fusions.run(target, &with, [ROWS], &wishes);
    }
    for (with, variant) in variants {
        fusions.run(variant, &format!(" with {with}"), [ROWS], &TypeWishes::default());
    }
    networks.extend(fusions.lines(target));
    networks
}

/// The fusions of all networks.
struct Fusions {
    certified: Line,
    /// Networks that are run for their fusions alone.
    others: Line,
    ran: usize,
    fired: BTreeMap<String, usize>,
}

impl Fusions {
    fn new() -> Fusions {
        Fusions {
            certified: Line::new(Group::Semantics, "fusions are certified"),
            others: Line::new(Group::Networks, "other ops, types and options"),
            ran: 0,
            fired: BTreeMap::new(),
        }
    }

    /// Takes those of a network.
    fn add(&mut self, name: &str, made: &Made) {
        for fused in &made.fusion.fired {
            *self.fired.entry(fused.row.clone()).or_default() += 1;
            let off = fused.certificate.worst().max_lsb();
            if off > made.most {
                let text = format!("fusion {} in {name}: off by up to {off}", fused.row);
                self.certified.find(text);
            }
        }
    }

    /// Runs networks for their fusions alone.
    fn run(
        &mut self,
        target: &Arc<dyn Target>,
        with: &str,
        networks: impl IntoIterator<Item = (&'static str, &'static str)>,
        wishes: &TypeWishes,
    ) {
        for (name, text) in networks {
            let name = format!("{name}{with}");
            self.ran += 1;
            match integers(target, text, wishes) {
                Err(fault) => self.others.find(format!("{name}: {fault}")),
                Ok(made) => {
                    self.add(&name, &made);
                    for finding in made.findings {
                        self.others.find(format!("{name}: {finding}"));
                    }
                }
            }
        }
    }

    fn lines(self, target: &Arc<dyn Target>) -> [Line; 2] {
        let rows = &target.spec().fusion;
        let its = |row: &&FusionRow| self.fired.contains_key(&row.name);
        let (reached, idle): (Vec<&FusionRow>, Vec<&FusionRow>) = rows.iter().partition(its);
        let times = self.fired.values().sum::<usize>();
        let mut checked = format!("{} of {} rows fired, {times} times", reached.len(), rows.len());
        if !idle.is_empty() {
            let idle: Vec<&str> = idle.iter().map(|row| row.name.as_str()).collect();
            checked = format!("{checked}; no network of the kit reaches {}", idle.join(", "));
        }
        let ran = format!("{} networks", self.ran);
        [self.certified.checked(checked), self.others.checked(ran)]
    }
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
fn integers(target: &Arc<dyn Target>, text: &str, types: &TypeWishes) -> Result<Made, String> {
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
