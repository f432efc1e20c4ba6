use super::{Family, saturate};
use strait_requantize::form::{Arithmetic, Channel, DoubleProduct};

/// Computes `half_away(f64(x)·scale) + zero_point`: the form `Float64`.
#[derive(Clone, Copy, Debug)]
pub struct Double {
    scale: f64,
    zero_point: i64,
    /// The smallest and the largest accumulator of the domain. Both are whole numbers of up to 54 bits. For
    /// accumulators in the domain, the rounded product fits in i32 before the zero point is added.
    domain: [f64; 2],
}

impl Double {
    /// Computes the result for an accumulator, which the caller has rounded to f64. An accumulator outside of the
    /// domain is first clamped to the domain.
    #[inline(always)]
    pub(crate) fn nearest(&self, accumulator: f64) -> i32 {
        let product = accumulator.max(self.domain[0]).min(self.domain[1]) * self.scale;
        // Rounds half away from zero. The fractional part `rest` is computed exactly.
        let whole = product.trunc();
        let rest = product - whole;
        let rounded = whole + f64::from(i8::from(rest >= 0.5) - i8::from(rest <= -0.5));
        // The accumulator was limited to the domain, so `rounded` is an i32, and its sum with the zero point fits in
        // i64.
        saturate(rounded as i64 + self.zero_point)
    }
}

impl Family for Double {
    fn of(channel: &Channel<'_>) -> Option<Double> {
        let Arithmetic::Double(DoubleProduct { scale, zero_point }) = channel.arithmetic() else {
            return None;
        };
        let (low, high) = channel.domain().into_inner();
        Some(Double {
            scale,
            zero_point: zero_point.into(),
            domain: [low, high].map(|end| end as f64),
        })
    }

    #[inline(always)]
    fn lane(&self, accumulator: i32) -> i32 {
        self.nearest(f64::from(accumulator))
    }
}
