//! The rules by name. A rule makes one of our forms from the parameters of a case, and computes the form's results.

use crate::{compare::Case, functions};
use std::error::Error;
use strait_requantize::quantize::{self, Quantization, Scaling, ZeroPoint};
use strait_requantize::scales::{ScaleError, fixed_point, litert, onnx_runtime};
use strait_requantize::{IntType, Per, Requantization, Rounding, Roundings, form, mixed::QuantizeLinear};

/// Integers, with one row for each channel or operand.
pub(crate) type Rows = Vec<Vec<i64>>;

/// The results of our form. `None` for integers for which the form is not defined.
pub(crate) type Results = Result<Vec<Vec<Option<i64>>>, Box<dyn Error>>;

/// A rule: a function that computes the results for the rows of a case.
pub(crate) type Rule = fn(&Case) -> Results;

/// The rule with this name.
pub(crate) fn find(name: &str) -> Option<Rule> {
    let mut all = RULES.iter().chain(functions::RULES);
    all.find(|(n, _)| *n == name).map(|&(_, rule)| rule)
}

const RULES: &[(&str, Rule)] = &[
    // This rule is for files in which `x` already contains the results of our executor. It returns them unchanged, so
    // that they are compared with the results of the other program.
    ("same", |c| {
        Ok(c.x.iter().map(|row| row.iter().map(|&x| Some(x)).collect()).collect())
    }),
    // LiteRT
    ("litert::convolution", |c| product(c, litert::convolution)),
    ("litert::fully_connected", |c| product(c, litert::fully_connected)),
    ("litert::fully_connected_in_f64", |c| {
        product(c, litert::fully_connected_in_f64)
    }),
    ("litert::sixteen_by_eight", |c| product(c, litert::sixteen_by_eight)),
    ("litert::matrix_product", |c| {
        let (a, b) = c.single_weight()?;
        c.requantized(litert::matrix_product(a, b, c.output, c.zero, c.out))
    }),
    ("litert::wide_matrix_product", |c| {
        let (a, b) = c.single_weight()?;
        c.requantized(litert::wide_matrix_product(a, b, c.output, c.zero, c.out))
    }),
    ("litert::multiplication", |c| {
        let (a, b) = c.pair()?;
        c.requantized(litert::multiplication(a, b, c.output, c.zero, c.out))
    }),
    // A ReLU has a single operand. Its files state 1.0 as the scale of a second operand, so the factor is
    // f32(input scale / output scale).
    ("litert::relu", |c| {
        let (a, b) = c.pair()?;
        c.requantized(litert::multiplication(a, b, c.output, c.zero, c.out))
    }),
    ("litert::addition", |c| litert_sum(c, |a, b| a + b)),
    ("litert::addition, subtracted", |c| litert_sum(c, |a, b| a - b)),
    ("litert::mean", |c| {
        c.requantized(litert::mean(c.input()?, &c.count.into(), c.output, c.zero, c.out))
    }),
    ("litert::convolution, weight 1", |c| {
        c.requantized(litert::convolution(c.input()?, &1.0.into(), c.output, c.zero, c.out))
    }),
    ("quantize, half away", |c| {
        quantized(c, |x| {
            quantize::quantize(x, c.output, c.zero, Rounding::HalfAway, &c.out.range())
        })
    }),
    // Similar rules, which LiteRT does not use
    ("one rounding, half up", |c| {
        product(c, |input, weights, output, zero, out| {
            let factor = weights.map(|w| f64::from(input) * f64::from(*w) / f64::from(output));
            litert::one_rounding(&factor, zero, Rounding::HalfUp, out)
        })
    }),
    ("factor in f32", |c| {
        product(c, |input, weights, output, zero, out| {
            let ratio = |w: &f32| input * *w / output;
            litert::convolution(1.0, &weights.map(ratio), 1.0, zero, out)
        })
    }),
    ("factor in f64", |c| {
        let (a, b) = c.pair()?;
        c.requantized(litert::convolution(a, &b.into(), c.output, c.zero, c.out))
    }),
    ("one rounding", |c| c.once(c.ratio()?)),
    ("nearest multiplier", |c| {
        let (multiplier, exponent) = litert::quantize_multiplier(c.ratio()?)?;
        let (zp, out, roundings) = (c.zero, c.out, Roundings::Two);
        let (multiplier, exponent) = (multiplier.into(), exponent.into());
        c.requantized(Ok(form::Gemmlowp {
            multiplier,
            exponent,
            zp,
            roundings,
            out,
        }
        .into()))
    }),
    ("reciprocal, half away", |c| by_reciprocal(c, Rounding::HalfAway)),
    // ONNX Runtime
    ("onnx_runtime::convolution", |c| product(c, onnx_runtime::convolution)),
    ("onnx_runtime::mean", |c| {
        c.requantized(onnx_runtime::mean(c.input()?, &c.count.into(), c.output, c.zero, c.out))
    }),
    ("onnx_runtime::multiplication", |c| {
        let (a, b) = c.pair()?;
        c.centred_product(onnx_runtime::multiplication(a, b, c.output, c.zero, c.out))
    }),
    ("onnx_runtime::addition", |c| {
        let ((a, b), (a_zero, b_zero)) = (c.pair()?, c.zero_pair()?);
        let form = onnx_runtime::addition((a, a_zero), (b, b_zero), (c.output, c.zero), c.out)?;
        let [x, y] = c.operand_rows()?;
        let one = |(x, y): (&i64, &i64)| Ok(Some(form.eval(i32::try_from(*x)?, i32::try_from(*y)?).into()));
        Ok(vec![x.iter().zip(y).map(one).collect::<Result<_, Box<dyn Error>>>()?])
    }),
    ("QuantizeLinear", |c| {
        let form = c.quantize_linear();
        quantized_where_defined(c, |x| form.eval(x).ok())
    }),
    ("dequantized, then QuantizeLinear", |c| {
        let (form, scale) = (c.quantize_linear(), c.input()?);
        let zero = *c.zeros.first().ok_or("a zero point is expected")?;
        let one = |&q: &i64| {
            let x = quantize::dequantize(i32::try_from(q)?, scale, zero);
            Ok(form.eval(x).ok().map(i64::from))
        };
        c.x.iter().map(|row| row.iter().map(one).collect()).collect()
    }),
    // Similar rules, which ONNX Runtime does not use
    ("quotient, then count", |c| {
        let scale = c.input()? / c.output / c.count as f32;
        c.requantized(onnx_runtime::convolution(scale, &1.0.into(), 1.0, c.zero, c.out))
    }),
    ("(input / output) · weight", |c| {
        product(c, |input, weights, output, zero, out| {
            onnx_runtime::convolution(input / output, weights, 1.0, zero, out)
        })
    }),
    ("zero point inside", |c| {
        product(c, |input, weights, output, zp, out| {
            let scale = onnx_runtime::convolution_factor(input, weights, output)?;
            Ok(form::FloatZeroInside { scale, zp, out }.into())
        })
    }),
    ("zero point outside", |c| {
        let (a, b) = c.pair()?;
        c.centred_product(onnx_runtime::convolution(a, &b.into(), c.output, c.zero, c.out))
    }),
    ("reciprocal, half even", |c| by_reciprocal(c, Rounding::HalfEven)),
    // TOSA
    ("TosaRescale", |c| rescaled(c, None)),
    ("TosaRescale, one rounding", |c| rescaled(c, Some(Roundings::One))),
    ("TosaRescale, two roundings", |c| rescaled(c, Some(Roundings::Two))),
];

