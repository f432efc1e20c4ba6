//! `size`: weights of 4 bits where they do least harm, until all weights fit.

use strait_compile::types::{Candidate, Candidates, LayerWeights, Noises, weights};
use strait_container::Digest;
use strait_core::{Module, NodeId};
use strait_requantize::IntType;
use strait_target::spec::Integer;

use crate::{
    config::{KeyPath, types::SizeGoal},
    diagnostic::Diagnostic,
    failure::codes,
    report::MixedPrecision,
    session::Session,
    stop::Stop,
    table,
};

use super::super::job::Job;
use super::{
    found::FoundRules,
    lift::written,
    memo::Memo,
    trials::{Overall, Quiet, Trials, possible},
};

/// The width of narrow weights.
const NARROW: u8 = 4;

/// The reason that the rule gives.
const REASON: &str = "found by optimize.size";

/// Searches for the weights that have to become narrow.
///
/// # Errors
/// If the weights cannot become small enough, a run fails, or the user interrupts.
pub(super) fn search(job: &Job<'_>, wanted: &SizeGoal, session: &Session<'_>) -> Result<FoundRules, Stop> {
    let memo = Memo::open(
        job,
        "size",
        Digest(job.ready.calibration.0).to_string().as_bytes(),
        session,
    )?;
    let trials = Trials::new(job, memo, session)?;
    let before = weights(&trials.plain.annotated);
    let (bytes, most) = (total(&before), wanted.weights_bytes.get());
    let mut report = MixedPrecision {
        goal: "size".to_owned(),
        measured: "noise".to_owned(),
        weights_bytes: Some([bytes; 2]),
        ..MixedPrecision::default()
    };
    if bytes > most {
        let search = Search { job, trials: &trials };
        let found = search.narrow(&before)?;
        let smallest = bytes - found.iter().map(|one| one.saved).sum::<u64>();
        if smallest > most {
            return Err(unreachable(job, most, [bytes, smallest]));
        }
        let chosen = fewest(&found, bytes - most);
        let layers: Vec<NodeId> = chosen.iter().flat_map(|one| one.nodes.iter().copied()).collect();
        let rule = search.rule(&layers);
        let after = total(&weights(&trials.built(&rule, None)?.annotated));
        if after > most {
            return Err(unreachable(job, most, [bytes, after]));
        }
        let overall = Overall::new(&trials)?;
        report.loss = [overall.noise(("", &trials))?, overall.noise((&rule, &trials))?];
        report.trials = 2;
        report.weights_bytes = Some([bytes, after]);
        report.steps = vec![trials.step(("", rule), layers.len(), report.loss[1])?];
    }
    Ok(FoundRules {
        algorithms: job.algorithms,
        samples: None,
        report,
    })
}

/// Weights that can become narrow.
#[derive(Clone, Debug)]
struct Narrow {
    nodes: Vec<NodeId>,
    saved: u64,
    noise: f64,
}

struct Search<'a> {
    job: &'a Job<'a>,
    trials: &'a Trials<'a>,
}

