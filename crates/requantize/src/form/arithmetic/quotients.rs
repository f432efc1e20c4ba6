use std::ops::RangeInclusive;

/// Computes ceil(p / m) for p = first, first + step, first + 2 step, … without divisions. Here m is the divisor, and p
/// = whole m + rest with 0 <= rest < m. To get `whole` and `rest` of the next p, `whole` and `rest` of the step are
/// added, with a carry.
struct Quotients {
    divisor: i64,
    /// The quotient modulo 2^64. It may wrap on the way, but the requested quotients fit into i64.
    whole: i64,
    rest: i64,
    step: (i64, i64),
}

impl Quotients {
    fn new(first: i128, step: i128, divisor: i64) -> Self {
        // The rest is smaller than the divisor, so it fits into i64.
        let split = |p: i128| (p.div_euclid(divisor.into()) as i64, p.rem_euclid(divisor.into()) as i64);
        let (whole, rest) = split(first);
        Quotients {
            divisor,
            whole,
            rest,
            step: split(step),
        }
    }

    /// Returns ceil((p + 1) / m) if `more` is true, otherwise ceil(p / m). The former is always `whole + 1`, because 0
    /// <= rest < m.
    fn ceil(&self, more: bool) -> i64 {
        self.whole.wrapping_add(i64::from(more || self.rest > 0))
    }

    fn advance(&mut self) {
        // The sum of two rests is below 2^63, because divisors have at most 62 bits.
        let rest = self.rest + self.step.1;
        let carry = rest >= self.divisor;
        self.rest = rest - if carry { self.divisor } else { 0 };
        self.whole = self.whole.wrapping_add(self.step.0).wrapping_add(i64::from(carry));
    }
}

/// Returns, for each q in `quotients`, the smallest x with x · divisor >= product(q). All results must fit into i64.
///
/// `product(q)` is the smallest product that a rounding shift turns into q or more. It must be q · 2^shift plus a
/// number. This number must depend only on whether q is above zero and on the parity of q, and must differ by at most
/// one between even and odd q. The divisor must be positive and below 2^62.
pub(crate) fn firsts(
    quotients: RangeInclusive<i64>,
    shift: u8,
    divisor: i64,
    product: impl Fn(i64) -> i128,
) -> Vec<i64> {
    let (first, last) = quotients.into_inner();
    let mut all = Vec::with_capacity(usize::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(0));
    let beside = |q: i64| product(q) - (i128::from(q) << shift);
    for (start, end) in [(first, last.min(0)), (first.max(1), last)] {
        if start > end {
            continue;
        }
        // `product(q)` is q · 2^shift plus one of these two numbers: the first if q has the parity of `start`, and
        // otherwise the second. The second number is found with an integer of the other parity on the same side of
        // zero.
        let own = [beside(start), beside(if start > 0 { start + 1 } else { start - 1 })];
        let least = own[0].min(own[1]);
        let mut quotients = Quotients::new((i128::from(start) << shift) + least, 1 << shift, divisor);
        let mut more = own.map(|own| own > least);
        for _ in start..=end {
            all.push(quotients.ceil(more[0]));
            more.swap(0, 1);
            quotients.advance();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rounding;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn additions_give_the_quotients_of_divisions(
            start in -300i64..300, count in 0i64..60, shift in 0u8..=62, divisor in 1i64..1 << 62, scale in 0u8..62,
            addend in -(1i64 << 61)..1 << 61, rounding in proptest::sample::select(&Rounding::ALL[..]),
        ) {
            let divisor = (divisor >> scale).max(1);
            let product = |q: i64| rounding.least_reaching(q.into(), shift) - i128::from(addend);
            let plain: Vec<i64> = (start..start + count)
                .map(|q| -(-product(q)).div_euclid(divisor.into()) as i64)
                .collect();
            prop_assert_eq!(firsts(start..=start + count - 1, shift, divisor, product), plain);
        }
    }
}
