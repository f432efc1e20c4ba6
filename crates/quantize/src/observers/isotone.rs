//! Chooses the range with which the largest element of each row stays the largest.

use super::{GridKind, Observer, ValueStatistics, extremes, least_error};
use crate::statistics::{Histogram, Leaders};
use strait_core::{Graph, Op, Reason, ReasonCode, ValueId, refused};

/// Finds a range in which the largest element of a row stays the largest. It tries the upper ends h = M·2^(−i/32) with
/// i from 0 to 256, where M is the largest element of all rows, and takes the one with which the fewest rows fail. If
/// several are equally good, the largest h is taken. Let s be the step of the grid, and a ≥ b the two largest elements
/// of a row. The row fails unless both conditions hold:
///
/// - b ≤ h − s/2, so that b does not share the last code with a.
/// - a − b ≥ s, so that rounding cannot make a and b equal.
///
/// Elements below the smallest b of all rows may saturate. So for a grid with a zero point, the lower end of the range
/// is this smallest b. A symmetric grid reaches equally far on both sides. A row whose two largest elements are equal
/// is left out.
///
/// **Source.** PPQ's isotone observer. It requires b ≤ (q_max − 0.51)·s and a − max(b, 0) ≥ s/2, and only supports
/// grids without a zero point.
///
/// **Distance from the source.** PPQ stores a and b of every row. Here b and a − b each have a histogram, because
/// histograms can be merged. So a row that fails both conditions counts twice, and if a limit lies inside a bin, the
/// part of the bin beyond the limit counts as failed. With a distance of only s/2, rounding could make a and b equal,
/// so this observer requires s.
///
/// **Precondition.** The codes are integers, and readers of the value depend only on which element of each row is the
/// largest ([`is_ranked`]).
#[derive(Clone, Copy, Debug)]
pub struct Isotone;

/// The number of candidates for the upper end, not counting M itself.
const CANDIDATES: usize = 256;

/// 2^(−1/32), the ratio of each candidate to the one before it.
const RATIO: f64 = 0.978_572_062_087_700_1;

/// The number of elements below a limit, with a uniform density in each bin.
fn below(histogram: &Histogram, limit: f64) -> f64 {
    let part = |low: f64| ((limit - low) / histogram.width()).clamp(0.0, 1.0);
    histogram
        .bins()
        .fold(0.0, |sum, (low, count)| sum + part(low) * count as f64)
}

/// An upper limit of the number of rows that fail on the grid of a range.
fn failed(leaders: &Leaders, [low, high]: [f64; 2], steps: f64) -> f64 {
    let step = (high - low) / steps;
    let seconds = leaders.seconds.total() as f64 - below(&leaders.seconds, high - step / 2.0);
    seconds + below(&leaders.margins, step)
}

impl Observer for Isotone {
    fn range(&self, seen: ValueStatistics<'_>, grid: GridKind) -> Result<[f32; 2], Reason> {
        extremes(seen.elements)?;
        let leaders = seen.leaders.and_then(|leaders| Some((leaders, leaders.ends?)));
        let Some((leaders, [least, largest])) = leaders else {
            let text = "no row has a largest element that is larger than all others";
            return refused(ReasonCode::NotObserved, text);
        };
        let (low, top) = (f64::from(least.min(0.0)), f64::from(largest.max(0.0)));
        let steps = (grid.codes[1] - grid.codes[0]).max(1) as f64;
        let shares = std::iter::successors(Some(1.0), |share| Some(share * RATIO)).take(CANDIDATES + 1);
        let ranges = shares.map(|share| {
            let reach = (top * share).max(-low);
            match grid.symmetric {
                true => [-reach, reach],
                false => [low, top * share],
            }
        });
        let best = least_error(ranges, [low, top], |range| failed(leaders, range, steps));
        Ok(best.map(|end| end as f32))
    }
}

