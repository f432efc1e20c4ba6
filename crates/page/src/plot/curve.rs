//! The numbers of a sample that is no picture, in their order.

use crate::svg::{Svg, path};

const WIDTH: f64 = 132.0;
const HEIGHT: f64 = 72.0;

/// Draws a band from the smallest to the largest of neighbouring numbers, with a line at zero.
pub(crate) fn curve(points: &[[f32; 2]], title: &str) -> String {
    let ends = points.iter().flatten().copied().map(f64::from);
    let ends = ends.filter(|end| end.is_finite());
    let (low, high) = ends.fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let x = |at: usize| 2.0 + (WIDTH - 4.0) * (at as f64 + 0.5) / points.len().max(1) as f64;
    let y = |value: f64| 2.0 + (HEIGHT - 4.0) * (high - value) / (high - low).max(f64::MIN_POSITIVE);
    let mut svg = Svg::new([WIDTH, HEIGHT], "plot curve", title);
    svg.line("axis", [2.0, y(0.0)], [WIDTH - 2.0, y(0.0)]);
    let upper = points
        .iter()
        .enumerate()
        .map(|(at, ends)| [x(at), y(f64::from(ends[1]))]);
    let lower = points
        .iter()
        .enumerate()
        .rev()
        .map(|(at, ends)| [x(at), y(f64::from(ends[0]))]);
    svg.add("path", &[("class", &"band"), ("d", &path(upper.chain(lower)))]);
    svg.finish()
}
