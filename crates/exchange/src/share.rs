//! One of several shares of the samples.

use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;

/// One of several shares of nearly equal size, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    part: NonZeroUsize,
    parts: NonZeroUsize,
}

impl Share {
    /// The share with the number `part`, counted from 1, of `parts` shares. `None` if there is no share with this number.
    pub fn new(part: usize, parts: usize) -> Option<Share> {
        let (part, parts) = (NonZeroUsize::new(part)?, NonZeroUsize::new(parts)?);
        (part <= parts).then_some(Share { part, parts })
    }

    /// The number of the share, counted from 1.
    pub fn part(self) -> usize {
        self.part.get()
    }

    /// The number of all shares.
    pub fn parts(self) -> usize {
        self.parts.get()
    }

    /// All shares, in their order.
    pub fn all(self) -> impl Iterator<Item = Share> {
        let parts = self.parts;
        (1..=parts.get()).filter_map(move |part| Share::new(part, parts.get()))
    }

    /// Which of `count` samples are in the share: those from ⌊(part − 1)·count/parts⌋ up to, but not including,
    /// ⌊part·count/parts⌋. The range is empty if there are fewer samples than shares and other shares have them.
    pub fn range(self, count: usize) -> Range<usize> {
        let end = |part: usize| (part as u128 * count as u128 / self.parts.get() as u128) as usize;
        end(self.part.get() - 1)..end(self.part.get())
    }
}

/// Writes `2/4` for the second of four shares.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_follow_each_other_and_are_all_samples() {
        for (parts, count) in [(1, 7), (2, 7), (3, 100), (5, 3), (4, 0), (3, usize::MAX)] {
            let mut next = 0;
            for share in Share::new(1, parts).unwrap().all() {
                let range = share.range(count);
                assert_eq!(range.start, next);
                assert!(range.len() <= count.div_ceil(parts));
                next = range.end;
            }
            assert_eq!(next, count);
        }
        assert_eq!(
            (Share::new(0, 2), Share::new(3, 2), Share::new(1, 0)),
            (None, None, None)
        );
    }
}