/// True if it only matters which element of each row is the largest. This is so if the value is an output of the graph,
/// or if each of its readers is a softmax or an op that moves elements to a value for which the same holds.
pub fn is_ranked(graph: &Graph, value: ValueId) -> bool {
    let (mut open, mut seen) = (vec![value], std::collections::BTreeSet::new());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        let mut readers = graph.uses(value).filter_map(|used| graph.node(used.node)).peekable();
        if readers.peek().is_none() && !graph.is_output(value) {
            return false;
        }
        for reader in readers {
            let moves = reader.op.term().moves_codes() && !matches!(reader.op, Op::Select(_) | Op::Binary(_));
            if !matches!(reader.op, Op::Softmax(_)) && !moves {
                return false;
            }
            open.extend(reader.outputs.iter().copied());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::tests::{ASYMMETRIC, SYMMETRIC, bell};
    use crate::statistics::Statistics;

    /// The number of rows that keep their largest element on the grid of a range.
    fn kept(rows: &[f32], grid: GridKind, range: [f32; 2]) -> usize {
        let params = crate::observers::grid(grid, range).unwrap();
        let (scale, zero) = params.as_tensor().unwrap();
        let code = |x: f32| ((x / scale).round() as i64 + i64::from(zero)).clamp(grid.codes[0], grid.codes[1]);
        let keeps = |row: &&[f32]| {
            let first = row.iter().copied().fold(f32::MIN, f32::max);
            row.iter().filter(|&&x| code(x) >= code(first)).count() == 1
        };
        rows.chunks_exact(10).filter(keeps).count()
    }

    #[test]
    fn more_rows_keep_their_largest_element_than_by_the_extremes() {
        let mut rows = bell(10_000, 2.0);
        // A few confident rows have an element far above all others. Many rows have an element far below, which does not
        // matter.
        (0..30).for_each(|row| rows[row * 10] = 300.0);
        (0..1000).for_each(|row| rows[row * 10 + 9] = -200.0);
        let (mut statistics, mut leaders) = (Statistics::default(), Leaders::default());
        statistics.add(0, &rows);
        leaders.add(&rows, &[1000, 10], 1);
        let seen = ValueStatistics {
            elements: &statistics,
            leaders: Some(&leaders),
        };
        for grid in [ASYMMETRIC, SYMMETRIC] {
            let range = Isotone.range(seen, grid).unwrap();
            let by_extremes = kept(&rows, grid, extremes(&statistics).unwrap());
            let found = kept(&rows, grid, range);
            assert!(
                found > 950 && by_extremes < 400,
                "{grid:?} {range:?}: {found}, {by_extremes}"
            );
        }
        assert!(Isotone.range(ValueStatistics::from(&statistics), ASYMMETRIC).is_err());
    }

    /// Compares the result with trying every upper end on each row.
    #[test]
    fn the_upper_end_is_the_best_of_those_that_are_tried() {
        let rows = bell(200, 1.0);
        let four_bits = GridKind {
            codes: [-8, 7],
            ..ASYMMETRIC
        };
        let (mut statistics, mut leaders) = (Statistics::default(), Leaders::default());
        statistics.add(0, &rows);
        leaders.add(&rows, &[20, 10], 1);
        let [least, largest] = leaders.ends.unwrap().map(f64::from);
        let pairs: Vec<[f64; 2]> = rows
            .chunks_exact(10)
            .map(|row| {
                let mut row = row.to_vec();
                row.sort_by(f32::total_cmp);
                [row[9], row[8]].map(f64::from)
            })
            .collect();
        let fails = |high: f64| {
            let step = (high - least.min(0.0)) / 15.0;
            let seconds = pairs.iter().filter(|[_, b]| *b > high - step / 2.0).count();
            seconds + pairs.iter().filter(|[a, b]| a - b < step).count()
        };
        let all = (0..=256).map(|i| largest * 2f64.powf(-f64::from(i) / 32.0));
        let fewest = all.map(fails).min().unwrap();
        let seen = ValueStatistics {
            elements: &statistics,
            leaders: Some(&leaders),
        };
        let [low, high] = Isotone.range(seen, four_bits).unwrap().map(f64::from);
        assert_eq!(low, least.min(0.0));
        // If a limit divides a bin, the rows in this bin count in part.
        assert!(fails(high) <= fewest + 1, "{} {fewest}", fails(high));
    }

    #[test]
    fn only_what_nobody_computes_with_is_ranked() {
        let text = "strait 1 float\ngraph @main(%x: f32[1,8]) {\n  %a: f32[1,8] = relu(%x)\n  %b: f32[1,8] = softmax(%a) \
                    {axis=1}\n  return %b\n}";
        let module = strait_core::text::parse(text).unwrap();
        let ranked: Vec<(&str, bool)> = module
            .main()
            .values()
            .map(|(id, value)| (module.name(value.name), is_ranked(module.main(), id)))
            .collect();
        assert_eq!(ranked, [("x", false), ("a", true), ("b", true)]);
    }
}
