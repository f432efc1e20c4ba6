//! Arithmetic on two operands of the same type.

use crate::elementwise::Broadcast;
use crate::prelude::*;
use bytemuck::Pod;
use strait_core::Op;
use strait_core::op::BinaryFunction;

fn step<T, F>(site: &NodeSlots<'_>, divides: bool, function: F) -> Result<Box<dyn Step>, StepError>
where
    T: Pod + Send + Sync + PartialEq,
    F: Fn(T, T) -> T + Send + Sync + 'static,
{
    let broadcast = Broadcast::new(&site.input(0)?.dims, &site.input(1)?.dims)?;
    Ok(reading(2, move |io| {
        let (a, b) = (io.input::<T>(0)?, io.input::<T>(1)?);
        if divides && b.contains(&T::zeroed()) {
            return Err(StepError::Model("an integer is divided by 0".into()));
        }
        broadcast.apply_to(a, b, io.output()?, &function)
    }))
}

pub(super) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    match (site.input(0)?.elem, &site.node.op) {
        (Elem::F64, Op::Add(_)) => step(site, false, |a: f64, b| a + b),
        (Elem::F64, Op::Sub(_)) => step(site, false, |a: f64, b| a - b),
        (Elem::F64, Op::Mul(_)) => step(site, false, |a: f64, b| a * b),
        (Elem::F64, Op::Div(_)) => step(site, false, |a: f64, b| a / b),
        (Elem::F64, Op::Pow(_)) => step(site, false, libm::pow),
        (Elem::I64, Op::Add(_)) => step(site, false, i64::wrapping_add),
        (Elem::I64, Op::Sub(_)) => step(site, false, i64::wrapping_sub),
        (Elem::I64, Op::Mul(_)) => step(site, false, i64::wrapping_mul),
        // All divisors are checked before the loop, so division by 0 does not occur here.
        (Elem::I64, Op::Div(_)) => step(site, true, i64::wrapping_div),
        (Elem::I64, Op::Pow(_)) => step(site, false, integer_power),
        _ => unsupported(site),
    }
}

/// Computes a^b modulo 2^64. For a negative exponent this is 1 / a^|b|, truncated.
fn integer_power(a: i64, b: i64) -> i64 {
    match (a, u32::try_from(b)) {
        (_, Ok(exponent)) => a.wrapping_pow(exponent),
        (0 | 1, Err(_)) => a,
        (-1, Err(_)) => [1, -1][(b & 1) as usize],
        // For an exponent of 2^32 or more, the power of an even base is 0 modulo 2^64.
        (_, Err(_)) if b > 0 => wide_power(a, b.unsigned_abs()),
        (_, Err(_)) => 0,
    }
}

/// Computes a^b modulo 2^64, by repeated squaring.
fn wide_power(mut base: i64, mut exponent: u64) -> i64 {
    let mut result = 1i64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    result
}

impl Executable for op::Binary {
    fn prepare(&self, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
        binary(self.function, site)
    }
}

/// Prepares a function of two operands. Minimum and maximum also work on codes.
pub(crate) fn binary(function: BinaryFunction, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    use BinaryFunction as B;
    match (site.input(0)?.elem, function) {
        (Elem::F32, B::Minimum) => step(site, false, |a: f32, b| if a < b || a.is_nan() { a } else { b }),
        (Elem::F32, B::Maximum) => step(site, false, |a: f32, b| if a > b || a.is_nan() { a } else { b }),
        (Elem::F64, B::Minimum) => step(site, false, |a: f64, b| if a < b || a.is_nan() { a } else { b }),
        (Elem::F64, B::Maximum) => step(site, false, |a: f64, b| if a > b || a.is_nan() { a } else { b }),
        (Elem::I8, B::Minimum) => step(site, false, i8::min),
        (Elem::I8, B::Maximum) => step(site, false, i8::max),
        (Elem::U8, B::Minimum) => step(site, false, u8::min),
        (Elem::U8, B::Maximum) => step(site, false, u8::max),
        (Elem::I16, B::Minimum) => step(site, false, i16::min),
        (Elem::I16, B::Maximum) => step(site, false, i16::max),
        (Elem::U16, B::Minimum) => step(site, false, u16::min),
        (Elem::U16, B::Maximum) => step(site, false, u16::max),
        (Elem::I64, B::Minimum) => step(site, false, i64::min),
        (Elem::I64, B::Maximum) => step(site, false, i64::max),
        (Elem::F32, B::Modulo) => step(site, false, |a: f32, b| modulo(f64::from(a), f64::from(b)) as f32),
        (Elem::F64, B::Modulo) => step(site, false, modulo),
        (Elem::I64, B::Modulo) => step(site, true, |a: i64, b| match a.wrapping_rem(b) {
            rest if rest != 0 && (rest < 0) != (b < 0) => rest.wrapping_add(b),
            rest => rest,
        }),
        // The remainder of two IEEE floats is exact.
        (Elem::F32, B::Remainder) => step(site, false, |a: f32, b| a % b),
        (Elem::F64, B::Remainder) => step(site, false, |a: f64, b| a % b),
        (Elem::I64, B::Remainder) => step(site, true, i64::wrapping_rem),
        (Elem::I64, B::And) => step(site, false, |a: i64, b| a & b),
        (Elem::I64, B::Or) => step(site, false, |a: i64, b| a | b),
        (Elem::I64, B::Xor) => step(site, false, |a: i64, b| a ^ b),
        (Elem::Bool, B::And) => step(site, false, |a: u8, b| a & b),
        (Elem::Bool, B::Or) => step(site, false, |a: u8, b| a | b),
        (Elem::Bool, B::Xor) => step(site, false, |a: u8, b| a ^ b),
        (Elem::I64, B::ShiftLeft) => step(site, false, |a: i64, b| shifted(a, b, u64::checked_shl)),
        (Elem::I64, B::ShiftRightUnsigned) => step(site, false, |a: i64, b| shifted(a, b, u64::checked_shr)),
        (Elem::I64, B::ShiftRight) => step(site, false, |a: i64, b| a >> u64::min(b.cast_unsigned(), 63)),
        _ => unsupported(site),
    }
}

/// Returns the remainder of a division, with the sign of the divisor.
fn modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

fn shifted(a: i64, by: i64, shift: fn(u64, u32) -> Option<u64>) -> i64 {
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    shift(a.cast_unsigned(), by).unwrap_or(0).cast_signed()
}
