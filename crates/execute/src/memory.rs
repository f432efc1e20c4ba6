//! Places in one arena for buffers that live for a while.

use crate::aligned::LINE;

/// A buffer: its size, and the first and the last step that touches it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) bytes: usize,
    pub(crate) first: usize,
    pub(crate) last: usize,
}

/// An offset for each request, on a cache line, and the size of the whole.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placement {
    pub(crate) offsets: Vec<usize>,
    pub(crate) total: usize,
}

/// A free stretch of the arena.
#[derive(Clone, Copy, Debug)]
struct Hole {
    start: usize,
    size: usize,
}

/// Best fit, in the order of first use: a buffer goes into the smallest hole that holds it, the lowest of several, or
/// else at the end, where a hole that touches the end is extended. `None` where the total leaves a machine word.
///
/// `requests` ascend by `first`. Two buffers share bytes only if one has died before the other is born, where the step
/// of death itself still counts as life.
pub(crate) fn place(requests: &[Request]) -> Option<Placement> {
    let mut holes: Vec<Hole> = Vec::new();
    let mut dying: std::collections::BTreeSet<(usize, usize)> = Default::default();
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
            let size = lines(requests[dead].bytes)?;
            give_back(&mut holes, placement.offsets[dead], size);
        }
        let size = lines(request.bytes)?;
        let best = (0..holes.len())
            .filter(|&h| holes[h].size >= size)
            .min_by_key(|&h| (holes[h].size, h));
        let offset = match (best, holes.last().copied()) {
            (Some(best), _) => {
                let start = holes[best].start;
                if holes[best].size == size {
                    holes.remove(best);
                } else {
                    holes[best] = Hole {
                        start: start + size,
                        size: holes[best].size - size,
                    };
                }
                start
            }
            (None, Some(last)) if last.start + last.size == placement.total => {
                holes.pop();
                placement.total = last.start.checked_add(size)?;
                last.start
            }
            (None, _) => {
                let end = placement.total;
                placement.total = end.checked_add(size)?;
                end
            }
        };
        placement.offsets.push(offset);
        dying.insert((request.last, index));
    }
    (placement.total <= isize::MAX as usize / 2).then_some(placement)
}

/// Returns a stretch, joining it with the holes that it touches. Holes ascend and never touch each other.
fn give_back(holes: &mut Vec<Hole>, start: usize, size: usize) {
    let at = holes.partition_point(|hole| hole.start < start);
    holes.insert(at, Hole { start, size });
    if at + 1 < holes.len() && start + size == holes[at + 1].start {
        holes[at].size += holes.remove(at + 1).size;
    }
    if at > 0 && holes[at - 1].start + holes[at - 1].size == start {
        holes[at - 1].size += holes.remove(at).size;
    }
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
