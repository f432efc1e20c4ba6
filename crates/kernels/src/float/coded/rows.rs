//! A product with few rows. Every weight is converted in a register, and used at once for all rows.

use super::{CodedMatrix, GROUPS, LANES, Line, STRIP, Zeros, shift};
use crate::context::Context;
use crate::float::gemm::BLOCK;
use crate::parallel::Shared;
use crate::simd::{Job, LOWER, Nibbles, Simd, prefetch};

/// How many lines ahead memory is read.
const AHEAD: usize = 48;

/// Computes `ROWS` rows of a product, in the columns of one strip.
pub(super) struct Rows<'a, 'b, const ROWS: usize> {
    matrix: &'a CodedMatrix,
    strip: usize,
    /// The first of the rows.
    from: usize,
    a: &'a [f32],
    bias: Option<&'a [f32]>,
    out: &'a Shared<'b, f32>,
}

/// One number for each column of a strip, by group.
type Strip = [[f32; LANES]; GROUPS];

impl<'a, 'b> Rows<'a, 'b, 0> {
    /// Computes `count` rows of a product from row `from` on, in the columns of one strip.
    pub(super) fn run(
        cx: &Context,
        (matrix, strip): (&'a CodedMatrix, usize),
        (mut from, mut count): (usize, usize),
        (a, bias): (&'a [f32], Option<&'a [f32]>),
        out: &'a Shared<'b, f32>,
    ) {
        while count > 0 {
            let height = [8, 4, 2, 1].into_iter().find(|&height| height <= count).unwrap_or(1);
            match height {
                8 => cx.run(Rows::<8> {
                    matrix,
                    strip,
                    from,
                    a,
                    bias,
                    out,
                }),
                4 => cx.run(Rows::<4> {
                    matrix,
                    strip,
                    from,
                    a,
                    bias,
                    out,
                }),
                2 => cx.run(Rows::<2> {
                    matrix,
                    strip,
                    from,
                    a,
                    bias,
                    out,
                }),
                _ => cx.run(Rows::<1> {
                    matrix,
                    strip,
                    from,
                    a,
                    bias,
                    out,
                }),
            }
            (from, count) = (from + height, count - height);
        }
    }
}

impl<const ROWS: usize> Job for Rows<'_, '_, ROWS> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let matrix = self.matrix;
        let (rows, first) = (matrix.rows, self.strip * STRIP);
        let count = STRIP.min(matrix.columns - first);
        let mut start: Strip = [[0.0; LANES]; GROUPS];
        if let Some(bias) = self.bias {
            start.as_flattened_mut()[..count].copy_from_slice(&bias[first..first + count]);
        }
        let mut sums = [start; ROWS];
        for from in (0..rows).step_by(BLOCK) {
            let to = rows.min(from + BLOCK);
            let mut chains = [[[0.0; LANES]; GROUPS]; ROWS];
            let mut row = from;
            while row < to {
                let block = row / matrix.block;
                let end = to.min((block + 1).saturating_mul(matrix.block));
                let part = self.strip * matrix.blocks() + block;
                match matrix.zeros {
                    Zeros::One(_) => self.segment::<S::F32s, true>(row..end, part, &mut chains),
                    Zeros::Each(_) => self.segment::<S::F32s, false>(row..end, part, &mut chains),
                }
                row = end;
            }
            for (sums, chains) in sums.iter_mut().zip(&chains) {
                for (sum, chain) in sums.as_flattened_mut().iter_mut().zip(chains.as_flattened()) {
                    *sum += chain;
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let at = (self.from + r) * matrix.columns + first;
            // SAFETY: the strips of a product do not overlap, each strip belongs to one task, and the borrow ends here.
            let out = unsafe { self.out.slice(at, count) };
            out.copy_from_slice(&sums.as_flattened()[..count]);
        }
    }
}

impl<const ROWS: usize> Rows<'_, '_, ROWS> {
    /// Adds the products of some matrix rows in the same block to the chains. `ALIKE` means that all zero points are
    /// equal.
    #[inline(always)]
    fn segment<V: Nibbles, const ALIKE: bool>(
        &self,
        rows: std::ops::Range<usize>,
        part: usize,
        chains: &mut [Strip; ROWS],
    ) {
        let matrix = self.matrix;
        let depth = rows.len();
        let lines = &matrix.lines[self.strip * matrix.rows + rows.start..][..depth];
        let scales = &matrix.scales[part];
        let mut offsets = [[0.0; LANES]; GROUPS];
        for (group, to) in offsets.iter_mut().enumerate() {
            *to = matrix.offsets(part, group);
        }
        let mut lefts: [&[f32]; ROWS] = [&[]; ROWS];
        for (r, left) in lefts.iter_mut().enumerate() {
            *left = &self.a[(self.from + r) * matrix.rows..][rows.clone()];
        }
        let segment = Segment {
            lines,
            scales,
            offsets: &offsets,
            lefts,
        };
        for lane in (0..LANES).step_by(V::LANES) {
            // The sums of a pass are kept in registers, so it has fewer groups if there are more rows.
            match ROWS {
                1 | 2 => segment.pass::<V, ALIKE, 0, 8>(lane, chains),
                4 => {
                    segment.pass::<V, ALIKE, 0, 4>(lane, chains);
                    segment.pass::<V, ALIKE, 4, 4>(lane, chains);
                }
                _ => {
                    segment.pass::<V, ALIKE, 0, 2>(lane, chains);
                    segment.pass::<V, ALIKE, 2, 2>(lane, chains);
                    segment.pass::<V, ALIKE, 4, 2>(lane, chains);
                    segment.pass::<V, ALIKE, 6, 2>(lane, chains);
                }
            }
        }
    }
}

/// Rows of the matrix in the same block, in the columns of one strip.
struct Segment<'a, const ROWS: usize> {
    lines: &'a [Line],
    scales: &'a Strip,
    offsets: &'a Strip,
    /// For each row of the product, one number for each line.
    lefts: [&'a [f32]; ROWS],
}

impl<const ROWS: usize> Segment<'_, ROWS> {
    /// Adds the products to the chains of `COUNT` groups from group `FIRST` on, in one vector of lanes.
    #[allow(
        clippy::needless_range_loop,
        reason = "with an index, the compiler keeps all sums in registers"
    )]
    #[inline(always)]
    fn pass<V: Nibbles, const ALIKE: bool, const FIRST: usize, const COUNT: usize>(
        &self,
        lane: usize,
        chains: &mut [Strip; ROWS],
    ) {
        const { assert!(FIRST + COUNT <= GROUPS) }
        // SAFETY: `lane + V::LANES` is at most `LANES`, so loads and stores stay inside of a line or of a group's numbers.
        // `lefts` have an element for each line. This code runs only on machines that have the instruction set of `V`.
        unsafe {
            let load = |numbers: &Strip, group: usize| V::load(numbers[group].as_ptr().add(lane));
            let scales: [V; COUNT] = std::array::from_fn(|i| load(self.scales, FIRST + i));
            let offsets: [V; COUNT] = std::array::from_fn(|i| load(self.offsets, FIRST + i));
            let mut sums = [[V::splat(0.0); COUNT]; ROWS];
            for (sums, chains) in sums.iter_mut().zip(&*chains) {
                *sums = std::array::from_fn(|i| load(chains, FIRST + i));
            }
            for (k, line) in self.lines.iter().enumerate() {
                let words = line.0.as_ptr().add(lane);
                if FIRST == 0 {
                    prefetch(words.wrapping_add(AHEAD * LANES));
                }
                let words = V::load_words(words);
                let upper = V::upper(words);
                for i in 0..COUNT {
                    let group = FIRST + i;
                    let words = if group < LOWER { words } else { upper };
                    let code = V::masked(words, 15 << shift(group));
                    // With the same zero point, groups at the same position of a word have the same offset.
                    let same = if ALIKE && COUNT == GROUPS { i % LOWER } else { i };
                    let weight = code.scaled(offsets[same], scales[i]);
                    for r in 0..ROWS {
                        sums[r][i] = sums[r][i].add_product(*self.lefts[r].get_unchecked(k), weight);
                    }
                }
            }
            for (sums, chains) in sums.into_iter().zip(&mut *chains) {
                for (i, sum) in sums.into_iter().enumerate() {
                    sum.store(chains[FIRST + i].as_mut_ptr().add(lane));
                }
            }
        }
    }
}
