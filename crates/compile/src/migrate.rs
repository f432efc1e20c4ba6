//! Moves scale between neighbouring layers of a private copy of the float model, where the outputs of the quantized model come
//! closer to those of the float model.

use std::collections::{BTreeMap, BTreeSet};

use strait_core::{Module, NodeId, ValueId};
use strait_optimize::{
    Balance, Cut, Fidelity, Migrated, Migration, MigrationTask, Pair, Rule, is_closer, mean, migrate,
};
use strait_quantize::{Observation, Requests, annotate::Run, observe::Samples, statistics::Coverage};

use crate::{
    CompileError, Means, Quantized, Resolved, Task, Watch, observe, quantize::quantize_from, task::Optimising,
};

/// The largest number of samples on which whole models are compared.
const SAMPLES: usize = 64;

/// The scale that was moved, and the copy of the float model in which it was moved.
#[derive(Clone, Debug)]
pub struct MigratedModel {
    /// All factors that were found, and the layers for which there are none.
    pub found: Migration,
    /// The pairs of `found` that are used.
    pub kept: BTreeSet<usize>,
    /// The error at the outputs of the model without and with the factors, the mean of [`Fidelity::errors`]. `None` if there
    /// was nothing to compare.
    pub error: Option<[f64; 2]>,
    /// The copy of the float model. `None` if no factors are used.
    pub copy: Option<MigratedCopy>,
}

/// A copy of the float model that was given factors.
#[derive(Clone, Debug)]
pub struct MigratedCopy {
    /// The copy. Its nodes and values have the ids and names of the model, and there may be further multiplications.
    pub float: Module,
    /// For each layer, the factors of the channels that it reads and of its outputs.
    pub balance: BTreeMap<NodeId, Balance>,
    pub(crate) observation: Observation,
    /// The settings of the copy.
    pub resolved: Resolved,
}

impl MigratedModel {
    /// The pairs that are used.
    pub fn pairs(&self) -> impl Iterator<Item = &Pair> {
        let all = self.found.pairs.iter().enumerate();
        all.filter(|(at, _)| self.kept.contains(at)).map(|(_, pair)| pair)
    }
}

impl MigratedCopy {
    /// The task of compiling the copy instead of the model.
    pub(crate) fn task<'a>(&'a self, task: &Task<'a>) -> Task<'a> {
        Task {
            float: &self.float,
            observation: &self.observation,
            resolved: &self.resolved,
            ..task.clone()
        }
    }
}

/// Finds factors and tries them. Returns the model that is quantized with them, if there is one.
///
/// # Errors
/// Samples cannot be used, a run takes more than its limits allow, or the caller has asked to stop.
pub(crate) fn choose(
    task: &Task<'_>,
    how: &Optimising<'_>,
    plain: &Quantized,
    watch: &dyn Watch,
) -> Result<(MigratedModel, Option<Quantized>), CompileError> {
    let work = MigrationTask {
        float: task.float,
        annotated: &plain.annotated,
        samples: how.samples,
        smooth: how.algorithms.smooth,
        equalize: how.algorithms.equalize,
        limits: task.limits,
        threads: task.threads,
    };
    let found = watch.step("migrate", Some(how.samples.count()), |done| {
        migrate(&work, done).map_err(CompileError::from)
    })?;
    let allowed: BTreeSet<usize> = (0..found.pairs.len())
        .filter(|&pair| !is_given(task, &found, pair))
        .collect();
    let mut model = MigratedModel {
        found,
        kept: BTreeSet::new(),
        error: None,
        copy: None,
    };
    if allowed.is_empty() {
        return Ok((model, None));
    }
    let whole = Whole::new(task, &model.found, &allowed, how.samples, watch)?;
    let fidelity = Fidelity::new(task.float, how.samples, (true, SAMPLES), (task.limits, task.threads))?;
    let simulated = |quantized: &Quantized| quantized.simulated(task.target.spec());
    let before = fidelity.errors(&simulated(plain)?)?;
    let mut search = Search {
        task,
        found: &model.found,
        whole,
        fidelity,
        errors: before.clone(),
        best: None,
    };
    watch.step("migrate", None, |_| search.run(&allowed))?;
    model.error = Some([mean(&before), mean(&search.errors)]);
    let best = search.best.take();
    Ok(match best {
        None => (model, None),
        Some((kept, copy, quantized)) => {
            (model.kept, model.copy) = (kept, Some(copy));
            (model, Some(quantized))
        }
    })
}

