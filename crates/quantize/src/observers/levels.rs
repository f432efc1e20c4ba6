//! Levels: the real numbers that the codes of a grid stand for.

use super::{GridKind, SmallFloat, grid};

/// The levels of a grid, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Levels {
    /// `count` levels with the distance `step`, beginning at `lowest`.
    Even { lowest: f64, step: f64, count: usize },
    /// A list of levels.
    Listed(Vec<f64>),
}

impl Levels {
    /// Returns the levels of the grid of kind `kind` for a range. If the kind requires it, the scale is a power of two.
    /// The zero point is an integer. Returns `None` if there is no grid for the range.
    pub(super) fn of(kind: GridKind, range: [f32; 2]) -> Option<Levels> {
        let params = grid(kind, range).ok()?;
        let (scale, zero) = params.as_tensor()?;
        let scale = f64::from(scale);
        if let Some(float) = kind.float {
            let positive: Vec<f64> = float.values().map(|x| x * scale).collect();
            let negative = positive.iter().rev().map(|x| -x);
            return Some(Levels::Listed(
                negative.chain([0.0]).chain(positive.iter().copied()).collect(),
            ));
        }
        let [first, last] = kind.codes;
        Some(Levels::Even {
            lowest: (first - i64::from(zero)) as f64 * scale,
            step: scale,
            count: usize::try_from(last - first + 1).ok()?,
        })
    }

    pub(super) fn count(&self) -> usize {
        match self {
            Levels::Even { count, .. } => *count,
            Levels::Listed(levels) => levels.len(),
        }
    }

    /// The level at position `index`.
    pub(super) fn at(&self, index: usize) -> f64 {
        match self {
            Levels::Even { lowest, step, .. } => lowest + index as f64 * step,
            Levels::Listed(levels) => levels[index],
        }
    }
}

impl SmallFloat {
    /// Returns the positive numbers of the format, in ascending order. With f fraction bits, and bias = 2^(bits of the
    /// exponent − 1) − 1, these are k·2^(1 − bias − f) for k from 1 to 2^f − 1 (the subnormal numbers), then (2^f +
    /// k)·2^(e − bias − f) for the exponents e from 1 on and k from 0 to 2^f − 1.
    fn values(self) -> impl Iterator<Item = f64> {
        let largest = self.largest();
        let (fractions, bias) = (1u32 << self.fraction_bits, (1i32 << (self.exponent_bits - 1)) - 1);
        let unit = move |exponent: i32| 2f64.powi(exponent - bias - i32::from(self.fraction_bits));
        let subnormal = (1..fractions).map(move |k| f64::from(k) * unit(1));
        let exponents = 1..1i32 << self.exponent_bits;
        let normal = exponents.flat_map(move |e| (fractions..2 * fractions).map(move |k| f64::from(k) * unit(e)));
        subnormal.chain(normal).take_while(move |&x| x <= largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observers::tests::{ASYMMETRIC, E4M3, POWER};

    #[test]
    fn the_levels_are_those_of_the_grid_and_not_of_the_range() {
        let even = |lowest, step, count| Some(Levels::Even { lowest, step, count });
        // The zero point is rounded to a code. Here −1.01 / (2.55 / 255) = −101 is one already.
        let step = f64::from(0.01f32);
        assert_eq!(Levels::of(ASYMMETRIC, [-1.01, 1.54]), even(-101.0 * step, step, 256));
        // 2^0 is the smallest power-of-two scale with which code 127 stands for at least 100.
        assert_eq!(Levels::of(POWER, [-3.0, 100.0]), even(-127.0, 1.0, 255));
    }

    #[test]
    fn a_small_float_has_its_published_values() {
        let Some(Levels::Listed(levels)) = Levels::of(E4M3, [-448.0, 448.0]) else {
            panic!("no levels")
        };
        // There are 126 values of each sign, and zero. Exponent 15 with fraction 7 is NaN.
        assert_eq!(levels.len(), 253);
        assert_eq!((levels[126], levels[127], levels[252]), (0.0, 2f64.powi(-9), 448.0));
        assert_eq!(levels[251], 416.0);
        assert!(levels.windows(2).all(|two| two[0] < two[1]));
    }
}
