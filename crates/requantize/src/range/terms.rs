use super::{
    Extreme, Pattern, Range,
    interval::open,
    overflow::{Repair, Summands},
};

/// A sum of two integers that are already on the same grid.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The interval of the first operand.
    pub first: (i64, i64),
    /// The interval of the second operand. For a difference, this is the interval of the negated operand.
    pub second: (i64, i64),
}

impl Summands for Terms {
    fn range(&self) -> Range {
        let (first, second) = (open(self.first), open(self.second));
        let (low, high) = (first.0 + second.0, first.1 + second.1);
        // It is not known whether some input of the model gives both terms these numbers at the same time.
        let extreme = |value, first, second| Extreme {
            value,
            pattern: Pattern::Terms { first, second },
            realised: false,
        };
        Range {
            low: extreme(low, self.first.0, self.second.0),
            high: extreme(high, self.first.1, self.second.1),
        }
    }

    /// The partial sums are zero, each of the terms, and the sum of both.
    fn partial_sums(&self) -> Range {
        let parts = |term: (i64, i64)| (term.0.min(0), term.1.max(0));
        let (first, second) = (parts(self.first), parts(self.second));
        Terms { first, second }.range()
    }

    /// Computes how much coarser the grid has to be so that the sum is at most `limit`. On a grid that is 2^k times
    /// coarser, the magnitude of each term is at most |x| / 2^k + 1/2.
    fn repair(&self, limit: u64) -> Repair {
        let size = |(low, high): (i64, i64)| u128::from(low.unsigned_abs().max(high.unsigned_abs()));
        let total = size(self.first) + size(self.second);
        let enough = (1..=63u8).find(|k| (total >> k) + 2 <= u128::from(limit));
        Repair::CoarserGrid {
            bits: enough.unwrap_or(63),
        }
    }
}
