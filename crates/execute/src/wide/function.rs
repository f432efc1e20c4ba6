//! Functions of one operand.

use crate::prelude::*;
use bytemuck::Pod;
use strait_core::op::Function;

fn step<T: Pod + Send + Sync>(function: impl Fn(T) -> T + Send + Sync + 'static) -> Result<Box<dyn Step>, StepError> {
    Ok(reading(1, move |io| {
        let input = io.input::<T>(0)?;
        for (out, &x) in io.output::<T>()?.iter_mut().zip(input) {
            *out = function(x);
        }
        Ok(())
    }))
}

/// Prepares a function. `libm` computes functions of f64, because it gives the same results on every machine.
pub(super) fn prepare(function: Function, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    match site.input(0)?.elem {
        Elem::F64 => step(function.wide()),
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

/// Prepares a clip. The bounds are converted from float to the element type, and saturate. So a bound beyond the range
/// of the type has no effect.
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
