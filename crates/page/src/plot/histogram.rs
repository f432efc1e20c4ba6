//! How the numbers of a tensor are distributed, with the grid below them.

use std::fmt::Write as _;

use strait_report::Distribution;

use crate::{
    svg::{Short, Svg},
    words,
};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 150.0;
const FLOOR: f64 = 112.0;

/// At most this many steps of a grid are drawn one by one.
const STEPS: f64 = 150.0;

/// Draws the counts on a logarithmic scale, because the rare numbers decide the range.
pub(crate) fn histogram(of: &Distribution) -> String {
    let end = of.from + of.width * of.counts.len() as f64;
    let [grid_low, grid_high] = of.grid.unwrap_or([of.from, end]);
    // A grid that is far wider than the numbers would make them a single bar.
    let span = (end - of.from).max(f64::MIN_POSITIVE);
    let low = of.from.min(grid_low.max(of.from - span));
    let high = end.max(grid_high.min(end + span));
    let x = |value: f64| ((value - low) / (high - low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0) * (WIDTH - 8.0) + 4.0;
    let most = of.counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let height = |count: u64| (1.0 + count as f64).ln() / (1.0 + most).ln() * (FLOOR - 16.0);
    let mut svg = Svg::new(
        [WIDTH, HEIGHT],
        "plot histogram",
        "Histogram of the float values and the grid of codes",
    );
    if let Some([low, high]) = of.grid {
        let (left, right) = (x(low), x(high));
        svg.rect("covered", [left, 4.0], [(right - left).max(1.0), FLOOR - 4.0]);
    }
    let mut bars = String::new();
    for (index, &count) in of.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let left = x(of.from + of.width * index as f64);
        let right = x(of.from + of.width * (index as f64 + 1.0));
        let width = (right - left - 0.6).max(0.8);
        // Writing to a string cannot fail.
        let _ = write!(
            bars,
            "M{} {}h{}v{}h-{}z",
            Short(left),
            Short(FLOOR),
            Short(width),
            Short(-height(count).max(1.0)),
            Short(width)
        );
    }
    svg.add("path", &[("class", &"bars"), ("d", &bars)]);
    svg.line("axis", [4.0, FLOOR], [WIDTH - 4.0, FLOOR]);
    if let (Some([low, high]), Some(step)) = (of.grid, of.step) {
        let codes = ((high - low) / step).round().max(1.0);
        let each = (codes / STEPS).ceil().max(1.0);
        let mut marks = String::new();
        for mark in 0..=(codes / each) as usize {
            let at = low + mark as f64 * each * step;
            if at <= high + step / 2.0 {
                let _ = write!(marks, "M{} {}v5", Short(x(at)), Short(FLOOR + 2.0));
            }
        }
        svg.add("path", &[("class", &"codes"), ("d", &marks)]);
        for (end, side) in [(low, "start"), (high, "end")] {
            svg.line("clip", [x(end), 2.0], [x(end), FLOOR + 8.0]);
            let class = format!("tick {side}");
            svg.label(
                &class,
                [x(end).clamp(2.0, WIDTH - 2.0), FLOOR + 20.0],
                &words::real(end),
            );
        }
        let told = match each as u64 {
            1 => format!("{} codes, one mark each", words::count(codes as u64 + 1)),
            each => format!("{} codes, a mark for every {each}", words::count(codes as u64 + 1)),
        };
        svg.label("tick middle", [WIDTH / 2.0, HEIGHT - 3.0], &told);
    } else {
        svg.label("tick start", [4.0, FLOOR + 20.0], &words::real(of.seen[0]));
        svg.label("tick end", [WIDTH - 4.0, FLOOR + 20.0], &words::real(of.seen[1]));
    }
    svg.finish()
}
