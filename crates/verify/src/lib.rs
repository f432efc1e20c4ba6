//! Checks an integer module without the compiler that made it.
//!
//! It checks four things:
//! 1. The fused graph is the lowered graph with requantizations and clamps fused into their producers, and nothing else
//!    differs.
//! 2. Every fusion has a certificate that holds. The certificate claims how far the results may differ on an interval
//!    of accumulators. This claim follows from the steps that the certificate states, and these are the steps in the
//!    graphs. The kind of proof is one that applies to the op. The facts that the certificate states are true. The
//!    interval covers all accumulators that can occur ([`intervals`]), and the claim is true for them.
//! 3. No sum can overflow its type of 32 or 64 bits, and no requantization gets a number outside of its domain.
//! 4. On random and given inputs, each layer of the fused graph gives the result that the lowered graph computes from
//!    the same operands: bit for bit if its certificate is exact, otherwise within the certificate's bound. If every
//!    fusion is exact, the outputs are equal bit for bit too.
//!
//! # What this crate shares with the compiler
//!
//! - from `requantize`, the definition of a step: `eval`, the domain of a form, and that a larger accumulator in the
//!   domain never gives a smaller code; the quantization of floats and the order of floats; the data type of
//!   certificates
//! - from `core`, the graph, its text and bytes, and the types and shapes of its ops
//! - from `execute`, plans and the host's loops, with which both graphs run
//!
//! This crate has its own intervals, its own comparison of the graphs' structure, and its own procedure to compare two
//! functions (`functions`). It uses none of the decision procedures, thresholds and closed forms in `requantize`.
//! `cargo xtask tidy` checks this.

mod analysis;
mod chain;
mod claims;
mod comparison;
mod contradiction;
mod elements;
mod error;
mod facts;
mod finding;
mod functions;
mod grounds;
mod intervals;
mod kept;
mod layers;
mod random;
mod samples;
mod structure;

pub use analysis::{Analysis, analyse, derived_from};
pub use claims::VerifiedFusion;
pub use comparison::{Comparison, ComparisonSpace};
pub use error::VerifyError;
pub use finding::{Fault, Finding, merge};
pub use functions::Undecided;
pub use intervals::{Interval, Intervals, ValueRange, intervals};
pub use samples::Ranges;

use comparison::Plans;
use std::num::NonZeroUsize;
use strait_core::{Bodies, CertificateRecord, GraphId, Module};
use strait_execute::{LoopsFor, Plan, PlanOptions, Standard, Tensor, TensorView, Threads, both};

/// The name of the graph before fusion. The main graph is the graph after fusion.
pub const LOWERED: &str = "lowered";

/// The name of the main graph in findings and errors.
const FUSED: &str = "fused";

/// Options for verifying.
#[derive(Clone, Copy)]
pub struct VerifyOptions<'a> {
    /// The number of random inputs on which both graphs are run.
    pub samples: usize,
    /// The seed of the random inputs.
    pub seed: u64,
    /// The ranges of integers in random inputs.
    pub ranges: Option<&'a Ranges>,
    /// The loops that compute the requantizations of the fused graph: the target's own loops, or the host's. The host's
    /// loops always compute the requantizations of the lowered graph.
    pub loops: &'a dyn LoopsFor,
    /// The threads to run on.
    pub threads: &'a Threads,
}

impl<'a> VerifyOptions<'a> {
    /// Options for a few random inputs on the host's own loops.
    pub fn new(threads: &'a Threads) -> VerifyOptions<'a> {
        VerifyOptions {
            samples: 3,
            seed: 0,
            ranges: None,
            loops: &Standard,
            threads,
        }
    }
}

/// The result of verifying a module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyReport {
    /// The number of fusions that are proved to change no result.
    pub exact: usize,
    /// Fusions that can change results: the name of the value, and the largest difference in LSB of its codes.
    pub bounded: Vec<(String, u32)>,
    /// The number of random inputs on which both graphs were run.
    pub samples: usize,
    /// True if the outputs were required to be equal bit for bit, because every fusion is exact.
    pub compared: bool,
    /// The faults that were found. Empty for a sound artifact.
    pub findings: Vec<Finding>,
}

