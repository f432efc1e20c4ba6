//! The error for a limit that cannot be held. It names what is nearest to it.

use std::rc::Rc;

use strait_compile::types::least;

use crate::{
    config::{
        KeyPath,
        types::{AccuracyDrop, MayUse},
    },
    diagnostic::Diagnostic,
    failure::codes,
    stop::Stop,
    table::beside,
};

use super::{lift::Lift, ranked::Ranked, trials::Trials};

/// At most this many larger budgets are tried.
const TRIALS: usize = 6;

/// What a larger budget would allow.
pub(super) struct Beyond {
    pub(super) ranked: Rc<Ranked>,
    /// The rules before.
    pub(super) rules: String,
    /// True if the budget left units out.
    pub(super) is_limited: bool,
    /// The key of the budget.
    pub(super) key: &'static str,
    /// The share that the rules of the configuration take already.
    pub(super) used: f64,
    /// The loss before.
    pub(super) loss: f64,
}

/// Makes the error for a limit that cannot be held. `loss` is what is lost with everything that may be used. The smallest
/// budget that is enough is searched for: `measure` returns the loss with some rules, and is told what they are.
///
/// # Errors
/// If a run fails, or the user interrupts.
pub(super) fn unreachable(
    wanted: &AccuracyDrop,
    trials: &Trials<'_>,
    (loss, beyond): (f64, &[Beyond]),
    mut measure: impl FnMut(&str, &str) -> Result<f64, Stop>,
) -> Result<Stop, Stop> {
    let (points, metric) = (wanted.points, &wanted.metric);
    let path = KeyPath::of(&["optimize", "accuracy_drop"]);
    let message = format!(
        "`{path}` cannot be held: with everything that it may use, the model loses {} points of {metric}, and {points} are \
         allowed",
        beside(loss, points)
    );
    let mut finding: Diagnostic = trials.job.loaded.error(codes::EVALUATION, &path, message, "");
    let mut nearest = loss;
    for beyond in beyond.iter().filter(|beyond| beyond.is_limited) {
        let order = &beyond.ranked.order;
        let found = least(order.len(), (beyond.loss, points), TRIALS, |count| {
            let own = order.get(..count).unwrap_or_default();
            let rules = beyond.rules.clone() + &beyond.ranked.rule(own, "", trials);
            measure(&rules, &format!("with {}", beyond.ranked.told(own)))
        })?;
        if let Some(count) = found.count {
            let share = beyond.used + beyond.ranked.share(order.get(..count).unwrap_or_default());
            let share = up(share, 1000.0).min(1.0);
            let lost = found.measured.iter().find(|(at, _)| *at == count);
            let lost = lost.map_or(points, |(_, lost)| *lost);
            let help = format!(
                "`budget.{} = {share}` is enough: the model then loses {} points",
                beyond.key,
                beside(lost, points)
            );
            return Ok(finding.help(help).into());
        }
        nearest = found.measured.iter().map(|(_, lost)| *lost).fold(nearest, f64::min);
        finding = finding.note(format!("no larger `budget.{}` is enough", beyond.key));
    }
    if wanted.may_use.contains(&MayUse::Types) && Lift::wide(trials.job.target.spec()).is_none() {
        finding = finding.note("the target has no activations of 16 bits");
    }
    if !wanted.may_use.contains(&MayUse::Float) {
        finding = finding.help("layers may run in float on the host if `may_use` has \"float\"");
    }
    let with = if nearest < loss { ", without a budget" } else { "" };
    let nearest = up(nearest, 100.0);
    let finding = finding.help(format!(
        "the nearest limit that can be held is `points = {nearest}`{with}"
    ));
    Ok(finding.into())
}

/// A number, rounded up to a fraction.
fn up(number: f64, parts: f64) -> f64 {
    (number * parts).ceil() / parts
}
