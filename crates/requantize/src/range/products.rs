use super::{
    Extreme, Pattern, Range,
    overflow::{Repair, Summands},
};

/// One channel of a sum of products with constant weights: Σ w (x - z) + b.
#[derive(Clone, Copy, Debug)]
pub struct Products<'a> {
    /// The weights of the channel.
    pub weights: &'a [i32],
    /// The bias b.
    pub bias: i64,
    /// The codes that the taps read.
    pub input: Input<'a>,
}

/// The codes that the taps of a window read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The codes x, both ends included.
    pub codes: (i64, i64),
    /// The zero point z that is subtracted. 0 if it is already folded into the bias.
    pub zero_point: i64,
    /// The padding, if a tap can lie outside of the operand.
    pub padding: Option<Padding<'a>>,
    /// True if every pattern of codes can occur, because the operand is an input of the model. False if the operand is
    /// the result of another layer.
    pub any_pattern: bool,
}

/// The padding, which taps outside of the operand read.
#[derive(Clone, Copy, Debug)]
pub struct Padding<'a> {
    /// The code that a tap outside of the operand reads.
    pub code: i64,
    /// For each tap of a window, true if the tap lies outside of the operand, in the padding, at some position of the
    /// window. Weight i belongs to tap i modulo the number of taps. An empty list stands for true for all taps.
    pub taps: &'a [bool],
    /// True if there is a position at which no tap lies outside.
    pub interior: bool,
}

/// P, the sum of the positive weights, and N, the sum of the negative weights. The bounds of Σ w x depend only on these
/// two numbers: if all codes x lie in [low, high], Σ w x lies in [P low + N high, P high + N low]. It reaches an end of
/// this interval if all taps with positive weights read one end of [low, high], and all taps with negative weights read
/// the other end.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    above: i128,
    below: i128,
}

impl Weights {
    fn of(weights: impl Iterator<Item = i32>) -> Weights {
        // There are fewer than 2^32 weights, each of 32 bits, so this does not overflow.
        let (above, below) = weights.fold((0i64, 0i64), |(above, below), w| {
            (above + i64::from(w.max(0)), below + i64::from(w.min(0)))
        });
        Weights {
            above: above.into(),
            below: below.into(),
        }
    }

    /// The same for all weights of a list. Blocks of weights whose magnitudes are so small that their sum fits into 32 bits
    /// are added in 32 bits, for which the compiler uses vectors.
    fn of_all(weights: &[i32]) -> Weights {
        const BLOCK: usize = 1024;
        const SMALL: u32 = 1 << 20;
        let mut all = Weights::default();
        for block in weights.chunks(BLOCK) {
            let magnitudes = block.iter().fold(0, |bits, w| bits | w.unsigned_abs());
            let of_block = if magnitudes < SMALL {
                let (above, both) = block
                    .iter()
                    .fold((0i32, 0i32), |(above, both), &w| (above + w.max(0), both + w));
                Weights {
                    above: above.into(),
                    below: (both - above).into(),
                }
            } else {
                Weights::of(block.iter().copied())
            };
            all = all.plus(of_block);
        }
        all
    }

    fn plus(self, other: Weights) -> Weights {
        Weights {
            above: self.above + other.above,
            below: self.below + other.below,
        }
    }

    fn sum(self, positive: i64, negative: i64) -> i128 {
        self.above * i128::from(positive) + self.below * i128::from(negative)
    }
}

