//! Prepares the metrics that read outputs as answers: `top1`, `top5`, `agreement`, `perplexity`, and the list of changed
//! answers.

use strait_evaluate::{
    Classes, Labels, Metric, Output, Question, Scores,
    metrics::{Agreement, Flips, Perplexity, Top},
    positions,
};
use strait_samples::{Array, label_array, labels_by_name};

use crate::{diagnostic::Diagnostic, failure::codes, stop::Stop};

use super::{One, about, error};

impl One<'_> {
    /// The kind of answers of an output, along the axis that the configuration names.
    fn question(&self, output: &Output) -> Result<Question, Stop> {
        let name = &self.table.name;
        let Some(axis) = self.axis() else {
            return Question::of(output).ok_or_else(|| no_answer(name, output).into());
        };
        Question::along(output, Some(axis)).ok_or_else(|| {
            let message = match output.elem.is_float() {
                true => format!(
                    "{name} needs an axis with a number for each class, and axis {axis} of {:?}, {:?}, is none",
                    output.name, output.shape
                ),
                false => format!(
                    "{name} needs no axis of classes, since {:?} holds the classes themselves",
                    output.name
                ),
            };
            error(message, self.place.clone().key("axis")).into()
        })
    }

    fn axis(&self) -> Option<usize> {
        self.table.axis.map(|axis| axis as usize)
    }

    pub(super) fn top(&self, index: usize, output: &Output, most: usize) -> Result<Top, Stop> {
        let question = self.question(output)?;
        if most > 1 && question.classes().is_none_or(|classes| classes <= most) {
            let message = format!(
                "{} needs an output with more than {most} classes; {:?} has {}",
                self.table.name,
                output.name,
                question
                    .classes()
                    .map_or("the class itself".to_owned(), |classes| classes.to_string())
            );
            return Err(self.refused(message));
        }
        Ok(Top {
            index,
            name: output.name.clone(),
            question,
            most,
            labels: self.answer_labels(question, output)?,
        })
    }

    pub(super) fn agreement(&self, index: usize, output: &Output) -> Result<Agreement, Stop> {
        let question = self.question(output)?;
        // Other labels may be those of another output.
        let labels = self.table.ignore.map(|_| self.answer_labels(question, output));
        Ok(Agreement {
            index,
            name: output.name.clone(),
            question,
            labels: labels.transpose()?,
        })
    }

    pub(super) fn perplexity(&self, index: usize, output: &Output) -> Result<Perplexity, Stop> {
        let scores = self.scores(output)?;
        Ok(Perplexity {
            index,
            name: output.name.clone(),
            scores,
            probabilities: self.table.probabilities,
            labels: self.answer_labels(Question::Scores(scores), output)?,
        })
    }

    fn scores(&self, output: &Output) -> Result<Scores, Stop> {
        match self.question(output)? {
            Question::Scores(scores) => Ok(scores),
            _ => Err(no_answer(&self.table.name, output).into()),
        }
    }

    /// The list of changed answers of the output that this metric measures.
    pub(super) fn flips(&self, index: usize, output: &Output) -> Result<Flips, Stop> {
        let metric = self.table.metric();
        let question = self.question(output)?;
        let labelled = metric != Some(Metric::Agreement) || self.table.ignore.is_some();
        let labels = labelled.then(|| self.answer_labels(question, output)).transpose()?;
        Ok(Flips {
            index,
            name: output.name.clone(),
            question,
            labels,
        })
    }

    /// Opens the labels of the answers in an output, and checks their shape and that each is a class.
    fn answer_labels(&self, question: Question, output: &Output) -> Result<Labels, Stop> {
        if question == Question::Numbers {
            let message = format!(
                "a label is one class, and how many integers or truth values the output {:?} holds depends on data",
                output.name
            );
            let finding = Diagnostic::error(codes::EVALUATION, message);
            return Err(finding.help("leave the labels out: what agrees can be measured").into());
        }
        let path = self.labels()?;
        let answers = question.answers();
        let classes = if labels_by_name(path) {
            if answers != 1 {
                let message = format!(
                    "labels by name are one for each sample, and the output {:?} of {:?} has {answers} answers",
                    output.name, output.shape
                );
                return Err(self.unfitting(message, output));
            }
            let classes = self.classes(output, 1)?;
            Classes::OfSamples(classes.into_iter().map(i64::from).collect())
        } else {
            Classes::Stored(self.label_file(output)?)
        };
        let labels = Labels {
            classes,
            ignore: self.table.ignore,
            answers,
        };
        self.check_labels(&labels, question)
            .map_err(|stop| about(stop, &self.labels_key()))?;
        Ok(labels)
    }

    /// The array of labels, which has to have the shape of the answers. Extents of 1 do not matter.
    fn label_file(&self, output: &Output) -> Result<Array, Stop> {
        let names = [self.table.name.as_str(), output.name.as_str()];
        let count = self.label_count(1);
        let path = self.labels()?;
        let any = label_array(
            path,
            &names,
            strait_samples::LabelCount {
                samples: 0,
                stored: usize::MAX,
            },
        );
        let any = any.map_err(|error| self.of_labels(error))?;
        let found = any.shape().get(1..).unwrap_or_default();
        if solid(found) != solid(&positions(output, self.axis())) {
            let right = |axis: Option<usize>| [&[count.samples], positions(output, axis).as_slice()].concat();
            let message = format!(
                "{} has the shape {:?}, and labels of the output {:?} of {:?} have the shape {:?}",
                any.name(),
                any.shape(),
                output.name,
                output.shape,
                right(self.axis())
            );
            return Err(self.fitting_axis(found, output).map_or_else(
                || self.unfitting(message.clone(), output),
                |axis| {
                    let help = format!("with `axis = {axis}` in [[evaluation.metric]] they would fit");
                    error(message.clone(), self.labels_key()).help(help).into()
                },
            ));
        }
        self.array(output)
    }

    /// The error for labels that have not the shape of the answers.
    fn unfitting(&self, message: String, output: &Output) -> Stop {
        let note = match output.elem.is_float() {
            true => {
                "each position beside the axis of the classes, by default the last, is an answer with a label of its own"
            }
            false => "each integer of the output is an answer with a label of its own",
        };
        error(message, self.labels_key()).note(note).into()
    }

    /// Another axis of the classes, with which labels of this shape would fit.
    fn fitting_axis(&self, found: &[usize], output: &Output) -> Option<usize> {
        let fits = |&axis: &usize| solid(&positions(output, Some(axis))) == solid(found);
        let axes = (0..output.shape.len()).filter(|&axis| Question::along(output, Some(axis)).is_some());
        axes.rev().find(fits)
    }

    /// Checks that every label that counts is one of the model's classes, if their number is known.
    fn check_labels(&self, labels: &Labels, question: Question) -> Result<(), Stop> {
        let classes = question.classes();
        for sample in 0..self.subject.samples.count() {
            let all = labels.of(sample)?;
            let wrong = |label: i64| label < 0 || classes.is_some_and(|classes| label >= classes as i64);
            let found = all
                .iter()
                .enumerate()
                .find_map(|(at, label)| Some((at, label.filter(|&label| wrong(label))?)));
            let Some((at, label)) = found else { continue };
            let place = if labels.answers > 1 {
                format!(", {at}")
            } else {
                String::new()
            };
            let message = match classes {
                Some(classes) => format!("label {sample}{place} is {label}, and the model has {classes} classes"),
                None => format!("label {sample}{place} is {label}, which is no class"),
            };
            let help = match self.table.ignore {
                Some(_) => "classes count from 0",
                None => {
                    "classes count from 0; `ignore` in [[evaluation.metric]] names the label of what does not count"
                }
            };
            return Err(Diagnostic::error(codes::EVALUATION, message).help(help).into());
        }
        Ok(())
    }
}

/// The extents other than 1.
fn solid(extents: &[usize]) -> Vec<usize> {
    extents.iter().copied().filter(|&extent| extent != 1).collect()
}

/// The error for an output that the metric cannot read as answers.
fn no_answer(metric: &str, output: &Output) -> Diagnostic {
    let message = format!(
        "{metric} needs an output with a number for each class; {:?} has {}",
        output.name,
        output.count()
    );
    Diagnostic::error(codes::EVALUATION, message).help("`cosine`, `snr` and `psnr` judge outputs of real numbers")
}
