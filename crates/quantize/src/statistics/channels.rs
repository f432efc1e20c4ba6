//! The minimum and maximum of each channel of a value.

/// The smallest and the largest finite element at each position along an axis, over all samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Channels {
    /// For each position, the smallest and the largest finite element, or +∞ and −∞ if there is none.
    pub ends: Vec<[f32; 2]>,
}

/// The entry of `ends` for a channel without elements.
const NOTHING: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];

impl Channels {
    /// Adds the elements of a tensor whose channels lie along an axis.
    pub(crate) fn add(&mut self, elements: &[f32], shape: &[usize], axis: usize) {
        let count = shape.get(axis).copied().unwrap_or(0);
        let inner: usize = shape.iter().skip(axis + 1).product();
        let of_channels = elements.chunks_exact(inner.max(1)).enumerate();
        for (at, elements) in of_channels.filter(|_| count > 0) {
            let finite = elements.iter().copied().filter(|x| x.is_finite());
            self.join(
                at % count,
                finite.fold(NOTHING, |[low, high], x| [low.min(x), high.max(x)]),
            );
        }
    }

    /// Adds other statistics. The order and grouping of merges do not change a single bit of the result.
    pub fn merge(&mut self, other: &Channels) {
        for (channel, &ends) in other.ends.iter().enumerate() {
            self.join(channel, ends);
        }
    }

    fn join(&mut self, channel: usize, [low, high]: [f32; 2]) {
        if self.ends.len() <= channel {
            self.ends.resize(channel + 1, NOTHING);
        }
        let [a, b] = self.ends[channel];
        // Adding 0.0 turns −0.0 into +0.0, so that the result does not depend on whether −0.0 or +0.0 came first.
        self.ends[channel] = [a.min(low) + 0.0, b.max(high) + 0.0];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_lie_along_the_axis_and_what_is_not_finite_is_in_none() {
        let elements = [
            0.0,
            1.0,
            -2.0,
            3.0,
            f32::NAN,
            5.0,
            -6.0,
            7.0,
            8.0,
            f32::INFINITY,
            10.0,
            -11.0,
        ];
        let of = |axis| {
            let mut channels = Channels::default();
            channels.add(&elements, &[2, 3, 2], axis);
            channels.ends
        };
        assert_eq!(of(1), [[-6.0, 7.0], [-2.0, 8.0], [-11.0, 10.0]]);
        assert_eq!(of(0), [[-2.0, 5.0], [-11.0, 10.0]]);
        assert_eq!(of(2), [[-6.0, 10.0], [-11.0, 7.0]]);
        assert!(of(3).is_empty());
        let mut nothing = Channels::default();
        nothing.add(&[f32::NAN, 1.0], &[1, 2], 1);
        assert_eq!(nothing.ends, [NOTHING, [1.0, 1.0]]);
    }
}
