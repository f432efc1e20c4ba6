//! Decides whether a form of a table accepts a requantization.

use super::{ClampSet, FormRow, Integer, Per};
use strait_core::{Reason, ReasonCode};
use strait_requantize::{IntType, Requantization, Rounding, form};

fn refused(code: ReasonCode, text: impl Into<String>) -> Result<(), Reason> {
    Err(Reason::new(code, text))
}

impl FormRow {
    /// Checks that this form of the target can compute this requantization and the clamp after it. The following
    /// properties are compared in this order: the kind, the output type, the granularity, the rounding, and for every
    /// channel the shift and the width of the multiplier.
    ///
    /// The reason of a refusal names the first property that does not fit.
    pub fn accepts(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<(), Reason> {
        let kind = form.kind();
        if self.form_kind() != kind {
            let text = format!("it is {kind}, and the form computes {}", self.form_kind());
            return refused(ReasonCode::FormKind, text);
        }
        self.accepts_output(form.out())?;
        self.accepts_roundings(form)?;
        // A requantization with one set of parameters for the whole tensor needs no check here: if the target computes
        // the form per channel, it can use these parameters for each channel.
        if form.channels().is_some() && !self.per.contains(&Per::Channel) {
            let text = "its integers are given per channel, the form's per tensor";
            return refused(ReasonCode::FormPer, text);
        }
        if let Some(narrowing) = form.narrowing() {
            self.accepts_rounding(narrowing.rounding, narrowing.shift.all(|s| *s == 0))?;
        }
        for channel in 0..form.channels().unwrap_or(1) {
            form.channel(channel)
                .map_err(|e| Reason::new(ReasonCode::FormIllegal, e.to_string()))?;
            self.accepts_channel(channel, form)?;
        }
        clamp.map_or(Ok(()), |clamp| self.accepts_clamp(form, clamp))
    }

    fn accepts_output(&self, out: IntType) -> Result<(), Reason> {
        let out = Integer::from(out);
        if self.output.contains(&out) {
            return Ok(());
        }
        let own: Vec<&str> = self.output.iter().map(|t| t.name()).collect();
        let text = format!("it narrows to {out}, the form to {}", own.join(" or "));
        refused(ReasonCode::FormOutput, text)
    }

    /// Checks the number of roundings of a form that may round twice. For RESCALE, also checks the width of the
    /// multiplier.
    fn accepts_roundings(&self, form: &Requantization) -> Result<(), Reason> {
        let (roundings, scale32) = match form {
            Requantization::Gemmlowp(f) => (f.roundings, None),
            Requantization::TosaRescale(f) => (f.roundings, Some(f.scale32)),
            _ => return Ok(()),
        };
        if roundings != self.roundings() {
            let [its, own] = [roundings, self.roundings()].map(form::Roundings::name);
            let text = format!("its roundings are {its}, the form's {own}");
            return refused(ReasonCode::FormRounding, text);
        }
        if scale32.is_some_and(|scale32| scale32 != (self.multiplier_bits() == 31)) {
            let text = format!(
                "its multiplier is of another width than the form's {} bits",
                self.multiplier_bits()
            );
            return refused(ReasonCode::FormMultiplier, text);
        }
        Ok(())
    }

    /// Checks the rounding. If the result is exact, as for a shift by 0, every rounding is accepted.
    fn accepts_rounding(&self, rounding: Rounding, exact: bool) -> Result<(), Reason> {
        if exact || rounding == self.rounding() {
            return Ok(());
        }
        let text = format!("it rounds {rounding}, the form {}", self.rounding());
        refused(ReasonCode::FormRounding, text)
    }

    /// Checks the parameters of one channel of a legal form against the limits.
    fn accepts_channel(&self, channel: usize, form: &Requantization) -> Result<(), Reason> {
        let (shift, factor) = (form.right_shift(channel), form.factor(channel));
        if let (Some(shift), Some(limits)) = (shift, self.shift())
            && (shift < i16::from(limits.min) || shift > i16::from(limits.max))
        {
            let text = format!(
                "the shift {shift} of channel {channel} is outside {} ..= {}",
                limits.min, limits.max
            );
            return refused(ReasonCode::FormShift, text);
        }
        if let Some(scale) = form.scale(channel) {
            self.accepts_scale(channel, scale)?;
        }
        factor.map_or(Ok(()), |factor| self.accepts_multiplier(channel, factor))
    }

    /// Checks the significant bits of a scale. An f32 has 24 of them. The lowest bits, beyond the width of the form's
    /// multiplier, must be zero.
    fn accepts_scale(&self, channel: usize, scale: f32) -> Result<(), Reason> {
        let spare = 24 - u32::from(self.multiplier_bits().min(24));
        if scale.to_bits().trailing_zeros() >= spare {
            return Ok(());
        }
        let text = format!(
            "the scale {scale} of channel {channel} has more than {} significant bits",
            24 - spare
        );
        refused(ReasonCode::FormMultiplier, text)
    }

    fn accepts_multiplier(&self, channel: usize, factor: i32) -> Result<(), Reason> {
        let bits = self.multiplier_bits();
        let width = i32::BITS - factor.leading_zeros();
        // A multiplier of 0 stands for a factor that is too small to matter, a multiplier of 2^bits for a factor of 1.
        let fits = width <= bits.into() || i64::from(factor) == 1i64 << bits;
        if !fits {
            let text = format!("the multiplier {factor} of channel {channel} has more than {bits} bits");
            return refused(ReasonCode::FormMultiplier, text);
        }
        if self.is_normalized() && factor != 0 && width < bits.into() {
            let text = format!("the multiplier {factor} of channel {channel} is not normalized to {bits} bits");
            return refused(ReasonCode::FormMultiplier, text);
        }
        Ok(())
    }

    /// Checks that the form itself can apply the clamp to its result. A clamp to the full range of the type does
    /// nothing.
    fn accepts_clamp(&self, form: &Requantization, [low, high]: [i32; 2]) -> Result<(), Reason> {
        let out = form.out();
        // If the zero point is part of the bias, the form does not know which code stands for zero.
        let zero = form.zero_point();
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
        refused(ReasonCode::FormClamp, text)
    }
}
