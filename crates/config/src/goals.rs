//! Checks the keys of `[optimize]` that state goals.

use strait_document::{Diagnostic, nearest};

use super::{
    KeyPath, Loaded, codes,
    types::{AccuracyDrop, MayUse, Metric, MetricTable, Optimize},
};

/// The errors in the goals of a configuration.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut goals = Goals {
        loaded,
        optimize: &loaded.config.optimize,
        findings: Vec::new(),
    };
    if let Some(goal) = &goals.optimize.accuracy_drop {
        goals.metric(goal);
        goals.means(goal);
    }
    goals.samples();
    goals.findings
}

/// The metric of a goal: the settings that `[[evaluation.metric]]` has for the name, without labels, or the metric of this
/// name.
pub fn metric(loaded: &Loaded, name: &str) -> Option<MetricTable> {
    let evaluation = loaded.config.evaluation.as_ref();
    let tables = evaluation.map_or(&[][..], |evaluation| &evaluation.metric);
    let set = tables.iter().find(|table| table.name == name).cloned();
    let plain = || {
        let metric = Metric::ALL.iter().copied().find(|metric| metric.name() == name)?;
        Some(MetricTable::of(metric))
    };
    let table = set.or_else(plain)?;
    Some(MetricTable { labels: None, ..table })
}

struct Goals<'a> {
    loaded: &'a Loaded,
    optimize: &'a Optimize,
    findings: Vec<Diagnostic>,
}

impl Goals<'_> {
    fn conflict(&mut self, keys: &[&str], message: &str, help: &str) {
        let path = KeyPath::of(&[&["optimize"], keys].concat());
        let message = message.replace("{}", &format!("`{path}`"));
        let finding = self.loaded.error(codes::CONFLICT, &path, message, "");
        self.findings.push(finding.help(help));
    }

    fn metric(&mut self, goal: &AccuracyDrop) {
        let at = ["accuracy_drop", "metric"];
        let Some(table) = metric(self.loaded, &goal.metric) else {
            let own = self
                .loaded
                .config
                .evaluation
                .iter()
                .flat_map(|evaluation| &evaluation.metric);
            let own: Vec<&str> = own.map(|table| table.name.as_str()).collect();
            let words: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
            let all = words.iter().chain(&own).copied();
            let help = match nearest::did_you_mean(&goal.metric, all).first() {
                Some(near) => format!("did you mean {near:?}?"),
                None => format!(
                    "it is one of {}, or the name of a metric in [[evaluation.metric]]",
                    words.join(", ")
                ),
            };
            return self.conflict(&at, &format!("there is no metric {:?} for {{}}", goal.metric), &help);
        };
        let metric = table.metric();
        if metric == Some(Metric::Snr) {
            let help =
                "`cosine` compares real numbers with those of the float model, and has 1 for the float model itself";
            self.conflict(
                &at,
                "{} has nothing to be held against: the float model has no error",
                help,
            );
        }
        let needed = metric.filter(|_| !table.is_own()).and_then(Metric::labels);
        if let (Some(needed), None) = (needed, &self.optimize.labels) {
            let message = format!("{{}} needs labels: {needed}");
            let help = "give optimize.labels, with optimize.data if they are not those of the calibration samples; \
                        `agreement` and `cosine` need none";
            self.conflict(&at, &message, help);
        }
    }

    fn means(&mut self, goal: &AccuracyDrop) {
        let at = ["accuracy_drop", "may_use"];
        if goal
            .may_use
            .iter()
            .enumerate()
            .any(|(index, means)| goal.may_use[..index].contains(means))
        {
            self.conflict(&at, "{} has an entry twice", "leave it out");
        }
        let budgets = [
            ("macs_16", goal.budget.macs_16, MayUse::Types, "types"),
            ("macs_float", goal.budget.macs_float, MayUse::Float, "float"),
        ];
        for (key, budget, means, word) in budgets {
            if budget.is_some() && !goal.may_use.contains(&means) {
                let help = format!("add {word:?} to may_use, or leave {key} out");
                let message = format!("{{}} is for what may_use does not have: {word:?}");
                self.conflict(&["accuracy_drop", "budget", key], &message, &help);
            }
        }
        if self.optimize.types.is_some() {
            let help = "leave it out: `may_use` of [optimize.accuracy_drop] says whether types may be changed";
            self.conflict(
                &["types"],
                "{} and `optimize.accuracy_drop` both decide about types",
                help,
            );
        }
    }

    fn samples(&mut self) {
        let optimize = self.optimize;
        let given = [
            ("data", optimize.data.is_some()),
            ("labels", optimize.labels.is_some()),
            ("samples", optimize.samples.is_some()),
            ("unreadable", self.loaded.has(&KeyPath::of(&["optimize", "unreadable"]))),
        ];
        for (key, _) in given.into_iter().filter(|(_, given)| *given) {
            if optimize.accuracy_drop.is_none() {
                let help = "give accuracy_drop, or leave it out";
                self.conflict(&[key], "{} is for `optimize.accuracy_drop`, which is not given", help);
            } else if optimize.data.is_none() && !["data", "labels"].contains(&key) {
                let help = "the same key of [calibration] is for the calibration samples";
                self.conflict(
                    &[key],
                    "{} is for the samples of `optimize.data`, which is not given",
                    help,
                );
            }
        }
        let goals = [
            ("accuracy_drop", optimize.accuracy_drop.is_some()),
            ("size", optimize.size.is_some()),
            ("types", optimize.types == Some(true)),
        ];
        if self.loaded.config.calibration.data.is_none() {
            for (key, _) in goals.into_iter().filter(|(_, given)| *given) {
                let help = "give calibration.data, or leave it out";
                self.conflict(&[key], "{} needs samples, and there is no `calibration.data`", help);
            }
        }
    }
}
