//! Checks an artifact against itself, without the compiler that made it.
//!
//! 1. The fused graph is the lowered one with requantizations and clamps taken into their producers, and nothing else.
//! 2. Every such fusion has a certificate that holds: its own comparison can be repeated, it is about the steps that are
//!    in the graphs, and it claims no more than is true on all accumulators that can occur. These are derived here anew
//!    ([`intervals`]).
//! 3. No sum can leave 32 bits, and no requantization is asked for more than it is defined for.
//! 4. Both graphs give the same outputs for random inputs where every fusion is exact.
//!
//! It shares with the compiler what defines the meaning of a graph (`requantize`, `core`, `execute`) and nothing by which
//! the compiler decides.

mod chain;
mod claims;
mod error;
mod execution;
mod finding;
mod intervals;
mod random;
mod structure;

pub use error::VerifyError;
pub use finding::{Fault, Finding};
pub use intervals::{Interval, Intervals, Range, intervals};

use execution::Runner;
use strait_container::{Artifact, CertificateRecord, Integrity, Model};
use strait_core::{GraphId, Module};
use strait_execute::{LoopsFor, Standard, Threads};

/// The name of the graph before the fusions; the main graph is the one after them.
pub const LOWERED: &str = "lowered";

/// How to verify.
#[derive(Clone, Copy)]
pub struct VerifyOptions<'a> {
    /// How many random inputs to run both graphs on.
    pub samples: usize,
    /// What makes the inputs.
    pub seed: u64,
    /// Who computes the requantizations of the fused graph: the target, or the host itself. Those of the lowered graph are
    /// the host's.
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
            loops: &Standard,
            threads,
        }
    }
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyReport {
    /// Fusions that are proved to change nothing.
    pub exact: usize,
    /// Fusions that change something: the value, and by how many units at most.
    pub bounded: Vec<(String, u32)>,
    /// Values that are quantized from floats on another grid than in the lowered graph. No certificate is about these.
    pub from_float: Vec<String>,
    /// The random inputs that both graphs were run on.
    pub samples: usize,
    /// Whether their outputs were required to be the same bits: every fusion is exact.
    pub compared: bool,
    /// What does not hold. Nothing, for a sound artifact.
    pub findings: Vec<Finding>,
}

impl VerifyReport {
    /// Whether everything holds.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Verifies an artifact.
pub fn verify(artifact: &Artifact, options: &VerifyOptions<'_>) -> Result<VerifyReport, VerifyError> {
    let Model { module, certificates } = artifact.model(Integrity::Full)?;
    verify_module(&module, &certificates, options)
}

/// Verifies a module that holds the graph [`LOWERED`] and, as its main graph, the fused one.
pub fn verify_module(
    module: &Module,
    certificates: &[CertificateRecord],
    options: &VerifyOptions<'_>,
) -> Result<VerifyReport, VerifyError> {
    let lowered = module
        .graphs
        .iter()
        .position(|graph| module.name(graph.name) == LOWERED);
    let lowered = GraphId::new(lowered.ok_or(VerifyError::NoLowered(LOWERED))?);
    let [lowered_graph, fused_graph] =
        [lowered, module.main].map(|id| module.graph(id).ok_or(VerifyError::NoGraph(id)));
    let (lowered_graph, fused_graph) = (lowered_graph?, fused_graph?);
    let lowered_bounds = intervals(module, lowered)?;
    let fused_bounds = intervals(module, module.main)?;
    let correspondence = structure::correspond(module, fused_graph, lowered_graph);
    let claims = claims::check(&correspondence.sites, certificates, &fused_bounds, &lowered_bounds);
    let mut findings = correspondence.findings;
    findings.extend(claims.findings);
    for finding in lowered_bounds.findings().iter().chain(fused_bounds.findings()) {
        if !findings.contains(finding) {
            findings.push(finding.clone());
        }
    }
    let compared = claims.bounded.is_empty() && correspondence.from_float.is_empty() && options.samples > 0;
    let runner = |name, id, bounds, loops| Runner::new(name, module, id, bounds, loops, options.threads);
    if options.samples > 0 {
        let mut lowered = runner("lowered", lowered, &lowered_bounds, &Standard)?;
        let mut fused = runner("fused", module.main, &fused_bounds, options.loops)?;
        findings.extend(execution::run(
            &mut lowered,
            &mut fused,
            options.samples,
            options.seed,
            compared,
        )?);
    }
    Ok(VerifyReport {
        exact: claims.exact,
        bounded: claims.bounded,
        from_float: correspondence.from_float,
        samples: options.samples,
        compared,
        findings,
    })
}
