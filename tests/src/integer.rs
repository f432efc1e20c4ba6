//! From a float graph to integers for a target, on calibration data that is in memory.

use crate::passes::annotate_placed;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_container::CertificateRecord;
use strait_core::verifier::verify;
use strait_core::{Bodies, GraphId, Module};
use strait_execute::{PlanOptions, Tensor};
use strait_lower::{Fused, Fusion, FusionPolicy, LowerError, Turns};
use strait_quantize::annotate::{Coarser, Directives, Placing, TypeWishes, place, refuse, widen};
use strait_quantize::observe::{Samples, observe};
use strait_quantize::statistics::Coverage;
use strait_quantize::{Annotation, Requests};
use strait_target::spec::Nearness;
use strait_verify::{Finding, analyse};

/// Samples, each with the graph's inputs in order.
pub struct InMemory(pub Vec<Vec<Tensor>>);

impl Samples for InMemory {
    fn sample(&self, index: usize) -> Result<Vec<Tensor>, String> {
        let sample = self.0.get(index).cloned();
        sample.ok_or_else(|| format!("there is no sample {index}"))
    }
}

/// The integer model: graph [`Integer::lowered`], and the fused one, which is main.
pub struct Integer {
    /// Both graphs.
    pub module: Module,
    /// The graph before fusion.
    pub lowered: GraphId,
    /// Fusions that were made.
    pub fusion: Fusion,
    /// The baked graph that it was lowered from.
    pub annotated: Module,
    /// Nearness of its requantizations to the ideal, by their names.
    pub nearness: BTreeMap<String, Nearness>,
    /// The rows of the target's table by which the nodes of the lowered graph were made, by the nodes' names.
    pub origins: BTreeMap<String, String>,
    /// The grids that had to be coarser than their ranges ask for.
    pub coarser: Vec<Coarser>,
}

/// Findings of `strait verify` in a module and the certificates of its fusions, without running it.
///
/// # Errors
/// A module that cannot be verified, as text.
pub fn findings(module: &Module, fusion: &Fusion) -> Result<Vec<Finding>, String> {
    let record = |fired: &Fused| CertificateRecord {
        node: fired.value.clone(),
        row: fired.row.clone(),
        certificate: fired.certificate.clone(),
    };
    let records: Vec<CertificateRecord> = fusion.fired.iter().map(record).collect();
    let analysis = analyse(module, &records).map_err(|error| error.to_string())?;
    Ok(analysis.findings().to_vec())
}

/// [`integer_under`] the policy that only exact fusions are made.
///
/// # Errors
/// Whatever stopped it, as text.
pub fn integer(float: &Module, target: &str, samples: &InMemory) -> Result<Integer, String> {
    integer_under(FusionPolicy::Exact, float, target, samples)
}

/// [`integer_of`] the target's default types.
///
/// # Errors
/// Whatever stopped it, as text.
pub fn integer_under(
    policy: FusionPolicy,
    float: &Module,
    target: &str,
    samples: &InMemory,
) -> Result<Integer, String> {
    integer_of(&TypeWishes::default(), policy, float, target, samples)
}

/// [`integer_wanting`] these types, whatever the graph.
///
/// # Errors
/// Whatever stopped it, as text.
pub fn integer_of(
    types: &TypeWishes,
    policy: FusionPolicy,
    float: &Module,
    target: &str,
    samples: &InMemory,
) -> Result<Integer, String> {
    integer_wanting(&|_| Ok(types.clone()), policy, float, target, samples)
}

/// Canonicalises, observes, places, annotates (by the extremes), lowers and fuses, and verifies every graph in between,
/// and the certificates. `target` is as in the filetests; `types` are those of the canonical graph.
///
/// # Errors
/// Whatever stopped it, as text.
pub fn integer_wanting(
    types: &dyn Fn(&Module) -> Result<TypeWishes, String>,
    policy: FusionPolicy,
    float: &Module,
    target: &str,
    samples: &InMemory,
) -> Result<Integer, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let target = crate::passes::target(target)?;
    let mut progress = |_| ControlFlow::Continue(());
    let (one, main) = (NonZeroUsize::MIN, float.main);
    let mut float = float.clone();
    strait_rewrite::canonical()
        .run(&mut float, main)
        .map_err(|e| text(&e))?;
    let (requests, covered) = (Requests::all(&float, main), Coverage::all(samples.0.len() as u64));
    let plain = PlanOptions::default();
    let observation = observe(
        &float,
        &Bodies::default(),
        &requests,
        samples,
        &covered,
        one,
        &plain,
        &mut progress,
    );
    let observation = observation.map_err(|e| text(&e))?;
    let (spec, placing) = (target.spec(), Placing::new());
    let mut types = types(&float)?;
    widen(&float, main, spec, &placing, &Directives::default(), &mut types);
    let mut progress = place(&mut float, main, spec, &placing, &types);
    let mut turns = Turns::default();
    let (mut module, nearness, origins) = loop {
        annotate_placed(&mut float, spec, &observation, &types, &mut progress)?;
        turns.touch(progress.touched());
        match turns.lower(&mut float, spec) {
            Ok(lowered) => break (lowered.module, lowered.nearness, lowered.origins),
            // What its recipe refuses gets a coarser grid or moves to the host, and all is decided again.
            Err(LowerError::Nodes(nodes)) => {
                if !refuse(float.main_mut(), spec, &placing, &types, &mut progress, nodes) {
                    return Err("recipes refuse nodes of the host".into());
                }
            }
            Err(LowerError::Ours(defect)) => return Err(defect),
        }
    };
    verify(&module).map_err(|e| text(&e))?;
    let lowered = module.main;
    let mut fused = module.main().clone();
    fused.name = module.names.fresh("main");
    module.graphs.push(fused);
    module.main = GraphId::new(module.graphs.len() - 1);
    let fused = module.main;
    let fusion = strait_lower::fuse(&mut module, fused, target.as_ref(), policy);
    let fusion = fusion.map_err(|e| text(&e))?;
    verify(&module).map_err(|e| text(&e))?;
    if let Some(finding) = findings(&module, &fusion)?.first() {
        return Err(finding.to_string());
    }
    Ok(Integer {
        module,
        lowered,
        fusion,
        coarser: progress
            .findings(&float, &Annotation::new(spec, &observation, &placing))
            .coarser,
        annotated: float,
        nearness,
        origins,
    })
}
