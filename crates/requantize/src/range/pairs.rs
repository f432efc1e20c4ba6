use super::{
    Extreme, Pattern, Range,
    overflow::{Repair, Summands},
};

/// One sum in a product of two activations: Σ (a - z_a) (b - z_b).
#[derive(Clone, Copy, Debug)]
pub struct Pairs {
    /// The number of products.
    pub count: u64,
    /// The codes of the first operand, and its zero point.
    pub first: ((i64, i64), i64),
    /// The codes of the second operand, and its zero point.
    pub second: ((i64, i64), i64),
    /// True if the two operands can take any codes, independently of each other. This is so if the operands are two
    /// inputs of the model, or an input and a constant.
    pub any_pattern: bool,
}

impl Pairs {
    /// Finds the smallest and the largest product, with the codes that give them. Each of these two products is the
    /// product of an end of the first interval and an end of the second interval.
    fn product(&self) -> [(i128, Pattern); 2] {
        let ((a_codes, a_zero), (b_codes, b_zero)) = (self.first, self.second);
        let corners = [a_codes.0, a_codes.1].into_iter().flat_map(|first| {
            [b_codes.0, b_codes.1].map(|second| {
                let product = (i128::from(first) - i128::from(a_zero)) * (i128::from(second) - i128::from(b_zero));
                (product, Pattern::Pair { first, second })
            })
        });
        let start = (
            0,
            Pattern::Pair {
                first: a_codes.0,
                second: b_codes.0,
            },
        );
        let low = corners.clone().min_by_key(|c| c.0).unwrap_or(start);
        [low, corners.max_by_key(|c| c.0).unwrap_or(start)]
    }

    fn bounds(&self, end: impl Fn(usize, i128) -> i128) -> Range {
        let [low, high] = self.product();
        let extreme = |which, (product, pattern): (i128, Pattern)| Extreme {
            value: end(which, product).saturating_mul(self.count.into()),
            pattern,
            realised: self.any_pattern,
        };
        Range {
            low: extreme(0, low),
            high: extreme(1, high),
        }
    }
}

impl Summands for Pairs {
    fn range(&self) -> Range {
        self.bounds(|_, product| product)
    }

    fn partial_sums(&self) -> Range {
        self.bounds(|which, product| if which == 0 { product.min(0) } else { product.max(0) })
    }

    fn repair(&self, limit: u64) -> Repair {
        let [low, high] = self.product();
        let widest = low.0.unsigned_abs().max(high.0.unsigned_abs()).max(1);
        Repair::FewerProducts {
            of: self.count,
            // The quotient is at most `limit`, so it fits into u64.
            at_most: (u128::from(limit) / widest) as u64,
        }
    }
}