impl Search<'_> {
    /// The type of narrow weights, if the target has one.
    fn ty(&self) -> Option<Integer> {
        let pairs = self.job.target.spec().types.pairs.iter();
        let weights = pairs.filter(|pair| !pair.is_weight_only()).map(|pair| pair.weight);
        let all = self.job.target.spec().types.pairs.iter().map(|pair| pair.weight);
        let mut narrow = weights.chain(all).filter(|&ty| IntType::from(ty).bits() == NARROW);
        narrow.next()
    }

    fn rule(&self, layers: &[NodeId]) -> String {
        let (module, spec) = (&self.trials.plain.annotated, self.job.target.spec());
        let mut names: Vec<&str> = Vec::new();
        for node in layers.iter().filter_map(|&id| module.main().node(id)) {
            let name = module.name(node.sources.first().copied().unwrap_or(node.name));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let words = self
            .ty()
            .map_or_else(String::new, |ty| format!("weights.type = \"{ty}\""));
        written(spec, (&names, &[]), REASON, &words)
    }

    /// The weights that can become narrow, with the noise that this makes.
    fn narrow(&self, before: &[LayerWeights]) -> Result<Vec<Narrow>, Stop> {
        let free = |one: &&LayerWeights| one.bits > NARROW && !one.nodes.iter().any(|&id| self.is_decided(id));
        let free: Vec<&LayerWeights> = before.iter().filter(free).collect();
        let layers: Vec<NodeId> = free.iter().flat_map(|one| one.nodes.iter().copied()).collect();
        if layers.is_empty() || self.ty().is_none() {
            return Ok(Vec::new());
        }
        let Some(built) = possible(self.trials.built(&self.rule(&layers), None))? else {
            return Ok(Vec::new());
        };
        let hosted = |module: &Module, id: NodeId| module.main().node(id).map(|node| node.place.clone());
        let after = weights(&built.annotated);
        let narrow = free.into_iter().filter_map(|one| {
            let same = after.iter().find(|other| other.nodes == one.nodes)?;
            let stays = |&id: &NodeId| hosted(&built.annotated, id) == hosted(&self.trials.plain.annotated, id);
            let fits = same.bits == NARROW && one.nodes.iter().all(stays);
            fits.then(|| (one.nodes.clone(), one.bytes().saturating_sub(same.bytes())))
        });
        let narrow: Vec<(Vec<NodeId>, u64)> = narrow.collect();
        let samples = self.trials.samples(narrow.len())?;
        let (session, quiet) = (self.trials.session, Quiet(self.trials.session));
        let mut memo = self.trials.memo.borrow_mut();
        let mut noises = None;
        let phase = format!("sensitivities ({})", self.job.id());
        session.phase(&phase, Some(narrow.len()), |done| {
            let mut found = Vec::with_capacity(narrow.len());
            for (nodes, saved) in narrow {
                let [noise] = memo.ask(format!("narrow: {}", self.rule(&nodes)), session, || {
                    if noises.is_none() {
                        noises = Some(Noises::new(&built, &samples, &quiet)?);
                    }
                    let of = |&id: &NodeId| noises.as_ref().map_or(Ok(0.0), |noises| noises.of_weights(id, &quiet));
                    let each: Result<Vec<f64>, _> = nodes.iter().map(of).collect();
                    Ok([each?.iter().sum()])
                })?;
                found.push(Narrow { nodes, saved, noise });
                if done(found.len()).is_break() {
                    return Err(Stop::Interrupted);
                }
            }
            Ok(found)
        })
    }

    /// True if a rule of the configuration decides about a layer's weights.
    fn is_decided(&self, id: NodeId) -> bool {
        let rules = self.job.selection.nodes.get(&id).into_iter().flatten();
        let mut rules = rules.filter_map(|&index| self.job.rules.quantize.rule.get(index));
        rules.any(|rule| rule.weights.ty.is_some())
    }
}

/// The weights with the least noise for what they save, as many as are needed to save so many bytes. Those that are not needed
/// any more because of a larger one after them are left out again, the ones with the most noise first.
fn fewest(all: &[Narrow], needed: u64) -> Vec<&Narrow> {
    let candidates: Vec<Candidate> = all
        .iter()
        .map(|one| Candidate {
            noise: one.saved as f64,
            cost: one.noise,
            share: 0.0,
        })
        .collect();
    let mut saved = 0;
    let order = Candidates(&candidates).order();
    let mut chosen: Vec<&Narrow> = Vec::new();
    for one in order.into_iter().filter_map(|at| all.get(at)) {
        if saved >= needed {
            break;
        }
        saved += one.saved;
        chosen.push(one);
    }
    let mut worst: Vec<usize> = (0..chosen.len()).collect();
    worst.sort_by(|&one, &other| chosen[other].noise.total_cmp(&chosen[one].noise));
    let mut kept = vec![true; chosen.len()];
    for at in worst {
        if saved - chosen[at].saved >= needed {
            saved -= chosen[at].saved;
            kept[at] = false;
        }
    }
    let kept = chosen.into_iter().zip(kept).filter(|(_, kept)| *kept);
    kept.map(|(one, _)| one).collect()
}

fn total(all: &[LayerWeights]) -> u64 {
    all.iter().map(LayerWeights::bytes).sum()
}

fn unreachable(job: &Job<'_>, most: u64, [before, smallest]: [u64; 2]) -> Stop {
    let path = KeyPath::of(&["optimize", "size", "weights_bytes"]);
    let message = format!(
        "`{path}` cannot be reached: the weights have {before} bytes, at least {smallest} with all that can have {NARROW} bits, and \
         {most} are allowed"
    );
    let finding: Diagnostic = job.loaded.error(codes::EVALUATION, &path, message, "");
    let help = format!(
        "the nearest that can be reached is `weights_bytes = {smallest}` ({})",
        table::bytes(smallest)
    );
    finding.help(help).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_any_more_is_left_out_again() {
        let one = |saved: u64, noise: f64| Narrow {
            nodes: Vec::new(),
            saved,
            noise,
        };
        let all = [one(10, 1.0), one(100, 20.0), one(30, 4.0)];
        let saved = |needed: u64| -> Vec<u64> { fewest(&all, needed).iter().map(|one| one.saved).collect() };
        assert_eq!(saved(5), [10]);
        assert_eq!(saved(40), [10, 30]);
        assert_eq!(saved(41), [100]);
        assert_eq!(saved(105), [10, 100]);
        assert_eq!(saved(140), [10, 30, 100]);
    }
}
