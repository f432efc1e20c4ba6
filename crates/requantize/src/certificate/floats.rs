//! Maps floats to integers that have the same order.

/// Returns the position of a float among all floats in the order of their values. If `a < b` as floats, then
/// `ordered(a) < ordered(b)`, and the positions of neighbours differ by one. The two zeros count as neighbours: −0 has
/// the position −1. NaN is placed beyond the infinities.
pub fn ordered(x: f32) -> i64 {
    // Converts sign and magnitude to two's complement. The bits of positive floats are already in order.
    let bits = i64::from(x.to_bits());
    if bits < 1 << 31 { bits } else { (1 << 31) - 1 - bits }
}

/// Returns the float at a position. This is the inverse of [`ordered`]. If no float has this position, returns the
/// float at the nearest possible position.
pub fn unordered(place: i64) -> f32 {
    let bits = if place >= 0 {
        place.min((1 << 31) - 1)
    } else {
        (1 << 31) - 1 - place.max(-(1 << 31))
    };
    // The value is in 0 ..= 2^32 - 1, so it fits into u32.
    f32::from_bits(bits as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_the_floats() {
        let floats = [
            f32::NEG_INFINITY,
            f32::MIN,
            -1.5,
            -1.0,
            -1e-45,
            -0.0,
            0.0,
            1e-45,
            1.0,
            f32::MAX,
            f32::INFINITY,
        ];
        for pair in floats.windows(2) {
            assert!(ordered(pair[0]) < ordered(pair[1]), "{pair:?}");
        }
        for x in floats {
            assert_eq!(unordered(ordered(x)).to_bits(), x.to_bits());
        }
        assert_eq!((ordered(-0.0), ordered(0.0), ordered(-1e-45)), (-1, 0, -2));
        assert!(unordered(i64::MAX).is_nan() && unordered(i64::MIN).is_nan());
    }
}
