//! From a float graph to integers for a target, on calibration data that is in memory.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
pub use strait_compile::InMemory;
use strait_compile::{CompileError, Means, Model, Observed, Resolved, Silent, Task, compile};
use strait_core::CertificateRecord;
use strait_core::{GraphId, Module, Switches};
use strait_lower::{Fused, Fusion, FusionPolicy};
use strait_quantize::{Settings, annotate::Coarser};
use strait_target::spec::{Activation, Integer as CodeInteger, Nearness};
use strait_verify::{Finding, Ranges, analyse};

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
    integer_of((None, None), policy, float, target, samples)
}

/// [`integer_with`] these types of activations and weights, of all nodes.
///
/// # Errors
/// Whatever stopped it, as text.
pub fn integer_of(
    types: (Option<Activation>, Option<CodeInteger>),
    policy: FusionPolicy,
    float: &Module,
    target: &str,
    samples: &InMemory,
) -> Result<Integer, String> {
    let of_all = |_: &Module, settings: &mut Settings| {
        (settings.default.activation, settings.default.weights.ty) = types;
        Ok(())
    };
    integer_with(&of_all, policy, float, target, samples)
}

/// Compiles by the extremes of what is observed, and verifies what comes out. The rules of the target's table are left out, so
/// that the nodes of the graph are those whose rows a test is about. `target` is as in the filetests; `resolve` says
/// more of the canonical graph than the target's table.
///
/// # Errors
/// Whatever stopped it, as text.
pub fn integer_with(
    resolve: &dyn Fn(&Module, &mut Settings) -> Result<(), String>,
    policy: FusionPolicy,
    float: &Module,
    target: &str,
    samples: &InMemory,
) -> Result<Integer, String> {
    let text = |error: CompileError| error.to_string();
    let target = crate::passes::target(target)?;
    let model = Model::new(float.clone(), &Switches::default()).map_err(text)?;
    let Observed { model, observation, .. } = model
        .observe(Arc::new(samples.clone()), Means::default(), &Silent)
        .map_err(text)?;
    let mut resolved = Resolved {
        fusion: policy,
        ..Resolved::new(target.spec())
    };
    resolve(&model.module, &mut resolved.settings)?;
    let task = Task {
        float: &model.module,
        bodies: &model.bodies,
        observation: &observation,
        target: &target,
        resolved: &resolved,
        ranges: &Ranges::default(),
        random_inputs: 1,
        limits: strait_execute::Limits::default(),
        threads: NonZeroUsize::MIN,
    };
    let built = compile(&task, &Silent).map_err(text)?;
    Ok(Integer {
        lowered: GraphId::new(0),
        coarser: built.findings.coarser,
        module: built.module,
        fusion: built.fusion,
        annotated: built.annotated,
        nearness: built.nearness,
        origins: built.origins,
    })
}
