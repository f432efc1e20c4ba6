//! Linear interpolation between neighbouring elements, with positions in units of 2^-bits.

use crate::Rounding;

/// The positions of the result's elements in the operand along one axis, in units of 2^-`bits`. Along this axis, the
/// operand has `from` elements and the result has `to`. The distance between neighbouring elements of the result is
/// `s = ⌊(2^bits·from + ⌊to / 2⌋) / to⌋`: the quotient `from / to` in these units, rounded once. The position of
/// element `i` is
///
/// - `i·s + ⌊s / 2⌋ − 2^(bits − 1)` with `HalfPixel`,
/// - `i·s` with `Asymmetric`,
/// - `i·s` with `AlignCorners`, where s is computed from `from − 1` and `to − 1`, if `to > 1`.
///
/// For a position outside of the operand, the operand's first or last element is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resampled {
    /// The number of fractional bits of a position, at most 16.
    pub bits: u8,
    /// How the elements of result and operand are aligned.
    pub sampling: Sampling,
    /// The extent of the operand, at least 1.
    pub from: u64,
    /// The extent of the result, at least 1.
    pub to: u64,
}

/// How the first and the last elements of the result are aligned with those of the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// Elements have a width: the middle of the first element is half an element from the border.
    HalfPixel,
    /// The first elements of operand and result have the same position, and so have the last elements.
    AlignCorners,
    /// The first elements of operand and result have the same position.
    Asymmetric,
}

/// Two neighbours in the operand, combined as `((2^bits − weight)·x[lower] + weight·x[upper]) / 2^bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// The neighbour before the position.
    pub lower: u64,
    /// The neighbour after the position. At a border, it is the same element as `lower`.
    pub upper: u64,
    /// The distance from `lower`, less than 2^bits. 0 if both neighbours are the same.
    pub weight: u32,
}

impl Resampled {
    /// The neighbours of element `position` of the result. `None` if there are too many bits, or if an extent is 0.
    pub fn at(self, position: u64) -> Option<Neighbours> {
        let Resampled {
            bits,
            sampling,
            from,
            to,
        } = self;
        if bits > 16 || from == 0 || position >= to {
            return None;
        }
        let quotient = |from: u64, to: u64| ((i128::from(from) << bits) + i128::from(to / 2)) / i128::from(to);
        let step = match sampling {
            Sampling::AlignCorners if to > 1 => quotient(from - 1, to - 1),
            _ => quotient(from, to),
        };
        let first = match sampling {
            Sampling::HalfPixel => step / 2 - (1i128 << bits) / 2,
            Sampling::AlignCorners | Sampling::Asymmetric => 0,
        };
        let place = (i128::from(position) * step + first).max(0);
        let within = |index: i128| u64::try_from(index).map_or(from - 1, |index| index.min(from - 1));
        let (lower, rest) = (within(place >> bits), place & ((1i128 << bits) - 1));
        let upper = within((place >> bits) + i128::from(rest > 0));
        let weight = if lower == upper { 0 } else { u32::try_from(rest).ok()? };
        Some(Neighbours { lower, upper, weight })
    }
}

/// Divides a sum of weighted elements by the sum of the weights: `round(sum / 2^bits)`. The weights along all axes
/// together have `bits` fractional bits. The result lies between the smallest and the largest element, because the
/// weights along each axis add up to one.
pub fn resampled(sum: i64, bits: u8, rounding: Rounding) -> i64 {
    rounding.shift_right(sum, bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LiteRT's rule for RESIZE_BILINEAR on int8, with 10 fractional bits and the operations in LiteRT's order.
    /// Positions may be negative, and quotients are truncated.
    fn of_litert(position: i64, from: i64, to: i64, align_corners: bool, half_pixel: bool) -> (i64, i64, i64) {
        let scale = match align_corners && to > 1 {
            true => (1024 * (from - 1) + (to - 1) / 2) / (to - 1),
            false => (1024 * from + to / 2) / to,
        };
        let at = match half_pixel {
            true => position * scale + scale / 2 - 512,
            false => position * scale,
        };
        ((at / 1024).max(0), ((at + 1023) / 1024).min(from - 1), at)
    }

    #[test]
    fn ten_bits_are_what_litert_weighs_by() {
        let sampling = [
            (Sampling::Asymmetric, false, false),
            (Sampling::HalfPixel, false, true),
            (Sampling::AlignCorners, true, false),
        ];
        for (from, to) in (1..20u64).flat_map(|from| (1..45u64).map(move |to| (from, to))) {
            for (sampling, align_corners, half_pixel) in sampling {
                let axis = Resampled {
                    bits: 10,
                    sampling,
                    from,
                    to,
                };
                for position in 0..to {
                    let (lower, upper, at) =
                        of_litert(position as i64, from as i64, to as i64, align_corners, half_pixel);
                    let found = axis.at(position).unwrap();
                    // If both neighbours are the same element, only the sum of their weights matters. So weighted sums
                    // are compared, not weights.
                    let weigh = |x: &dyn Fn(i64) -> i64| {
                        x(lower) * (1024 - (at - 1024 * lower)) + x(upper) * (at - 1024 * lower)
                    };
                    let own = |x: &dyn Fn(i64) -> i64| {
                        let weight = i64::from(found.weight);
                        x(found.lower as i64) * (1024 - weight) + x(found.upper as i64) * weight
                    };
                    for x in [&|i: i64| i * i % 7 - 3, &|i: i64| 100 * (i % 2)] as [&dyn Fn(i64) -> i64; 2] {
                        assert_eq!(own(x), weigh(x), "{axis:?} at {position}");
                    }
                    assert!(found.lower <= found.upper && found.upper < from && found.weight < 1024);
                }
                assert_eq!(axis.at(to), None);
            }
        }
    }

    #[test]
    fn twice_the_extent_reads_a_quarter_from_each_middle() {
        let axis = Resampled {
            bits: 11,
            sampling: Sampling::HalfPixel,
            from: 3,
            to: 6,
        };
        let at = |position| axis.at(position).map(|n| (n.lower, n.upper, n.weight)).unwrap();
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(at),
            [
                (0, 0, 0),
                (0, 1, 512),
                (0, 1, 1536),
                (1, 2, 512),
                (1, 2, 1536),
                (2, 2, 0)
            ]
        );
        assert_eq!(Resampled { bits: 17, ..axis }.at(0), None);
        assert_eq!(Resampled { from: 0, ..axis }.at(0), None);
        assert_eq!(resampled(-3, 1, Rounding::HalfAway), -2);
        assert_eq!(resampled(-3, 1, Rounding::HalfUp), -1);
    }
}
