//! `types`: wide activations where they bring most.

use strait_container::Digest;

use crate::{report::MixedPrecision, session::Session, stop::Stop};

use super::super::job::Job;
use super::{
    found::FoundRules,
    lift::Lift,
    memo::Memo,
    ranked::Ranked,
    trials::{Overall, Trials, shares},
};

/// The largest share of the multiply-adds on 16 bits.
const MOST: f64 = 0.2;

/// The noise of the whole model has to fall to this part.
const GAIN: f64 = 0.9;

/// Gives 16 bits to units until rounding the activations of the others does no more harm than rounding all weights.
///
/// # Errors
/// If a run fails, or the user interrupts.
pub(super) fn search(job: &Job<'_>, session: &Session<'_>) -> Result<FoundRules, Stop> {
    let memo = Memo::open(
        job,
        "types",
        Digest(job.ready.calibration.0).to_string().as_bytes(),
        session,
    )?;
    let trials = Trials::new(job, memo, session)?;
    let mut report = MixedPrecision {
        goal: "types".to_owned(),
        measured: "noise".to_owned(),
        ..MixedPrecision::default()
    };
    if Lift::wide(job.target.spec()).is_none() {
        report.note = Some("the target has no activations of 16 bits".to_owned());
    }
    if let Some(lift) = Lift::wide(job.target.spec()) {
        let overall = Overall::new(&trials)?;
        let before = overall.noise(("", &trials))?;
        report.loss = [before; 2];
        report.trials = 1;
        let ranked = Ranked::new(lift, &trials)?;
        let all = ranked.within((MOST - shares(&trials.plain.annotated).wide).max(0.0));
        let weights = overall.of_weights(&trials)?;
        let is_enough = |count: &usize| ranked.left(&all[..*count]) <= weights;
        let count = (0..all.len()).find(is_enough).unwrap_or(all.len());
        let chosen = all.get(..count).unwrap_or_default();
        let rule = ranked.rule(chosen, "found by optimize.types", &trials);
        if !chosen.is_empty() {
            let after = overall.noise((&rule, &trials))?;
            report.trials += 1;
            if after < GAIN * before {
                report.loss = [before, after];
                report.steps = vec![trials.step(("", rule), ranked.layers(chosen), after)?];
            } else {
                report.note =
                    Some("with 16 bits where they bring most, the noise falls by less than a tenth".to_owned());
            }
        }
    }
    Ok(FoundRules {
        algorithms: job.algorithms,
        samples: None,
        report,
    })
}
