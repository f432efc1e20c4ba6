//! Derives the integers of a form from scales.

use super::{Arithmetic, Built, FormRow, Reciprocal, Rescale, ScaleRule, Scales, TargetSpec};
use strait_core::{Reason, ReasonCode};
use strait_requantize::scales::{
    ScaleError, ascend, fixed_point,
    fixed_point::frexp,
    litert, onnx_runtime, packed_float,
    power_of_two::{Correction, fractional_zero},
    tosa,
};
use strait_requantize::{FormKind, IntType, Narrowing, Per, Requantization, Rounding, Roundings, Step, form, to_steps};

impl TargetSpec {
    /// Builds a requantization with the first of these forms whose rule gives integers within the form's limits.
    /// Returns the name of the form and the requantization. The reason of a refusal lists the reasons of all forms.
    pub fn build<'n>(&self, forms: &'n [String], rescale: &Rescale<'_>) -> Result<(&'n str, Built), Reason> {
        let mut refusals = Vec::new();
        for name in forms {
            // In a table that was checked, every name is the name of a form.
            let Some(row) = self.form.get(name.as_str()) else {
                continue;
            };
            match row.build(rescale) {
                Ok(built) => return Ok((name, built)),
                Err(Reason { code, text }) => {
                    let help = row.help.as_ref().map(|help| format!(" ({help})"));
                    refusals.push((code, format!("{name}: {text}{}", help.unwrap_or_default())));
                }
            }
        }
        // If a form with results of this type was refused, forms with results of other types are not listed among the reasons.
        if refusals.iter().any(|(code, _)| *code != ReasonCode::FormOutput) {
            refusals.retain(|(code, _)| *code != ReasonCode::FormOutput);
        }
        let (codes, texts): (Vec<_>, Vec<_>) = refusals.into_iter().unzip();
        let code = codes.into_iter().next().unwrap_or(ReasonCode::NoForm);
        Err(Reason::new(code, texts.join("; ")))
    }
}

impl FormRow {
    /// Builds the requantization that converts from one scale and zero point to another, by this row's rule and within
    /// the row's limits.
    pub fn build(&self, rescale: &Rescale<'_>) -> Result<Built, Reason> {
        let form = self.integers(rescale)?;
        // A factor outside of the limits is refused and not moved to the nearest limit.
        self.accepts(&form, None)?;
        covers(&form, rescale.accumulators)?;
        let holds =
            |form: &Requantization| self.accepts(form, None).is_ok() && covers(form, rescale.accumulators).is_ok();
        let nearest = self.nearest(rescale).filter(|built| holds(&built.form));
        Ok(nearest.unwrap_or(Built { form, nearness: None }))
    }

    /// Builds the form that maps an accumulator x to `sat(round(x / 2^shift))`, within this row's limits. This form is
    /// used if the part of the factor that is not a power of two is folded into the weights.
    pub fn build_shift(&self, shift: Per<u8>, out: IntType) -> Result<Requantization, Reason> {
        let form = match self.kind {
            Arithmetic::DequantS16(_) => form::AscendDequantS16 { shift, relu: false }.into(),
            _ => Requantization::ArithFolded(form::ArithFolded {
                narrowing: Narrowing {
                    shift,
                    rounding: self.rounding(),
                    out,
                },
            }),
        };
        self.accepts(&form, None)?;
        Ok(form)
    }

    /// Builds `sat(round(x · r / 2^bits) + z)` within this row's limits. The integer r approximates 2^bits / count.
    pub fn build_reciprocal(
        &self,
        counts: &Per<u32>,
        reciprocal: Reciprocal,
        zp: i32,
        out: IntType,
        accumulators: Option<&Per<(i64, i64)>>,
    ) -> Result<Requantization, Reason> {
        let number = |&count: &u32| match reciprocal.of(count) {
            0 => {
                let text = format!("1 / {count} is 0 with {} bits", reciprocal.bits);
                Err(Reason::new(ReasonCode::FormFactor, text))
            }
            number => Ok(number),
        };
        let form = Requantization::TfLite(form::TfLite {
            sc: counts.try_map(number)?,
            zp,
            narrowing: Narrowing {
                shift: Per::Tensor(reciprocal.bits),
                rounding: self.rounding(),
                out,
            },
        });
        self.accepts(&form, None)?;
        covers(&form, accumulators)?;
        Ok(form)
    }

