//! Reads casts, quantization and dequantization.

use super::Row;
use crate::graph::Tensor;
use crate::names::elem;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal};
use strait_core::op::{Add, BitCast, Cast, Div, Function, Identity, Unary};
use strait_core::{Elem, QuantParams, ReasonCode};

pub(super) const ROWS: &[Row] = &[
    Row::new("CAST", 9, cast),
    Row::new("BITCAST", 1, bit_cast),
    Row::new("QUANTIZE", 6, quantize),
    Row::new("DEQUANTIZE", 9, dequantize),
];

/// Reads a cast. Of codes, the operator converts the codes themselves; see [`codes`].
fn cast(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if let Some(grid) = reader.operand_grid(0) {
        return codes(reader, grid);
    }
    if reader.result_grid(0).is_some() {
        return Err(Refusal::unsupported("it takes numbers for codes"));
    }
    let to = reader.result_elem(0)?;
    match reader.ty(0)?.elem == to || (to.is_float() && reader.ty(0)?.elem.is_float()) {
        true => reader.finish_value(&Arg::Operand(0)),
        false if to.is_float() => reader.finish(Cast { to: Elem::F32 }, &[Arg::Operand(0)]),
        false => reader.finish(Cast { to }, &[Arg::Operand(0)]),
    }
}

/// Reads a cast of codes to integers. Our graph has the real numbers x = s·(q − z) that the codes q stand for, so the
/// result is round(x / s) + z. The quotient is off by less than 1/100, since codes have at most 16 bits and x and the
/// quotient are each rounded once.
fn codes(reader: &mut OperatorReader<'_, '_>, grid: &QuantParams) -> Result<(), Refusal> {
    let to = reader.result_elem(0)?;
    let of_tensor = grid
        .as_tensor()
        .filter(|_| reader.result_grid(0).is_none() && !to.is_float());
    let Some((scale, zero)) = of_tensor else {
        return Err(Refusal::unsupported("it takes codes for numbers"));
    };
    let x = Arg::Operand(0);
    let [scale, zero] = [f64::from(scale), f64::from(zero)].map(|number| reader.number(&x, number));
    let steps = reader.push(Div {}, &[x, scale?])?;
    let function = Function::Round;
    let rounded = reader.push(Unary { function }, &[steps])?;
    let shifted = reader.push(Add {}, &[rounded, zero?])?;
    reader.finish(Cast { to }, &[shifted])
}

/// Reads an operator that reinterprets the bits of numbers as another type of the same width. Between integers of the
/// same width, a cast keeps all bits.
fn bit_cast(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let of_file = |tensor: Option<&Tensor>| tensor.and_then(|tensor| elem(tensor.elem).ok());
    let (from, to) = (of_file(reader.operand_of_file(0)), of_file(reader.result_of_file(0)));
    let is_plain = |elem: Elem| elem == Elem::F32 || matches!(elem.size(), 1 | 2 | 4 | 8) && !elem.is_float();
    let both = from.zip(to).filter(|(from, to)| {
        from.size() == to.size() && is_plain(*from) && is_plain(*to) && ![*from, *to].contains(&Elem::Bool)
    });
    let has_grid = reader.operand_grid(0).is_some() || reader.result_grid(0).is_some();
    match both.filter(|_| !has_grid) {
        None => Err(Refusal::unsupported(
            "its types are not of one width, or are not computed with as they are",
        )),
        Some((from, to)) if from == to => reader.finish_value(&x),
        Some((from, to)) if from.is_float() || to.is_float() => reader.finish(BitCast { to }, &[x]),
        Some((_, to)) => reader.finish(Cast { to }, &[x]),
    }
}

/// Reads an operator that quantizes real numbers, or requantizes codes to another grid. In our graph, the operator only
/// gives the real numbers the grid of the result. The numbers are rounded to this grid.
fn quantize(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    if reader.result_grid(0).is_none() || !reader.ty(0)?.elem.is_float() {
        return Err(Refusal::invalid(
            ReasonCode::QuantizeType,
            "its result has no grid, or its operand is no number",
        ));
    }
    reader.finish(Identity {}, &[Arg::Operand(0)])
}

/// Reads an operator that converts codes, or 16-bit floats, to f32.
fn dequantize(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    match reader.ty(0)?.elem.is_float() {
        true => reader.finish(Identity {}, &[Arg::Operand(0)]),
        false => Err(Refusal::invalid(ReasonCode::DequantizeType, "its operand has no grid")),
    }
}
