//! The rules for functions that are not requantizations: softmax, functions of one code, and interpolation.

use crate::compare::Case;
use crate::rules::{Results, Rule};
use std::error::Error;
use strait_requantize::Rounding;
use strait_requantize::function::{
    FunctionError, LeakyReluTable, LogisticInt8, LogisticTable, Nearest, Neighbours, Pointwise, Real, Resampled,
    Sampling, Softmax, TanhInt8, resampled,
};

pub(crate) const RULES: &[(&str, Rule)] = &[
    ("litert.softmax.int8.v1", |c| {
        c.softmax(Softmax::litert_int8(c.input()?, c.parameter()?))
    }),
    ("litert.softmax.int16.v1", |c| {
        c.softmax(Softmax::litert_int16(c.input()?, c.parameter()?))
    }),
    ("litert.logistic.int8.v1", |c| {
        let (input_zp, _) = c.zero_pair()?;
        c.pointwise(Ok(Pointwise::LogisticInt8(LogisticInt8 {
            input_scale: c.input()?,
            input_zp,
            zp: c.zero,
        })))
    }),
    ("litert.tanh.int8.v1", |c| {
        let (input_zp, _) = c.zero_pair()?;
        c.pointwise(Ok(Pointwise::TanhInt8(TanhInt8 {
            input_scale: c.input()?,
            input_zp,
            scale: c.output,
            zp: c.zero,
        })))
    }),
    ("litert.logistic.int16.v1", |c| {
        c.pointwise(Pointwise::litert_logistic_int16(c.input()?))
    }),
    ("litert.tanh.int16.v1", |c| {
        c.pointwise(Pointwise::litert_tanh_int16(c.input()?))
    }),
    ("litert.hard_swish.int8.v1", |c| {
        let (input_zp, _) = c.zero_pair()?;
        c.pointwise(Pointwise::litert_hard_swish_int8(
            (c.input()?, input_zp),
            (c.output, c.zero),
        ))
    }),
    ("litert.leaky_relu.v1", |c| {
        let (input_zp, _) = c.zero_pair()?;
        c.pointwise(Pointwise::litert_leaky_relu(
            c.out,
            (c.input()?, input_zp),
            c.parameter()?,
            (c.output, c.zero),
        ))
    }),
    ("onnxruntime.leaky_relu.v1", |c| {
        let (input_zp, _) = c.zero_pair()?;
        c.pointwise(Ok(Pointwise::LeakyReluTable(LeakyReluTable {
            elements: c.out,
            alpha: c.parameter()?,
            input_scale: c.input()?,
            input_zp,
            scale: c.output,
            zp: c.zero,
        })))
    }),
    ("onnxruntime.logistic.v1", |c| {
        let (input_zp, _) = c.zero_pair()?;
        c.pointwise(Ok(Pointwise::LogisticTable(LogisticTable {
            elements: c.out,
            input_scale: c.input()?,
            input_zp,
            scale: c.output,
            zp: c.zero,
        })))
    }),
    ("nearest.v1, logistic", |c| {
        let (input_zp, _) = c.zero_pair()?;
        c.pointwise(Ok(Pointwise::Nearest(Nearest {
            function: Real::Sigmoid,
            elements: c.out,
            input_scale: c.input()?,
            input_zp,
            out: c.out,
            scale: c.output,
            zp: c.zero,
            rounding: Rounding::HalfEven,
        })))
    }),
    ("resampled in 10 bits", |c| c.resampled(10, Rounding::HalfAway)),
    ("resampled in 11 bits", |c| c.resampled(11, Rounding::HalfAway)),
    ("half up", |c| c.resampled(10, Rounding::HalfUp)),
    // Similar rules: each computes the function of real numbers and rounds it once.
    ("nearest softmax", |c| {
        let factor = f64::from(c.input()?) * f64::from(c.parameter()?);
        let row = |row: &Vec<i64>| {
            let largest = row.iter().max().copied().unwrap_or(0);
            let power = |x: &i64| ((x - largest) as f64 * factor).exp();
            let sum: f64 = row.iter().map(power).sum();
            row.iter().map(|x| c.nearest(power(x) / sum)).collect()
        };
        Ok(c.x.iter().map(row).collect())
    }),
    ("nearest logistic", |c| c.function(|x| 1.0 / (1.0 + (-x).exp()))),
    ("nearest tanh", |c| c.function(f64::tanh)),
    ("nearest hard swish", |c| {
        c.function(|x| x * (x + 3.0).clamp(0.0, 6.0) / 6.0)
    }),
    ("nearest leaky ReLU", |c| {
        let slope = f64::from(c.parameter()?);
        c.function(|x| if x < 0.0 { slope * x } else { x })
    }),
];