/// True if a rule or a record gives a range for a value that a pair would divide by factors.
fn is_given(task: &Task<'_>, found: &Migration, pair: usize) -> bool {
    let settings = &task.resolved.settings;
    let mut values = found.values(pair);
    values.extend(found.pairs.get(pair).and_then(|pair| pair.cut).map(Cut::value));
    let has_range = |value: &ValueId| {
        settings
            .values
            .get(value)
            .is_some_and(|own| own.range.is_some() || own.exact.is_some())
    };
    !task.resolved.given.is_empty() || values.iter().any(has_range)
}

/// The copy with all factors, and the statistics of its values. Each value belongs to one pair, so its statistics are the same
/// in a copy with some of the pairs.
struct Whole {
    module: Module,
    inserted: BTreeMap<Cut, (NodeId, ValueId)>,
    observation: Observation,
    requests: Requests,
}

impl Whole {
    fn new(
        task: &Task<'_>,
        found: &Migration,
        allowed: &BTreeSet<usize>,
        samples: &dyn Samples,
        watch: &dyn Watch,
    ) -> Result<Whole, CompileError> {
        let migrated = found.apply(task.float, allowed)?;
        let (module, main) = (migrated.module, task.float.main);
        let new = migrated.inserted.values().map(|&(_, value)| value);
        let changed: BTreeSet<ValueId> = migrated.changed.iter().copied().chain(new).collect();
        let mut requests = Requests::default();
        let all = Requests::all(&module, main);
        for (value, kind) in all.iter().chain(task.resolved.requests.iter()) {
            if changed.contains(&value) {
                requests.value(value, kind);
            }
        }
        let means = Means {
            threads: task.threads,
            limits: task.limits,
            ..Means::default()
        };
        let covered = Coverage::all(samples.count() as u64);
        let observation = observe((&module, task.bodies), (&requests, samples, &covered), &means, watch)?;
        Ok(Whole {
            module,
            inserted: migrated.inserted,
            observation,
            requests,
        })
    }

    /// The statistics of a copy with some of the pairs.
    fn observation(&self, known: &Observation, copy: &Migrated) -> Observation {
        let mut observation = known.clone();
        let same: BTreeMap<ValueId, ValueId> = self
            .inserted
            .iter()
            .filter_map(|(cut, &(_, value))| Some((value, copy.inserted.get(cut)?.1)))
            .collect();
        for (value, kind) in self.requests.iter() {
            let own = match same.get(&value) {
                Some(&own) => own,
                None if copy.changed.contains(&value) => value,
                None => continue,
            };
            let name = |module: &Module, id: ValueId| {
                let value = module.main().value(id)?;
                Some(module.name(value.name).to_owned())
            };
            if let (Some(name), Some(own)) = (name(&self.module, value), name(&copy.module, own))
                && let Some(record) = self.observation.get(kind, &name)
            {
                observation.insert(kind, own, record.clone());
            }
        }
        observation
    }
}

struct Search<'a> {
    task: &'a Task<'a>,
    found: &'a Migration,
    whole: Whole,
    fidelity: Fidelity<'a>,
    /// The errors of the best model so far.
    errors: Vec<f64>,
    /// The best pairs so far, and the model with them. `None` if no pairs are better.
    best: Option<(BTreeSet<usize>, MigratedCopy, Quantized)>,
}