    /// If `pair` is a dequantization followed by a quantization, merges both, and the clamp after them, into a single
    /// step with this row's form. Returns this step, or the reason why they cannot be merged. Returns `None` for any
    /// other requantization, and for a form that is not Ascend's.
    pub fn merge(&self, pair: &Requantization, clamp: Option<[i32; 2]>) -> Option<Result<Step, Reason>> {
        match (self.form_kind(), pair) {
            (FormKind::AscendRequant, Requantization::DequantQuant(pair)) => {
                Some(ascend::merge(pair, clamp, self.multiplier_bits() < 24).map_err(refused))
            }
            _ => None,
        }
    }

    /// True if a requantization of this row can also subtract the zero point of its input. `per_channel` says whether
    /// its parameters are per channel or per tensor. If the result is false, the zero point has to be subtracted before
    /// the requantization.
    pub fn takes_input_zero(&self, per_channel: bool) -> bool {
        match self.form_kind() {
            FormKind::FractionalZero | FormKind::Fixed | FormKind::Steps => true,
            // The input's zero point becomes part of the result's zero point. This needs equal factors, since all
            // channels share one zero point.
            FormKind::TfLite => self.from == ScaleRule::Correction && !per_channel,
            _ => false,
        }
    }

    fn integers(&self, rescale: &Rescale<'_>) -> Result<Requantization, Reason> {
        let kind = self.form_kind();
        let per_channel = rescale.scales.factor().channels().is_some();
        if rescale.input_zero != 0 && !self.takes_input_zero(per_channel) {
            let text = format!(
                "{kind} does not take off an input's zero point ({})",
                rescale.input_zero
            );
            return Err(Reason::new(ReasonCode::FormZeroPoint, text));
        }
        match kind {
            FormKind::ArithFolded => self.shift_alone(rescale),
            FormKind::FractionalZero => self.fractional_zero(rescale).map_err(refused),
            FormKind::TfLite => self.tf_lite(rescale).map_err(refused),
            FormKind::Gemmlowp => match (gemmlowp(rescale).map_err(refused)?, self.roundings()) {
                (form, Roundings::One) => Ok(litert::single_rounding(form)),
                (form, Roundings::Two) => Ok(form),
            },
            FormKind::SixteenByEight => sixteen_by_eight(rescale).map_err(refused),
            FormKind::Float64 => {
                litert::product_in_f64(&rescale.scales.factor(), rescale.output_zero, rescale.out).map_err(refused)
            }
            FormKind::TosaRescale => self.tosa_rescale(rescale).map_err(refused),
            FormKind::Float | FormKind::FloatZeroInside | FormKind::AscendRequant | FormKind::AscendRequantS16 => {
                self.float(kind, rescale).map_err(refused)
            }
            FormKind::DequantQuant => self.dequant_quant(rescale),
            FormKind::AscendDequantS16 => Err(Reason::new(
                ReasonCode::FormKind,
                "it leads to sums of 16 bits, and to no grid by itself",
            )),
            FormKind::Fixed => fixed(rescale, self.multiplier_bits(), self.rounding()).map_err(refused),
            FormKind::Steps => self.steps(rescale),
        }
    }

    /// Builds a plain shift. This is only possible for factors that are powers of two (2^-s = factor) and for results
    /// whose zero point is 0.
    fn shift_alone(&self, rescale: &Rescale<'_>) -> Result<Requantization, Reason> {
        let exponent = |factor: &f64| {
            // The factor is fraction · 2^exponent. For a power of two, the fraction is one half.
            let (fraction, exponent) = frexp(*factor);
            let shift = u8::try_from(1 - exponent).ok().filter(|_| fraction == 0.5);
            let text = || format!("the factor {factor} is not 2^-s for a shift s");
            shift.ok_or_else(|| Reason::new(ReasonCode::FormFactor, text()))
        };
        if rescale.output_zero != 0 {
            let text = "a shift adds no zero point; it has to be part of the bias";
            return Err(Reason::new(ReasonCode::FormZeroPoint, text));
        }
        let narrowing = Narrowing {
            shift: rescale.scales.factor().try_map(exponent)?,
            rounding: self.rounding(),
            out: rescale.out,
        };
        Ok(Requantization::ArithFolded(form::ArithFolded { narrowing }))
    }

    fn fractional_zero(&self, rescale: &Rescale<'_>) -> Result<Requantization, ScaleError> {
        let grids = |factor: &f64| Correction::between((*factor, rescale.input_zero), (1.0, rescale.output_zero));
        let corrections = rescale.scales.factor().try_map(grids)?;
        fractional_zero(&corrections, self.multiplier_bits(), self.rounding(), rescale.out)
    }

