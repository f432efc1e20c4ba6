//! Operations on the elements of two tensors, broadcast, and sums of several.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, option, options};
use crate::schema::tflite::Activation;
use strait_core::ReasonCode;
use strait_core::op::{Add, Binary, BinaryFunction, Div, Function, Mul, Op, Pow, Sub, Unary};

pub(super) const ROWS: &[Row] = &[
    Row::new("ADD", 5, |site| {
        let options = options!(site, AddOptions);
        arithmetic(
            site,
            Add {}.into(),
            option!(options, fused_activation_function, Activation::None),
        )
    }),
    Row::new("SUB", 5, |site| {
        let options = options!(site, SubOptions);
        arithmetic(
            site,
            Sub {}.into(),
            option!(options, fused_activation_function, Activation::None),
        )
    }),
    Row::new("MUL", 7, |site| {
        let options = options!(site, MulOptions);
        arithmetic(
            site,
            Mul::float().into(),
            option!(options, fused_activation_function, Activation::None),
        )
    }),
    Row::new("DIV", 3, |site| {
        let options = options!(site, DivOptions);
        arithmetic(
            site,
            Div {}.into(),
            option!(options, fused_activation_function, Activation::None),
        )
    }),
    Row::new("POW", 1, |site| arithmetic(site, Pow {}.into(), Activation::None)),
    Row::new("MAXIMUM", 4, |site| binary(site, BinaryFunction::Maximum)),
    Row::new("MINIMUM", 4, |site| binary(site, BinaryFunction::Minimum)),
    Row::new("FLOOR_MOD", 2, |site| binary(site, BinaryFunction::Modulo)),
    Row::new("FLOOR_DIV", 3, floor_div),
    Row::new("SQUARED_DIFFERENCE", 2, squared_difference),
    Row::new("ADD_N", 1, add_n),
    Row::new("BITWISE_XOR", 1, |site| binary(site, BinaryFunction::Xor)),
];

fn arithmetic(site: &mut Site<'_, '_>, op: Op, activation: Activation) -> Result<(), Refusal> {
    site.one_type([0, 1])?;
    site.finish_activated(op, &[Arg::Operand(0), Arg::Operand(1)], activation)
}

fn binary(site: &mut Site<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    arithmetic(site, Binary { function }.into(), Activation::None)
}

/// ⌊a / b⌋: of integers, what is left without the remainder is divided.
fn floor_div(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    site.one_type([0, 1])?;
    let (a, b) = (Arg::Operand(0), Arg::Operand(1));
    if site.ty(0)?.elem.is_float() {
        let quotient = site.over(&a, &b)?;
        return site.finish(
            Unary {
                function: Function::Floor,
            },
            &[quotient],
        );
    }
    let rest = site.binary(BinaryFunction::Modulo, &a, &b)?;
    let whole = site.minus(&a, &rest)?;
    site.finish(Div {}, &[whole, b])
}

fn squared_difference(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    site.one_type([0, 1])?;
    let difference = site.minus(&Arg::Operand(0), &Arg::Operand(1))?;
    site.finish(Mul::float(), &[difference.clone(), difference])
}

fn add_n(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let count = site.operand_count();
    site.one_type(0..count)?;
    if count < 2 {
        return match site.has(0) {
            true => site.finish_value(&Arg::Operand(0)),
            false => Err(Refusal::invalid(ReasonCode::MissingOperand, "it has no operand")),
        };
    }
    let mut sum = Arg::Operand(0);
    for position in 1..count - 1 {
        sum = site.plus(&sum, &Arg::Operand(position))?;
    }
    site.finish(Add {}, &[sum, Arg::Operand(count - 1)])
}
