//! Tries the rules against the losses of the worst layers: each is added to the configuration, the model is compiled again
//! with it, and measured on the same samples.

use strait_compile::{Built, TargetLoops, types::node_operations};
use strait_core::{Module, NodeId, Placement, Port};
use strait_evaluate::Change;

use crate::{
    pipeline::{accuracy::integer_side, before::Before, job::Job, lowered::build_with},
    report::{LayerAnalysis, TriedRule},
    sanity::{Lift, Reference, parsed},
    session::Session,
    stop::Stop,
};

use super::points::{Measured, Runner, Told};

/// A rule that improves the outputs by less than this on the first calibration samples, in dB, is not measured further.
const GAIN: f64 = 0.5;

/// At most this many rules are compiled for each rule that is to be found.
const COMPILED: usize = 3;

/// Codes with this many bits are wide.
const WIDE: u8 = 16;

/// What the rules are tried on.
pub(super) struct Trial<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) built: &'a Built,
    pub(super) before: &'a Before<'a>,
    pub(super) reference: &'a Reference<'a>,
    pub(super) measured: &'a Measured,
    /// The smallest SNR of the outputs without a rule.
    pub(super) snr: Option<f64>,
    pub(super) loops: &'a TargetLoops,
    pub(super) session: &'a Session<'a>,
}

impl Trial<'_> {
    /// Tries rules for the first layers, one after the other, until `count` rules were found that improve the outputs. A
    /// rule that the configuration or the target does not allow is left out.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(super) fn rules(&self, layers: &[(NodeId, LayerAnalysis)], count: usize) -> Result<Vec<TriedRule>, Stop> {
        let (mut tried, mut known): (Vec<TriedRule>, Vec<String>) = (Vec::new(), Vec::new());
        for (id, layer) in layers {
            for toml in self.candidates(*id, layer) {
                if tried.len() == count || known.len() == COMPILED * count {
                    return Ok(tried);
                }
                if known.contains(&toml) {
                    continue;
                }
                known.push(toml.clone());
                if let Some(found) = self.rule(layer, toml)? {
                    tried.push(found);
                    break;
                }
            }
        }
        Ok(tried)
    }

    /// The rules for a layer, the most specific first.
    fn candidates(&self, id: NodeId, layer: &LayerAnalysis) -> Vec<String> {
        let spec = self.job.target.spec();
        let own = layer.reasons.iter().filter_map(|reason| reason.toml.clone());
        let lifts = Lift::of(spec).into_iter();
        let lifts = lifts.filter(|lift| lift.fits(&self.built.annotated, spec, id));
        own.chain(lifts.map(|lift| lift.rule(spec, std::slice::from_ref(&layer.layer))))
            .collect()
    }

    fn rule(&self, layer: &LayerAnalysis, toml: String) -> Result<Option<TriedRule>, Stop> {
        let built = match build_with(self.job, parsed(&toml)?, self.built, self.session) {
            Ok(Some(built)) => built,
            Ok(None) | Err(Stop::Found(_)) => return Ok(None),
            Err(stop) => return Err(stop),
        };
        let integer = integer_side((&built, self.job.ready.tail.as_ref()), self.loops, self.session)?;
        let phase = format!("rule ({})", self.job.id());
        let snr = self.reference.snr(&integer, &phase, self.session)?;
        let is_better = self.snr.zip(snr).is_none_or(|(before, after)| after >= before + GAIN);
        if !is_better {
            return Ok(None);
        }
        let changes = match Runner::new(self.before, self.job, self.session) {
            None => Vec::new(),
            Some(runner) => {
                let notes = runner.notes(&integer, "with a rule")?;
                let float = self.before.float_notes.as_deref().unwrap_or_default();
                let judges = runner.evaluation.judges().iter().enumerate();
                let changes = judges.map(|(metric, judge)| {
                    let runs = [float, &self.measured.integer, &notes];
                    let of = |run: usize| {
                        let notes = runs.get(run).and_then(|notes| notes.get(metric));
                        notes.map_or(&[][..], Vec::as_slice)
                    };
                    let samples = runner.evaluation.samples.count();
                    Told {
                        judge,
                        samples,
                        of: &of,
                    }
                    .change(1, 2)
                });
                changes.collect::<Vec<Option<Change>>>()
            }
        };
        let (wide, host) = self.moved(&built.annotated);
        Ok(Some(TriedRule {
            layer: layer.layer.clone(),
            toml,
            changes,
            snr: [self.snr, snr],
            wide,
            host,
        }))
    }

    /// The fractions of the operations that get wide codes, and that move to the host.
    fn moved(&self, after: &Module) -> (f64, f64) {
        let before = &self.built.annotated;
        let operations = |is: &dyn Fn(&Module, NodeId) -> bool| {
            let nodes = self.job.canonical.main().nodes().map(|(id, _)| id);
            let new = nodes.filter(|&id| is(after, id) && !is(before, id));
            new.map(|id| node_operations(self.job.canonical, id)).sum::<u64>() as f64
        };
        let all: u64 = self
            .job
            .canonical
            .main()
            .nodes()
            .map(|(id, _)| node_operations(self.job.canonical, id))
            .sum();
        let share = |is: &dyn Fn(&Module, NodeId) -> bool| operations(is) / all.max(1) as f64;
        (share(&is_wide), share(&is_on_host))
    }
}

fn is_on_host(module: &Module, id: NodeId) -> bool {
    module
        .main()
        .node(id)
        .is_some_and(|node| node.place != Placement::Accelerator)
}

/// True if the node computes on wide codes.
fn is_wide(module: &Module, id: NodeId) -> bool {
    let scheme = module.main().quant.scheme_of(id, Port::Operand(0));
    let bits = scheme
        .and_then(strait_core::Scheme::int_type)
        .map(strait_requantize::IntType::bits);
    bits == Some(WIDE) && !is_on_host(module, id)
}