impl Case {
    pub(crate) fn input(&self) -> Result<f32, Box<dyn Error>> {
        self.inputs
            .first()
            .copied()
            .ok_or_else(|| "an input scale is expected".into())
    }

    fn pair(&self) -> Result<(f32, f32), Box<dyn Error>> {
        match self.inputs[..] {
            [a, b] => Ok((a, b)),
            _ => Err("two input scales are expected".into()),
        }
    }

    pub(crate) fn zero_pair(&self) -> Result<(i32, i32), Box<dyn Error>> {
        match self.zeros[..] {
            [a, b] => Ok((a, b)),
            _ => Err("two zero points are expected".into()),
        }
    }

    fn operand_rows(&self) -> Result<[&Vec<i64>; 2], Box<dyn Error>> {
        match &self.x[..] {
            [x, y] => Ok([x, y]),
            _ => Err("two operands are expected".into()),
        }
    }

    /// Returns the factor by which integers of the input scale are multiplied to get integers of the output scale, in
    /// f64. For a mean, the factor also includes the division by the number of elements.
    fn ratio(&self) -> Result<f64, Box<dyn Error>> {
        let scale: f64 = match (&self.inputs[..], &self.weights) {
            ([input], None) => (*input).into(),
            // The factor of a product is computed in f32.
            ([a, b], None) => return Ok(f64::from(a * b / self.output)),
            ([input], Some(Per::Tensor(weight))) => f64::from(input * weight),
            _ => return Err("the scale of a tensor is expected".into()),
        };
        Ok(scale / f64::from(self.count.max(1)) / f64::from(self.output))
    }

    fn quantize_linear(&self) -> QuantizeLinear {
        QuantizeLinear {
            scale: self.output,
            zero_point: self.zero,
            out: self.out,
        }
    }