impl Search<'_> {
    /// Tries all pairs together and each kind of pairs alone, and then adds the other kinds to the best of these. If none of this
    /// helps, tries the half and the quarter of the pairs that help their layers most.
    fn run(&mut self, allowed: &BTreeSet<usize>) -> Result<(), CompileError> {
        let mut kinds: BTreeMap<u8, BTreeSet<usize>> = BTreeMap::new();
        for &at in allowed {
            kinds.entry(kind(&self.found.pairs[at])).or_default().insert(at);
        }
        self.judge(allowed.clone())?;
        if kinds.len() > 1 {
            for own in kinds.values() {
                self.judge(own.clone())?;
            }
            for own in kinds.values() {
                let kept = self.best.as_ref().map(|(kept, ..)| kept.clone()).unwrap_or_default();
                let all: BTreeSet<usize> = kept.union(own).copied().collect();
                if all != kept && all != *own && all != *allowed {
                    self.judge(all)?;
                }
            }
        }
        let gain = |&at: &usize| {
            let [before, after] = self.found.pairs[at].errors;
            (before / after.max(f64::MIN_POSITIVE)).ln()
        };
        let mut order: Vec<usize> = allowed.iter().copied().collect();
        order.sort_by(|one, other| gain(other).total_cmp(&gain(one)).then(one.cmp(other)));
        for part in [2, 4] {
            if self.best.is_none() && order.len() >= part {
                self.judge(order[..order.len() / part].iter().copied().collect())?;
            }
        }
        Ok(())
    }

    /// Quantizes with some of the pairs, and keeps them if the model is closer to the float model than the best one so far.
    fn judge(&mut self, pairs: BTreeSet<usize>) -> Result<bool, CompileError> {
        let migrated = self.found.apply(self.task.float, &pairs)?;
        let copy = MigratedCopy {
            observation: self.whole.observation(self.task.observation, &migrated),
            resolved: resolved(self.task, &migrated),
            balance: migrated.balance,
            float: migrated.module,
        };
        let quantized = match quantize_from(&copy.task(self.task), &Default::default(), None) {
            Ok(quantized) => quantized,
            Err(CompileError::Denied(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        let errors = self.fidelity.errors(&quantized.simulated(self.task.target.spec())?)?;
        let is_better = is_closer(&self.errors, &errors);
        if is_better {
            self.errors = errors;
            self.best = Some((pairs, copy, quantized));
        }
        Ok(is_better)
    }
}

/// Pairs that are tried together: those with a node that is put in before layers, behind a layer, or beside a normalization, and
/// those without one.
fn kind(pair: &Pair) -> u8 {
    match (pair.cut, pair.rule) {
        (Some(Cut::Before(_)), _) => 0,
        (Some(Cut::Behind(_)), _) => 1,
        (Some(Cut::Beside(_)), _) => 4,
        (None, Rule::Migrate { .. }) => 2,
        (None, Rule::Equalize) => 3,
    }
}

/// The settings of a copy. Its multiplications run in float, and what they make is rounded as what they read would be.
fn resolved(task: &Task<'_>, migrated: &Migrated) -> Resolved {
    let mut resolved = task.resolved.clone();
    let settings = &mut resolved.settings;
    for (cut, &(node, value)) in &migrated.inserted {
        match cut {
            Cut::Before(_) | Cut::Behind(_) => {
                let run = Run::Float("it multiplies real numbers by the factors of `smooth`".into());
                settings.layers.entry(node).or_default().run = Some(run);
            }
            // A second normalization has the settings of the first one.
            Cut::Beside(value) => {
                let first = task.float.main().producer(*value).map(|(id, _)| id);
                if let Some(own) = first.and_then(|id| settings.layers.get(&id)).cloned() {
                    settings.layers.insert(node, own);
                }
            }
        }
        if let Some(own) = settings.values.get(&cut.value()).cloned() {
            settings.values.insert(value, own);
        }
    }
    resolved
}
