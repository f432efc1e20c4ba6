//! `accuracy_drop`: the configuration that costs least and holds a metric.

use std::rc::Rc;

use strait_compile::{
    Algorithms,
    types::{Found, least},
};
use strait_container::Digest;

use crate::{
    config::types::{AccuracyDrop, MayUse},
    failure,
    report::{LossLimit, MixedPrecision, PrecisionStep},
    session::Session,
    stop::Stop,
    table::beside,
};

use super::super::job::Job;
use super::{
    found::FoundRules,
    goal::Goal,
    lift::Lift,
    memo::Memo,
    nearest::{Beyond, unreachable},
    ranked::Ranked,
    trials::{Trials, shares},
};

/// The reason that the rules give.
const REASON: &str = "found by optimize.accuracy_drop";

/// With algorithms that choose codes, a trial takes long. At most so many of them follow the trials without algorithms.
const THOROUGH_TRIALS: usize = 3;

/// Units that take at least this part of the multiply-adds are tried to be left out again, at most [`LEFT_OUT`] of them.
const MUCH: f64 = 0.005;

/// See [`MUCH`].
const LEFT_OUT: usize = 4;

/// Searches for the rules with which the metric holds.
///
/// # Errors
/// If the limit cannot be held, a run fails, or the user interrupts.
pub(super) fn search(job: &Job<'_>, wanted: &AccuracyDrop, session: &Session<'_>) -> Result<FoundRules, Stop> {
    let goal = Goal::new(job, wanted, session)?;
    let digest = Digest(goal.samples().digest().map_err(failure::data)?);
    let memo = Memo::open(job, "accuracy_drop", digest.to_string().as_bytes(), session)?;
    let trials = Trials::new(job, memo, session)?;
    let mut search = Search {
        wanted,
        goal: &goal,
        trials: &trials,
        algorithms: job.algorithms,
        rules: String::new(),
        steps: Vec::new(),
        beyond: Vec::new(),
        count: 0,
    };
    let (begun, answered) = (seconds(session), trials.memo.borrow().measured());
    let before = search.loss("", job.algorithms, "as it is")?;
    if !search.holds(before) && trials.memo.borrow().measured() > answered {
        session.say(&format!(
            "each of the trials that follow takes about {:.0} s; what they measure is kept, so the search may be interrupted",
            (seconds(session) - begun).max(1.0)
        ));
    }
    let after = search.run(before)?;
    Ok(FoundRules {
        algorithms: search.algorithms,
        samples: Some(digest).filter(|_| job.loaded.config.optimize.data.is_some()),
        report: MixedPrecision {
            goal: "accuracy_drop".to_owned(),
            limit: Some(LossLimit {
                metric: wanted.metric.clone(),
                points: wanted.points,
                samples: goal.samples().count() as u64,
            }),
            measured: wanted.metric.clone(),
            loss: [before, after],
            weights_bytes: None,
            note: None,
            thorough: search.algorithms != job.algorithms,
            trials: search.count,
            steps: search.steps,
        },
    })
}

struct Search<'a> {
    wanted: &'a AccuracyDrop,
    goal: &'a Goal<'a>,
    trials: &'a Trials<'a>,
    algorithms: Option<Algorithms>,
    /// The rules of the steps.
    rules: String,
    steps: Vec<PrecisionStep>,
    /// What a larger budget would allow.
    beyond: Vec<Beyond>,
    count: usize,
}

