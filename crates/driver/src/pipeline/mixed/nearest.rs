//! The error for a limit that cannot be held. It names what is nearest to it.

use std::rc::Rc;

use strait_compile::types::least;

use crate::{
    config::{KeyPath, types::MayUse},
    diagnostic::Diagnostic,
    failure::codes,
    stop::Stop,
};

use super::{drop::Search, ranked::Ranked};

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
/// budget that is enough is searched for.
///
/// # Errors
/// If a run fails, or the user interrupts.
pub(super) fn unreachable(search: &mut Search<'_>, loss: f64) -> Result<Stop, Stop> {
    let (points, metric) = (search.wanted.points, search.wanted.metric.clone());
    let path = KeyPath::of(&["optimize", "accuracy_drop"]);
    let message = format!(
        "`{path}` cannot be held: with everything that it may use, the model loses {loss:.2} points of {metric}, and {points} are \
         allowed"
    );
    let mut finding: Diagnostic = search.trials.job.loaded.error(codes::EVALUATION, &path, message, "");
    let mut nearest = loss;
    for beyond in std::mem::take(&mut search.beyond) {
        if !beyond.is_limited {
            continue;
        }
        let order = &beyond.ranked.order;
        let found = least(order.len(), (beyond.loss, points), TRIALS, |count| {
            let own = order.get(..count).unwrap_or_default();
            let rules = beyond.rules.clone() + &beyond.ranked.rule(own, "", search.trials);
            let what = format!("with {}", beyond.ranked.told(own));
            search.loss(&rules, search.algorithms, &what)
        })?;
        let of = |count: usize| beyond.used + beyond.ranked.share(order.get(..count).unwrap_or_default());
        if let Some(count) = found.count {
            let share = up(of(count), 1000.0).min(1.0);
            let lost = found
                .measured
                .iter()
                .find(|(at, _)| *at == count)
                .map_or(points, |(_, lost)| *lost);
            let help = format!(
                "`budget.{} = {share}` is enough: the model then loses {lost:.2} points",
                beyond.key
            );
            return Ok(finding.help(help).into());
        }
        nearest = found.measured.iter().map(|(_, lost)| *lost).fold(nearest, f64::min);
        finding = finding.note(format!("no larger `budget.{}` is enough", beyond.key));
    }
    let may_use = &search.wanted.may_use;
    if !may_use.contains(&MayUse::Float) {
        finding = finding.help("layers may run in float on the host if `may_use` has \"float\"");
    }
    let with = if nearest < loss { ", without a budget" } else { "" };
    let finding = finding.help(format!(
        "the nearest limit that can be held is `points = {}`{with}",
        up(nearest, 100.0)
    ));
    Ok(finding.into())
}

/// A number, rounded up to a fraction.
fn up(number: f64, parts: f64) -> f64 {
    (number * parts).ceil() / parts
}
