//! Functions of one variable, composed of the kernels' elementary functions.

use crate::elementwise::map;
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use std::f32::consts::FRAC_1_SQRT_2;
use strait_core::op::{self, Function};
use strait_kernels::Context;
use strait_kernels::float::{Unary, unary};

/// √(2/π)
const SQRT_2_OVER_PI: f32 = 0.797_884_6;

struct Apply(Function);

pub(crate) fn prepare(op: &op::Unary, _: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    Ok(Box::new(Apply(op.function)))
}

impl Step for Apply {
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
    // y = after(x, inner(before(x))), where `inner` is the elementary function.
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
        Function::HardSwish => each(out, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        Function::Reciprocal => each(out, |x| 1.0 / x),
        Function::Neg => each(out, |x| -x),
        Function::Abs => each(out, f32::abs),
        Function::Floor => each(out, f32::floor),
        Function::Ceil => each(out, f32::ceil),
        Function::Round => each(out, f32::round_ties_even),
        Function::Sign => each(out, |x| if x == 0.0 || x.is_nan() { x } else { x.signum() }),
        Function::Sin => each(out, libm::sinf),
        Function::Cos => each(out, libm::cosf),
        Function::Tan => each(out, libm::tanf),
        Function::Asin => each(out, libm::asinf),
        Function::Acos => each(out, libm::acosf),
        Function::Atan => each(out, libm::atanf),
        Function::Sinh => each(out, libm::sinhf),
        Function::Cosh => each(out, libm::coshf),
        Function::Asinh => each(out, libm::asinhf),
        Function::Acosh => each(out, libm::acoshf),
        Function::Atanh => each(out, libm::atanhf),
    }
    Ok(())
}
