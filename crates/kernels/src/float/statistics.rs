//! Statistics of many elements: their range, how many are zero, and how many lie in each bin of a histogram.
//!
//! Every result is exact. So it depends on neither the instruction set nor the order of the elements.

use crate::context::Context;
use crate::simd::{Job, Simd};

/// The number of elements that are in registers together. The compiler makes vectors of them.
const LANES: usize = 16;
/// The number of elements whose bins are found before they are counted.
const ROW: usize = 64;
/// With more elements than this, each is counted in one of several arrays.
const MANY: usize = 1 << 14;

/// The range of a block of finite elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The smallest element. If it is zero, it has the sign of the first zero.
    pub min: f32,
    /// The largest element. If it is zero, it has the sign of the first zero.
    pub max: f32,
    /// The number of elements that are exactly zero, of either sign.
    pub zeros: u64,
}

/// Returns the range of a block of elements. `None` if the block is empty or has an element that is not finite.
pub fn range(cx: &Context, block: &[f32]) -> Option<Range> {
    cx.run(RangeJob { block })
}

/// Counts elements in bins of equal width: result i is the number of elements x with ⌊x·scale⌋ = low + i.
///
/// The elements have to be finite, `scale` a power of two with which every product is exact, and every ⌊x·scale⌋ at least
/// `low`, below `low` + `bins`, and of a magnitude of at most 2^21. An element that lies in no bin is not counted.
pub fn count_in_bins(cx: &Context, elements: &[f32], scale: f32, low: i32, bins: usize) -> Vec<u64> {
    let bins = Bins { scale, low, bins };
    match elements.len() > MANY {
        true => cx.run(BinsJob::<_, 4> { elements, bins }),
        false => cx.run(BinsJob::<_, 1> { elements, bins }),
    }
}

/// Counts elements, and at the same time what clamping them to [0, most] gives. Elements in (0, most) are counted in bins of
/// the width 1/`fine`, in the first `bins` entries of the result: entry i has those with ⌊x·fine⌋ = i. All other elements
/// are counted in the bins that [`count_in_bins`] would count them in, in the entries after that.
///
/// The elements and `coarse` have to satisfy what [`count_in_bins`] demands. So has `fine`, for elements in (0, most).
pub fn count_clamped(
    cx: &Context,
    elements: &[f32],
    (fine, bins, most): (f32, usize, f32),
    (scale, low, more): (f32, i32, usize),
) -> Vec<u64> {
    let coarse = Bins { scale, low, bins: more };
    let bins = Clamped {
        fine: Bins {
            scale: fine,
            low: 0,
            bins,
        },
        coarse,
        most,
    };
    match elements.len() > MANY {
        true => cx.run(BinsJob::<_, 2> { elements, bins }),
        false => cx.run(BinsJob::<_, 1> { elements, bins }),
    }
}

struct RangeJob<'a> {
    block: &'a [f32],
}

impl Job for RangeJob<'_> {
    type Output = Option<Range>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Option<Range> {
        // The exponent of infinities and NaN.
        const NOT_FINITE: u32 = 0x7f80_0000;
        let block = self.block;
        let (mut min, mut max) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
        let (mut zeros, mut others) = ([0u32; LANES], [0u32; LANES]);
        let (rows, rest) = block.as_chunks::<LANES>();
        // The last row is filled with an element of its own, which changes neither end.
        let mut last = [*block.first()?; LANES];
        last[..rest.len()].copy_from_slice(rest);
        let mut add = |row: &[f32; LANES]| {
            for lane in 0..LANES {
                let x = row[lane];
                min[lane] = if x < min[lane] { x } else { min[lane] };
                max[lane] = if x > max[lane] { x } else { max[lane] };
                zeros[lane] += u32::from(x == 0.0);
                others[lane] |= u32::from(x.to_bits() & NOT_FINITE == NOT_FINITE);
            }
        };
        rows.iter().for_each(&mut add);
        if !rest.is_empty() {
            add(&last);
        }
        if others.iter().any(|other| *other != 0) {
            return None;
        }
        let added = match block.first() {
            Some(&0.0) if !rest.is_empty() => LANES - rest.len(),
            _ => 0,
        };
        // Zeros of both signs are equal. Of these, the first one is taken.
        let signed = |end: f32| match end == 0.0 {
            true => block.iter().copied().find(|x| *x == 0.0).unwrap_or(end),
            false => end,
        };
        Some(Range {
            min: signed(min.into_iter().fold(f32::INFINITY, f32::min)),
            max: signed(max.into_iter().fold(f32::NEG_INFINITY, f32::max)),
            zeros: zeros.iter().map(|&count| u64::from(count)).sum::<u64>() - added as u64,
        })
    }
}

/// Says in which bin an element is counted.
trait BinOf {
    /// The number of bins.
    fn count(&self) -> usize;

    /// The number of the bin of an element.
    fn of(&self, x: f32) -> u32;
}

/// Bins of one width.
struct Bins {
    scale: f32,
    low: i32,
    bins: usize,
}

impl BinOf for Bins {
    fn count(&self) -> usize {
        self.bins
    }

