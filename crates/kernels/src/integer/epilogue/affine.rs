use super::{Epilogue, PerChannel, domain, per_channel, saturate};
use crate::error::KernelError;
use strait_requantize::{Requantization, Rounding, form::Arithmetic};

/// Computes `round((x·factor + addend) / 2^shift) + zero_point` in i64: the forms `ArithFolded`, `FractionalZero`,
/// `TfLite` and `Fixed`, with every rounding.
#[derive(Clone, Debug)]
pub struct Affine {
    constants: PerChannel<AffineConstants>,
}

/// The constants of one channel. With v = x·factor + addend, the rounded division of v by 2^s is a shift with a few
/// corrections:
///
/// round(v / 2^s) = ((v + base + (negative if v < 0) + (even if ⌊v / 2^s⌋ is odd)) >> s) + after
///
/// | rounding | base | negative | even | after |
/// |---|---|---|---|---|
/// | floor | 0 | | | |
/// | ceil | −1 | | | 1 |
/// | toward zero | 0 | 2^s − 1 | | |
/// | half up | 2^(s−1) | | | |
/// | half down | 2^(s−1) − 1 | | | |
/// | half away | 2^(s−1) | −1 | | |
/// | half toward zero | 2^(s−1) − 1 | 1 | | |
/// | half even | 2^(s−1) − 1 | | 1 | |
///
/// For s = 0 all corrections are 0. If the form's parameters are legal, no sum leaves i64.
#[derive(Clone, Copy, Debug)]
pub struct AffineConstants {
    factor: i32,
    addend: i64,
    base: i64,
    negative: i64,
    even: i64,
    shift: u32,
    /// The zero point plus the correction `after`.
    zero_point: i64,
    domain: [i32; 2],
}

/// The corrections for a rounding: one row of the table above.
pub(crate) struct Correction {
    pub(crate) base: i64,
    pub(crate) negative: i64,
    pub(crate) even: i64,
    pub(crate) after: i64,
}

impl Correction {
    pub(crate) fn new(rounding: Rounding, shift: u32) -> Correction {
        let none = Correction {
            base: 0,
            negative: 0,
            even: 0,
            after: 0,
        };
        if shift == 0 {
            return none;
        }
        let half = 1 << (shift - 1);
        match rounding {
            Rounding::Floor => none,
            Rounding::Ceil => Correction {
                base: -1,
                after: 1,
                ..none
            },
            Rounding::TowardZero => Correction {
                negative: (1 << shift) - 1,
                ..none
            },
            Rounding::HalfUp => Correction { base: half, ..none },
            Rounding::HalfDown => Correction { base: half - 1, ..none },
            Rounding::HalfAway => Correction {
                base: half,
                negative: -1,
                ..none
            },
            Rounding::HalfTowardZero => Correction {
                base: half - 1,
                negative: 1,
                ..none
            },
            Rounding::HalfEven => Correction {
                base: half - 1,
                even: 1,
                ..none
            },
        }
    }
}

impl Affine {
    /// Makes the epilogue for `form`.
    ///
    /// # Errors
    /// [`KernelError::Requantization`] if `form` needs another epilogue, or if its parameters are not legal.
    pub fn new(form: &Requantization) -> Result<Affine, KernelError> {
        let constants = per_channel(form, |channel| match channel.arithmetic() {
            Arithmetic::Affine(a) => {
                let shift = u32::from(a.shift);
                let Correction {
                    base,
                    negative,
                    even,
                    after,
                } = Correction::new(a.rounding, shift);
                Some(AffineConstants {
                    factor: a.factor,
                    addend: a.addend,
                    base,
                    negative,
                    even,
                    shift,
                    zero_point: i64::from(a.zero_point) + after,
                    domain: domain(channel),
                })
            }
            _ => None,
        })?;
        Ok(Affine { constants })
    }
}

impl Epilogue for Affine {
    type Constants = AffineConstants;

    fn constants(&self) -> &PerChannel<AffineConstants> {
        &self.constants
    }

    #[inline(always)]
    fn lane(&self, c: &AffineConstants, accumulator: i32) -> i32 {
        let accumulator = accumulator.max(c.domain[0]).min(c.domain[1]);
        let v = i64::from(accumulator) * i64::from(c.factor) + c.addend;
        let correction = c.base + (c.negative & (v >> 63)) + (c.even & (v >> c.shift));
        saturate(((v + correction) >> c.shift) + c.zero_point)
    }
}
