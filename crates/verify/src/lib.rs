//! Checks an integer module against itself, without the compiler that made it.
//!
//! 1. The fused graph is the lowered one with requantizations and clamps taken into their producers, and nothing else.
//! 2. Every such fusion has a certificate that holds: its own comparison can be repeated, it is about the steps that
//!    are in the graphs, its argument is one for the op, it was derived from the parameters that are there, the facts
//!    that it names are so, its interval holds all accumulators that can occur, and it claims no more than is true on them.
//!    These are derived here anew ([`intervals`]).
//! 3. No sum can leave the 32 or 64 bits that carry it, and no requantization is asked for more than it is defined for.
//! 4. On random and given inputs, each layer of the fused graph is what the lowered graph computes from the same
//!    operands, bit for bit where its certificate is exact and within its bound otherwise; and so are the outputs where
//!    every fusion is exact.
//!
//! # Shared with the compiler
//!
//! - of `requantize` what defines the meaning of a step: `eval`, the domain on which a form is defined, and that no
//!   form decreases there; the quantization of floats and the order of floats; the certificate as data;
//! - of `core` the graph, its text and bytes, and the types and shapes of its ops;
//! - of `execute` plans and the host's loops, by which both graphs are run.
//!
//! Intervals, the correspondence of the graphs, and the decision on a pair of functions (`functions`) are this crate's
//! own. It uses no decision procedure of `requantize`, no thresholds and no closed form of them; `cargo xtask tidy`
//! looks.

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
pub use claims::Fusion;
pub use comparison::{Comparison, ComparisonSpace};
pub use error::VerifyError;
pub use finding::{Fault, Finding, merge};
pub use functions::Undecided;
pub use intervals::{Interval, Intervals, Range, intervals};
pub use samples::Ranges;

use strait_core::{Bodies, CertificateRecord, GraphId, Module};
use strait_execute::{LoopsFor, PlanOptions, Standard, Tensor, TensorView, Threads};

/// The name of the graph before the fusions; the main graph is the one after them.
pub const LOWERED: &str = "lowered";

/// Name of the main graph in findings and errors.
const FUSED: &str = "fused";

/// Options of the verification.
#[derive(Clone, Copy)]
pub struct VerifyOptions<'a> {
    /// Number of random inputs on which both graphs run.
    pub samples: usize,
    /// Source of the inputs.
    pub seed: u64,
    /// The integers that random inputs have.
    pub ranges: Option<&'a Ranges>,
    /// Who computes the requantizations of the fused graph: the target, or the host itself. Those of the lowered graph
    /// are the host's.
    pub loops: &'a dyn LoopsFor,
    /// The threads to run on.
    pub threads: &'a Threads,
}

impl<'a> VerifyOptions<'a> {
    /// A few random inputs on the host's own loops.
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

/// The output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyReport {
    /// Fusions that are proved to change nothing.
    pub exact: usize,
    /// Fusions that change something: the value, and by how many units at most.
    pub bounded: Vec<(String, u32)>,
    /// The random inputs that both graphs were run on.
    pub samples: usize,
    /// True if their outputs were required to be the same bits: every fusion is exact.
    pub compared: bool,
    /// Findings. None, for a sound artifact.
    pub findings: Vec<Finding>,
}

impl VerifyReport {
    /// True if everything holds.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Lays the bodies of control flow open in both graphs of an artifact's module, so that each step of a body is held against
/// what it stands for like any other. The nodes of the control flow itself name the lowered bodies in both graphs.
///
/// Answers with the bodies of the main graph.
pub fn lay_open(module: &mut Module) -> Bodies {
    let mut graphs = module.graphs.iter();
    let lowered = graphs.position(|graph| module.name(graph.name) == LOWERED);
    let Some(lowered) = lowered.map(GraphId::new).filter(|&lowered| lowered != module.main) else {
        return Bodies::default();
    };
    let bodies = module.lay_open(lowered);
    module.lay_open_like(module.main, &bodies)
}

/// Verifies a module that holds the graph [`LOWERED`] and, as its main graph, the fused one. One sample after the
/// other: whoever has many, or some of their own, makes a [`Comparison`] of the [`Analysis`].
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
