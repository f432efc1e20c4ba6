//! The scales that weights ask for, channel by channel.

use strait_core::{Reason, ReasonCode, Scheme};

/// The scales that one channel asks for.
#[derive(Clone, Copy)]
pub(crate) struct LeastScales {
    /// That on which its weights fill their type.
    pub(crate) range: f64,
    /// The least on which its bias fits.
    pub(crate) bias: f64,
    /// That below which nothing is resolved.
    pub(crate) negligible: f64,
}

impl LeastScales {
    pub(crate) const NOTHING: LeastScales = LeastScales {
        range: 0.0,
        bias: 0.0,
        negligible: 0.0,
    };

    /// The scales that serve both channels.
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

    /// The scale that has to be, where its weights lose by that, and why; `finest` is the least that there is. Zeros lose
    /// nothing, and neither does what resolves nothing.
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

/// A factor as people read it.
fn times(factor: f64) -> String {
    if factor < 1e4 {
        format!("{factor:.1}")
    } else {
        format!("{factor:.0e}")
    }
}

/// Biases stay a factor of two inside their type, and below 2^46: LiteRT's sums of 16-bit codes end at 2^47.
pub(crate) fn bias_limit(bias: Option<Scheme>) -> f64 {
    let end = bias
        .and_then(|scheme| scheme.range())
        .map_or(i64::from(i32::MAX), |range| range[1]);
    (end as f64 / 2.0).min((1u64 << 46) as f64)
}

/// A weight scale below 2^−22 of the step that moves the result by one code resolves nothing: it only makes the
/// requantization's factor smaller than a form can hold. And a shift is then at most 22, so that a zero point of 8 bits
/// which is folded into the bias is at most 2^29: together they leave a quarter of i32 to the products.
pub(crate) const NEGLIGIBLE: f64 = 1.0 / (1u64 << 22) as f64;

/// The same where a shift leads to results of so many bits: they and the shift leave a quarter of the sums' bits, too.
pub(crate) fn negligible(accumulator: u8, result: u8) -> f64 {
    let bits = accumulator.saturating_sub(2).saturating_sub(result);
    NEGLIGIBLE.max((-f64::from(bits)).exp2())
}

/// Below this the grid of the accumulator is not an f32 of full precision any more.
pub(crate) const FINEST: f64 = 2.0 * f32::MIN_POSITIVE as f64;
