//! The waterfall: from the figure of the float model, cause by cause, to the figure of the integer model.

use crate::{svg::Svg, words};

/// A step of the waterfall.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) label: String,
    /// The change in points.
    pub(crate) change: f64,
    /// The 95 % interval of the change.
    pub(crate) interval: Option<[f64; 2]>,
}

/// Where the figures end, and where the bars may begin. The figures stand in front, so that a narrow screen shows them.
const FIGURES: f64 = 214.0;
const LABELS: f64 = 236.0;
const WIDTH: f64 = 760.0;
const ROW: f64 = 30.0;
const RIGHT: f64 = 16.0;

/// Draws the changes as bars, each beginning where the one before it ended. `whole` is the sum of all.
pub(crate) fn waterfall(steps: &[Step], whole: Option<f64>, unit: &str, title: &str) -> String {
    let changes: Vec<f64> = steps.iter().map(|step| step.change).collect();
    let mut at = 0.0;
    let ends: Vec<[f64; 2]> = changes
        .iter()
        .map(|change| {
            let from = at;
            at += change;
            [from, at]
        })
        .collect();
    let spans = steps.iter().zip(&ends).flat_map(|(step, [from, to])| {
        let interval = step.interval.map(|ends| ends.map(|end| from + end));
        [*from, *to].into_iter().chain(interval.into_iter().flatten())
    });
    let all: Vec<f64> = spans.chain(whole).chain([0.0]).filter(|x| x.is_finite()).collect();
    let low = all.iter().copied().fold(0.0, f64::min);
    let high = all.iter().copied().fold(0.0, f64::max);
    let span = (high - low).max(1e-9);
    let x = |value: f64| LABELS + (value.clamp(low, high) - low) / span * (WIDTH - LABELS - RIGHT);
    let rows = steps.len() + usize::from(whole.is_some());
    let height = ROW * rows as f64 + 34.0;
    let mut svg = Svg::new([WIDTH, height], "plot waterfall", title);
    for tick in super::ticks([low, high], 6) {
        svg.line(
            if tick == 0.0 { "zero" } else { "rule" },
            [x(tick), 4.0],
            [x(tick), height - 26.0],
        );
        svg.label("tick middle", [x(tick), height - 10.0], &words::real(tick));
    }
    svg.label("tick end", [FIGURES, height - 10.0], unit);
    for (row, (step, [from, to])) in steps.iter().zip(&ends).enumerate() {
        let y = 8.0 + ROW * row as f64;
        svg.label("label", [0.0, y + 15.0], &step.label);
        let (left, right) = (x(from.min(*to)), x(from.max(*to)));
        let class = if step.change < 0.0 { "fall" } else { "rise" };
        svg.rect(class, [left, y + 2.0], [(right - left).max(2.0), ROW - 12.0]);
        if let Some([least, most]) = step.interval {
            let middle = y + 2.0 + (ROW - 12.0) / 2.0;
            svg.line("whisker", [x(from + least), middle], [x(from + most), middle]);
        }
        svg.line("carry", [x(*to), y + 2.0], [x(*to), y + ROW + 2.0]);
        svg.label("figure end", [FIGURES, y + 15.0], &words::signed(step.change));
    }
    if let Some(whole) = whole {
        let y = 8.0 + ROW * steps.len() as f64;
        svg.label("label strong", [0.0, y + 15.0], "all together");
        let (left, right) = (x(whole.min(0.0)), x(whole.max(0.0)));
        svg.rect("whole", [left, y + 2.0], [(right - left).max(2.0), ROW - 12.0]);
        svg.label("figure end strong", [FIGURES, y + 15.0], &words::signed(whole));
    }
    svg.finish()
}