    fn tf_lite(&self, rescale: &Rescale<'_>) -> Result<Requantization, ScaleError> {
        let (mut zp, out) = (rescale.output_zero, rescale.out);
        if let (ScaleRule::Correction, Per::Tensor(factor)) = (self.from, rescale.scales.factor()) {
            // The form computes round(x · sc / 2^s) + zp, so zp has to account for both the input's zero point z_in and
            // the output's zero point z_out: zp = z_out − z_in · factor, rounded to a whole number.
            let offset = f64::from(zp) - f64::from(rescale.input_zero) * factor;
            zp = Rounding::HalfEven.round_f64(offset) as i32;
        }
        let factor = match rescale.scales {
            Scales::FullyConnected { .. } if self.from == ScaleRule::Litert => {
                return litert::one_rounding(&rescale.scales.factor(), zp, self.rounding(), out);
            }
            Scales::Product { .. } if self.from == ScaleRule::Litert => rescale.scales.single().map(|f| f64::from(*f)),
            Scales::MatrixProduct { a, b, output } if self.from == ScaleRule::Litert => {
                Per::Tensor(f64::from(a * b) / f64::from(output))
            }
            _ => rescale.scales.factor(),
        };
        fixed_point::tf_lite(&factor, self.multiplier_bits(), zp, self.rounding(), out)
    }

    /// Builds a form with a float factor. The scales are multiplied in `f32`, in the same order as by the runtime that
    /// the row names. The product is then cut to the row's number of significant bits.
    fn float(&self, kind: FormKind, rescale: &Rescale<'_>) -> Result<Requantization, ScaleError> {
        let (zp, out) = (rescale.output_zero, rescale.out);
        let packed = self.multiplier_bits() < 24;
        let scale = match (rescale.scales.products(), self.from) {
            (Some((input, weight, output)), ScaleRule::DequantizeQuantize) => ascend::Scales {
                input,
                weight: &weight,
                output,
                packed,
            }
            .requantization()?,
            (Some((input, weight, output)), ScaleRule::OnnxRuntime) => {
                onnx_runtime::convolution_factor(input, &weight, output)?
            }
            (None, ScaleRule::OnnxRuntime) if let Scales::Mean { input, count, output } = rescale.scales => {
                onnx_runtime::mean_factor(input, count, output)?
            }
            (_, rule) => {
                let scale = match rule {
                    ScaleRule::Free => rescale.scales.factor().map(|f| *f as f32),
                    _ => rescale.scales.single(),
                };
                if packed {
                    scale.try_map(|s| packed_float::truncate(*s))?
                } else {
                    scale
                }
            }
        };
        match kind {
            FormKind::AscendRequant => checked(form::AscendRequant {
                scale,
                offset: zp,
                relu: false,
                out,
            }),
            FormKind::FloatZeroInside => checked(form::FloatZeroInside { scale, zp, out }),
            FormKind::AscendRequantS16 => checked(form::AscendRequantS16 { scale, offset: zp }),
            _ => checked(form::Float { scale, zp, out }),
        }
    }

    /// Builds a dequantization followed by a quantization. Both scales are needed separately, and not only their ratio:
    /// the dequantization multiplies by the product of the input scales, and the quantization divides by the output
    /// scale.
    fn dequant_quant(&self, rescale: &Rescale<'_>) -> Result<Requantization, Reason> {
        let packed = self.multiplier_bits() < 24;
        let built = |input, weight: &Per<f32>, output| {
            let scales = ascend::Scales {
                input,
                weight,
                output,
                packed,
            };
            ascend::dequant_quant(&scales, rescale.output_zero, false, rescale.out).map_err(refused)
        };
        match (rescale.scales.products(), rescale.scales) {
            (Some((input, weight, output)), _) => built(input, &weight, output),
            (_, Scales::Product { a, b, output }) => built(a, &Per::Tensor(b), output),
            _ => Err(Reason::new(
                ReasonCode::FormFactor,
                "a ratio of scales does not tell the scale of the real number in between",
            )),
        }
    }

    /// Builds a RESCALE of TOSA. With a multiplier of 31 bits, accumulators have 32 bits, and with a multiplier of 15
    /// bits, they have 48 bits.
    fn tosa_rescale(&self, rescale: &Rescale<'_>) -> Result<Requantization, ScaleError> {
        let (width, input) = if self.multiplier_bits() == 31 {
            (tosa::Scale::Scale32, form::TosaInput::I32)
        } else {
            (tosa::Scale::Scale16, form::TosaInput::I48)
        };
        let integers = rescale
            .scales
            .factor()
            .try_map(|f| tosa::multiplier_and_shift(*f, width))?;
        checked(form::TosaRescale {
            multiplier: integers.map(|i| i.0),
            shift: integers.map(|i| i.1),
            scale32: width == tosa::Scale::Scale32,
            roundings: self.roundings(),
            input,
            input_zp: 0,
            output_zp: rescale.output_zero,
            out: rescale.out,
        })
    }

