//! Prepares metrics from their keys in the configuration: finds the outputs and opens the labels. If an output or
//! labels that a metric needs are missing, the error names the key at fault.

mod answers;
mod map;

use std::{path::Path, time::Duration};

use strait_core::Module;
use strait_document::{KeyPath, nearest};
use strait_evaluate::{
    ConcatenatedParts, Measure, Meter, Metric, Output, Question, Unit,
    metrics::{Auc, Flips, Layout, Miou, Nearness, Of, Own, Psnr, Score},
    positions,
};
use strait_samples::{Array, DataError, InputSpec, LabelCount, Samples, label_array, labels_by_name};

use crate::{
    config::types::{MetricTable, OwnUnit, Score as ScoreWord},
    diagnostic::Diagnostic,
    failure::{self, codes},
    stop::Stop,
    table,
};

use super::command::Command;

/// How many seconds a command may take if the configuration sets no limit.
const SECONDS: u64 = 600;

/// A metric that is ready to judge samples.
pub(crate) struct Judge {
    pub(crate) measure: Measure,
    /// The command that computes the metric from the outputs for all samples. `None` if Strait computes the metric.
    pub(crate) command: Option<Command>,
}

/// The answers of one output that are compared one by one.
pub(crate) struct Compared {
    pub(crate) flips: Flips,
    /// The extents along which the answers of a sample lie.
    pub(crate) positions: Vec<usize>,
}

/// The model and samples that metrics are prepared for.
pub(crate) struct Subject<'a> {
    pub(crate) outputs: &'a [Output],
    /// The float model, if there is one. It shows which values are concatenated in an output, so that these parts can
    /// be judged separately.
    pub(crate) float: Option<&'a Module>,
    pub(crate) inputs: &'a [InputSpec],
    pub(crate) samples: &'a Samples,
    /// Folder in which commands run.
    pub(crate) folder: &'a Path,
    /// The labels for metrics that do not name a file of their own.
    pub(crate) labels: Option<&'a Path>,
    /// The table of the configuration that has the key `labels` for them.
    pub(crate) table: &'static str,
}

/// Prepares the metrics in `wanted`, in their order.
///
/// # Errors
/// If an output is missing or a metric cannot judge it, or if labels are missing or cannot be used.
pub(crate) fn make_judges(wanted: &[(KeyPath, MetricTable)], subject: &Subject<'_>) -> Result<Vec<Judge>, Stop> {
    let mut judges = Vec::new();
    for (place, table) in wanted {
        let one = One { place, table, subject };
        judges.extend(one.judges().map_err(|stop| about(stop, place))?);
    }
    Ok(judges)
}

/// Prepares the list of changed answers for each output that the metrics in `wanted` read as answers, or for each output
/// that can be read so if no metric does. Labels come from the first metric of the output that has some.
///
/// # Errors
/// As for [`make_judges`]; also if no output can be read as answers.
pub(crate) fn make_flips(wanted: &[(KeyPath, MetricTable)], subject: &Subject<'_>) -> Result<Vec<Compared>, Stop> {
    let reads = |metric| {
        use Metric::{Agreement, Perplexity, Top1, Top5};
        [Top1, Top5, Perplexity, Agreement]
            .iter()
            .position(|&one| one == metric)
    };
    let mut tables: Vec<(usize, KeyPath, MetricTable)> = (wanted.iter())
        .filter_map(|(place, table)| Some((table.metric().and_then(reads)?, place.clone(), table.clone())))
        .collect();
    if tables.is_empty() {
        let place = KeyPath::of(&["evaluation", "metrics"]);
        tables.push((0, place, MetricTable::of(Metric::Agreement)));
    }
    // Metrics with labels come first.
    tables.sort_by_key(|(order, ..)| *order);
    let mut all: Vec<Compared> = Vec::new();
    for (_, place, table) in &tables {
        let one = One { place, table, subject };
        let indices = match table.metric() {
            Some(Metric::Agreement) => one.answering(),
            _ => one.output().map(|index| vec![index]),
        };
        for index in indices? {
            let Some(output) = subject
                .outputs
                .get(index)
                .filter(|_| all.iter().all(|one| one.flips.index != index))
            else {
                continue;
            };
            let flips = one.flips(index, output).map_err(|stop| about(stop, place))?;
            let positions = positions(output, table.axis.map(|axis| axis as usize));
            all.push(Compared { flips, positions });
        }
    }
    all.sort_by_key(|one| one.flips.index);
    Ok(all)
}

