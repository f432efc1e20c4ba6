//! Functions of one variable, composed of the elementary functions that the kernels have.

use crate::elementwise::map;
use crate::prelude::*;
use std::f32::consts::FRAC_1_SQRT_2;
use strait_core::op::Function;
use strait_kernels::Context;
use strait_kernels::float::{Unary, unary};

/// √(2/π).
const SQRT_2_OVER_PI: f32 = 0.797_884_6;

struct Apply(Function);

impl Executable for op::Unary {
    fn prepare(&self, _: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        Ok(Box::new(Apply(self.function)))
    }
}

impl Step for Apply {
    fn orders(&self) -> Orders {
        Orders::Any
    }

    fn in_place(&self) -> &[usize] {
        &[0]
    }

    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let context = io.context;
        map(io.operand(0)?, io.output()?, |input, out| {
            apply(context, self.0, input, out)
        })
    }
}

fn apply(context: &Context, function: Function, input: &[f32], out: &mut [f32]) -> Result<(), StepError> {
    let plain = |function: Unary, out: &mut [f32]| unary(context, function, input, out);
    let each = |out: &mut [f32], f: fn(f32) -> f32| out.iter_mut().zip(input).for_each(|(y, &x)| *y = f(x));
    // Computes y = after(x, inner(before(x))), where `inner` is an elementary function of the kernels.
    let around = |out: &mut [f32], before: fn(f32) -> f32, inner: Unary, after: fn(f32, f32) -> f32| {
        let argument: Vec<f32> = input.iter().map(|&x| before(x)).collect();
        unary(context, inner, &argument, out)?;
        out.iter_mut().zip(input).for_each(|(y, &x)| *y = after(x, *y));
        Ok(())
    };
    match function {
        Function::Sigmoid => plain(Unary::Sigmoid, out)?,
        Function::Tanh => plain(Unary::Tanh, out)?,
        Function::Silu => plain(Unary::Silu, out)?,
        Function::Softplus => plain(Unary::Softplus, out)?,
        Function::Exp => plain(Unary::Exp, out)?,
        Function::Log => plain(Unary::Log, out)?,
        Function::Sqrt => plain(Unary::Sqrt, out)?,
        Function::Erf => plain(Unary::Erf, out)?,
        Function::Gelu => return around(out, |x| x * FRAC_1_SQRT_2, Unary::Erf, |x, erf| 0.5 * x * (1.0 + erf)),
        Function::GeluTanh => {
            let inner = |x: f32| SQRT_2_OVER_PI * (x + 0.044_715 * x * x * x);
            return around(out, inner, Unary::Tanh, |x, tanh| 0.5 * x * (1.0 + tanh));
        }
        Function::Mish => {
            let mut softplus = vec![0.0; input.len()];
            plain(Unary::Softplus, &mut softplus)?;
            unary(context, Unary::Tanh, &softplus, out)?;
            out.iter_mut().zip(input).for_each(|(y, &x)| *y *= x);
        }
        other => match other.narrow() {
            Some(function) => each(out, function),
            None => out
                .iter_mut()
                .zip(input)
                .for_each(|(y, &x)| *y = other.wide()(x.into()) as f32),
        },
    }
    Ok(())
}