    fn single_weight(&self) -> Result<(f32, f32), Box<dyn Error>> {
        match &self.weights {
            Some(Per::Tensor(weight)) => Ok((self.input()?, *weight)),
            _ => Err("one weight scale is expected".into()),
        }
    }

    /// The ends of a fused activation, as codes.
    fn activation(&self) -> [i32; 2] {
        let end = |end: Option<f32>, other: i32| {
            end.map_or(other, |end| {
                quantize::quantize(end, self.output, self.zero, Rounding::HalfAway, &self.out.range())
            })
        };
        let [low, high] = self.clamp.unwrap_or_default();
        [end(low, self.out.min()), end(high, self.out.max())]
    }

    /// Requantizes each row with the channel of the form that has the same index as the row.
    fn requantized(&self, form: Result<Requantization, ScaleError>) -> Results {
        let (form, [low, high]) = (form?, self.activation());
        let row = |(channel, row): (usize, &Vec<i64>)| {
            let channel = form.channel(channel)?;
            let one = |&x: &i64| channel.eval(x).ok().map(|y| y.max(low).min(high).into());
            Ok(row.iter().map(one).collect())
        };
        self.x.iter().enumerate().map(row).collect()
    }

    /// Requantizes the products of two rows of codes, with the zero points subtracted.
    fn centred_product(&self, form: Result<Requantization, ScaleError>) -> Results {
        let (form, (a_zero, b_zero), [a, b]) = (form?, self.zero_pair()?, self.operand_rows()?);
        let channel = form.channel(0)?;
        let one = |(a, b): (&i64, &i64)| {
            let product = (a - i64::from(a_zero)) * (b - i64::from(b_zero));
            channel.eval(product).ok().map(i64::from)
        };
        Ok(vec![a.iter().zip(b).map(one).collect()])
    }

    /// Requantizes with one rounding (ties up) and a multiplier of 31 bits.
    fn once(&self, factor: f64) -> Results {
        self.requantized(fixed_point::tf_lite(
            &factor.into(),
            31,
            self.zero,
            Rounding::HalfUp,
            self.out,
        ))
    }
}

type ProductRule = fn(f32, &Per<f32>, f32, i32, IntType) -> Result<Requantization, ScaleError>;

/// Requantizes the accumulators of a layer with weights.
fn product(case: &Case, rule: ProductRule) -> Results {
    let weights = case.weights.as_ref().ok_or("weight scales are expected")?;
    case.requantized(rule(case.input()?, weights, case.output, case.zero, case.out))
}

/// Adds or subtracts two operands on a common grid, after subtracting their zero points.
fn litert_sum(case: &Case, combine: fn(i64, i64) -> i64) -> Results {
    let ((a, b), [x, y]) = (case.pair()?, case.operand_rows()?);
    let rule = litert::addition(a, b, case.output, case.zero, case.out)?;
    let [first, second] = &rule.operands;
    let one = |(x, y): (&i64, &i64)| {
        let operand = |form: &Requantization, q: i64| form.eval(0, q << rule.left_shift).ok().map(i64::from);
        let total = combine(operand(first, *x)?, operand(second, *y)?);
        rule.output.eval(0, total).ok().map(i64::from)
    };
    Ok(vec![x.iter().zip(y).map(one).collect()])
}

/// Quantizes floats, which are given by their bits.
fn quantized(case: &Case, to: impl Fn(f32) -> i32) -> Results {
    quantized_where_defined(case, |x| Some(to(x)))
}

fn by_reciprocal(case: &Case, rounding: Rounding) -> Results {
    let (scaling, zero_point) = (Scaling::Times(1.0 / case.output), (case.zero, ZeroPoint::After));
    let form = Quantization::new(scaling, zero_point, rounding, case.out);
    quantized(case, |x| form.eval(x))
}

fn quantized_where_defined(case: &Case, to: impl Fn(f32) -> Option<i32>) -> Results {
    let one = |&bits: &i64| Ok(to(f32::from_bits(u32::try_from(bits)?)).map(i64::from));
    case.x.iter().map(|row| row.iter().map(one).collect()).collect()
}

/// Computes RESCALE. If `roundings` is given, it replaces the number of roundings in the case.
fn rescaled(case: &Case, roundings: Option<Roundings>) -> Results {
    let rescale = case.rescale.as_ref().ok_or("parameters of RESCALE are expected")?;
    let form = Requantization::from(form::TosaRescale {
        multiplier: rescale.multiplier.clone(),
        shift: rescale.shift.clone(),
        scale32: rescale.bits == 32,
        roundings: roundings.unwrap_or(rescale.rounding),
        input: rescale.input,
        input_zp: rescale.input_zero,
        output_zp: case.zero,
        out: case.out,
    });
    form.check()?;
    case.requantized(Ok(form))
}
