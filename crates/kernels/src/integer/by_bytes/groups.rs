//! Proves which products of bytes fit in 16 bits.

/// The largest sum of weights of one sign whose products with unsigned bytes fit in 16 bits.
const MOST: u8 = 128;
/// How many groups at most wait for another one that they can be added to.
const WAITING: usize = 8;
/// If a half panel has fewer groups in pairs, all of its groups are widened. A few pairs do not save as much as it costs to store
/// sums and to load them again for the other groups.
const FEWEST: usize = 48;

/// The groups of four bytes along K of all halves of panels, ordered by how they are multiplied.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    /// For each half panel, all groups: first those of pairs, then those that are multiplied alone, then those that have to be
    /// widened.
    order: Vec<u32>,
    /// The weights of the groups, in the same order.
    weights: Vec<Weights>,
    /// For each half panel, the number of groups that are in pairs, and the number of those that are alone.
    counts: Vec<[usize; 2]>,
    /// Number of groups of a half panel.
    depth: usize,
    /// True if there are groups that are multiplied as bytes.
    pub(crate) bytes: bool,
    /// True if there are groups that have to be widened.
    pub(crate) words: bool,
}

/// The weights of the eight columns of half a panel in a group. Four bytes belong to each column.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Weights(pub(super) [u8; 32]);

/// The groups of a half panel.
#[derive(Clone, Copy)]
pub(crate) struct Half<'a> {
    /// Groups whose products can be added in 16 bits.
    pub(super) pairs: &'a [[u32; 2]],
    /// Groups of which each sum of two neighbouring products fits in 16 bits.
    pub(super) alone: &'a [u32],
    /// All other groups.
    pub(crate) widened: &'a [u32],
    /// The weights of all groups, in this order.
    pub(super) weights: &'a [Weights],
}

impl<'a> Half<'a> {
    /// True if there are groups that are multiplied as bytes.
    #[inline(always)]
    pub(crate) fn has_bytes(&self) -> bool {
        self.widened.len() < self.weights.len()
    }

    /// All groups, with their weights.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, &'a [u8; 32])> {
        let groups = self.pairs.as_flattened().iter().chain(self.alone).chain(self.widened);
        groups.copied().zip(self.weights.iter().map(|weights| &weights.0))
    }

    /// The weights of the groups that have to be widened.
    #[inline(always)]
    pub(crate) fn widened_weights(&self) -> &'a [Weights] {
        &self.weights[self.weights.len() - self.widened.len()..]
    }
}

impl Groups {
    /// Orders the groups of panels, each of which has `depth` lines of 64 bytes. Bytes `4·l` to `4·l + 3` of a line are the weights
    /// of column `l` in a group.
    pub(crate) fn new<L>(lines: &[L], bytes: impl Fn(&L) -> &[u8; 64], depth: usize) -> Groups {
        let mut groups = Groups {
            order: Vec::with_capacity(2 * lines.len()),
            weights: Vec::with_capacity(2 * lines.len()),
            counts: Vec::new(),
            depth,
            bytes: false,
            words: false,
        };
        for panel in lines.chunks_exact(depth.max(1)) {
            for half in 0..2 {
                let weights = panel.iter().map(|line| halves(bytes(line))[half]);
                groups.push(&weights.collect::<Vec<_>>());
            }
        }
        groups
    }

    /// An upper bound for the bytes that the groups of so many lines take, in so many panels.
    pub(crate) const fn size(lines: usize, panels: usize) -> usize {
        2 * (lines * (size_of::<u32>() + size_of::<Weights>()) + panels * size_of::<[usize; 2]>())
    }

    /// Orders the groups of the next half panel.
    fn push(&mut self, weights: &[Weights]) {
        let start = self.order.len();
        let (mut waiting, mut alone, mut widened) = (Vec::new(), Vec::new(), Vec::new());
        // A panel has less than 2^32 groups, as each of them takes 64 bytes.
        for (group, reach) in (0_u32..).zip(weights.iter().map(reach)) {
            if !fits(&reach) {
                widened.push(group);
            } else if let Some(at) = waiting.iter().position(|(_, other)| fits(&together(&reach, other))) {
                self.order.extend([waiting.remove(at).0, group]);
            } else {
                if waiting.len() == WAITING {
                    alone.push(waiting.remove(0).0);
                }
                waiting.push((group, reach));
            }
        }
        alone.extend(waiting.into_iter().map(|(group, _)| group));
        if self.order.len() - start < FEWEST {
            self.order.truncate(start);
            alone.clear();
            widened = (0..).take(weights.len()).collect();
        }
        self.counts.push([self.order.len() - start, alone.len()]);
        self.bytes |= widened.len() < weights.len();
        self.words |= !widened.is_empty();
        self.order.extend(alone);
        self.order.extend(widened);
        let ordered = self.order[start..].iter().map(|&group| weights[group as usize]);
        self.weights.extend(ordered);
    }

    /// Number of half panels.
    pub(crate) fn halves(&self) -> usize {
        self.counts.len()
    }

