//! Reads layers whose operands and results are codes. They become float layers between grids: real(x) = (x − zero
//! point) · scale.
//!
//! All of ONNX Runtime's operators on codes are read in this way. For operators of the standard domain, ONNX defines
//! the arithmetic, so they are read in this way only if all their scales and zero points are constants.

use super::conv::convolution;
use super::quantized::{centred, conv_of_codes, grid, matmul_of_codes, per, saturated};
use super::window::{narrow, pool_size, window};
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Add, Concat, Function, Gemm, GlobalAveragePool, Identity, LeakyRelu, Mul, Op, Softmax};
use strait_core::{Elem, QuantParams, ReasonCode};
use strait_import::{grid_of, matrix_product};

pub(super) const ROWS: &[Row] = &[
    Row::new("QLinearMatMul", 10, |reader| match matmul(reader)? {
        true => Ok(()),
        false => matmul_of_codes(reader),
    })
    .and(&[21]),
    Row::new("QLinearConv", 10, |reader| match conv(reader)? {
        true => Ok(()),
        false => conv_of_codes(reader),
    }),
    Row::of_runtime("QLinearAdd", |reader| pairwise(reader, Add {}.into())),
    Row::of_runtime("QLinearMul", |reader| pairwise(reader, Mul::float().into())),
    Row::of_runtime("QLinearSigmoid", |reader| unary(reader, Function::Sigmoid.into())),
    Row::of_runtime("QLinearLeakyRelu", |reader| {
        let alpha = reader.float("alpha")?.unwrap_or(0.01);
        unary(reader, LeakyRelu { alpha }.into())
    }),
    Row::of_runtime("QLinearGlobalAveragePool", |reader| {
        channels_first(reader)?;
        unary(reader, GlobalAveragePool {}.into())
    }),
    Row::of_runtime("QLinearAveragePool", average_pool),
    Row::of_runtime("QLinearSoftmax", softmax),
    Row::of_runtime("QLinearConcat", concat),
    Row::of_runtime("QGemm", gemm),
];

/// Returns the real numbers that the codes of an operand stand for. The scale and the zero point are the two operands
/// after the codes, and may run along an axis.
fn real(reader: &mut OperatorReader<'_, '_>, operand: usize, axis: Option<usize>) -> Result<Arg, Refusal> {
    let along = axis.map_or(0, |axis| axis as i64);
    if let Some(grid) = own_grid(reader, operand, along)?
        && let Some(real) = reader.real(&Arg::Operand(operand), &grid)?
    {
        return Ok(real);
    }
    let rank = reader.rank(operand)?;
    let x = centred(reader, operand, operand + 2, axis)?;
    let scale = per(reader, operand + 1, axis, rank)?;
    reader.times(&x, &scale)
}

/// Converts real numbers to codes, which become the node's result. `scale` and `zero` are positions of operands. If
/// there is no zero point, the codes are unsigned bytes.
fn finish(reader: &mut OperatorReader<'_, '_>, real: &Arg, (scale, zero): (usize, usize)) -> Result<(), Refusal> {
    let elem = match reader.has(zero) {
        true => reader.ty(zero)?.elem,
        false => Elem::U8,
    };
    if let Some((scale, zero)) = reader.constant(scale)?.zip(reader.constant(zero)?) {
        let zeros: Result<Vec<i32>, _> = zero.to_i64()?.into_iter().map(i32::try_from).collect();
        let grid = zeros.ok().zip(scale.to_f32().ok());
        let grid = grid.and_then(|(zeros, scales)| grid_of(&scales, &zeros, elem, None, None));
        if let Some(grid) = grid
            && !matches!(real, Arg::Constant(_))
        {
            return reader.finish_codes(real, &grid);
        }
    }
    let step = reader.converted(&Arg::Operand(scale), Elem::F32)?;
    let quotient = reader.over(real, &step)?;
    let zero = reader.has(zero).then_some(Arg::Operand(zero));
    let (op, clipped) = saturated(reader, &quotient, zero, elem)?;
    reader.finish(op, &[clipped])
}

fn unary(reader: &mut OperatorReader<'_, '_>, op: Op) -> Result<(), Refusal> {
    let x = real(reader, 0, None)?;
    let y = reader.push(op, &[x])?;
    finish(reader, &y, (3, 4))
}

fn pairwise(reader: &mut OperatorReader<'_, '_>, op: Op) -> Result<(), Refusal> {
    let (a, b) = (real(reader, 0, None)?, real(reader, 3, None)?);
    let y = reader.push(op, &[a, b])?;
    finish(reader, &y, (6, 7))
}

/// Refuses nodes whose operands have channels as their last axis.
fn channels_first(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    match reader.flag("channels_last")? {
        true => Err(Refusal::unsupported("its channels are last")),
        false => Ok(()),
    }
}

fn average_pool(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    channels_first(reader)?;
    let size = pool_size(reader)?;
    let (window, is_auto) = window(reader, &size)?;
    let ceil = reader.flag("ceil_mode")? && !is_auto;
    let op = window.average_pool(narrow(&size)?, ceil, reader.flag("count_include_pad")?);
    unary(reader, op.into())
}