    /// Builds a form of thresholds. The form has the same results, for all 32-bit accumulators, as the fixed-point form
    /// whose multiplier has 31 bits and which rounds ties to even.
    fn steps(&self, rescale: &Rescale<'_>) -> Result<Requantization, Reason> {
        let form = fixed(rescale, 31, Rounding::HalfEven).map_err(refused)?;
        let interval = form
            .channels()
            .map_or(Per::Tensor(I32), |channels| Per::from_iter(vec![I32; channels]));
        to_steps(&[Step { form, clamp: None }], &interval)
            .map_err(|e| Reason::new(ReasonCode::FormFactor, e.to_string()))
    }
}

/// Checks that a form is defined on all accumulators that can occur: outside of its domain, a runtime would overflow.
fn covers(form: &Requantization, accumulators: Option<&Per<(i64, i64)>>) -> Result<(), Reason> {
    let Some(all) = accumulators else { return Ok(()) };
    for channel in 0..form.channels().or(all.channels()).unwrap_or(1) {
        let (domain, ends) = (form.domain(channel), all.get(channel));
        let outside = ends.filter(|(low, high)| !(domain.contains(low) && domain.contains(high)));
        if let Some((low, high)) = outside {
            let text = format!(
                "its accumulators reach from {low} to {high} in channel {channel}, and {} with these integers is defined \
                 from {} to {}",
                form.kind(),
                domain.start(),
                domain.end()
            );
            return Err(Reason::new(ReasonCode::OutsideDomain, text));
        }
    }
    Ok(())
}

/// The range of all 32-bit accumulators.
const I32: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);

/// Builds round(((x − z_in) · sc) / 2^s) + z_out. The input's zero point becomes part of the constant −z_in · sc.
fn fixed(rescale: &Rescale<'_>, bits: u8, rounding: Rounding) -> Result<Requantization, ScaleError> {
    let factor = rescale.scales.factor();
    match fixed_point::tf_lite(&factor, bits, rescale.output_zero, rounding, rescale.out)? {
        Requantization::TfLite(form::TfLite { sc, zp, narrowing }) => {
            let add = sc.map(|sc| -i64::from(rescale.input_zero) * i64::from(*sc));
            checked(form::Fixed { sc, add, zp, narrowing })
        }
        other => Ok(other),
    }
}

/// Builds a form with gemmlowp's two roundings. If LiteRT has a rule for the factor of this op, the rule computes the
/// factor's integers, and otherwise LiteRT's `QuantizeMultiplier` does.
fn gemmlowp(rescale: &Rescale<'_>) -> Result<Requantization, ScaleError> {
    let (zp, out) = (rescale.output_zero, rescale.out);
    match rescale.scales {
        Scales::Convolution { input, weight, output } => litert::convolution(input, weight, output, zp, out),
        Scales::Product { a, b, output } => litert::multiplication(a, b, output, zp, out),
        Scales::MatrixProduct { a, b, output } => litert::matrix_product(a, b, output, zp, out),
        Scales::Mean { input, count, output } => litert::mean(input, count, output, zp, out),
        Scales::FullyConnected { .. } | Scales::Onto { .. } | Scales::Ratio(_) => {
            litert::gemmlowp(&rescale.scales.factor(), zp, out)
        }
    }
}

/// Builds a form by the rule of LiteRT's convolutions on int16. For a matrix product of two activations, LiteRT
/// computes the factor by another rule.
fn sixteen_by_eight(rescale: &Rescale<'_>) -> Result<Requantization, ScaleError> {
    let (zp, out) = (rescale.output_zero, rescale.out);
    match rescale.scales {
        Scales::MatrixProduct { a, b, output } => litert::wide_matrix_product(a, b, output, zp, out),
        _ => litert::sixteen_bits(&rescale.scales.factor(), zp, out),
    }
}

/// Returns the form if its integers are legal.
fn checked(form: impl Into<Requantization>) -> Result<Requantization, ScaleError> {
    let form = form.into();
    form.check()?;
    Ok(form)
}

fn refused(error: ScaleError) -> Reason {
    Reason::new(ReasonCode::FormFactor, error.to_string())
}
