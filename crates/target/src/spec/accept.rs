//! Whether a form takes over a requantization.

use super::{Arithmetic, ClampSet, FormRow, Integer, Per};
use strait_core::Reason;
use strait_requantize::{FormKind, IntType, Requantization, Rounding, form};

impl FormRow {
    /// Whether the target computes this requantization, with this clamp behind it, by this form: kind, output type,
    /// granularity, rounding, and of every channel the shift and the width of the multiplier.
    ///
    /// The reason of a refusal names the first of these that does not fit.
    pub fn accepts(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<(), Reason> {
        let kind = form.kind();
        if self.form_kind() != Some(kind) {
            let own = self.form_kind().map_or("nothing", FormKind::name);
            return Err(Reason::new(
                "form-kind",
                format!("it is {kind}, and the form computes {own}"),
            ));
        }
        self.accepts_output(form.out())?;
        let per = if form.channels().is_some() {
            Per::Channel
        } else {
            Per::Tensor
        };
        // What is the same for all channels can be written per channel.
        if per == Per::Channel && !self.per.contains(&Per::Channel) {
            return Err(Reason::new(
                "form-per",
                format!("its integers are given per {per}, the form's per tensor"),
            ));
        }
        if let Some(narrowing) = form.narrowing() {
            self.accepts_rounding(narrowing.rounding, narrowing.shift.all(|s| *s == 0))?;
        }
        for channel in 0..form.channels().unwrap_or(1) {
            let scalars = form
                .channel(channel)
                .map_err(|e| Reason::new("form-illegal", e.to_string()))?;
            self.accepts_channel(channel, scalars.arithmetic())?;
        }
        clamp.map_or(Ok(()), |clamp| self.accepts_clamp(form, clamp))
    }

    fn accepts_output(&self, out: IntType) -> Result<(), Reason> {
        let out = Integer::from(out);
        if self.output.contains(&out) {
            return Ok(());
        }
        let own: Vec<&str> = self.output.iter().map(|t| t.name()).collect();
        Err(Reason::new(
            "form-output",
            format!("it narrows to {out}, the form to {}", own.join(" or ")),
        ))
    }

    /// A shift by nothing rounds nothing.
    fn accepts_rounding(&self, rounding: Rounding, exact: bool) -> Result<(), Reason> {
        if exact || rounding == self.rounding() {
            return Ok(());
        }
        Err(Reason::new(
            "form-rounding",
            format!("it rounds {rounding}, the form {}", self.rounding()),
        ))
    }

    fn accepts_channel(&self, channel: usize, arithmetic: form::Arithmetic<'_>) -> Result<(), Reason> {
        let shift = |shift: i16| match self.shift.as_deref() {
            Some(limits) if shift < i16::from(limits.min) || shift > i16::from(limits.max) => Err(Reason::new(
                "form-shift",
                format!(
                    "the shift {shift} of channel {channel} is outside {} ..= {}",
                    limits.min, limits.max
                ),
            )),
            _ => Ok(()),
        };
        match arithmetic {
            form::Arithmetic::Affine(a) => {
                shift(a.shift.into())?;
                if *self.kind == Arithmetic::Shift {
                    Ok(())
                } else {
                    self.accepts_multiplier(channel, a.factor)
                }
            }
            form::Arithmetic::Doubling(d) => {
                shift(i16::from(d.right_shift) - i16::from(d.left_shift))?;
                self.accepts_multiplier(channel, d.multiplier)
            }
            form::Arithmetic::Float(f) => {
                // An f32 has 24 significant bits; those below the form's must be zero.
                let spare = 24 - u32::from(self.multiplier_bits().min(24));
                if f.scale.to_bits().trailing_zeros() >= spare {
                    return Ok(());
                }
                let text = format!(
                    "the scale {} of channel {channel} has more than {} significant bits",
                    f.scale,
                    24 - spare
                );
                Err(Reason::new("form-multiplier", text))
            }
            form::Arithmetic::Steps(_) => Ok(()),
        }
    }

    fn accepts_multiplier(&self, channel: usize, factor: i32) -> Result<(), Reason> {
        let bits = self.multiplier_bits();
        let width = i32::BITS - factor.leading_zeros();
        // A factor of zero stands for one too small to matter; 2^bits, for a factor of exactly one.
        let fits = width <= bits.into() || i64::from(factor) == 1i64 << bits;
        let normalized = self.multiplier.as_ref().is_some_and(|m| m.normalized);
        if !fits {
            let text = format!("the multiplier {factor} of channel {channel} has more than {bits} bits");
            return Err(Reason::new("form-multiplier", text));
        }
        if normalized && factor != 0 && width < bits.into() {
            let text = format!("the multiplier {factor} of channel {channel} is not normalized to {bits} bits");
            return Err(Reason::new("form-multiplier", text));
        }
        Ok(())
    }

    /// Whether a clamp of the result costs nothing. One that leaves the type's own ends is none.
    fn accepts_clamp(&self, form: &Requantization, [low, high]: [i32; 2]) -> Result<(), Reason> {
        let out = form.out();
        // Real zero is the zero point; where that is part of the bias, the form does not know it.
        let zero = match form {
            Requantization::TfLite(form::TfLite { zp, .. })
            | Requantization::Gemmlowp(form::Gemmlowp { zp, .. })
            | Requantization::Float(form::Float { zp, .. }) => Some(*zp),
            _ => None,
        };
        let (open_below, open_above) = (low <= out.min(), high >= out.max());
        let fits = match self.clamp {
            ClampSet::None => open_below && open_above,
            ClampSet::Relu => open_above && (open_below || zero.is_none_or(|zero| zero == low)),
            ClampSet::Any => true,
        };
        if fits && low <= high {
            return Ok(());
        }
        let text = format!(
            "a clamp to [{low}, {high}] is none of those that the form has ({})",
            self.clamp
        );
        Err(Reason::new("form-clamp", text))
    }
}