impl Products<'_> {
    /// The sums of the weights whose taps always read codes, and the sums of those whose taps may also read padding.
    fn split(&self) -> (Weights, Weights) {
        match self.input.padding {
            None => (Weights::of_all(self.weights), Weights::default()),
            Some(padding) if padding.taps.iter().all(|t| *t) => (Weights::default(), Weights::of_all(self.weights)),
            Some(padding) => {
                let taps = padding.taps.iter().enumerate();
                let inner = taps.filter(|(_, padded)| !**padded).map(|(tap, _)| {
                    let of_tap = self.weights.iter().skip(tap).step_by(padding.taps.len());
                    Weights::of(of_tap.copied())
                });
                let inner = inner.fold(Weights::default(), Weights::plus);
                let all = Weights::of_all(self.weights);
                let outer = Weights {
                    above: all.above - inner.above,
                    below: all.below - inner.below,
                };
                (inner, outer)
            }
        }
    }

    /// The interval of the numbers that a tap reads if it may read padding.
    fn padded(&self) -> (i64, i64) {
        let (low, high) = self.input.codes;
        self.input
            .padding
            .map_or((low, high), |p| (low.min(p.code), high.max(p.code)))
    }

    /// If `skip` is false, returns the bounds of the sum. If `skip` is true, returns the bounds of all partial sums.
    /// Then the lower bound leaves out terms that cannot be negative, and the upper bound leaves out terms that cannot
    /// be positive.
    fn bounds(&self, skip: bool) -> Range {
        let (inner, outer) = self.split();
        let (codes, padded, zero) = (self.input.codes, self.padded(), self.input.zero_point);
        let shifted = |(low, high): (i64, i64)| (low.saturating_sub(zero), high.saturating_sub(zero));
        let at_most = |x: i64| if skip { x.min(0) } else { x };
        let at_least = |x: i64| if skip { x.max(0) } else { x };
        let (mut low, mut high) = (i128::from(at_most(self.bias)), i128::from(at_least(self.bias)));
        for (weights, (least, largest)) in [(inner, shifted(codes)), (outer, shifted(padded))] {
            low += weights.sum(at_most(least), at_least(largest));
            high += weights.sum(at_least(largest), at_most(least));
        }
        let inside = self.input.padding.is_none_or(|p| p.interior && padded == codes);
        let realised = self.input.any_pattern && inside;
        let extreme = |value, positive, negative| Extreme {
            value,
            pattern: Pattern::BySign { positive, negative },
            realised,
        };
        Range {
            low: extreme(low, padded.0, padded.1),
            high: extreme(high, padded.1, padded.0),
        }
    }
}

impl Summands for Products<'_> {
    fn range(&self) -> Range {
        self.bounds(false)
    }

    fn partial_sums(&self) -> Range {
        self.bounds(true)
    }

    /// Computes how much coarser a scale has to be so that the sum is at most `limit`. Let w be the n weights, b the
    /// bias, and m the largest |x - z| of a code x and the zero point z. With a scale that is 2^k times coarser, the
    /// magnitude of a weight is at most |w| / 2^k + 1/2, and that of the bias at most |b| / 2^k + 1/2. So the rounding
    /// of the weights adds at most n m / 2 to the sum. If a zero point is folded into the bias, the rounding of the
    /// weights also changes the bias, again by at most n m / 2. Together, the sum is at most (Σ |w| m + |b|) / 2^k + n
    /// m + 1.
    fn repair(&self, limit: u64) -> Repair {
        let (low, high) = self.padded();
        let largest = |x: i64| u128::from(x.saturating_sub(self.input.zero_point).unsigned_abs());
        let widest = largest(low).max(largest(high));
        let total: u128 = self.weights.iter().map(|w| u128::from(w.unsigned_abs())).sum();
        let (products, bias) = (total.saturating_mul(widest), u128::from(self.bias.unsigned_abs()));
        let rounding = (self.weights.len() as u128).saturating_mul(widest) + 1;
        let enough = (1..=31u8).find(|k| ((products + bias) >> k) + 1 + rounding <= u128::from(limit));
        match enough {
            Some(bits) if bias > products => Repair::CoarserBias { bits },
            Some(bits) => Repair::CoarserWeights { bits },
            None => Repair::FewerProducts {
                of: self.weights.len() as u64,
                // The number of products that fit if each of them has the largest weight and the largest operand.
                at_most: fewer(
                    limit,
                    self.weights.iter().map(|w| w.unsigned_abs()).max().unwrap_or(0),
                    widest,
                ),
            },
        }
    }
}

fn fewer(limit: u64, weight: u32, operand: u128) -> u64 {
    let product = u128::from(weight).saturating_mul(operand).max(1);
    // The quotient is at most `limit`, so it fits into u64.
    (u128::from(limit) / product) as u64
}
