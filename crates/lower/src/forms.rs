//! From scales to the integers of a form, by the rule that the form's row names.

use strait_core::Reason;
use strait_requantize::scales::fixed_point::tf_lite;
use strait_requantize::scales::power_of_two::{Correction, fractional_zero};
use strait_requantize::scales::{ScaleError, litert, packed_float};
use strait_requantize::{FormKind, IntType, Narrowing, Per, Requantization, Rounding};
use strait_target::TargetSpec;
use strait_target::spec::{FormRow, ScaleRule};

/// What is requantized: where its factor comes from decides how it is rounded on the way.
#[derive(Clone, Debug)]
pub enum Product<'a> {
    /// A convolution: input scale · weight scale.
    Convolution {
        /// Scale of the input.
        input: f32,
        /// Scales of the weights.
        weights: &'a Per<f32>,
    },
    /// A fully connected layer: input scale · weight scale.
    FullyConnected {
        /// Scale of the input.
        input: f32,
        /// Scales of the weights.
        weights: &'a Per<f32>,
    },
    /// A product of two activations.
    Activations(f32, f32),
    /// Codes of one grid, times a known factor.
    Codes {
        /// Scale of the codes.
        scale: f32,
        /// The factor.
        times: f64,
    },
}

impl Product<'_> {
    /// The scale of one unit of the accumulator, per channel.
    fn scale(&self) -> Per<f64> {
        match self {
            Product::Convolution { input, weights } | Product::FullyConnected { input, weights } => {
                weights.map(|w| f64::from(*input) * f64::from(*w))
            }
            Product::Activations(a, b) => Per::Tensor(f64::from(*a) * f64::from(*b)),
            Product::Codes { scale, times } => Per::Tensor(f64::from(*scale) * times),
        }
    }
}

/// Where a requantization leads, and from where.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// The accumulator's code of real zero. Only forms with a zero point in front of the shift can take it in.
    pub input_zero: i32,
    /// Scale of the result.
    pub scale: f64,
    /// Zero point of the result.
    pub zero: i32,
    /// Type of the result.
    pub out: IntType,
}

/// Whether forms of this row take in the zero point of what they requantize.
pub fn takes_input_zero(row: &FormRow) -> bool {
    row.form_kind() == Some(FormKind::FractionalZero)
}

/// The first of the named forms that the factor fits, with its name; the reasons of all where there is none.
///
/// # Errors
/// The reason that each form gave.
pub fn choose<'a>(
    spec: &'a TargetSpec,
    names: impl IntoIterator<Item = &'a str>,
    product: &Product<'_>,
    ends: Ends,
) -> Result<(&'a str, Requantization), Reason> {
    let mut refused = Vec::new();
    for name in names {
        let Some(row) = spec.form.get(name) else { continue };
        if ends.input_zero != 0 && !takes_input_zero(row) {
            refused.push(format!("{name} knows no zero point of its input"));
            continue;
        }
        match build(row, product, ends).map_err(|error| error.to_string()) {
            Ok(form) => match row.accepts(&form, None) {
                Ok(()) => return Ok((name, form)),
                Err(reason) => refused.push(format!("{name}: {}", reason.text)),
            },
            Err(text) => refused.push(format!("{name}: {text}")),
        }
    }
    Err(Reason::new(
        "no-form",
        format!("no form of the target fits ({})", refused.join("; ")),
    ))
}

/// The form of `row` for a factor.
///
/// # Errors
/// A factor that the form cannot express.
pub fn build(row: &FormRow, product: &Product<'_>, ends: Ends) -> Result<Requantization, ScaleError> {
    let (rounding, out, zp) = (row.rounding(), ends.out, ends.zero);
    let factor = product.scale().map(|s| s / ends.scale);
    let bits = row.multiplier_bits();
    match row.form_kind() {
        Some(FormKind::ArithFolded) => arith_folded(&factor, rounding, out),
        Some(FormKind::FractionalZero) => {
            let input = |scale: &f64| Correction::between((*scale, ends.input_zero), (ends.scale, zp));
            fractional_zero(&product.scale().try_map(input)?, bits, rounding, out)
        }
        Some(FormKind::Gemmlowp) => gemmlowp(product, &factor, ends),
        Some(FormKind::TfLite) if *row.from == ScaleRule::Litert => match product {
            Product::FullyConnected { input, weights } => {
                litert::fully_connected(*input, weights, ends.scale as f32, zp, out)
            }
            _ => tf_lite(&factor, bits, zp, rounding, out),
        },
        Some(FormKind::TfLite) => tf_lite(&factor, bits, zp, rounding, out),
        Some(FormKind::Float) => match (&*row.from, product) {
            (
                ScaleRule::Ascend,
                Product::Convolution { input, weights } | Product::FullyConnected { input, weights },
            ) => packed_float::requantization(*input, weights, ends.scale as f32, zp, bits < 24, out),
            (ScaleRule::OnnxRuntime, Product::Convolution { input, weights }) => {
                strait_requantize::scales::onnx_runtime::convolution(*input, weights, ends.scale as f32, zp, out)
            }
            _ => {
                let cut = |f: &f64| {
                    if bits < 24 {
                        packed_float::truncate(*f as f32)
                    } else {
                        Ok(*f as f32)
                    }
                };
                checked(Requantization::Float {
                    scale: factor.try_map(cut)?,
                    zp,
                    out,
                })
            }
        },
        Some(FormKind::Fixed) => {
            let form = tf_lite(&factor, bits, zp, rounding, out)?;
            let Requantization::TfLite { sc, zp, narrowing } = form else {
                return Ok(form);
            };
            checked(Requantization::Fixed {
                sc,
                add: Per::Tensor(0),
                zp,
                narrowing,
            })
        }
        // Thresholds are made from another form on an interval, never from scales.
        Some(FormKind::Steps) | None => Err(ScaleError::TooLarge {
            factor: f64::INFINITY,
            rule: "thresholds",
        }),
    }
}

fn checked(form: Requantization) -> Result<Requantization, ScaleError> {
    form.check()?;
    Ok(form)
}

/// A factor that is 2^−n on every channel; the zero point is in the bias. The weights were quantized so that it is, up to
/// the rounding of their scale to f32.
fn arith_folded(factor: &Per<f64>, rounding: Rounding, out: IntType) -> Result<Requantization, ScaleError> {
    let shift = |f: &f64| {
        let exponent = -f.log2();
        let whole = exponent.round();
        let too_large = ScaleError::TooLarge {
            factor: *f,
            rule: "a shift alone",
        };
        if (exponent - whole).abs() < 1e-5 && (0.0..=31.0).contains(&whole) {
            Ok(whole as u8)
        } else {
            Err(too_large)
        }
    };
    checked(Requantization::ArithFolded {
        narrowing: Narrowing {
            shift: factor.try_map(shift)?,
            rounding,
            out,
        },
    })
}

fn gemmlowp(product: &Product<'_>, factor: &Per<f64>, ends: Ends) -> Result<Requantization, ScaleError> {
    let (y, zp, out) = (ends.scale as f32, ends.zero, ends.out);
    match product {
        Product::Convolution { input, weights } => litert::convolution(*input, weights, y, zp, out),
        Product::Activations(a, b) => litert::multiplication(*a, *b, y, zp, out),
        _ => {
            let parts = factor.try_map(|f| litert::quantize_multiplier(*f))?;
            let (multiplier, exponent) = (parts.map(|p| p.0), parts.map(|p| p.1));
            checked(Requantization::Gemmlowp {
                multiplier,
                exponent,
                zp,
                out,
            })
        }
    }
}