    /// The sum of the scaled element and 3·2^22 is rounded to an integer, which is then in the low bits.
    #[inline(always)]
    fn of(&self, x: f32) -> u32 {
        const WHOLE: f32 = (3u32 << 22) as f32;
        let v = x * self.scale;
        let nearest = (v + WHOLE) - WHOLE;
        let floor = if nearest > v { nearest - 1.0 } else { nearest };
        let whole = (floor + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits());
        whole.wrapping_sub(self.low.cast_unsigned())
    }
}

/// Bins of [`count_clamped`].
struct Clamped {
    fine: Bins,
    coarse: Bins,
    most: f32,
}

impl BinOf for Clamped {
    fn count(&self) -> usize {
        self.fine.bins + self.coarse.bins
    }

    #[inline(always)]
    fn of(&self, x: f32) -> u32 {
        let coarse = self.coarse.of(x).wrapping_add(self.fine.bins as u32);
        let fine = self.fine.of(x);
        if (x > 0.0) & (x < self.most) { fine } else { coarse }
    }
}

/// Counts with several arrays. Neighbouring elements are counted in different ones: if they are equal, as zeros often
/// are, the processor need not wait for one count before it adds to it again.
struct BinsJob<'a, B, const ARRAYS: usize> {
    elements: &'a [f32],
    bins: B,
}

impl<B: BinOf, const ARRAYS: usize> Job for BinsJob<'_, B, ARRAYS> {
    type Output = Vec<u64>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Vec<u64> {
        let mut sums = vec![0u64; self.bins.count()];
        let mut counts = vec![[0u32; ARRAYS]; self.bins.count()];
        // In so many elements, no count overflows.
        for piece in self.elements.chunks(u32::MAX as usize) {
            let (rows, rest) = piece.as_chunks::<ROW>();
            let mut bins_of = [0u32; ROW];
            for row in rows {
                for (to, &x) in bins_of.iter_mut().zip(row) {
                    *to = self.bins.of(x);
                }
                for several in bins_of.as_chunks::<ARRAYS>().0 {
                    for (array, &bin) in several.iter().enumerate() {
                        if let Some(counts) = counts.get_mut(bin as usize) {
                            counts[array] += 1;
                        }
                    }
                }
            }
            for &x in rest {
                if let Some(counts) = counts.get_mut(self.bins.of(x) as usize) {
                    counts[0] += 1;
                }
            }
            for (sum, counts) in sums.iter_mut().zip(&mut counts) {
                *sum += std::mem::replace(counts, [0; ARRAYS])
                    .into_iter()
                    .map(u64::from)
                    .sum::<u64>();
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;

    /// Numbers of both signs, with zeros of both signs among them.
    fn numbers(count: usize) -> Vec<f32> {
        let number = |i: usize| match i % 11 {
            3 => 0.0,
            7 => -0.0,
            _ => ((i * 7919) % 1009) as f32 * 0.37 - 150.0,
        };
        (0..count).map(number).collect()
    }

    #[test]
    fn the_range_is_that_of_each_element() {
        for isa in Isa::available() {
            let cx = Context::with_isa(isa);
            for len in [1, 2, 15, 16, 17, 31, 32, 33, 100] {
                let block = &numbers(200)[3..3 + len];
                let zeros = block.iter().filter(|x| **x == 0.0).count() as u64;
                let [min, max] = [f32::min, f32::max].map(|f| block.iter().copied().fold(block[0], f));
                assert_eq!(range(&cx, block), Some(Range { min, max, zeros }), "{len}");
            }
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                for at in [0, 5, 16, 36] {
                    let mut block = numbers(37);
                    block[at] = bad;
                    assert_eq!(range(&cx, &block), None);
                }
            }
            assert_eq!(range(&cx, &[]), None);
            let signed = |block: &[f32]| range(&cx, block).map(|range| range.max.to_bits());
            assert_eq!(signed(&[-0.0, 0.0, -1.0]), Some((-0.0f32).to_bits()));
            assert_eq!(signed(&[0.0, -0.0, -1.0]), Some(0));
        }
    }

    #[test]
    fn each_element_is_counted_in_its_bin() {
        for isa in Isa::available() {
            for count in [0, 1, 63, 64, 65, 1000, MANY + 1] {
                let (scale, low, bins) = (4.0, -600, 1600);
                let mut expect = vec![0u64; bins];
                let numbers = numbers(count);
                for x in &numbers {
                    expect[((f64::from(*x) * 4.0).floor() as i64 + 600) as usize] += 1;
                }
                assert_eq!(
                    count_in_bins(&Context::with_isa(isa), &numbers, scale, low, bins),
                    expect
                );
            }
        }
    }

    #[test]
    fn clamped_elements_are_counted_in_fine_bins_and_others_as_before() {
        for isa in Isa::available() {
            for (count, most) in [(0, 6.0), (65, 6.0), (1000, f32::INFINITY), (MANY + 1, 6.0)] {
                let (numbers, cx) = (numbers(count), Context::with_isa(isa));
                let (inside, outside): (Vec<f32>, Vec<f32>) = numbers.iter().partition(|x| **x > 0.0 && **x < most);
                let found = count_clamped(&cx, &numbers, (16.0, 4000, most), (4.0, -600, 1600));
                let fine = count_in_bins(&cx, &inside, 16.0, 0, 4000);
                assert_eq!(found, [fine, count_in_bins(&cx, &outside, 4.0, -600, 1600)].concat());
            }
        }
    }
}
