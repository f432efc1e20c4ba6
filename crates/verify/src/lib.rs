//! Checks an integer module without the compiler that made it.
//!
//! It checks that
//! 1. the fused graph is the lowered one with requantizations and clamps fused into their producers, and nothing else
//!    differs;
//! 2. every fusion has a certificate that holds: it follows from its own content, it is about the steps and parameters
//!    that are in the graphs, its argument applies to the op, the facts that it names are true, its interval covers all
//!    accumulators that can occur, and it claims no more than is true for them. All of this is derived here again
//!    ([`intervals`]);
//! 3. no sum can overflow the 32 or 64 bits that carry it, and no requantization gets a value outside of its domain;
//! 4. on random and given inputs, each layer of the fused graph gives what the lowered graph computes from the same
//!    operands: bit for bit if its certificate is exact, otherwise within its bound. If every fusion is exact, the
//!    outputs are equal bit for bit too.
//!
//! # Shared with the compiler
//!
//! - from `requantize`, what defines the meaning of a step: `eval`, the domain of a form, and that no form decreases on
//!   its domain; the quantization of floats and the order of floats; the certificate as data
//! - from `core`, the graph, its text and bytes, and the types and shapes of its ops
//! - from `execute`, plans and the host's loops, which run both graphs
//!
//! This crate has its own intervals, its own comparison of the graphs' structure, and its own decision on a pair of
//! functions (`functions`). It uses none of the decision procedures, thresholds and closed forms in `requantize`.
//! `cargo xtask tidy` checks this.

mod analysis;
mod chain;
mod claims;
mod comparison;
mod contradiction;
mod error;
mod facts;
mod finding;
mod functions;
mod grounds;
mod intervals;
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

use strait_core::{Bodies, CertificateRecord, GraphId, Module};
use strait_execute::{LoopsFor, PlanOptions, Standard, Tensor, TensorView, Threads};

/// The name of the graph before fusion. The main graph is the one after fusion.
pub const LOWERED: &str = "lowered";

/// The name of the main graph in findings and errors.
const FUSED: &str = "fused";

/// Options for verifying.
#[derive(Clone, Copy)]
pub struct VerifyOptions<'a> {
    /// How many random inputs both graphs run on.
    pub samples: usize,
    /// The seed of the random inputs.
    pub seed: u64,
    /// The ranges of integers in random inputs.
    pub ranges: Option<&'a Ranges>,
    /// The loops that compute the requantizations of the fused graph: the target's own, or the host's. Those of the
    /// lowered graph are always computed by the host's loops.
    pub loops: &'a dyn LoopsFor,
    /// The threads to run on.
    pub threads: &'a Threads,
}

impl<'a> VerifyOptions<'a> {
    /// A few random inputs, on the host's own loops.
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
    /// The number of fusions that are proven to change nothing.
    pub exact: usize,
    /// Fusions that change something: the value, and the largest difference in units of the result.
    pub bounded: Vec<(String, u32)>,
    /// The number of random inputs that both graphs were run on.
    pub samples: usize,
    /// True if the outputs were required to be equal bit for bit, because every fusion is exact.
    pub compared: bool,
    /// What is wrong. Empty for a sound artifact.
    pub findings: Vec<Finding>,
}

impl VerifyReport {
    /// True if nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Inlines the bodies of control flow in both graphs of an artifact's module, so that the steps inside a body are
/// checked like all others. In both graphs, the nodes of the control flow itself refer to the lowered bodies.
///
/// Returns the bodies of the main graph.
pub fn lay_open(module: &mut Module) -> Bodies {
    let mut graphs = module.graphs.iter();
    let lowered = graphs.position(|graph| module.name(graph.name) == LOWERED);
    let Some(lowered) = lowered.map(GraphId::new).filter(|&lowered| lowered != module.main) else {
        return Bodies::default();
    };
    let bodies = module.lay_open(lowered);
    module.lay_open_like(module.main, &bodies)
}

/// Verifies a module that holds the graph [`LOWERED`] and the fused graph as its main graph. Samples run one after the
/// other. A caller with many samples, or with samples of its own, makes a [`Comparison`] of the [`Analysis`] instead.
pub fn verify_module(
    module: &Module,
    certificates: &[CertificateRecord],
    options: &VerifyOptions<'_>,
) -> Result<VerifyReport, VerifyError> {
    let analysis = analyse(module, certificates)?;
    let mut findings = analysis.findings().to_vec();
    if options.samples > 0 {
        let plan = PlanOptions {
            loops: options.loops,
            ..PlanOptions::default()
        };
        let comparison = Comparison::new(&analysis, &plan)?;
        let mut space = comparison.space(options.threads);
        let none = Ranges::default();
        let ranges = options.ranges.unwrap_or(&none);
        for sample in 0..options.samples {
            let inputs = comparison.random_inputs(options.seed, sample, ranges)?;
            let views: Vec<TensorView<'_>> = inputs.iter().map(Tensor::view).collect();
            let found = comparison.run(&mut space, &views, &format!("random sample {sample}"))?;
            merge(&mut findings, found);
        }
    }
    let bounded = analysis.fusions().iter().filter(|fusion| fusion.max_lsb > 0);
    let bounded: Vec<(String, u32)> = bounded.map(|f| (f.value.clone(), f.max_lsb)).collect();
    Ok(VerifyReport {
        exact: analysis.fusions().len() - bounded.len(),
        bounded,
        samples: options.samples,
        compared: analysis.is_exact() && options.samples > 0,
        findings,
    })
}
