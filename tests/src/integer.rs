//! Compiles a float graph to integers for a target, with calibration data in memory.

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

/// An integer model: the lowered graph, and the fused graph, which is the main one.
pub struct Integer {
    /// The module with both graphs.
    pub module: Module,
    /// The lowered graph, before fusing.
    pub lowered: GraphId,
    /// The fusions that were made.
    pub fusion: Fusion,
    /// The annotated graph with quantized parameters, from which it was lowered.
    pub annotated: Module,
    /// How near each requantization is to the ideal, by name.
    pub nearness: BTreeMap<String, Nearness>,
    /// For each node of the lowered graph, by name, the row of the target's table that it was made with.
    pub origins: BTreeMap<String, String>,
    /// The scales that had to be larger than their ranges ask for.
    pub coarser: Vec<Coarser>,
}

/// What `strait verify` would find in a module and the certificates of its fusions, without running it.
///
/// # Errors
/// If the module cannot be verified, the error as text.
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

/// As [`integer_under`], with the policy that only exact fusions are made.
///
/// # Errors
/// Any error of compiling, as text.
pub fn integer(float: &Module, target: &str, samples: &InMemory) -> Result<Integer, String> {
    integer_under(FusionPolicy::Exact, float, target, samples)
}

/// As [`integer_of`], with the target's default types.
///
/// # Errors
/// Any error of compiling, as text.
pub fn integer_under(
    policy: FusionPolicy,
    float: &Module,
    target: &str,
    samples: &InMemory,
) -> Result<Integer, String> {
    integer_of((None, None), policy, float, target, samples)
}

/// As [`integer_with`], with these types of activations and weights for all nodes.
///
/// # Errors
/// Any error of compiling, as text.
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

/// Compiles with the min-max observer and verifies the result.
///
/// The target's own rules over the float graph are left out, so that the nodes stay those that a test is about.
/// `target` is named as in the filetests. `resolve` may change the settings for the canonical graph.
///
/// # Errors
/// Any error of compiling, as text.
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
        optimise: None,
        on_copy: None,
        random_inputs: 1,
        is_revised: true,
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