    /// The groups of a half panel. Panel `p` has the halves `2·p` and `2·p + 1`.
    #[inline(always)]
    pub(crate) fn half(&self, half: usize) -> Half<'_> {
        let [pairs, alone] = self.counts[half];
        let all = half * self.depth..(half + 1) * self.depth;
        let (pairs, rest) = self.order[all.clone()].split_at(pairs);
        let (alone, widened) = rest.split_at(alone);
        Half {
            pairs: pairs.as_chunks().0,
            alone,
            widened,
            weights: &self.weights[all],
        }
    }
}

/// For each two neighbouring weights of a column, the sum of the positive ones, and minus the sum of the negative ones. Larger
/// sums are stored as 255.
type Reach = [u8; 32];

/// The weights of the two halves of a line.
fn halves(line: &[u8; 64]) -> [Weights; 2] {
    let (halves, _) = line.as_chunks();
    [0, 1].map(|half| Weights(halves[half]))
}

fn reach(weights: &Weights) -> Reach {
    let parts = |byte: u8| {
        let weight = byte.cast_signed();
        [weight.max(0).unsigned_abs(), weight.min(0).unsigned_abs()]
    };
    let mut reach = [0; 32];
    for (to, &[a, b]) in reach.as_chunks_mut().0.iter_mut().zip(weights.0.as_chunks().0) {
        let ([a, minus_a], [b, minus_b]) = (parts(a), parts(b));
        *to = [a.saturating_add(b), minus_a.saturating_add(minus_b)];
    }
    reach
}

/// The sums of two groups.
fn together(a: &Reach, b: &Reach) -> Reach {
    let mut sums = *a;
    sums.iter_mut().zip(b).for_each(|(a, &b)| *a = a.saturating_add(b));
    sums
}

/// True if no sum of products leaves 16 bits.
fn fits(reach: &Reach) -> bool {
    reach.iter().fold(0, |most, &sum| sum.max(most)) <= MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of zeros that can be added to each other.
    const ZEROS: usize = FEWEST;

    /// A line in which all weights of the first half are 0, but for two neighbours. Those of the second half are 0.
    fn line(pair: [i8; 2]) -> [u8; 64] {
        let mut line = [0; 64];
        line[6..8].copy_from_slice(&pair.map(i8::cast_unsigned));
        line
    }

    /// How many groups of the first half are in pairs, alone and widened. There are these lines, and lines of zeros.
    fn counts(pairs: &[[i8; 2]], zeros: usize) -> [usize; 3] {
        let lines: Vec<_> = [[0; 2]].repeat(zeros).iter().chain(pairs).copied().map(line).collect();
        let groups = Groups::new(&lines, |line| line, lines.len());
        assert_eq!(groups.half(1).pairs.len(), lines.len() / 2);
        let half = groups.half(0);
        [2 * half.pairs.len(), half.alone.len(), half.widened.len()]
    }

    #[test]
    fn groups_are_multiplied_as_bytes_up_to_the_border_of_saturation() {
        for (pair, exact) in [
            ([127, 1], true),
            ([127, 2], false),
            ([-128, 0], true),
            ([-128, -1], false),
            ([-128, 127], true),
            ([-64, -64], true),
            ([-65, -64], false),
            ([-128, -128], false),
        ] {
            let rest = usize::from(exact);
            assert_eq!(counts(&[pair], ZEROS), [ZEROS, rest, 1 - rest], "{pair:?}");
        }
    }

    #[test]
    fn groups_are_paired_up_to_the_border_of_saturation() {
        for (pairs, together) in [
            ([[100, 20], [8, 0]], true),
            ([[100, 20], [8, 1]], false),
            ([[100, -20], [28, -108]], true),
            ([[100, -20], [28, -109]], false),
            ([[-128, 127], [0, 1]], true),
            ([[-128, 127], [-1, 0]], false),
        ] {
            let wanted = if together { [ZEROS + 2, 0, 0] } else { [ZEROS, 2, 0] };
            assert_eq!(counts(&pairs, ZEROS), wanted, "{pairs:?}");
        }
    }

    #[test]
    fn all_groups_are_widened_if_few_can_be_paired() {
        let widened = [[127, 127]];
        assert_eq!(counts(&widened, FEWEST), [FEWEST, 0, 1]);
        let lines = [[0; 64]; FEWEST - 1];
        let groups = Groups::new(&lines, |line| line, lines.len());
        assert_eq!(groups.half(0).widened.len(), lines.len());
        assert!(!groups.half(0).has_bytes() && !groups.bytes && groups.words);
    }

    #[test]
    fn each_group_is_multiplied_once() {
        let pairs = (0..200_u8).map(|i| [i.wrapping_mul(53), i.wrapping_mul(91)].map(u8::cast_signed));
        let lines: Vec<_> = pairs.map(line).collect();
        let groups = Groups::new(&lines, |line| line, 100);
        for half in 0..4 {
            let weights = |group: u32| {
                let line = &lines[half / 2 * 100 + group as usize];
                line[half % 2 * 32..][..32].to_vec()
            };
            let half = groups.half(half);
            assert!(half.all().all(|(group, found)| found[..] == weights(group)));
            let mut all: Vec<u32> = half.all().map(|(group, _)| group).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..100));
        }
    }
}
