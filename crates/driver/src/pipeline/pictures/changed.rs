//! Finds the samples that the integer model answers otherwise than the float model.

use strait_evaluate::{
    Better, Labels, Measure, Metric, Note, Question, Unit,
    metrics::{Answered, OneAnswer},
};
use strait_samples::{InputSpec, Samples, Scratch};

use crate::{
    config::{KeyPath, Loaded, types::MetricTable},
    evaluation::{Judge, Subject, make_flips},
    failure,
    report::{ChangedAnswers, ChangedSample, GivenAnswer, MOST_BYTES, MOST_SAMPLES},
    stop::Stop,
};

use super::{Raw, looks, seen_sample};

/// An output that has one answer to each sample.
pub(in crate::pipeline) struct Single {
    output: String,
    /// The right answers, if they are known.
    labels: Option<Labels>,
}

/// The outputs with one answer to each sample that the metrics read, and a judge for each that notes the answers. Outputs with
/// several answers, such as the pixels of an image, are left out.
pub(in crate::pipeline) fn singles(
    wanted: &[(KeyPath, MetricTable)],
    subject: &Subject<'_>,
) -> (Vec<Single>, Vec<Judge>) {
    let reads = |metric| matches!(metric, Metric::Top1 | Metric::Top5 | Metric::Agreement);
    let tables = wanted.iter().filter(|(_, table)| table.metric().is_some_and(reads));
    let tables: Vec<_> = tables.cloned().collect();
    if tables.is_empty() {
        return Default::default();
    }
    // The metrics are prepared already, so what cannot be read as answers has been refused.
    let compared = make_flips(&tables, subject).unwrap_or_default();
    let single = compared
        .into_iter()
        .map(|compared| compared.flips)
        .filter(|flips| flips.question.answers() == 1 && flips.question != Question::Numbers);
    let both = single.map(|flips| {
        let answered = Answered {
            index: flips.index,
            name: flips.name.clone(),
            question: flips.question,
        };
        let measure = Measure {
            name: "answers".to_owned(),
            output: Some(flips.name.clone()),
            unit: Unit::Points,
            better: Better::Lower,
            meter: Box::new(answered),
        };
        let single = Single {
            output: flips.name,
            labels: flips.labels,
        };
        let command = None;
        (single, Judge { measure, command })
    });
    both.unzip()
}

/// A sample whose answer changed.
struct Found {
    sample: usize,
    label: Option<i64>,
    float: OneAnswer,
    integer: OneAnswer,
}

/// The samples whose answer changed, for each output with one answer. The notes are those of the judges that [`singles`] made.
///
/// # Errors
/// If a sample or a label cannot be read.
pub(in crate::pipeline) fn changed(
    loaded: &Loaded,
    singles: &[Single],
    [float, integer]: [&[Vec<Note>]; 2],
    (specs, samples): (&[InputSpec], &Samples),
) -> Result<Vec<ChangedAnswers>, Stop> {
    if loaded.config.output.redact {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for ((single, float), integer) in singles.iter().zip(float).zip(integer) {
        let (mut found, compared) = single.found(float, integer, samples.count())?;
        let right = |answer: fn(&Found) -> [i64; 2]| {
            let of = |one: &&Found| {
                let [own, other] = answer(one);
                one.label == Some(own) && one.label != Some(other)
            };
            (single.labels.is_some()).then(|| found.iter().filter(of).count() as u64)
        };
        let lost = right(|one| [one.float.class, one.integer.class]);
        let won = right(|one| [one.integer.class, one.float.class]);
        let changed = found.len() as u64;
        // The sort keeps the order of equal ones, which is that of the samples.
        let sure = |one: &Found| one.float.score.map_or(0.0, |[_, margin]| margin);
        found.sort_by(|a, b| sure(b).total_cmp(&sure(a)));
        found.truncate(MOST_SAMPLES);
        let mut raw = Vec::new();
        let mut scratch = Scratch::default();
        for one in &found {
            let sample = samples.sample(one.sample, &mut scratch).map_err(failure::data)?;
            let mut inputs = specs.iter().zip(&sample).enumerate();
            raw.push(inputs.find_map(|(input, (spec, one))| Raw::of(loaded, (samples, input), spec, one)));
        }
        let (looks, _) = looks(raw, MOST_BYTES / singles.len().max(1));
        let shown = found.iter().zip(looks).map(|(one, look)| ChangedSample {
            seen: seen_sample(samples, one.sample, look),
            label: one.label,
            float: given(one.float),
            integer: given(one.integer),
        });
        all.push(ChangedAnswers {
            output: single.output.clone(),
            compared,
            changed,
            lost,
            won,
            samples: shown.collect(),
        });
    }
    Ok(all)
}

impl Single {
    /// The samples whose answer changed, and how many were compared.
    fn found(&self, float: &[Note], integer: &[Note], count: usize) -> Result<(Vec<Found>, u64), Stop> {
        let (mut found, mut compared) = (Vec::new(), 0);
        for (sample, pair) in float.iter().zip(integer).take(count).enumerate() {
            let (Note::Answered(float), Note::Answered(integer)) = pair else {
                continue;
            };
            let label = match &self.labels {
                None => None,
                Some(labels) => match labels.of(sample)?.first() {
                    Some(Some(label)) => Some(*label),
                    // The answer to this sample does not count.
                    _ => continue,
                },
            };
            compared += 1;
            if float.class != integer.class {
                found.push(Found {
                    sample,
                    label,
                    float: *float,
                    integer: *integer,
                });
            }
        }
        Ok((found, compared))
    }
}

fn given(answer: OneAnswer) -> GivenAnswer {
    // A number that is not finite has no place in JSON.
    let number = |at: usize| answer.score.map(|score| score[at]).filter(|number| number.is_finite());
    GivenAnswer {
        class: answer.class,
        score: number(0),
        margin: number(1),
    }
}
