use super::{FormKind, Requantization};
use crate::{IntType, Rounding};
use std::ops::RangeInclusive;

/// The largest shift of a narrowing: a factor of 31 fractional bits and 31 more.
pub const MAX_SHIFT: u8 = 62;

/// The largest size of what is added before a shift. With it, the products of all `i32` accumulators fit an `i64`.
pub const MAX_ADDEND: i64 = 1 << 61;

/// Checks that a field of a channel has a value that the form has.
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

/// Reason why a form's parameters are not legal: the fault of the file or the target that they come from, or of the
/// recipe that made them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FormError {
    /// Two fields disagree about the number of channels.
    #[error("{kind}: `{field}` has {found} channels where another field has {expected}")]
    Lengths {
        /// The form's kind.
        kind: FormKind,
        /// The field that differs.
        field: &'static str,
        /// Channels of the field before it.
        expected: usize,
        /// Its own channels.
        found: usize,
    },
    /// A field given per channel is empty.
    #[error("{kind}: a field that is given per channel has no channel")]
    NoChannels {
        /// The form's kind.
        kind: FormKind,
    },
    /// A channel past the last one.
    #[error("`{field}` has no channel {channel}")]
    NoSuchChannel {
        /// The field that ends before it.
        field: &'static str,
        /// The channel asked for.
        channel: usize,
    },
    /// A shift, an exponent or an offset that the form does not have.
    #[error("{field} {value} of channel {channel} is outside {} ..= {}", .range.start(), .range.end())]
    Range {
        /// The field.
        field: &'static str,
        /// The channel.
        channel: usize,
        /// Its value.
        value: i64,
        /// The values that the form has.
        range: RangeInclusive<i64>,
    },
    /// Fields that are legal by themselves and not together.
    #[error("{kind}: {rule}")]
    Together {
        /// The form's kind.
        kind: FormKind,
        /// The rule that the fields break together.
        rule: &'static str,
    },
    /// A negative factor: the form would decrease.
    #[error("factor {factor} of channel {channel} is negative")]
    NegativeFactor {
        /// The channel.
        channel: usize,
        /// Its factor.
        factor: i32,
    },
    /// An addend larger than [`MAX_ADDEND`].
    #[error("addend {addend} of channel {channel} is larger than 2^61")]
    Addend {
        /// The channel.
        channel: usize,
        /// Its addend.
        addend: i64,
    },
    /// A scale that is zero, negative, infinite or NaN.
    #[error("scale {scale} of channel {channel} is not finite and positive")]
    Scale {
        /// The channel.
        channel: usize,
        /// Its scale.
        scale: f32,
    },
    /// An addend in float that is infinite or NaN.
    #[error("offset {offset} is not finite")]
    Offset {
        /// The addend.
        offset: f32,
    },
    /// A rounding that the function does not have.
    #[error("it does not round {0}")]
    Rounding(Rounding),
    /// A threshold below its predecessor.
    #[error("threshold {index} of channel {channel} is below the one before it")]
    Unsorted {
        /// The channel.
        channel: usize,
        /// Which threshold.
        index: usize,
    },
    /// Thresholds that lead out of the output type.
    #[error("{count} thresholds of channel {channel} lead from {lowest} out of {out}")]
    Codes {
        /// The channel.
        channel: usize,
        /// Number of thresholds.
        count: usize,
        /// The value below the first one.
        lowest: i32,
        /// The output type.
        out: IntType,
    },
    /// The lower end of a clamp is above the upper one.
    #[error("clamp [{low}, {high}] is empty")]
    Clamp {
        /// The lower end.
        low: i32,
        /// The upper end.
        high: i32,
    },
    /// Thresholds into a type of more than eight bits.
    #[error("thresholds lead into i8 or u8, not {out}")]
    StepsOut {
        /// The output type.
        out: IntType,
    },
}

impl Requantization {
    /// Checks that the parameters are legal: lengths agree, shifts and exponents are in range, factors are not
    /// negative, scales are finite and positive, thresholds are sorted and stay inside the type.
    ///
    /// Costs one visit of each parameter. A form that passes has a domain that is not empty for each of its channels.
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
