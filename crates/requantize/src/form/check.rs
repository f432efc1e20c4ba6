use super::{FormKind, Requantization};
use crate::{IntType, Rounding};
use std::ops::RangeInclusive;

/// The largest shift of a narrowing: 31 fractional bits of a factor, and another 31 bits.
pub const MAX_SHIFT: u8 = 62;

/// The largest magnitude of an addend before a shift. With this limit, `x * factor + addend` fits into i64 for every
/// `i32` accumulator x.
pub const MAX_ADDEND: i64 = 1 << 61;

/// Checks that a form supports the value of a field in a channel.
pub(crate) fn in_range(
    field: &'static str,
    channel: usize,
    value: i64,
    range: RangeInclusive<i64>,
) -> Result<(), FormError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(FormError::Range {
        field,
        channel,
        value,
        range,
    })
}

/// Checks that a factor is finite and positive.
pub(crate) fn check_scale(channel: usize, scale: f32) -> Result<(), FormError> {
    if scale.is_finite() && scale > 0.0 {
        Ok(())
    } else {
        Err(FormError::Scale { channel, scale })
    }
}

/// The reason why the parameters of a form are not legal. The parameters may come from a file, a target or a recipe.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FormError {
    /// Two fields have different numbers of channels.
    #[error("{kind}: `{field}` has {found} channels where another field has {expected}")]
    Lengths {
        /// The form's kind.
        kind: FormKind,
        /// The field whose number of channels differs from that of an earlier field.
        field: &'static str,
        /// The number of channels of the earlier field.
        expected: usize,
        /// The number of channels of this field.
        found: usize,
    },
    /// A field with one value per channel is empty.
    #[error("{kind}: a field that is given per channel has no channel")]
    NoChannels {
        /// The form's kind.
        kind: FormKind,
    },
    /// There is no such channel.
    #[error("`{field}` has no channel {channel}")]
    NoSuchChannel {
        /// The field that has too few channels.
        field: &'static str,
        /// The requested channel.
        channel: usize,
    },
    /// The form does not support the value of a shift, an exponent or an offset.
    #[error("{field} {value} of channel {channel} is outside {} ..= {}", .range.start(), .range.end())]
    Range {
        /// The field.
        field: &'static str,
        /// The channel.
        channel: usize,
        /// The field's value.
        value: i64,
        /// The supported values.
        range: RangeInclusive<i64>,
    },
    /// Each field has a legal value, but the combination of the values is not legal.
    #[error("{kind}: {rule}")]
    Together {
        /// The form's kind.
        kind: FormKind,
        /// The rule that the fields violate.
        rule: &'static str,
    },
    /// A factor is negative. The form would then give smaller results for larger accumulators.
    #[error("factor {factor} of channel {channel} is negative")]
    NegativeFactor {
        /// The channel.
        channel: usize,
        /// The factor of the channel.
        factor: i32,
    },
    /// An addend has a magnitude above [`MAX_ADDEND`].
    #[error("addend {addend} of channel {channel} is larger than 2^61")]
    Addend {
        /// The channel.
        channel: usize,
        /// The addend of the channel.
        addend: i64,
    },
    /// A scale is zero, negative, infinite or NaN.
    #[error("scale {scale} of channel {channel} is not finite and positive")]
    Scale {
        /// The channel.
        channel: usize,
        /// The scale of the channel.
        scale: f32,
    },
    /// A float addend is infinite or NaN.
    #[error("offset {offset} is not finite")]
    Offset {
        /// The addend.
        offset: f32,
    },
    /// The function does not support the rounding mode.
    #[error("it does not round {0}")]
    Rounding(Rounding),
    /// A threshold is smaller than the threshold before it.
    #[error("threshold {index} of channel {channel} is below the one before it")]
    Unsorted {
        /// The channel.
        channel: usize,
        /// The index of the threshold.
        index: usize,
    },
    /// There are so many thresholds that the largest result is not in the range of the output type.
    #[error("{count} thresholds of channel {channel} lead from {lowest} out of {out}")]
    Codes {
        /// The channel.
        channel: usize,
        /// The number of thresholds.
        count: usize,
        /// The result below the first threshold.
        lowest: i32,
        /// The output type.
        out: IntType,
    },
    /// The lower end of a clamp is above its upper end.
    #[error("clamp [{low}, {high}] is empty")]
    Clamp {
        /// The lower end.
        low: i32,
        /// The upper end.
        high: i32,
    },
    /// A form with thresholds has an output type of more than eight bits.
    #[error("thresholds lead into i8 or u8, not {out}")]
    StepsOut {
        /// The output type.
        out: IntType,
    },
}

impl Requantization {
    /// Checks that the parameters are legal: all fields have the same number of channels, shifts and exponents are in
    /// their ranges, factors are not negative, scales are finite and positive, and thresholds are sorted and keep
    /// results in the range of the type.
    ///
    /// Each parameter is checked once. If all checks succeed, the domain of each channel is not empty.
    pub fn check(&self) -> Result<(), FormError> {
        let kind = self.kind();
        self.form().rules()?;
        let mut channels = None;
        for (field, found) in self
            .form()
            .fields()
            .lengths
            .into_iter()
            .filter_map(|(field, length)| Some((field, length?)))
        {
            match channels {
                Some(expected) if expected != found => {
                    return Err(FormError::Lengths {
                        kind,
                        field,
                        expected,
                        found,
                    });
                }
                _ => channels = Some(found),
            }
        }
        match self.channels() {
            Some(0) => Err(FormError::NoChannels { kind }),
            count => (0..count.unwrap_or(1)).try_for_each(|c| self.channel(c).map(drop)),
        }
    }
}
