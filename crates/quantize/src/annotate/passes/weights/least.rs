//! The scales that weights need, channel by channel.

use strait_core::{Reason, ReasonCode, Scheme};

/// The smallest scales that one channel needs, for different reasons.
#[derive(Clone, Copy)]
pub(crate) struct LeastScales {
    /// The scale with which its weights fill their type.
    pub(crate) range: f64,
    /// The smallest scale with which its bias fits.
    pub(crate) bias: f64,
    /// The scale below which nothing is gained.
    pub(crate) negligible: f64,
}

impl LeastScales {
    pub(crate) const NOTHING: LeastScales = LeastScales {
        range: 0.0,
        bias: 0.0,
        negligible: 0.0,
    };

    /// The scales that are enough for both channels.
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

    /// If the weights lose accuracy because their scale has to be larger: the factor by which it is larger, and the
    /// reason. `finest` is the smallest possible scale. Zeros lose nothing, and neither do scales below which nothing
    /// is gained.
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

/// A factor for an error message.
fn times(factor: f64) -> String {
    if factor < 1e4 {
        format!("{factor:.1}")
    } else {
        format!("{factor:.0e}")
    }
}

/// The largest magnitude of a bias. It stays a factor of two inside its type, and below 2^46, because LiteRT's sums of
/// 16-bit codes end at 2^47.
pub(crate) fn bias_limit(bias: Option<Scheme>) -> f64 {
    let end = bias
        .and_then(|scheme| scheme.range())
        .map_or(i64::from(i32::MAX), |range| range[1]);
    (end as f64 / 2.0).min((1u64 << 46) as f64)
}

/// If the weight scale is smaller than 2^−22 of the step that moves the result by one code, nothing is gained: it only
/// makes the requantization's factor too small for a form. This also limits a shift to 22 bits. Then an 8-bit zero
/// point that is folded into the bias is at most 2^29, and together with the bias it leaves a quarter of i32 to the
/// products.
pub(crate) const NEGLIGIBLE: f64 = 1.0 / (1u64 << 22) as f64;

/// Like [`NEGLIGIBLE`], but for an accumulator and a result with these many bits, where a shift leads from one to the
/// other. Result and shift also have to leave a quarter of the accumulator's range to the products.
pub(crate) fn negligible(accumulator: u8, result: u8) -> f64 {
    let bits = accumulator.saturating_sub(2).saturating_sub(result);
    NEGLIGIBLE.max((-f64::from(bits)).exp2())
}

/// Below this, the scale of the accumulator would be an f32 without full precision.
pub(crate) const FINEST: f64 = 2.0 * f32::MIN_POSITIVE as f64;
