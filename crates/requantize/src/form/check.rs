use super::{Arithmetic, FormKind, Requantization};
use crate::IntType;

/// The largest shift of a narrowing: a factor of 31 fractional bits and 31 more.
pub const MAX_SHIFT: u8 = 62;

/// The largest size of what is added before a shift. With it, the products of all `i32` accumulators fit an `i64`.
pub const MAX_ADDEND: i64 = 1 << 61;

/// Why a form's parameters are not legal: the fault of the file or the target that they come from, or of the recipe
/// that made them.
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
    /// A shift above [`MAX_SHIFT`].
    #[error("shift {shift} of channel {channel} is above {MAX_SHIFT}")]
    Shift {
        /// The channel.
        channel: usize,
        /// Its shift.
        shift: u8,
    },
    /// An exponent outside -31 ..= 30.
    #[error("exponent {exponent} of channel {channel} is outside -31 ..= 30")]
    Exponent {
        /// The channel.
        channel: usize,
        /// Its exponent.
        exponent: i16,
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
    /// A scale that is zero, negative, infinite or not a number.
    #[error("scale {scale} of channel {channel} is not finite and positive")]
    Scale {
        /// The channel.
        channel: usize,
        /// Its scale.
        scale: f32,
    },
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
        /// How many thresholds.
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
    /// Whether the parameters are legal: lengths agree, shifts and exponents are in range, factors are not negative,
    /// scales are finite and positive, thresholds are sorted and stay inside the type.
    ///
    /// Costs one visit of each parameter. A form that passes has a domain that is not empty for each of its channels.
    pub fn check(&self) -> Result<(), FormError> {
        let kind = self.kind();
        let mut channels = None;
        for (field, found) in self
            .lengths()
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

impl Arithmetic<'_> {
    /// Whether the scalars are legal.
    pub(super) fn check(&self, channel: usize, out: IntType) -> Result<(), FormError> {
        match self {
            Arithmetic::Affine(a) => {
                if a.factor < 0 {
                    return Err(FormError::NegativeFactor {
                        channel,
                        factor: a.factor,
                    });
                }
                if !(-MAX_ADDEND..=MAX_ADDEND).contains(&a.addend) {
                    return Err(FormError::Addend {
                        channel,
                        addend: a.addend,
                    });
                }
                if a.shift > MAX_SHIFT {
                    return Err(FormError::Shift {
                        channel,
                        shift: a.shift,
                    });
                }
            }
            Arithmetic::Doubling(d) => {
                if d.multiplier < 0 {
                    return Err(FormError::NegativeFactor {
                        channel,
                        factor: d.multiplier,
                    });
                }
                if d.left_shift > 30 || d.right_shift > 31 {
                    let exponent = i16::from(d.left_shift) - i16::from(d.right_shift);
                    return Err(FormError::Exponent { channel, exponent });
                }
            }
            Arithmetic::Float(f) => {
                if !(f.scale.is_finite() && f.scale > 0.0) {
                    return Err(FormError::Scale {
                        channel,
                        scale: f.scale,
                    });
                }
            }
            Arithmetic::Steps(s) => {
                if out.bits() > 8 {
                    return Err(FormError::StepsOut { out });
                }
                let count = s.thresholds.len();
                let inside = s.lowest >= out.min()
                    && i64::try_from(count).is_ok_and(|n| n <= i64::from(out.max()) - i64::from(s.lowest));
                if !inside {
                    return Err(FormError::Codes {
                        channel,
                        count,
                        lowest: s.lowest,
                        out,
                    });
                }
                if let Some(i) = s.thresholds.windows(2).position(|pair| pair[0] > pair[1]) {
                    return Err(FormError::Unsorted { channel, index: i + 1 });
                }
            }
        }
        Ok(())
    }
}
