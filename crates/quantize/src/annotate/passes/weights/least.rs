//! The scales that weights need, channel by channel.

use strait_core::{Reason, ReasonCode, Scheme};

/// The smallest scales that the weights of one channel may have, each for a different reason. The weights' scale is at
/// least the largest of them.
#[derive(Clone, Copy)]
pub(crate) struct LeastScales {
    /// The scale with which the weights use all codes of their type.
    pub(crate) range: f64,
    /// The smallest scale with which the bias fits into its type.
    pub(crate) bias: f64,
    /// The smallest useful scale. Below it, a smaller scale no longer makes the result more accurate.
    pub(crate) negligible: f64,
}

impl LeastScales {
    pub(crate) const NOTHING: LeastScales = LeastScales {
        range: 0.0,
        bias: 0.0,
        negligible: 0.0,
    };

    /// For each field, the larger scale of the two channels, which is enough for both.
    pub(crate) fn and(self, other: LeastScales) -> LeastScales {
        LeastScales {
            range: self.range.max(other.range),
            bias: self.bias.max(other.bias),
            negligible: self.negligible.max(other.negligible),
        }
    }

    pub(crate) fn least(self) -> f64 {
        self.range.max(self.bias).max(self.negligible)
    }

    /// If the scale of a channel has to be larger than its weights need, the weights lose accuracy. Returns how many
    /// times larger the scale is, and the reason. `finest` is the smallest possible scale. Weights that are all zero
    /// lose nothing. A scale up to `negligible` loses nothing either.
    pub(crate) fn unfit(self, channel: usize, finest: f64) -> Option<(f64, Reason)> {
        let enough = self.range.max(self.negligible);
        if self.range <= 0.0 || self.bias.max(finest) <= enough {
            return None;
        }
        let factor = self.bias.max(finest) / self.range;
        Some(if self.bias >= finest {
            let text = format!(
                "the bias of channel {channel} fits into its type only where the scale of the weights is {} times \
                 what they ask for",
                times(factor)
            );
            (factor, Reason::new(ReasonCode::BiasWidth, text))
        } else {
            let text = format!(
                "the scale that the weights of channel {channel} ask for, {:e}, is too small for an f32",
                self.range
            );
            (factor, Reason::new(ReasonCode::WeightScale, text))
        })
    }
}

/// Writes a factor as text for an error message.
fn times(factor: f64) -> String {
    if factor < 1e4 {
        format!("{factor:.1}")
    } else {
        format!("{factor:.0e}")
    }
}

/// Returns the largest magnitude that a bias may have. It is half of the largest number of its type, and at most 2^46,
/// because the sums of LiteRT's kernels for 16-bit codes end at 2^47.
pub(crate) fn bias_limit(bias: Option<Scheme>) -> f64 {
    let end = bias
        .and_then(|scheme| scheme.range())
        .map_or(i64::from(i32::MAX), |range| range[1]);
    (end as f64 / 2.0).min((1u64 << 46) as f64)
}

/// The smallest useful scale of weights, as a fraction of (scale of the result / scale of the operand). With that
/// quotient as the scale of weights, one step of the accumulator equals one step of the result. A scale below the limit
/// does not make the result more accurate, and makes the requantization's factor too small for some forms. The limit
/// also keeps shifts within 22 bits. So an 8-bit zero point that is shifted left and folded into the bias is at most
/// 2^7·2^22 = 2^29. The bias itself is at most 2^30 ([`bias_limit`]). Both together leave 2^29, a quarter of the range
/// of i32, to the sum of the products of codes.
pub(crate) const NEGLIGIBLE: f64 = 1.0 / (1u64 << 22) as f64;

/// Returns the limit that corresponds to [`NEGLIGIBLE`] for targets that only shift. `accumulator` and `result` are the
/// numbers of bits of the accumulator and of the result. Here too, a quarter of the accumulator's range is left to the
/// sum of the products of codes.
pub(crate) fn negligible(accumulator: u8, result: u8) -> f64 {
    let bits = accumulator.saturating_sub(2).saturating_sub(result);
    NEGLIGIBLE.max((-f64::from(bits)).exp2())
}

/// The smallest scale of an accumulator. A smaller scale could be a subnormal f32, without full precision.
pub(crate) const FINEST: f64 = 2.0 * f32::MIN_POSITIVE as f64;