/// Reads a softmax of codes along one axis. Before operator set 13 of the standard domain, the softmax is over that
/// axis and all axes after it together.
fn softmax(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.int("axis")?.unwrap_or(-1);
    let set = reader.int("opset")?.unwrap_or(13);
    let rank = reader.rank(0)?;
    let is_last = reader.axis(axis, rank)? + 1 == rank;
    if set < 13 && !is_last {
        return Err(Refusal::unsupported("it is over several axes"));
    }
    unary(reader, Softmax { axis }.into())
}

fn concat(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.int("axis")?.unwrap_or(0);
    let mut parts = Vec::new();
    for operand in (2..reader.operand_count()).step_by(3) {
        parts.push(real(reader, operand, None)?);
    }
    let y = reader.push(Concat { axis }, &parts)?;
    finish(reader, &y, (0, 1))
}

/// Reads alpha · a · b + c on codes. The codes of c are on the grid with the scale alpha · scale of a · scale of b. If
/// no scale is given for the result, the result has real numbers.
fn gemm(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = Gemm {
        transpose_a: reader.flag("transA")?,
        transpose_b: reader.flag("transB")?,
        alpha: reader.float("alpha")?.unwrap_or(1.0),
        ..Gemm::canonical()
    };
    let channel = usize::from(!op.transpose_b);
    let (a, b) = (real(reader, 0, None)?, real(reader, 3, Some(channel))?);
    let bias = bias(reader, 6, (1, 4), op.alpha)?;
    let y = reader.push(op, &[a, b, bias])?;
    match reader.has(7) {
        true => finish(reader, &y, (7, 8)),
        false => reader.finish(Identity {}, &[y]),
    }
}

/// Returns a bias of 32-bit codes as real numbers. The codes are on the grid of the products: its scale is scale of x ·
/// scale of w · factor, with one number for each channel of w.
fn bias(
    reader: &mut OperatorReader<'_, '_>,
    operand: usize,
    (x, w): (usize, usize),
    factor: f32,
) -> Result<Arg, Refusal> {
    if !reader.has(operand) {
        return Ok(Arg::Absent);
    }
    let (Some(x), Some(w)) = (reader.constant(x)?, reader.constant(w)?) else {
        return Err(Refusal::unsupported(
            "scales beside a summand of codes are computed at run time",
        ));
    };
    let x = x.to_f32()?.first().copied().unwrap_or(1.0) * factor;
    let scales: Vec<f32> = w.to_f32()?.iter().map(|w| x * w).collect();
    let axis = reader.rank(operand)?.saturating_sub(1);
    let grid = grid_of(&scales, &[0], Elem::I32, Some(axis), None);
    let grid = grid.ok_or_else(|| Refusal::invalid(ReasonCode::OperandType, "a scale is not a number above 0"))?;
    let real = reader.real(&Arg::Operand(operand), &grid)?;
    real.ok_or_else(|| Refusal::unsupported("its summand is computed at run time"))
}

/// True if each of these operands is constant or omitted.
fn are_known(reader: &mut OperatorReader<'_, '_>, operands: &[usize]) -> Result<bool, Refusal> {
    for &operand in operands {
        if reader.has(operand) && reader.constant(operand)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the grid of an operand that has codes, or `None` if the grid is not constant. The scale and the zero point
/// are the two operands after the codes, and may run along an axis.
fn own_grid(reader: &mut OperatorReader<'_, '_>, operand: usize, axis: i64) -> Result<Option<QuantParams>, Refusal> {
    let elem = reader.ty(operand)?.elem;
    grid(reader, operand, (operand + 1, operand + 2), elem, (axis, 0))
}

/// Reads QLinearConv as a float layer if all its grids are constants. Otherwise adds nothing and returns false.
fn conv(reader: &mut OperatorReader<'_, '_>) -> Result<bool, Refusal> {
    let grids = own_grid(reader, 0, 1)?.zip(own_grid(reader, 3, 0)?);
    if grids.is_none() || !are_known(reader, &[6, 7, 8])? || reader.constant(0)?.is_some() {
        return Ok(false);
    }
    let op = convolution(reader, 3)?;
    let (x, w) = (real(reader, 0, None)?, real(reader, 3, Some(0))?);
    let bias = bias(reader, 8, (1, 4), 1.0)?;
    let y = reader.push(op, &[x, w, bias])?;
    finish(reader, &y, (6, 7))?;
    Ok(true)
}

/// Reads QLinearMatMul as a float layer if all its grids are constants. Otherwise adds nothing and returns false.
fn matmul(reader: &mut OperatorReader<'_, '_>) -> Result<bool, Refusal> {
    let columns = reader.rank(3)?.saturating_sub(1);
    let grids = own_grid(reader, 0, 0)?.filter(|grid| grid.axis.is_none());
    let grids = grids.zip(own_grid(reader, 3, columns as i64)?);
    if grids.is_none() || !are_known(reader, &[6, 7])? || reader.constant(0)?.is_some() {
        return Ok(false);
    }
    let (a, b) = (real(reader, 0, None)?, real(reader, 3, Some(columns))?);
    let y = reader.push(matrix_product(), &[a, b])?;
    finish(reader, &y, (6, 7))?;
    Ok(true)
}