impl Case {
    fn parameter(&self) -> Result<f32, Box<dyn Error>> {
        self.parameter.ok_or_else(|| "a parameter is expected".into())
    }

    fn softmax(&self, softmax: Result<Softmax, FunctionError>) -> Results {
        let rows = softmax?.rows()?;
        let row = |codes: &Vec<i64>| {
            let codes = narrow(codes)?;
            let mut results = vec![0; codes.len()];
            rows.eval(&codes, &mut results)?;
            Ok(results.into_iter().map(|y| Some(y.into())).collect())
        };
        self.x.iter().map(row).collect()
    }

    fn pointwise(&self, function: Result<Pointwise, FunctionError>) -> Results {
        let function = function?;
        let least = function.elements().min();
        let table = function.table()?;
        let one = |code: &i32| table.get(usize::try_from(code - least).ok()?).map(|&y| y.into());
        let row = |codes: &Vec<i64>| Ok(narrow(codes)?.iter().map(one).collect());
        self.x.iter().map(row).collect()
    }

    /// Interpolates an image of one channel along both axes.
    fn resampled(&self, bits: u8, rounding: Rounding) -> Results {
        let (resize, [x]) = (self.resize.as_ref().ok_or("extents are expected")?, &self.x[..]) else {
            return Err("one image is expected".into());
        };
        let sampling = match &*resize.sampling {
            "asymmetric" => Sampling::Asymmetric,
            "half pixel" => Sampling::HalfPixel,
            "corners aligned" => Sampling::AlignCorners,
            other => return Err(format!("there is no sampling {other}").into()),
        };
        let [rows, columns] = [0, 1].map(|axis| {
            let (from, to) = (resize.from[axis], resize.to[axis]);
            let axis = Resampled {
                bits,
                sampling,
                from,
                to,
            };
            (0..to).map(move |position| axis.at(position))
        });
        let columns: Vec<_> = columns.collect();
        let one = |(row, column): (Option<Neighbours>, &Option<Neighbours>)| {
            let (row, column) = (row?, (*column)?);
            let along = |y: u64| {
                let code = |x_at: u64| x.get(usize::try_from(y * resize.from[1] + x_at).ok()?).copied();
                let weight = i64::from(column.weight);
                Some(code(column.lower)? * ((1 << bits) - weight) + code(column.upper)? * weight)
            };
            let weight = i64::from(row.weight);
            let sum = along(row.lower)? * ((1 << bits) - weight) + along(row.upper)? * weight;
            Some(resampled(sum, 2 * bits, rounding))
        };
        let places = rows.flat_map(|row| columns.iter().map(move |column| (row, column)));
        Ok(vec![places.map(one).collect()])
    }

    /// Computes a function of real numbers with the operand's and the result's grid of the case.
    fn function(&self, function: impl Fn(f64) -> f64) -> Results {
        let (scale, zero) = (f64::from(self.input()?), i64::from(self.zero_pair()?.0));
        let one = |&x: &i64| self.nearest(function((x - zero) as f64 * scale));
        Ok(self.x.iter().map(|row| row.iter().map(one).collect()).collect())
    }

    fn nearest(&self, x: f64) -> Option<i64> {
        let code = (x / f64::from(self.output)).round() as i64;
        Some(self.out.saturate(code + i64::from(self.zero)).into())
    }
}

fn narrow(codes: &[i64]) -> Result<Vec<i32>, Box<dyn Error>> {
    Ok(codes
        .iter()
        .map(|&code| i32::try_from(code))
        .collect::<Result<_, _>>()?)
}
