//! Warns if the float model is so inaccurate that the model, the samples and the labels probably do not belong
//! together.
//!
//! [low, high] is the 95 % confidence interval of the float model's top-1. With few samples the interval is wide, so that
//! there is no warning:
//!
//! | condition | warning |
//! |---|---|
//! | high < 100 / classes | the model is worse than guessing; most often labels count from 1, or classes have another order |
//! | low ≤ 100 / classes, and high below the middle between guessing and 100 | the model is no better than guessing; most often the layout, scale or color of the samples is wrong |
//! | high < `expect_float`, and top-1 at least one point below it | the model is not as good as it should be |

use strait_evaluate::{Figure, Measured, Output, Question};

use crate::{
    config::types::{Expected, MetricTable},
    diagnostic::{Diagnostic, Diagnostics},
    failure::codes,
};

/// Returns an error if the measured value of the float model is not the one that the configuration expects.
pub(crate) fn unexpected(measured: &Measured, expected: Expected) -> Option<Diagnostic> {
    let found = measured.integer?.value;
    let off = (found - expected.value).abs();
    // If the difference is NaN, the comparison is false, and the error is returned.
    if off <= expected.within {
        return None;
    }
    let shown = |value| measured.unit.shown(value);
    let message = format!(
        "the float model has {} {}, and {} within {} is expected",
        measured.name,
        shown(found),
        shown(expected.value),
        expected.within
    );
    let finding = Diagnostic::error(codes::UNEXPECTED, message);
    Some(finding.help("look at the preprocessing, and whether the samples are those that the figure was measured on"))
}

/// An accuracy that is fewer percentage points than this below the expected accuracy is not reported, whatever the
/// number of samples. Another image decoder or another way of resizing can cause differences of this size.
const POINTS: f64 = 1.0;

/// The number of classes in the output that a metric measured, if it is known.
pub(crate) fn classes(measured: &Measured, table: Option<&MetricTable>, outputs: &[Output]) -> Option<usize> {
    let output = outputs
        .iter()
        .find(|output| Some(&output.name) == measured.output.as_ref())?;
    let axis = table.and_then(|table| table.axis).map(|axis| axis as usize);
    Question::along(output, axis)?.classes()
}

/// Returns warnings for a float model whose top-1 is `figure`. If it has no interval, or if the number of classes is not
/// known, the model is not compared with guessing.
pub(crate) fn doubts(
    measured: &Measured,
    figure: Figure,
    classes: Option<usize>,
    expected: Option<f64>,
) -> Diagnostics {
    let (Some(count), Some([low, high])) = (figure.count, figure.interval) else {
        return Diagnostics(Vec::new());
    };
    let (of, what) = match measured.answers {
        Some(answers) => (answers, "answers"),
        None => (measured.samples, "samples"),
    };
    let percent = figure.value;
    let right = format!("the float model is right on {count} of {of} {what} ({percent:.2} %)");
    let interval = format!("the 95 % interval of its accuracy is {low:.2} to {high:.2} %");
    let mut found = Vec::new();
    let mut warn = |code: &str, text: String, help: &str| {
        found.push(Diagnostic::warning(code, text).note(&interval).help(help));
    };
    let guessed = classes.map(|classes| (classes, 100.0 / classes.max(1) as f64));
    if let Some((classes, guessing)) = guessed
        && high < guessing
    {
        let text = format!("{right}: guessing one of {classes} classes is better");
        warn(
            codes::GUESSING,
            text,
            "look at the labels: classes count from 0, in the order of the model's outputs",
        );
    } else if let Some((classes, guessing)) = guessed
        && low <= guessing
        && high < (guessing + 100.0) / 2.0
    {
        let text = format!("{right}: no better than guessing one of {classes} classes");
        let help = "look at the preprocessing (layout, scale, color, mean and std), and at the labels";
        warn(codes::GUESSING, text, help);
    }
    if let Some(expected) = expected.filter(|&expected| high < expected && percent <= expected - POINTS) {
        let text = format!("{right}, and {expected} % are expected");
        let help = "look at the preprocessing, and whether the samples are those that the figure was measured on";
        warn(codes::EXPECTED, text, help);
    }
    Diagnostics(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_evaluate::{Better, Proportion, Unit};

    fn warned(count: u64, samples: u64, classes: Option<usize>, expected: Option<f64>) -> Diagnostics {
        let measured = Measured {
            name: "top1".into(),
            output: Some("y".into()),
            samples,
            answers: None,
            unit: Unit::Percent,
            better: Better::Higher,
            float: None,
            integer: None,
            simulated: None,
            change: None,
            note: None,
            parts: Vec::new(),
        };
        let figure = Figure::from(Proportion { count, samples });
        doubts(&measured, figure, classes, expected)
    }

    #[test]
    fn accuracies_that_are_hardly_meant_are_warned_of() {
        let (guessing, expected) = (codes::GUESSING, codes::EXPECTED);
        for (count, samples, classes, known, codes) in [
            // The digits model on its images, and on the same images transposed.
            (632, 640, 10, None, &[][..]),
            (65, 640, 10, None, &[guessing]),
            // The labels start at 1 instead of 0.
            (3, 640, 10, None, &[guessing]),
            (0, 10_000, 1000, None, &[guessing]),
            // With few samples, nothing can be concluded.
            (0, 2, 1000, None, &[]),
            (0, 1, 10, Some(75.0), &[]),
            (9, 12, 2, None, &[]),
            // A model that is not accurate, but better than chance.
            (90, 1000, 1000, None, &[]),
            // An expected accuracy is given. For this number of samples, the measured accuracy is close enough in some
            // cases and not in others.
            (632, 640, 10, Some(98.75), &[]),
            (620, 640, 10, Some(97.9), &[]),
            (600, 640, 10, Some(98.75), &[expected]),
            (49_600, 50_000, 10, Some(99.9), &[]),
            (65, 640, 10, Some(98.75), &[guessing, expected]),
        ] {
            let found = warned(count, samples, Some(classes), known);
            let found: Vec<&str> = found.0.iter().map(|finding| finding.code.as_str()).collect();
            assert_eq!(found, codes, "{count} of {samples}, {classes} classes, {known:?}");
        }
        let unknown = warned(0, 640, None, Some(50.0));
        assert_eq!(
            unknown
                .0
                .iter()
                .map(|finding| finding.code.as_str())
                .collect::<Vec<_>>(),
            [expected]
        );
        let text = |count| warned(count, 640, Some(10), None).to_string();
        assert!(
            text(65).contains("no better than guessing") && text(3).contains("guessing one of 10 classes is better")
        );
    }
}
