//! The units of a model, sorted by what changing them gains for its cost.

use strait_compile::types::{Candidate, Candidates, Noises, Unit, float_units, node_operations, units};
use strait_core::{Kind, Module, Node, NodeId, ValueId, shape::element_count};

use crate::{config::types::Rule, sanity::parsed, stop::Stop};

use super::super::{job::Job, lowered::annotated_with};
use super::{
    lift::Lift,
    trials::{Quiet, Trials, hosted, possible, shares},
};

/// Units that can be changed in one way.
pub(super) struct Ranked {
    lift: Lift,
    units: Vec<Unit>,
    candidates: Vec<Candidate>,
    /// The units that gain something, the best first.
    pub(super) order: Vec<usize>,
}

impl Ranked {
    /// Measures what changing each unit gains at the outputs. A unit that cannot be changed, or for which a rule of the
    /// configuration decides already, gains nothing.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    pub(super) fn new(lift: Lift, trials: &Trials<'_>) -> Result<Ranked, Stop> {
        let (annotated, spec) = (&trials.plain.annotated, trials.job.target.spec());
        let units = match lift {
            Lift::Float => float_units(annotated, spec),
            _ => units(annotated, spec),
        };
        let samples = trials.samples(units.len())?;
        let (session, quiet) = (trials.session, Quiet(trials.session));
        let mut memo = trials.memo.borrow_mut();
        let mut noises = None;
        let phase = format!("sensitivities ({})", trials.job.id());
        let candidates = session.phase(&phase, Some(units.len()), |done| {
            let mut found = Vec::with_capacity(units.len());
            for unit in &units {
                let rule = lift.rule((annotated, spec), &[unit], "");
                let [noise, cost, share] = memo.ask(format!("sensitivity: {rule}"), session, || {
                    let Some([cost, share]) = costs(lift, unit, &rule, trials)? else {
                        return Ok([0.0; 3]);
                    };
                    if noises.is_none() {
                        noises = Some(Noises::new(&trials.plain, &samples, &quiet)?);
                    }
                    let noise = match (&noises, lift) {
                        (None, _) => 0.0,
                        (Some(noises), Lift::Float) => noises.of_layers(unit, &quiet)?,
                        (Some(noises), _) => noises.of_tensors(unit, &quiet)?,
                    };
                    Ok([noise, cost, share])
                })?;
                found.push(Candidate { noise, cost, share });
                if done(found.len()).is_break() {
                    return Err(Stop::Interrupted);
                }
            }
            Ok(found)
        })?;
        Ok(Ranked {
            order: Candidates(&candidates).order(),
            lift,
            units,
            candidates,
        })
    }

    /// The units that together stay within a budget, in their order.
    pub(super) fn within(&self, budget: f64) -> Vec<usize> {
        Candidates(&self.candidates).within(&self.order, budget)
    }

    /// The share of the multiply-adds that changing units takes.
    pub(super) fn share(&self, chosen: &[usize]) -> f64 {
        Candidates(&self.candidates).share(chosen)
    }

    /// The noise that is left if all units but these are as they were.
    pub(super) fn left(&self, chosen: &[usize]) -> f64 {
        let noise = |at: &usize| self.candidates.get(*at).map_or(0.0, |one| one.noise);
        let others = self.order.iter().filter(|at| !chosen.contains(at));
        others.map(noise).sum()
    }

    /// The rule that changes units. It is empty if there are none.
    pub(super) fn rule(&self, chosen: &[usize], reason: &str, trials: &Trials<'_>) -> String {
        match chosen.is_empty() {
            true => String::new(),
            false => {
                let of = (&trials.plain.annotated, trials.job.target.spec());
                self.lift.rule(of, &self.of(chosen), reason)
            }
        }
    }

    /// What is done, in words: `12 of 30 units on 16 bits (1.5 % of the multiply-adds)`.
    pub(super) fn told(&self, chosen: &[usize]) -> String {
        let change = match self.lift {
            Lift::Wide(_) => "on 16 bits",
            Lift::Float => "in float",
        };
        let units = crate::table::count(self.order.len(), "unit");
        // Units that run in float overlap, so the sum of their shares may be too large.
        let share = 100.0 * self.share(chosen).min(1.0);
        format!(
            "{} of {units} {change} ({share:.1} % of the multiply-adds)",
            chosen.len()
        )
    }

    /// The number of layers that the rule for units names.
    pub(super) fn layers(&self, chosen: &[usize]) -> usize {
        self.of(chosen).iter().map(|unit| unit.nodes.len()).sum()
    }

    fn of(&self, chosen: &[usize]) -> Vec<&Unit> {
        chosen.iter().filter_map(|&at| self.units.get(at)).collect()
    }
}

/// The bytes of a table with an entry for each code of 16 bits. They count as much as operations.
const TABLE: u64 = 1 << 17;

/// What changing a unit costs: the operations of its layers, the bytes of their tables and the elements of tensors that no
/// layer reads; and the share of the multiply-adds. `None` if it cannot be changed.
fn costs(lift: Lift, unit: &Unit, rule: &str, trials: &Trials<'_>) -> Result<Option<[f64; 2]>, Stop> {
    let (annotated, spec) = (&trials.plain.annotated, trials.job.target.spec());
    let changed: Vec<NodeId> = (unit.nodes.iter().copied())
        .filter(|&id| lift.fits(annotated, spec, id))
        .collect();
    if changed.is_empty() && (lift == Lift::Float || unit.unread.is_empty()) {
        return Ok(None);
    }
    if is_decided(trials.job, unit) {
        return Ok(None);
    }
    let after = possible(annotated_with(trials.job, parsed(rule)?, trials.session))?;
    let Some(after) = after.filter(|after| is_kept(lift, annotated, after)) else {
        return Ok(None);
    };
    let table = |id: NodeId| {
        let is_function = |node: &Node| node.op.term().kind() == Kind::Function;
        let is_wide = matches!(lift, Lift::Wide(_)) && annotated.main().node(id).is_some_and(is_function);
        if is_wide { TABLE } else { 0 }
    };
    let layers = changed.iter().map(|&id| node_operations(annotated, id) + table(id));
    let shape = |value: &ValueId| {
        annotated
            .main()
            .value(*value)
            .and_then(|value| element_count(&value.ty.shape))
    };
    let cost: u64 = layers.chain(unit.unread.iter().filter_map(shape)).sum();
    let share = |module: &Module| match lift {
        Lift::Float => shares(module).host,
        _ => shares(module).wide,
    };
    Ok(Some([cost.max(1) as f64, (share(&after) - share(annotated)).max(0.0)]))
}

/// True if no layer moves to the host that was not asked to.
fn is_kept(lift: Lift, before: &Module, after: &Module) -> bool {
    lift == Lift::Float || hosted(after) <= hosted(before)
}

/// True if a rule of the configuration decides about the types of a layer in the unit, or about one of its tensors that no
/// layer reads.
fn is_decided(job: &Job<'_>, unit: &Unit) -> bool {
    let decides = |rule: &Rule| rule.activations.ty.is_some() || rule.run.is_some();
    let any = |rules: Option<&Vec<usize>>| {
        let rules = rules.into_iter().flatten();
        rules
            .filter_map(|&index| job.rules.quantize.rule.get(index))
            .any(decides)
    };
    unit.nodes.iter().any(|id| any(job.selection.nodes.get(id)))
        || unit.unread.iter().any(|value| any(job.selection.values.get(value)))
}