/// Adds the metric's key to findings that have none.
fn about(stop: Stop, place: &KeyPath) -> Stop {
    match stop {
        Stop::Found(mut found) => {
            for finding in found.0.iter_mut().filter(|finding| finding.key.is_none()) {
                finding.key = Some(place.clone());
            }
            Stop::Found(found)
        }
        other => other,
    }
}

struct One<'a> {
    place: &'a KeyPath,
    table: &'a MetricTable,
    subject: &'a Subject<'a>,
}

impl One<'_> {
    fn judges(&self) -> Result<Vec<Judge>, Stop> {
        let whole = |measure: Measure| {
            let command = self.command();
            vec![Judge { measure, command }]
        };
        if self.table.is_own() {
            return Ok(whole(self.own()?));
        }
        let Some(metric) = self.table.metric() else {
            return Err(self.refused(format!("there is no metric {:?}", self.table.name)));
        };
        match metric {
            Metric::Map => return Ok(whole(self.map()?)),
            Metric::Agreement => self.answering(),
            Metric::Cosine | Metric::Snr => self.of_each(|output| output.elem.is_float()),
            _ => Ok(vec![self.output()?]),
        }?
        .into_iter()
        .map(|index| {
            Ok(Judge {
                measure: self.measure(metric, index)?,
                command: None,
            })
        })
        .collect()
    }

    /// The indices of the outputs that `agreement` measures.
    fn answering(&self) -> Result<Vec<usize>, Stop> {
        self.of_each(|output| Question::of(output).is_some())
    }

    /// Prepares a metric that a command computes.
    fn own(&self) -> Result<Measure, Stop> {
        let table = self.table;
        let (Some(_), Some(value), Some(better)) = (&table.command, &table.value, table.better) else {
            return Err(self.refused(format!("{:?} needs `command`, `value` and `better`", table.name)));
        };
        let meter = Own {
            value: value.as_str().to_owned(),
            each: table.each.as_ref().map(|each| each.as_str().to_owned()),
            samples: self.subject.samples.count(),
        };
        Ok(Measure {
            name: table.name.clone(),
            output: None,
            unit: match table.unit.unwrap_or_default() {
                OwnUnit::Fraction => Unit::Number,
                OwnUnit::Points => Unit::Points,
            },
            better,
            meter: Box::new(meter),
        })
    }

    fn command(&self) -> Option<Command> {
        Some(Command {
            metric: self.table.name.clone(),
            words: self.table.command.clone()?,
            folder: self.subject.folder.to_owned(),
            limit: Duration::from_secs(self.table.seconds.map_or(SECONDS, |seconds| seconds.get().into())),
            key: self.place.clone().key("command"),
        })
    }

    fn refused(&self, message: String) -> Stop {
        error(message, self.place.clone()).into()
    }

    /// Returns the indices of the outputs for a metric that compares with another model. If the configuration names an
    /// output, returns only this output. Otherwise returns all outputs that the metric can judge. If the metric can
    /// judge no output, returns the first one, which is refused later.
    fn of_each(&self, judges: impl Fn(&Output) -> bool) -> Result<Vec<usize>, Stop> {
        if self.table.output.is_some() {
            return Ok(vec![self.output()?]);
        }
        let outputs = self.subject.outputs.iter().enumerate();
        let judged: Vec<usize> = outputs
            .filter(|(_, output)| judges(output))
            .map(|(index, _)| index)
            .collect();
        Ok(if judged.is_empty() {
            vec![self.output()?]
        } else {
            judged
        })
    }

    /// The index of the output that the configuration names for the metric, or of the first output.
    fn output(&self) -> Result<usize, Stop> {
        self.named(self.table.output.as_deref(), "output")
    }

    fn named(&self, name: Option<&str>, key: &str) -> Result<usize, Stop> {
        let outputs = self.subject.outputs;
        let Some(name) = name else {
            return match outputs.is_empty() {
                true => Err(self.refused(format!("{} needs an output, and the model has none", self.table.name))),
                false => Ok(0),
            };
        };
        outputs.iter().position(|output| output.name == name).ok_or_else(|| {
            let names = outputs.iter().map(|output| output.name.as_str());
            let finding = error(format!("the model has no output {name:?}"), self.place.clone().key(key));
            finding.help(nearest::help(name, names)).into()
        })
    }

    fn measure(&self, metric: Metric, index: usize) -> Result<Measure, Stop> {
        let Some(output) = self.subject.outputs.get(index) else {
            return Err(Stop::Defect("an output is lost".into()));
        };
        let (unit, meter): (Unit, Box<dyn Meter>) = match metric {
            Metric::Top1 => (Unit::Percent, Box::new(self.top(index, output, 1)?)),
            Metric::Top5 => (Unit::Percent, Box::new(self.top(index, output, 5)?)),
            Metric::Agreement => (Unit::Percent, Box::new(self.agreement(index, output)?)),
            Metric::Perplexity => (Unit::Points, Box::new(self.perplexity(index, output)?)),
            Metric::Cosine => (Unit::Number, Box::new(self.nearness(index, output, Of::Cosine)?)),
            Metric::Snr => (Unit::Decibel, Box::new(self.nearness(index, output, Of::Snr)?)),
            Metric::Miou => (Unit::Percent, Box::new(self.miou(index, output)?)),
            Metric::Psnr => (Unit::Decibel, Box::new(self.psnr(index, output)?)),
            Metric::Auc => (Unit::Number, Box::new(self.auc(index, output)?)),
            Metric::Map => return self.map(),
        };
        Ok(Measure {
            name: self.table.name.clone(),
            output: Some(output.name.clone()),
            unit,
            better: metric.better(),
            meter,
        })
    }

    /// The file with the labels.
    fn labels(&self) -> Result<&Path, Stop> {
        let own = self.table.labels.as_ref().map(AsRef::<Path>::as_ref);
        let labels = own.or(self.subject.labels).ok_or_else(|| {
            let needed = self.table.metric().and_then(Metric::labels).unwrap_or_default();
            self.refused(format!("the metric {:?} needs labels: {needed}", self.table.name))
        })?;
        let left_out = self.subject.samples.left_out().len();
        if left_out > 0 && !labels_by_name(labels) {
            let message = format!(
                "{} are left out, so that labels in the order of the images are not those of the others",
                table::count(left_out, "image")
            );
            let help = "give labels by name: a .csv, or \"folders\"";
            return Err(error(message, self.labels_key()).help(help).into());
        }
        Ok(labels)
    }

    /// The key that names the labels: the metric's own, or the one for all metrics.
    fn labels_key(&self) -> KeyPath {
        match self.table.labels.is_some() {
            true => self.place.clone().key("labels"),
            false => KeyPath::of(&[self.subject.table, "labels"]),
        }
    }

    fn label_count(&self, group: usize) -> LabelCount {
        let samples = self.subject.samples;
        LabelCount {
            samples: samples.count() / group,
            stored: samples.stored() / group,
        }
    }

    fn classes(&self, output: &Output, group: usize) -> Result<Vec<u32>, Stop> {
        let names = [self.table.name.as_str(), output.name.as_str()];
        let read = (self.subject.samples).classes(self.labels()?, &names, self.label_count(group));
        read.map_err(|error| self.of_labels(error))
    }

    /// A problem with labels, reported at their key.
    fn of_labels(&self, error: DataError) -> Stop {
        about(failure::data(error).into(), &self.labels_key())
    }

    fn nearness(&self, index: usize, output: &Output, of: Of) -> Result<Nearness, Stop> {
        if output.elem.is_float() {
            let name = output.name.clone();
            let float = self.subject.float.filter(|_| of == Of::Snr);
            let parts = float.and_then(|float| ConcatenatedParts::of_output(float, index));
            return Ok(Nearness { index, name, of, parts });
        }
        let message = format!(
            "{} compares real numbers, and {:?} holds {}",
            self.table.name, output.name, output.elem
        );
        Err(Diagnostic::error(codes::EVALUATION, message)
            .help("`agreement` compares integers and truth values")
            .into())
    }

    fn array(&self, output: &Output) -> Result<Array, Stop> {
        let names = [self.table.name.as_str(), output.name.as_str()];
        let array = label_array(self.labels()?, &names, self.label_count(1));
        array.map_err(|error| self.of_labels(error))
    }

    fn miou(&self, index: usize, output: &Output) -> Result<Miou, Stop> {
        let masks = self.array(output)?;
        let mask = masks.shape().get(1..).unwrap_or_default();
        let layout = Layout::of(output, mask).ok_or_else(|| {
            let message = format!(
                "masks of {:?} do not fit the output {:?} of {:?}",
                mask, output.name, output.shape
            );
            let wanted =
                "a mask has a class for each pixel of the output, whose classes lie in front of its pixels or behind";
            let help = "resize the masks, or name another `output` in [[evaluation.metric]]";
            error(message, self.labels_key()).note(wanted).help(help)
        })?;
        let ignore = self.table.ignore.unwrap_or(255);
        let name = output.name.clone();
        Ok(Miou {
            index,
            name,
            layout,
            ignore,
            masks,
        })
    }

    fn psnr(&self, index: usize, output: &Output) -> Result<Psnr, Stop> {
        let references = self.array(output)?;
        let numbers: usize = references.shape().iter().skip(1).product();
        if numbers != output.count() {
            let message = format!(
                "references of {:?} do not fit the output {:?} of {:?}",
                references.shape().get(1..).unwrap_or_default(),
                output.name,
                output.shape
            );
            let help = "a reference has as many numbers as the output, in its order";
            return Err(error(message, self.labels_key()).help(help).into());
        }
        let peak = self.table.peak.unwrap_or(1.0);
        let name = output.name.clone();
        Ok(Psnr {
            index,
            name,
            peak,
            references,
        })
    }

    fn auc(&self, index: usize, output: &Output) -> Result<Auc, Stop> {
        let score = match self.table.score.unwrap_or_default() {
            ScoreWord::Output => match output.count() {
                1 => Score::Number,
                2 if output.elem.is_float() => Score::Second,
                count => {
                    let message = format!(
                        "{} needs an output of one number, or of two classes; {:?} has {count}",
                        self.table.name, output.name
                    );
                    let finding = Diagnostic::error(codes::EVALUATION, message);
                    let help = "an autoencoder's score is `score = \"reconstruction\"` in [[evaluation.metric]]";
                    return Err(finding.help(help).into());
                }
            },
            ScoreWord::Reconstruction => {
                let fits = |input: &InputSpec| input.shape.iter().product::<usize>() == output.count();
                let input = self.subject.inputs.iter().position(fits);
                Score::Reconstruction(input.ok_or_else(|| {
                    let message = format!(
                        "no input has as many numbers as the output {:?}: {}",
                        output.name,
                        output.count()
                    );
                    error(message, self.place.clone().key("score"))
                })?)
            }
        };
        let group = self.table.group.map_or(1, |group| group.get() as usize);
        let samples = self.subject.samples.count();
        if !samples.is_multiple_of(group) {
            let message = format!("{samples} samples are not groups of {group}");
            return Err(error(message, self.place.clone().key("group")).into());
        }
        let labels = self.classes(output, group)?;
        let key = self.labels_key();
        let name = &self.table.name;
        if let Some((at, label)) = labels.iter().enumerate().find(|(_, label)| **label > 1) {
            let message = format!("label {at} is {label}, and {name} has the labels 0 and 1");
            return Err(error(message, key).into());
        }
        let labels: Vec<bool> = labels.iter().map(|&label| label == 1).collect();
        if labels.iter().all(|&label| label) || !labels.contains(&true) {
            let message = format!("{name} needs samples of both labels, 0 and 1");
            return Err(error(message, key).into());
        }
        let name = output.name.clone();
        Ok(Auc {
            index,
            name,
            score,
            group,
            labels,
        })
    }
}

/// Makes the error for a wrong value of a key, or for wrong data that the key names.
fn error(message: String, key: KeyPath) -> Diagnostic {
    Diagnostic::error(codes::EVALUATION, message).about(key)
}
