//! Reads elementwise operations on two tensors, broadcast, and sums of several tensors.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, field, option, options};
use crate::schema::Activation;
use std::f64::consts::{FRAC_PI_2, PI};
use strait_core::op::{
    Add, Binary, BinaryFunction, Cast, Div, Function, Mul, Op, Pow, Reduction, Relation, Select, Sub, Unary,
};
use strait_core::{Elem, ReasonCode};
use strait_import::reduction_over;

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
    Row::new("RIGHT_SHIFT", 1, right_shift),
    Row::new("ATAN2", 1, atan2),
    Row::new("BUCKETIZE", 1, bucketize),
    Row::new("STABLEHLO_ADD", 1, |site| of_numbers(site, Add {}.into())),
    Row::new("STABLEHLO_MULTIPLY", 1, |site| of_numbers(site, Mul::float().into())),
    Row::new("STABLEHLO_MAXIMUM", 1, |site| {
        let function = BinaryFunction::Maximum;
        of_numbers(site, Binary { function }.into())
    }),
    Row::new("STABLEHLO_MINIMUM", 1, |site| {
        let function = BinaryFunction::Minimum;
        of_numbers(site, Binary { function }.into())
    }),
];

fn arithmetic(site: &mut Site<'_, '_>, op: Op, activation: Activation) -> Result<(), Refusal> {
    site.one_type([0, 1])?;
    site.finish_activated(op, &[Arg::Operand(0), Arg::Operand(1)], activation)
}

fn binary(site: &mut Site<'_, '_>, function: BinaryFunction) -> Result<(), Refusal> {
    arithmetic(site, Binary { function }.into(), Activation::None)
}

/// An operator for which LiteRT has no kernel on codes.
fn of_numbers(site: &mut Site<'_, '_>, op: Op) -> Result<(), Refusal> {
    if [0, 1].iter().any(|&position| site.operand_grid(position).is_some()) {
        return Err(Refusal::unsupported("it takes codes for numbers"));
    }
    arithmetic(site, op, Activation::None)
}

/// Arithmetic shift right. The count is limited to the range from 0 to the type's number of bits minus one.
fn right_shift(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    site.one_type([0, 1])?;
    let most = 8 * site.ty(0)?.elem.size() - 1;
    let (x, by) = (Arg::Operand(0), Arg::Operand(1));
    let (none, most) = (site.number(&by, 0.0)?, site.number(&by, most as f64)?);
    let by = site.binary(BinaryFunction::Maximum, &by, &none)?;
    let by = site.binary(BinaryFunction::Minimum, &by, &most)?;
    let function = BinaryFunction::ShiftRight;
    site.finish(Binary { function }, &[x, by])
}

/// atan2 of the operands y and x: the angle of the point (x, y). It is atan(y/x), and half a turn away from that if x
/// is below 0. Zeros have no sign here.
fn atan2(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    site.one_type([0, 1])?;
    let (y, x) = (Arg::Operand(0), Arg::Operand(1));
    let zero = site.number(&x, 0.0)?;
    let sign = site.function(Function::Sign, &y)?;
    let quarter = site.scaled(&sign, FRAC_PI_2)?;
    let quotient = site.over(&y, &x)?;
    let angle = site.function(Function::Atan, &quotient)?;
    let (half, less) = (site.number(&x, PI)?, site.number(&x, -PI)?);
    let is_below = site.compare(Relation::Less, &y, &zero)?;
    let half = site.select(&is_below, &less, &half)?;
    let beyond = site.plus(&angle, &half)?;
    let is_left = site.compare(Relation::Less, &x, &zero)?;
    let angle = site.select(&is_left, &beyond, &angle)?;
    let is_upright = site.compare(Relation::Equal, &x, &zero)?;
    site.finish(Select {}, &[is_upright, quarter, angle])
}

/// For each element: how many of the ascending boundaries are not above it.
fn bucketize(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, BucketizeOptions);
    let list = match &options {
        Some(options) => field(options.boundaries())?,
        None => None,
    };
    // Many operators may share the same list, so it counts towards the budget.
    site.room(&[list.as_ref().map_or(0, |list| list.len()) as u64])?;
    let boundaries: Vec<f32> = list.into_iter().flatten().collect();
    if boundaries.is_empty() || boundaries.windows(2).any(|pair| pair[0] > pair[1]) {
        return Err(Refusal::invalid(
            ReasonCode::Operands,
            "its boundaries do not ascend, or are none",
        ));
    }
    let count = boundaries.len() as u64;
    let boundaries = Arg::Constant(site.floats_of(&[count], &boundaries)?);
    let x = site.converted(&Arg::Operand(0), Elem::F32)?;
    let x = site.unsqueezed(&x, &[-1])?;
    let above = site.compare(Relation::Less, &x, &boundaries)?;
    let above = site.converted(&above, Elem::I64)?;
    let above = site.push(reduction_over(Reduction::Sum, &[-1], false), &[above])?;
    let all = site.number(&above, count as f64)?;
    let places = site.minus(&all, &above)?;
    site.finish(Cast { to: Elem::I32 }, &[places])
}

/// ⌊a / b⌋. For integers, the remainder is subtracted before the division.
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