impl VerifyReport {
    /// True if no fault was found.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Inlines the bodies of control flow in both graphs of an artifact's module, so that the steps inside a body are
/// checked like all other steps. Afterwards, the control-flow nodes of both graphs run the bodies of the lowered graph.
///
/// Returns the bodies of the main graph.
pub fn lay_open(module: &mut Module) -> Bodies {
    let Some(lowered) = lowered_graph(module).filter(|&lowered| lowered != module.main) else {
        return Bodies::default();
    };
    let bodies = module.lay_open(lowered);
    module.lay_open_like(module.main, &bodies)
}

/// The graph before fusion.
fn lowered_graph(module: &Module) -> Option<GraphId> {
    let mut graphs = module.graphs.iter();
    let lowered = graphs.position(|graph| module.name(graph.name) == LOWERED);
    lowered.map(GraphId::new)
}

/// Verifies a module that contains the graph [`LOWERED`], and the fused graph as its main graph. Samples run one after
/// the other. To run many samples in parallel, or to use other samples, make a [`Comparison`] from the [`Analysis`]
/// instead.
///
/// # Errors
/// A graph is missing, has a cycle or cannot be run.
pub fn verify_module(
    module: &Module,
    certificates: &[CertificateRecord],
    options: &VerifyOptions<'_>,
) -> Result<VerifyReport, VerifyError> {
    verify_and_keep(module, certificates, options).map(|(report, _)| report)
}

/// As [`verify_module`]. Also returns the plan for the fused graph that is deployed, which takes long to make for a large
/// graph; `None` if no random inputs were asked for.
///
/// # Errors
/// As for [`verify_module`].
pub fn verify_and_keep(
    module: &Module,
    certificates: &[CertificateRecord],
    options: &VerifyOptions<'_>,
) -> Result<(VerifyReport, Option<Plan>), VerifyError> {
    let plan = PlanOptions {
        loops: options.loops,
        ..PlanOptions::default()
    };
    let threads = NonZeroUsize::new(options.threads.count()).unwrap_or(NonZeroUsize::MIN);
    let analysed = || analyse(module, certificates);
    let (analysis, plans) = match lowered_graph(module).filter(|_| options.samples > 0) {
        None => (analysed()?, None),
        // Preparing the graphs needs nothing of the analysis, and takes about as long.
        Some(graph) => {
            let prepared = || Plans::new(module, graph, &plan, threads).map(Some);
            both(threads, analysed, prepared)?
        }
    };
    let (mut findings, mut deployed) = (analysis.findings().to_vec(), None);
    if let Some(plans) = plans {
        let comparison = Comparison::with(&analysis, plans, &plan)?;
        let mut space = comparison.space(options.threads);
        let none = Ranges::default();
        let ranges = options.ranges.unwrap_or(&none);
        for sample in 0..options.samples {
            let inputs = comparison.random_inputs(options.seed, sample, ranges)?;
            let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
            let found = comparison.run(&mut space, &views, &format!("random sample {sample}"))?;
            merge(&mut findings, found);
        }
        drop(space);
        deployed = Some(comparison.into_deployed(threads));
    }
    let bounded = analysis.fusions().iter().filter(|fusion| fusion.max_lsb > 0);
    let bounded: Vec<(String, u32)> = bounded.map(|f| (f.value.clone(), f.max_lsb)).collect();
    let report = VerifyReport {
        exact: analysis.fusions().len() - bounded.len(),
        bounded,
        samples: options.samples,
        compared: analysis.is_exact() && options.samples > 0,
        findings,
    };
    Ok((report, deployed))
}