impl Search<'_> {
    fn holds(&self, loss: f64) -> bool {
        loss <= self.wanted.points
    }

    /// The loss with further rules, measured on the integer model. `what` says for the user what they are.
    fn loss(&mut self, rules: &str, algorithms: Option<Algorithms>, what: &str) -> Result<f64, Stop> {
        self.count += 1;
        let (goal, trials) = (self.goal, self.trials);
        let loss = trials.measured(("loss", rules), algorithms, |built| goal.loss(built, trials.session))?;
        let metric = &self.wanted.metric;
        trials.session.say(&format!(
            "{what}, the model loses {} points of {metric}",
            beside(loss, self.wanted.points)
        ));
        Ok(loss)
    }

    /// Tries what may be used, in the order of cost, until the limit holds. Returns the loss.
    fn run(&mut self, before: f64) -> Result<f64, Stop> {
        let mut loss = before;
        if self.holds(loss) {
            return Ok(loss);
        }
        let (job, may_use) = (self.trials.job, &self.wanted.may_use);
        let (plain, thorough) = (job.algorithms, job.loaded.config.optimize.thorough());
        if may_use.contains(&MayUse::Round) && thorough != plain {
            let after = self.loss("", thorough, "with all algorithms")?;
            if after < loss {
                (self.algorithms, loss) = (thorough, after);
            }
        }
        let budget = &self.wanted.budget;
        let wide = Lift::wide(job.target.spec()).filter(|_| may_use.contains(&MayUse::Types));
        let float = Some(Lift::Float).filter(|_| may_use.contains(&MayUse::Float));
        for (lift, budget) in [(wide, budget.macs_16), (float, budget.macs_float)] {
            if let Some(lift) = lift.filter(|_| !self.holds(loss)) {
                loss = self.lifted(lift, budget, [before, loss])?;
            }
        }
        match self.holds(loss) {
            true => Ok(loss),
            false => {
                let (beyond, algorithms) = (std::mem::take(&mut self.beyond), self.algorithms);
                let (wanted, trials) = (self.wanted, self.trials);
                let measure = |rules: &str, what: &str| self.loss(rules, algorithms, what);
                Err(unreachable(wanted, trials, (loss, &beyond), measure)?)
            }
        }
    }

    /// Changes units until the limit holds, or the budget is used up. `before` are the losses without the algorithms of the
    /// search and with them. Returns the loss.
    fn lifted(&mut self, lift: Lift, budget: Option<f64>, before: [f64; 2]) -> Result<f64, Stop> {
        let ranked = Rc::new(Ranked::new(lift, self.trials)?);
        let used = match lift {
            Lift::Float => 0.0,
            _ => shares(&self.trials.plain.annotated).wide,
        };
        let chosen = ranked.within(budget.map_or(f64::INFINITY, |budget| (budget - used).max(0.0)));
        let found = self.fewest(&ranked, &chosen, before)?;
        if found.count.is_none() {
            self.beyond.push(Beyond {
                ranked: ranked.clone(),
                rules: self.rules.clone(),
                is_limited: chosen.len() < ranked.order.len(),
                key: if lift == Lift::Float { "macs_float" } else { "macs_16" },
                used,
                loss: before[1],
            });
        }
        let count = found.count.unwrap_or(chosen.len());
        let mut loss = before[1];
        let (kept, left) = match found.measured.iter().find(|(at, _)| found.count == Some(*at)) {
            Some(&(_, loss)) if self.algorithms == self.trials.job.algorithms => {
                self.needed(&ranked, &chosen[..count], loss)?
            }
            _ => (chosen[..count].to_vec(), loss),
        };
        if kept.len() < count {
            self.add(&ranked, &kept, left)?;
            return Ok(left);
        }
        let mut from = 0;
        for &(to, after) in found.measured.iter().filter(|(at, _)| (1..=count).contains(at)) {
            self.add(&ranked, &chosen[from..to], after)?;
            (from, loss) = (to, after);
        }
        Ok(loss)
    }

    /// Adds a step, which leads to the loss.
    fn add(&mut self, ranked: &Ranked, units: &[usize], loss: f64) -> Result<(), Stop> {
        let toml = ranked.rule(units, REASON, self.trials);
        let before = (self.rules.as_str(), toml.clone());
        let step = self.trials.step(before, ranked.layers(units), loss)?;
        self.steps.push(step);
        self.rules += &toml;
        Ok(())
    }

    /// Leaves out units that take much of the multiply-adds, as long as the limit holds without them. The sum of noises is only
    /// an estimate: together with those after it, a unit may be needless. Returns the units that are left, and the loss.
    fn needed(&mut self, ranked: &Ranked, chosen: &[usize], loss: f64) -> Result<(Vec<usize>, f64), Stop> {
        let (mut kept, mut loss) = (chosen.to_vec(), loss);
        let share = |at: &usize| ranked.share(std::slice::from_ref(at));
        let mut large: Vec<usize> = chosen.iter().copied().filter(|at| share(at) >= MUCH).collect();
        large.sort_by(|one, other| share(other).total_cmp(&share(one)).then(one.cmp(other)));
        for at in large.into_iter().take(LEFT_OUT) {
            let others: Vec<usize> = kept.iter().copied().filter(|&other| other != at).collect();
            let rules = self.rules.clone() + &ranked.rule(&others, REASON, self.trials);
            let what = format!("with {}", ranked.told(&others));
            let after = self.loss(&rules, self.algorithms, &what)?;
            if self.holds(after) {
                (kept, loss) = (others, after);
            }
        }
        Ok((kept, loss))
    }

    /// Finds how many of the chosen units are enough. Trials without the algorithms of the search take less time, so they
    /// come first, and show how many units are enough at most.
    fn fewest(&mut self, ranked: &Ranked, chosen: &[usize], [bare, loss]: [f64; 2]) -> Result<Found, Stop> {
        let plain = self.trials.job.algorithms;
        let first = self.enough((ranked, chosen), plain, (bare, usize::MAX))?;
        if self.algorithms == plain {
            return Ok(first);
        }
        let most = first.count.unwrap_or(chosen.len());
        let chosen = chosen.get(..most).unwrap_or_default();
        let found = self.enough((ranked, chosen), self.algorithms, (loss, THOROUGH_TRIALS))?;
        if found.count.is_none() && first.count.is_some() {
            self.algorithms = plain;
            return Ok(first);
        }
        Ok(found)
    }

    /// Finds how many of the chosen units are enough with some algorithms.
    fn enough(
        &mut self,
        (ranked, chosen): (&Ranked, &[usize]),
        algorithms: Option<Algorithms>,
        (before, trials): (f64, usize),
    ) -> Result<Found, Stop> {
        let (base, most) = (self.rules.clone(), self.wanted.points);
        least(chosen.len(), (before, most), trials, |count| {
            let own = chosen.get(..count).unwrap_or_default();
            let rules = base.clone() + &ranked.rule(own, REASON, self.trials);
            let what = format!("with {}", ranked.told(own));
            self.loss(&rules, algorithms, &what)
        })
    }
}

/// The seconds that all phases took together.
fn seconds(session: &Session<'_>) -> f64 {
    session.phases().iter().map(|phase| phase.seconds).sum()
}
