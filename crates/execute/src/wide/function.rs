//! Functions of one operand.

use super::unsupported;
use crate::error::StepError;
use crate::site::NodeSlots;
use crate::step::{Io, Step};
use bytemuck::Pod;
use std::marker::PhantomData;
use strait_core::Elem;
use strait_core::op::{self, Function};

struct One<T, F> {
    function: F,
    elements: PhantomData<T>,
}

impl<T: Pod + Send + Sync, F: Fn(T) -> T + Send + Sync> Step for One<T, F> {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let input = io.input::<T>(0)?;
        for (out, &x) in io.output::<T>()?.iter_mut().zip(input) {
            *out = (self.function)(x);
        }
        Ok(())
    }
}

fn step<T: Pod + Send + Sync>(function: impl Fn(T) -> T + Send + Sync + 'static) -> Result<Box<dyn Step>, StepError> {
    Ok(Box::new(One {
        function,
        elements: PhantomData,
    }))
}

/// Prepares a function. Functions of f64 are those of `libm`, which are the same on every machine.
pub(super) fn prepare(function: Function, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    match site.input(0)?.elem {
        Elem::F64 => step(real(function)),
        Elem::I64 => match function {
            Function::Neg => step(i64::wrapping_neg),
            Function::Abs => step(i64::wrapping_abs),
            Function::Sign => step(i64::signum),
            Function::Floor | Function::Ceil | Function::Round => step(|x: i64| x),
            _ => unsupported(site),
        },
        _ => unsupported(site),
    }
}

fn real(function: Function) -> fn(f64) -> f64 {
    fn sigmoid(x: f64) -> f64 {
        1.0 / (1.0 + libm::exp(-x))
    }
    fn softplus(x: f64) -> f64 {
        x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
    }
    match function {
        Function::Sigmoid => sigmoid,
        Function::Tanh => libm::tanh,
        Function::Silu => |x| x * sigmoid(x),
        Function::Gelu => |x| 0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2)),
        Function::GeluTanh => |x| {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
            0.5 * x * (1.0 + libm::tanh(inner))
        },
        Function::HardSwish => |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        Function::Mish => |x| x * libm::tanh(softplus(x)),
        Function::Softplus => softplus,
        Function::Exp => libm::exp,
        Function::Log => libm::log,
        Function::Sqrt => f64::sqrt,
        Function::Reciprocal => |x| 1.0 / x,
        Function::Erf => libm::erf,
        Function::Neg => |x| -x,
        Function::Abs => f64::abs,
        Function::Floor => f64::floor,
        Function::Ceil => f64::ceil,
        Function::Round => f64::round_ties_even,
        Function::Sign => |x| if x == 0.0 || x.is_nan() { x } else { x.signum() },
        Function::Sin => libm::sin,
        Function::Cos => libm::cos,
        Function::Tan => libm::tan,
        Function::Asin => libm::asin,
        Function::Acos => libm::acos,
        Function::Atan => libm::atan,
        Function::Sinh => libm::sinh,
        Function::Cosh => libm::cosh,
        Function::Asinh => libm::asinh,
        Function::Acosh => libm::acosh,
        Function::Atanh => libm::atanh,
    }
}

/// A clip. A bound beyond the ends of the type has no effect, because a float of 2^63 saturates.
pub(super) fn clip(op: &op::Clip, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let (min, max) = (op.min, op.max);
    match site.input(0)?.elem {
        Elem::F64 => step(move |x: f64| x.max(min.into()).min(max.into())),
        Elem::I64 => step(move |x: i64| x.max(min.ceil() as i64).min(max.floor() as i64)),
        _ => unsupported(site),
    }
}

pub(super) fn relu(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    match site.input(0)?.elem {
        Elem::F64 => step(|x: f64| x.max(0.0)),
        Elem::I64 => step(|x: i64| x.max(0)),
        _ => unsupported(site),
    }
}
