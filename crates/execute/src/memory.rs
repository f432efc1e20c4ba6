//! Places buffers in one arena. Each buffer is only in use during some of the steps, so buffers can share bytes.

use crate::aligned::LINE;
use std::collections::{BTreeMap, BTreeSet};

/// A buffer to be placed: its size, and the first and the last step that use it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) bytes: usize,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// The offset of each buffer, aligned to a cache line, and the total size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placement {
    pub(crate) offsets: Vec<usize>,
    pub(crate) total: usize,
}

/// A free range of bytes in the arena.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: usize,
    size: usize,
}

impl Hole {
    fn end(self) -> usize {
        self.start + self.size
    }
}

/// The free ranges (holes) of the arena. Neighbouring holes are merged. Each change and each search takes time that is
/// logarithmic in the number of holes.
#[derive(Default)]
struct Holes {
    /// The size of each hole, by the offset at which the hole starts.
    sizes: BTreeMap<usize, usize>,
    /// The size and the start of each hole, sorted by size.
    by_size: BTreeSet<(usize, usize)>,
}

impl Holes {
    fn insert(&mut self, hole: Hole) {
        self.sizes.insert(hole.start, hole.size);
        self.by_size.insert((hole.size, hole.start));
    }

    fn remove(&mut self, hole: Hole) {
        self.sizes.remove(&hole.start);
        self.by_size.remove(&(hole.size, hole.start));
    }

    /// Returns the smallest hole with at least `size` bytes. If several are equally small, returns the one with the
    /// lowest offset.
    fn best(&self, size: usize) -> Option<Hole> {
        let &(size, start) = self.by_size.range((size, 0)..).next()?;
        Some(Hole { start, size })
    }

    /// Returns the last hole that starts before the offset `start`.
    fn before(&self, start: usize) -> Option<Hole> {
        let (&start, &size) = self.sizes.range(..start).next_back()?;
        Some(Hole { start, size })
    }

    /// Frees a range, and merges it with the holes that it touches.
    fn give_back(&mut self, mut freed: Hole) {
        if let Some(&size) = self.sizes.get(&freed.end()) {
            let start = freed.end();
            self.remove(Hole { start, size });
            freed.size += size;
        }
        if let Some(before) = self.before(freed.start).filter(|hole| hole.end() == freed.start) {
            self.remove(before);
            freed = Hole {
                start: before.start,
                size: before.size + freed.size,
            };
        }
        self.insert(freed);
    }
}

/// Places buffers by best fit, in the order of first use. A buffer goes into the smallest hole that is large enough;
/// among equally small holes, into the one with the lowest offset. If no hole is large enough, the arena grows at its
/// end, and a hole at the end becomes part of the buffer. Returns `None` if the total size overflows.
///
/// `requests` have to be sorted by `first`. Two buffers share bytes only if the last use of one is before the first use
/// of the other.
pub(crate) fn place(requests: &[Request]) -> Option<Placement> {
    let mut holes = Holes::default();
    let mut dying: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut placement = Placement {
        offsets: Vec::with_capacity(requests.len()),
        total: 0,
    };
    let lines = |bytes: usize| bytes.max(1).checked_next_multiple_of(LINE);
    for (index, request) in requests.iter().enumerate() {
        while let Some(&(last, dead)) = dying.first() {
            if last >= request.first {
                break;
            }
            dying.pop_first();
            holes.give_back(Hole {
                start: placement.offsets[dead],
                size: lines(requests[dead].bytes)?,
            });
        }
        let size = lines(request.bytes)?;
        let at_end = || {
            holes
                .before(placement.total)
                .filter(|hole| hole.end() == placement.total)
        };
        let taken = holes.best(size).or_else(at_end);
        let start = taken.map_or(placement.total, |hole| hole.start);
        let end = start.checked_add(size)?;
        if let Some(hole) = taken {
            holes.remove(hole);
            if hole.size > size {
                holes.insert(Hole {
                    start: end,
                    size: hole.size - size,
                });
            }
        }
        placement.total = placement.total.max(end);
        placement.offsets.push(start);
        dying.insert((request.last, index));
    }
    (placement.total <= isize::MAX as usize / 2).then_some(placement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(bytes: usize, first: usize, last: usize) -> Request {
        Request { bytes, first, last }
    }

    #[test]
    fn a_chain_needs_two_buffers() {
        let chain: Vec<_> = (0..10).map(|i| request(1000, i, i + 1)).collect();
        assert_eq!(place(&chain).unwrap().total, 2 * 1024);
    }

    #[test]
    fn the_smallest_hole_that_fits_is_taken_and_neighbours_are_joined() {
        let requests = [
            request(256, 0, 0),
            request(64, 0, 9),
            request(128, 0, 0),
            request(64, 0, 1),
            request(64, 0, 9),
            request(128, 1, 9), // the hole of 128, not that of 256
            request(256, 1, 9),
            request(64, 2, 9), // what request 3 left
        ];
        let placement = place(&requests).unwrap();
        assert_eq!(placement.offsets, [0, 256, 320, 448, 512, 320, 0, 448]);
        assert_eq!(placement.total, 576);
    }

    #[test]
    fn buffers_that_die_together_cost_little_each() {
        let count = 200_000;
        // First, every second buffer is freed and leaves a hole. Then each of the other buffers is freed and merges two
        // holes.
        let mut requests: Vec<_> = (0..count).map(|i| request(64, 0, 1 + i % 2)).collect();
        requests.extend([request(128, 2, 3), request(64 * count, 3, 3)]);
        let start = std::time::Instant::now();
        let placement = place(&requests).unwrap();
        // If each change moved all later holes, about 10^11 bytes would be moved.
        assert!(start.elapsed().as_secs() < 10);
        assert_eq!(placement.offsets[count..], [64 * count, 0]);
        assert_eq!(placement.total, 64 * count + 128);
    }

    proptest! {
        #[test]
        fn what_lives_together_never_overlaps(spans in prop::collection::vec((0usize..5000, 0usize..4, 0usize..9), 1..60)) {
            let mut now = 0;
            let requests: Vec<_> = spans
                .into_iter()
                .map(|(bytes, wait, life)| { now += wait / 3; request(bytes, now, now + life) })
                .collect();
            let Placement { offsets, total } = place(&requests).unwrap();
            for (i, a) in requests.iter().enumerate() {
                prop_assert!(offsets[i] % LINE == 0 && offsets[i] + a.bytes <= total);
                for (j, b) in requests.iter().enumerate().take(i) {
                    let together = a.first <= b.last && b.first <= a.last;
                    let apart = offsets[i] + a.bytes.max(1) <= offsets[j] || offsets[j] + b.bytes.max(1) <= offsets[i];
                    prop_assert!(!together || apart, "{i} {j}");
                }
            }
        }
    }
}
