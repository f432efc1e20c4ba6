//! What the network sees, and the samples whose answer changed.

use serde::Serialize;
use strait_report::{ChangedAnswers, ChangedSample, GivenAnswer, Look, Report, SeenInput, SeenSample};

use crate::{plot, words};

/// The longer side of a picture on the page.
const SIDE: u32 = 112;

/// In pictures with fewer pixels than this on their longer side, each pixel can be seen as a square.
const SMALL: u32 = 32;

#[derive(Debug, Serialize)]
pub(crate) struct Inputs {
    inputs: Vec<InputView>,
    changed: Vec<ChangedView>,
    /// True if there are figures of an evaluation.
    evaluated: bool,
}

#[derive(Debug, Serialize)]
struct InputView {
    title: String,
    note: String,
    left_out: Option<String>,
    samples: Vec<SampleView>,
}

/// A sample, as a picture or as a plot.
#[derive(Debug, Serialize)]
struct SampleView {
    number: u64,
    name: String,
    png: Option<PngView>,
    svg: Option<String>,
}

#[derive(Debug, Serialize)]
struct PngView {
    base64: String,
    width: u32,
    height: u32,
    small: bool,
}

#[derive(Debug, Serialize)]
struct ChangedView {
    title: String,
    text: String,
    /// Which of the samples are shown; empty if all of them are.
    shown: String,
    samples: Vec<ChangedRow>,
}

#[derive(Debug, Serialize)]
struct ChangedRow {
    seen: SampleView,
    label: Option<i64>,
    float: AnswerView,
    integer: AnswerView,
}

#[derive(Debug, Serialize)]
struct AnswerView {
    class: i64,
    score: String,
    /// Whether the answer is right; absent without a label.
    right: Option<bool>,
}

impl Inputs {
    /// `None` if there is nothing to show.
    pub(crate) fn new(report: &Report) -> Option<Inputs> {
        let some = !report.seen.is_empty() || !report.changed.is_empty();
        some.then(|| Inputs {
            inputs: report.seen.iter().map(input).collect(),
            changed: report.changed.iter().map(changed).collect(),
            evaluated: report.accuracy.is_some(),
        })
    }
}

fn input(seen: &SeenInput) -> InputView {
    let shape: Vec<String> = seen.shape.iter().map(u64::to_string).collect();
    InputView {
        title: format!("{} [{}]", seen.input, shape.join(" × ")),
        note: note(seen),
        left_out: seen.left_out.clone(),
        samples: seen.samples.iter().map(sample).collect(),
    }
}

/// Says how to read the pictures of an input.
fn note(seen: &SeenInput) -> String {
    let mut note = format!(
        "the first {} of {}",
        seen.samples.len(),
        words::counted(usize::try_from(seen.of).unwrap_or(usize::MAX), "calibration sample")
    );
    match seen.samples.iter().find_map(|sample| sample.look.as_ref()) {
        Some(Look::Picture { each, .. }) => {
            note += match seen.undone {
                true => ", after the preprocessing, with the levels from before scaling and normalization",
                false => ", after the preprocessing; the smallest number of a sample is black, the largest one white",
            };
            if seen.undone && seen.white < u8::MAX {
                note += &format!("; white is the level {}, the largest of these samples", seen.white);
            }
            if *each > 1 {
                note += &format!("; a pixel is the mean of {each} × {each}");
            }
        }
        Some(Look::Curve(_)) => {
            note += ", after the preprocessing, number by number in their order; the line is zero";
        }
        None => {}
    }
    note
}

fn sample(seen: &SeenSample) -> SampleView {
    let title = format!("sample {}", seen.sample);
    let mut view = SampleView {
        number: seen.sample,
        name: seen.name.clone().unwrap_or_default(),
        png: None,
        svg: None,
    };
    match &seen.look {
        Some(Look::Picture { size, png, .. }) if is_base64(png) => {
            let longer = size[0].max(size[1]).max(1);
            let shown = |side: u32| (f64::from(side) * f64::from(SIDE) / f64::from(longer)).round().max(1.0) as u32;
            view.png = Some(PngView {
                base64: png.clone(),
                width: shown(size[0]),
                height: shown(size[1]),
                small: longer < SMALL,
            });
        }
        Some(Look::Curve(points)) => view.svg = Some(plot::curve(points, &title)),
        _ => {}
    }
    view
}

/// True if a text from a report is what its key says, and cannot be anything else in a page.
fn is_base64(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

fn changed(answers: &ChangedAnswers) -> ChangedView {
    let mut text = format!(
        "{} of {} are answered otherwise than in float",
        words::count(answers.changed),
        words::counted(usize::try_from(answers.compared).unwrap_or(usize::MAX), "sample")
    );
    if let (Some(lost), Some(won)) = (answers.lost, answers.won) {
        text += &format!(
            ": {} were right and are wrong now, {} were wrong and are right now",
            words::count(lost),
            words::count(won)
        );
    }
    let shown = answers.samples.len() as u64;
    ChangedView {
        title: answers.output.clone(),
        text,
        shown: match shown < answers.changed {
            true => format!("The {shown} of which the float model was surest:"),
            false => String::new(),
        },
        samples: answers.samples.iter().map(row).collect(),
    }
}

fn row(changed: &ChangedSample) -> ChangedRow {
    let answer = |given: &GivenAnswer| AnswerView {
        class: given.class,
        score: match (given.score, given.margin) {
            (Some(score), Some(0.0)) => format!("score {}, tied", words::real(score)),
            (Some(score), Some(margin)) => format!("score {}, {} ahead", words::real(score), words::real(margin)),
            (Some(score), None) => format!("score {}", words::real(score)),
            _ => String::new(),
        },
        right: changed.label.map(|label| label == given.class),
    };
    ChangedRow {
        seen: sample(&changed.seen),
        label: changed.label,
        float: answer(&changed.float),
        integer: answer(&changed.integer),
    }
}

#[cfg(test)]
mod tests {
    use super::is_base64;

    #[test]
    fn only_base64_is_written_into_an_address() {
        assert!(is_base64("iVBORw0KGgo="));
        assert!(!is_base64("\" onerror=\"x"));
        assert!(!is_base64("a,b"));
    }
}
