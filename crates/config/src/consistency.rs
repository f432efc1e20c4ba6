//! Checks combinations of keys. Each key may be correct by itself, but some keys cannot be combined.

use strait_compile::rules::consistent;
use strait_document::{Diagnostic, Diagnostics, nearest};

use super::{
    KeyPath, Loaded, codes, device, goals,
    overrides::OUT,
    preprocess,
    types::{Accept, Better, Drop, Evaluation, Input, Metric, MetricTable, Preprocess, Tail},
};

/// Checks combinations of keys.
///
/// # Errors
/// Some keys cannot be combined. All such errors are reported at once.
pub(super) fn check(loaded: &Loaded) -> Result<(), Diagnostics> {
    let mut checker = Checker {
        loaded,
        findings: Vec::new(),
    };
    checker.preprocessing();
    checker.record();
    checker.tail();
    checker.rules();
    checker.fusion();
    checker.evaluation();
    checker.findings.extend(goals::check(loaded));
    checker.output();
    checker.lists();
    Diagnostics(checker.findings).or(())
}

struct Checker<'a> {
    loaded: &'a Loaded,
    findings: Vec<Diagnostic>,
}

impl Checker<'_> {
    fn conflict(&mut self, path: &KeyPath, message: impl Into<String>, help: &str) {
        self.findings
            .push(self.loaded.error(codes::CONFLICT, path, message, "").help(help));
    }

    fn preprocessing(&mut self) {
        let config = &self.loaded.config;
        self.plan(&config.preprocess, &KeyPath::of(&["preprocess"]));
        for (name, input) in &config.input {
            let steps = input.preprocess.as_ref().unwrap_or(&config.preprocess);
            if input.preprocess.is_some() {
                let steps = device::with_stored(input, steps);
                self.plan(&steps, &KeyPath::of(&["input", name, "preprocess"]));
            }
            self.device(name, input, steps);
        }
    }

    fn plan(&mut self, steps: &Preprocess, path: &KeyPath) {
        if let Err(error) = preprocess::plan(steps) {
            let path = path.clone().key("steps").index(error.step);
            let message = format!("`{path}` is not possible");
            self.findings.push(
                self.loaded
                    .error(codes::PREPROCESS, &path, message, error.message)
                    .help(error.help),
            );
        }
    }

    /// Checks which steps of an input become part of the model.
    fn device(&mut self, name: &str, input: &Input, steps: &Preprocess) {
        let table = KeyPath::of(&["input", name]);
        match device::on_device(name, input, steps) {
            Err(refused) => self.conflict(&table.key(refused.key), refused.message, &refused.help),
            Ok(found) => {
                // The steps that are left, with those that bring the samples into the form of the device.
                let left = found.map_or_else(|| self.loaded.config.preprocess_of(name), |found| found.preprocess);
                let is_possible = preprocess::plan(&device::with_stored(input, steps)).is_ok();
                if let Some(error) = preprocess::plan(&left).err().filter(|_| is_possible) {
                    let message = format!(
                        "the samples cannot become what the device hands over: {}",
                        error.message
                    );
                    let key = if input.device.is_some() { "device" } else { "layout" };
                    self.conflict(&table.key(key), message, error.help);
                }
            }
        }
    }

    fn tail(&mut self) {
        let model = &self.loaded.config.model;
        if model.tail == Tail::Onnx && model.outputs.is_empty() {
            let help = "name in `model.outputs` where the model is cut (`strait inspect MODEL --cuts` proposes it), or leave `tail` out";
            self.conflict(&KeyPath::of(&["model", "tail"]), "the model is not cut", help);
        }
    }

    fn record(&mut self) {
        let calibration = &self.loaded.config.calibration;
        let path = KeyPath::of(&["calibration"]);
        if calibration.data.is_some() && calibration.record.is_some() {
            let help = "`data` has samples to measure ranges on, `record` has the grids already";
            self.conflict(&path.clone().key("record"), "there are samples and a record", help);
        }
        if calibration.record.is_some() && self.loaded.config.quantize.params.is_some() {
            let help = "`record` has the grids of a vendor's tool, `quantize.params` has those of single tensors: leave one out";
            self.conflict(&path.key("record"), "there are a record and a file of parameters", help);
        }
    }

    fn rules(&mut self) {
        if let Err(found) = consistent(&self.loaded.config.rules()) {
            self.findings.extend(self.loaded.told(found).0);
        }
    }

    fn fusion(&mut self) {
        let path = KeyPath::of(&["fusion", "max_lsb"]);
        if self.loaded.has(&path) && self.loaded.config.fusion.accept != Some(Accept::Bounded) {
            self.conflict(
                &path,
                format!("`{path}` needs accept = \"bounded\""),
                "set accept = \"bounded\", or leave max_lsb out",
            );
        }
    }

    fn evaluation(&mut self) {
        let config = &self.loaded.config;
        let wanted = config
            .evaluation
            .as_ref()
            .map(Evaluation::chosen_metrics)
            .unwrap_or_default();
        for (index, (place, table)) in wanted.iter().enumerate() {
            if wanted[..index].iter().any(|(_, other)| other.name == table.name)
                && (table.is_own() || table.metric().is_some())
            {
                let in_words = place.to_string().starts_with("evaluation.metrics");
                let message = match in_words {
                    true => format!("`{place}` is in the list already"),
                    false => format!("`{place}` is not the only metric of the name {:?}", table.name),
                };
                let help = if in_words {
                    "leave it out"
                } else {
                    "give it another `name`, and `kind`"
                };
                self.conflict(place, message, help);
            } else {
                self.metric(place, table);
            }
        }
        let path = KeyPath::of(&["evaluation", "expect_float"]);
        let unlabelled = (config.evaluation.as_ref()).is_some_and(|evaluation| evaluation.labels.is_none());
        if self.loaded.has(&path) && unlabelled {
            let help = "give evaluation.labels, or leave expect_float out";
            self.conflict(&path, format!("`{path}` needs labels"), help);
        }
        let drops = config
            .gate
            .accuracy_drop
            .iter()
            .map(|(name, drop)| ("accuracy_drop", name, Some(drop)));
        let least = config.gate.least.keys().map(|name| ("least", name, None));
        for (key, name, drop) in drops.chain(least) {
            self.gate(&KeyPath::of(&["gate", key, name]), name, drop, &wanted);
        }
    }

    fn metric(&mut self, place: &KeyPath, table: &MetricTable) {
        if table.is_own() {
            return self.own_metric(place, table);
        }
        let Some(metric) = table.metric() else {
            let message = format!("`{place}` does not say which metric {:?} is", table.name);
            let words: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
            self.conflict(place, message, &format!("give `kind`, one of {}", words.join(", ")));
            return;
        };
        let decodes =
            |key: &&str| metric == Metric::Map && table.command.is_some() && ["command", "seconds"].contains(key);
        for key in table.own().filter(|key| !decodes(key)) {
            let path = place.clone().key(key);
            let message = format!(
                "`{path}` is for a metric that a command computes, and this is {:?}",
                metric.name()
            );
            self.conflict(
                &path,
                message,
                "leave it out, or leave `kind` out and give `command`, `value` and `better`",
            );
        }
        for (key, readers) in table.given().filter(|(_, readers)| !readers.contains(&metric)) {
            let path = place.clone().key(key);
            let readers: Vec<String> = readers.iter().map(|reader| format!("{:?}", reader.name())).collect();
            let metrics = if readers.len() == 1 { "metric" } else { "metrics" };
            let message = format!(
                "`{path}` is of the {metrics} {}, and this is {:?}",
                readers.join(", "),
                metric.name()
            );
            self.conflict(&path, message, "leave it out");
        }
        let evaluation = self.loaded.config.evaluation.as_ref();
        let labels = table
            .labels
            .as_ref()
            .or(evaluation.and_then(|evaluation| evaluation.labels.as_ref()));
        if let (Some(needed), None) = (metric.labels(), labels) {
            let message = format!("the metric {:?} needs labels: {needed}", table.name);
            let help = format!("give evaluation.labels, or leave {} out", table.name);
            self.conflict(place, message, &help);
        } else if table.ignore.is_some() && labels.is_none() {
            let path = place.clone().key("ignore");
            let message = format!("`{path}` is a label, and there are no labels");
            self.conflict(&path, message, "give `labels`, or leave it out");
        }
    }

    /// Checks that a metric which a command computes has all keys that it needs, and no others.
    fn own_metric(&mut self, place: &KeyPath, table: &MetricTable) {
        let needed = [
            (
                "command",
                table.command.is_some(),
                "command = [\"python3\", \"tools/score.py\"]",
            ),
            ("value", table.value.is_some(), "value = \"/score\""),
            ("better", table.better.is_some(), "better = \"higher\" or \"lower\""),
        ];
        for (key, _, example) in needed.into_iter().filter(|(_, given, _)| !given) {
            let message = format!("`{place}` is a metric that a command computes, and has no `{key}`");
            self.conflict(place, message, &format!("give {example}"));
        }
        let others = table.given().map(|(key, _)| key);
        let others = others
            .chain(table.kind.map(|_| "kind"))
            .chain(table.output.as_ref().map(|_| "output"));
        for key in others.chain(table.labels.as_ref().map(|_| "labels")) {
            let path = place.clone().key(key);
            let message = format!("`{path}` is not for a metric that a command computes");
            self.conflict(
                &path,
                message,
                "leave it out: the command is given all outputs, and labels as its own arguments",
            );
        }
    }

    /// Checks a gate: the metric must be measured, and if the gate needs an interval, the metric must have one.
    fn gate(&mut self, path: &KeyPath, name: &str, drop: Option<&Drop>, wanted: &[(KeyPath, MetricTable)]) {
        let Some((_, table)) = wanted.iter().find(|(_, table)| table.name == name) else {
            let names: Vec<&str> = wanted.iter().map(|(_, table)| table.name.as_str()).collect();
            let help = match nearest::did_you_mean(name, names.iter().copied()).first() {
                Some(near) => format!("did you mean {near:?}?"),
                None => "add it to evaluation.metrics; most metrics need labels".to_owned(),
            };
            let message = format!("`{path}` needs the metric {name:?}, which is not evaluated");
            return self.conflict(path, message, &help);
        };
        let lower = table.better.or(table.metric().map(Metric::better)) == Some(Better::Lower);
        if drop.is_none() && lower {
            let message = format!("`{path}` demands much of a metric of which less is better");
            self.conflict(path, message, "`accuracy_drop` bounds its loss against the float model");
        }
        let sure = drop.is_some_and(|drop| drop.confidence.is_some());
        if sure && table.is_own() && table.each.is_none() {
            let path = path.clone().key("confidence");
            let message = format!("`{path}` needs an interval, and one number for all samples has none");
            let help = "let the command print a number for each sample as well, and say by `each` where";
            self.conflict(&path, message, help);
        }
        if drop.is_some() && table.metric() == Some(Metric::Snr) {
            let message = format!("`{path}` has nothing to be held against: the float model has no error");
            self.conflict(path, message, "`least` of [gate] demands so many decibels");
        }
    }

    fn output(&mut self) {
        let config = &self.loaded.config;
        let path = KeyPath::of(&["output", "dir"]);
        if config.target.ids.len() > 1 && !config.output.dir.differs() {
            let message = format!("`{path}` is the same for {} targets", config.target.ids.len());
            let finding = self.loaded.error(codes::CONFLICT, &path, message, "");
            let option = finding.excerpt.iter().any(|excerpt| excerpt.source.name == OUT);
            let help = match option {
                true => "put {target} into it: --out \"DIR/{target}\"",
                false => "put {target} into it: \"build/{target}\"",
            };
            self.findings.push(finding.help(help));
        }
    }

    /// Checks that no list has the same entry twice. If one does, the user probably meant another entry.
    fn lists(&mut self) {
        let config = &self.loaded.config;
        self.twice(&config.target.ids, &KeyPath::of(&["target", "use"]));
        for id in config.output.target.keys().map(String::as_str).chain([""]) {
            if let Some((path, formats)) = config.output.formats_of(id) {
                self.twice(formats, &path);
            }
        }
    }

    fn twice<T: PartialEq>(&mut self, elements: &[T], path: &KeyPath) {
        for (index, element) in elements.iter().enumerate() {
            if elements[..index].contains(element) {
                let path = path.clone().index(index);
                self.conflict(&path, format!("`{path}` is in the list already"), "leave it out");
            }
        }
    }
}
