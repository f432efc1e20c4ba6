//! Statistics of the two largest elements of each row.

use super::Histogram;

/// Statistics for values of which only the position of the largest element in each row matters. They describe the
/// second-largest element of each row, and its distance from the largest.
///
/// Rows with fewer than two finite elements, with NaN or with ∞ are left out. So are rows whose two largest elements
/// are equal, because no grid can tell which of them is the largest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leaders {
    /// The second largest elements.
    pub seconds: Histogram,
    /// The largest minus the second largest element, above 0.
    pub margins: Histogram,
    /// The smallest of all second-largest elements, and the largest element of all rows. `None` if there is no row.
    pub ends: Option<[f32; 2]>,
}

impl Leaders {
    /// Adds the rows of a tensor along an axis.
    pub(crate) fn add(&mut self, elements: &[f32], shape: &[usize], axis: usize) {
        let (mut seconds, mut margins) = (Vec::new(), Vec::new());
        let mut largest = f32::NEG_INFINITY;
        for row in rows(elements, shape, axis) {
            let Some([first, second]) = two_largest(row) else {
                continue;
            };
            let margin = first - second;
            if margin > 0.0 && margin.is_finite() {
                seconds.push(second);
                margins.push(margin);
                largest = largest.max(first);
            }
        }
        let Some(least) = seconds.iter().copied().reduce(f32::min) else {
            return;
        };
        self.join_ends([least, largest]);
        for (histogram, elements) in [(&mut self.seconds, seconds), (&mut self.margins, margins)] {
            let [min, max] = [f32::min, f32::max].map(|f| elements.iter().copied().fold(elements[0], f));
            histogram.add((&elements, false), min, max);
        }
    }

    /// Adds other statistics. The order and grouping of merges do not change a single bit of the result.
    pub fn merge(&mut self, other: &Leaders) {
        self.seconds.merge(&other.seconds);
        self.margins.merge(&other.margins);
        other.ends.into_iter().for_each(|ends| self.join_ends(ends));
    }

    fn join_ends(&mut self, [least, largest]: [f32; 2]) {
        let [a, b] = self.ends.unwrap_or([least, largest]);
        // Adding 0.0 turns −0.0 into +0.0, so that the result does not depend on whether −0.0 or +0.0 came first.
        self.ends = Some([a.min(least) + 0.0, b.max(largest) + 0.0]);
    }
}

/// The rows of a tensor along an axis, each as its elements. Empty if there is no such axis.
pub(crate) fn rows<'a>(
    elements: &'a [f32],
    shape: &[usize],
    axis: usize,
) -> impl Iterator<Item = impl Iterator<Item = f32> + 'a> + 'a {
    let count = shape.get(axis).copied().unwrap_or(0);
    let inner: usize = shape.iter().skip(axis + 1).product();
    let blocks = elements.chunks_exact((count * inner).max(1)).filter(move |_| count > 0);
    blocks.flat_map(move |block| (0..inner).map(move |at| block.iter().skip(at).step_by(inner).copied()))
}

/// The largest and the second largest element of a row without NaN, if both are finite.
fn two_largest(row: impl Iterator<Item = f32>) -> Option<[f32; 2]> {
    let mut two = [f32::NEG_INFINITY; 2];
    for x in row {
        if x.is_nan() {
            return None;
        } else if x > two[0] {
            two = [x, two[0]];
        } else if x > two[1] {
            two[1] = x;
        }
    }
    two.iter().all(|x| x.is_finite()).then_some(two)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_run_along_the_axis() {
        let elements: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let all = |axis| -> Vec<Vec<f32>> { rows(&elements, &[2, 3, 2], axis).map(Iterator::collect).collect() };
        assert_eq!(all(1), [[0., 2., 4.], [1., 3., 5.], [6., 8., 10.], [7., 9., 11.]]);
        assert_eq!((all(2).len(), all(0)[5].clone(), all(3).len()), (6, vec![5., 11.], 0));
        assert_eq!(rows(&[], &[2, 0, 2], 1).count(), 0);
    }

    #[test]
    fn the_two_largest_are_found_and_odd_rows_left_out() {
        let mut leaders = Leaders::default();
        let inf = f32::INFINITY;
        let elements = [
            [1.0, 5.0, 3.0],
            [-1.0, -2.0, -9.0],
            [f32::NAN, 7.0, 9.0],
            [inf, 1.0, 2.0],
            [-inf, -inf, 4.0],
            [6.0, 6.0, 1.0],
        ];
        leaders.add(elements.as_flattened(), &[6, 3], 1);
        assert_eq!(leaders.ends, Some([-2.0, 5.0]));
        assert_eq!((leaders.seconds.total(), leaders.margins.total()), (2, 2));
        let mut one = Leaders::default();
        one.add(&[3.0, 4.0], &[2, 1], 1);
        assert_eq!(one, Leaders::default());
    }
}
