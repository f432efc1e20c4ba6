//! Random numbers that are the same on every machine.

/// The generator SplitMix64 (Steele, Lea, Flood 2014): it passes a counter through a mixing function that is a
/// bijection.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A random integer from `low` to `high`. If `extreme` is set, it is one of the ends with probability one half.
    pub(crate) fn between(&mut self, low: i32, high: i32, extreme: bool) -> i32 {
        let bits = self.bits();
        if extreme && bits & 1 == 0 {
            return if bits & 2 == 0 { low } else { high };
        }
        // The first factor is below 2^32 and the span is at most 2^32, so the product is below 2^64. `above` is then
        // below the span, so the sum is at most `high`.
        let span = i64::from(high) - i64::from(low) + 1;
        let above = ((bits >> 32).wrapping_mul(span.max(1) as u64)) >> 32;
        (i64::from(low) + above as i64) as i32
    }

    /// A random integer from `low` to `high`. These may be any two i64 numbers in ascending order. If `extreme` is set,
    /// the result is one of the ends with probability one half.
    pub(crate) fn whole(&mut self, low: i64, high: i64, extreme: bool) -> i64 {
        let bits = self.bits();
        if extreme && bits & 1 == 0 {
            return if bits & 2 == 0 { low } else { high };
        }
        let span = i128::from(high) - i128::from(low) + 1;
        // The product of 64 random bits and a number of at most 2^64 fits into 128 bits.
        let above = (u128::from(self.bits()) * span.max(1) as u128) >> 64;
        (i128::from(low) + above as i128) as i64
    }

    /// A random number in [−½, ½).
    pub(crate) fn fraction(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_stay_between_the_ends_and_reach_both() {
        let mut random = Random::new(1);
        let drawn: Vec<i32> = (0..2000).map(|_| random.between(-3, 4, false)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-3), Some(&4)));
        let drawn: Vec<i64> = (0..2000).map(|_| random.whole(-3, 4, false)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&-3), Some(&4)));
        let wide = (0..2000).map(|_| random.whole(i64::MIN, i64::MAX, true));
        assert!(wide.filter(|x| [i64::MIN, i64::MAX].contains(x)).count() > 900);
        assert!((0..100).all(|_| random.whole(7, 7, false) == 7));
        let ends = (0..2000).map(|_| random.between(i32::MIN, i32::MAX, true));
        assert!(ends.filter(|x| [i32::MIN, i32::MAX].contains(x)).count() > 900);
        assert!((0..1000).map(|_| random.fraction()).all(|f| (-0.5..0.5).contains(&f)));
    }
}
