//! Reads operators on codes. They become ops on real numbers, which give the results that the definitions of the
//! operators demand.

use super::conv::convolution;
use crate::elements::element;
use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::SmallVec;
use strait_core::op::{Cast, Clip, Function, Gather, Mul, Op, Reduction, Relation};
use strait_core::shape::fixed_dims;
use strait_core::{Elem, QuantParams, ReasonCode};
use strait_import::grid_of;

pub(super) const ROWS: &[Row] = &[
    Row::new("QuantizeLinear", 10, quantize).and(&[13, 19, 21, 23, 24, 25, 28]),
    Row::new("DequantizeLinear", 10, dequantize).and(&[13, 19, 21, 23, 24, 25, 28]),
    Row::new("DynamicQuantizeLinear", 11, dynamic_quantize),
    Row::new("MatMulInteger", 10, matmul_integer),
    Row::new("ConvInteger", 10, conv_integer),
];

/// Returns a scale or zero point, reshaped so that it broadcasts against operand 0. The scale or zero point consists of
/// one number for the whole operand, one for each index of `axis`, or one for each block of indices.
fn beside(reader: &mut OperatorReader<'_, '_>, operand: usize, axis: i64, block: i64) -> Result<Arg, Refusal> {
    let (shape, of) = (reader.ty(0)?.shape, reader.ty(operand)?.shape);
    let value = Arg::Operand(operand);
    match of.len() {
        0 => Ok(value),
        _ if block > 0 => {
            let axis = reader.axis(axis, shape.len())?;
            let extent = reader.extents(&Arg::Operand(0))?[axis];
            reader.room(&[extent.unsigned_abs()])?;
            let picks: Vec<i64> = (0..extent).map(|position| position / block).collect();
            let picks = Arg::Constant(reader.integers(&[extent.unsigned_abs()], &picks)?);
            reader.push(Gather { axis: axis as i64 }, &[value, picks])
        }
        1 if of[0].fixed() == Some(1) => reader.reshaped(&value, &[]),
        1 => {
            let axis = reader.axis(axis, shape.len())?;
            let mut beside = vec![1; shape.len()];
            beside[axis] = -1;
            reader.reshaped(&value, &beside)
        }
        rank => Err(Refusal::invalid(
            ReasonCode::OperandType,
            format!("a scale or zero point has rank {rank}"),
        )),
    }
}

/// Returns the grid for codes of type `elem`, with the scale and the zero point that operands give. Returns `None` if
/// one of these operands is not constant, or if they do not make a valid grid.
pub(super) fn grid(
    reader: &mut OperatorReader<'_, '_>,
    of: usize,
    (scale, zero): (usize, usize),
    codes: Elem,
    (axis, block): (i64, i64),
) -> Result<Option<QuantParams>, Refusal> {
    let Some(scales) = reader.constant(scale)? else {
        return Ok(None);
    };
    let zeros = match reader.has(zero) {
        true => match reader.constant(zero)? {
            Some(zeros) => zeros.to_i64()?,
            None => return Ok(None),
        },
        false => vec![0],
    };
    let shape = reader.ty(of)?.shape;
    let axis = match scales.len() {
        0 | 1 => None,
        _ => Some(reader.axis(axis, shape.len())?),
    };
    let zeros: Result<Vec<i32>, _> = zeros.into_iter().map(i32::try_from).collect();
    let block = u32::try_from(block).ok().filter(|&block| block > 0);
    let (Ok(zeros), true) = (zeros, scales.elem().is_float()) else {
        return Ok(None);
    };
    let fits = |grid: &QuantParams| grid.axis.is_none() || grid.parts(&shape) == Some(scales.len() as u64);
    Ok(grid_of(&scales.to_f32()?, &zeros, codes, axis, block).filter(fits))
}

/// A clip of floats to the smallest and the largest code of a type.
fn codes(elem: Elem) -> Result<Clip, Refusal> {
    match elem.integers() {
        Some((min, max)) if elem.bits() <= 16 => Ok(Clip {
            min: min as f32,
            max: max as f32,
        }),
        _ => Err(Refusal::Unsupported(format!("codes of type {elem} are not read"))),
    }
}

/// Computes round(x) + zero point, saturated and converted to codes of type `elem`. All operators in this file whose
/// results are codes end with this computation. Returns the last op, which is a cast.
pub(super) fn saturated(
    reader: &mut OperatorReader<'_, '_>,
    x: &Arg,
    zero: Option<Arg>,
    elem: Elem,
) -> Result<(Op, Arg), Refusal> {
    let mut rounded = reader.function(Function::Round, x)?;
    if let Some(zero) = zero {
        let zero = reader.converted(&zero, Elem::F32)?;
        rounded = reader.plus(&rounded, &zero)?;
    }
    let clipped = reader.push(codes(elem)?, &[rounded])?;
    Ok((Cast { to: elem }.into(), clipped))
}

/// Reads QuantizeLinear: saturate(round(x / scale) + zero point).
pub(super) fn quantize(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    // This attribute says how numbers are rounded to 8-bit floats, which Strait does not read.
    reader.ignore(&["saturate"]);
    // A `precision` of 1 asks for 32-bit floats.
    if let Some(precision) = reader.int("precision")?.filter(|&precision| precision > 1) {
        return Err(Refusal::Unsupported(format!("`precision` is {precision}")));
    }
    let (axis, block) = (reader.int("axis")?.unwrap_or(1), reader.int("block_size")?.unwrap_or(0));
    let elem = match (reader.has(2), reader.int("output_dtype")?.unwrap_or(0)) {
        (true, _) => reader.ty(2)?.elem,
        (false, 0) => Elem::U8,
        (false, number) => {
            element(number).map_err(|name| Refusal::Unsupported(format!("the element type is {name}")))?
        }
    };
    let x = reader.converted(&Arg::Operand(0), Elem::F32)?;
    // With a negative scale, larger numbers have smaller codes. Only constants can have such codes.
    let given = grid(reader, 0, (1, 2), elem, (axis, block))?.filter(|grid| !grid.is_mirrored());
    if let (Some(grid), Some(_)) = (given, elem.int_type())
        && reader.constant(0)?.is_none()
    {
        return reader.finish_codes(&x, &grid);
    }
    let zero = match reader.has(2) {
        true => Some(beside(reader, 2, axis, block)?),
        false => None,
    };
    let scale = beside(reader, 1, axis, block)?;
    let scale = reader.converted(&scale, Elem::F32)?;
    let quotient = reader.over(&x, &scale)?;
    let (op, clipped) = saturated(reader, &quotient, zero, elem)?;
    reader.finish(op, &[clipped])
}

/// Reads DequantizeLinear: (x − zero point) · scale.
pub(super) fn dequantize(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (axis, block) = (reader.int("axis")?.unwrap_or(1), reader.int("block_size")?.unwrap_or(0));
    // Numbers that the model has as 16-bit floats are computed as f32, and rounded at the graph's outputs.
    reader.ignore(&["output_dtype"]);
    let elem = reader.ty(0)?.elem;
    if let Some(grid) = grid(reader, 0, (1, 2), elem, (axis, block))?
        && reader.finish_real(&grid)?
    {
        return Ok(());
    }
    let mut x = reader.converted(&Arg::Operand(0), Elem::F32)?;
    if reader.has(2) {
        let zero = beside(reader, 2, axis, block)?;
        let zero = reader.converted(&zero, Elem::F32)?;
        x = reader.minus(&x, &zero)?;
    }
    let scale = beside(reader, 1, axis, block)?;
    let scale = reader.converted(&scale, Elem::F32)?;
    reader.finish(Mul::float(), &[x, scale])
}

/// Reads DynamicQuantizeLinear. The grid reaches from the smallest element to the largest, and always contains 0. The
/// results are the codes, the scale and the zero point.
fn dynamic_quantize(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let x = Arg::Operand(0);
    let bound = |min: f32, max: f32| Clip { min, max };
    let largest = reader.reduced(Reduction::Max, &x, &[])?;
    let largest = reader.reshaped(&largest, &[])?;
    let largest = reader.push(bound(0.0, f32::INFINITY), &[largest])?;
    let least = reader.reduced(Reduction::Min, &x, &[])?;
    let least = reader.reshaped(&least, &[])?;
    let least = reader.push(bound(f32::NEG_INFINITY, 0.0), &[least])?;
    // If all elements are 0, any scale will do. The range is then taken to be 1.
    let range = reader.minus(&largest, &least)?;
    let (zero, one) = (reader.number(&range, 0.0)?, reader.number(&range, 1.0)?);
    let is_empty = reader.compare(Relation::Equal, &range, &zero)?;
    let range = reader.select(&is_empty, &one, &range)?;
    let levels = reader.number(&range, 255.0)?;
    let scale = reader.over(&range, &levels)?;
    let below = reader.over(&least, &scale)?;
    let zero = reader.minus(&zero, &below)?;
    let zero = reader.push(bound(0.0, 255.0), &[zero])?;
    let zero = reader.function(Function::Round, &zero)?;
    let quotient = reader.over(&x, &scale)?;
    let (op, clipped) = saturated(reader, &quotient, Some(zero.clone()), Elem::U8)?;
    reader.finish_result(1, strait_core::op::Identity {}, &[scale])?;
    reader.finish_result(2, Cast { to: Elem::U8 }, &[zero])?;
    reader.finish_result(0, op, &[clipped])
}

/// Returns the codes of the operand at position `operand` minus their zero point, as floats. If there is a zero point
/// for each row of a matrix, or for each output channel of weights, the zero points run along the axis `along`.
pub(super) fn centred(
    reader: &mut OperatorReader<'_, '_>,
    operand: usize,
    zero: usize,
    along: Option<usize>,
) -> Result<Arg, Refusal> {
    let x = reader.converted(&Arg::Operand(operand), Elem::F32)?;
    if !reader.has(zero) {
        return Ok(x);
    }
    let rank = reader.rank(operand)?;
    let zero = per(reader, zero, along, rank)?;
    let zero = reader.converted(&zero, Elem::F32)?;
    reader.minus(&x, &zero)
}

/// Like [`centred`], for weights. If the weights are constant, they stay codes, on a grid with scale 1.
fn centred_weights(
    reader: &mut OperatorReader<'_, '_>,
    operand: usize,
    zero: usize,
    axis: Option<usize>,
) -> Result<Arg, Refusal> {
    let elem = reader.ty(operand)?.elem;
    let zeros = match (reader.has(zero), reader.constant(zero)?) {
        (false, _) => Some(vec![0]),
        (true, zeros) => zeros.map(|zeros| zeros.to_i64()).transpose()?,
    };
    let zeros: Option<Vec<i32>> =
        zeros.and_then(|zeros| zeros.into_iter().map(|zero| i32::try_from(zero).ok()).collect());
    let grid = zeros.and_then(|zeros| grid_of(&vec![1.0; zeros.len()], &zeros, elem, axis, None));
    if let (Some(grid), true) = (grid, reader.constant(operand)?.is_some())
        && let Some(real) = reader.real(&Arg::Operand(operand), &grid)?
    {
        return Ok(real);
    }
    centred(reader, operand, zero, axis)
}

/// A single number, or a list of numbers that is reshaped to run along one axis of a tensor with this rank.
pub(super) fn per(
    reader: &mut OperatorReader<'_, '_>,
    operand: usize,
    along: Option<usize>,
    rank: usize,
) -> Result<Arg, Refusal> {
    let shape = reader.ty(operand)?.shape;
    let value = Arg::Operand(operand);
    match (shape.len(), along) {
        (1, _) if shape[0].fixed() == Some(1) => reader.reshaped(&value, &[]),
        (1, Some(axis)) if axis < rank => {
            let mut beside = vec![1; rank];
            beside[axis] = -1;
            reader.reshaped(&value, &beside)
        }
        _ => Ok(value),
    }
}

/// How many products of signed 9-bit integers a 32-bit float can sum exactly.
const EXACT: u64 = (1 << 24) / (255 * 255);

/// How many products of 4-bit parts of integers a 32-bit float can sum exactly.
const EXACT_PARTS: u64 = (1 << 24) / (16 * 16);

/// Returns the exact sum, as i64, of `count` products of integers below 2^8. The products are computed in floats. If a
/// float can hold such a sum exactly, the integers themselves are multiplied. Otherwise the upper and the lower halves
/// of the integers are multiplied separately. The products are then smaller, so a float can hold a sum of more of them
/// exactly.
fn exact_sums(
    reader: &mut OperatorReader<'_, '_>,
    op: &Op,
    a: &Arg,
    b: &Arg,
    count: Option<u64>,
) -> Result<Arg, Refusal> {
    match count {
        Some(..=EXACT) => {
            let sums = reader.push(op.clone(), &[a.clone(), b.clone()])?;
            reader.converted(&sums, Elem::I64)
        }
        Some(..=EXACT_PARTS) => {
            let (a, b) = (halves(reader, a)?, halves(reader, b)?);
            let mut total = None;
            for (a, upper_a) in &a {
                for (b, upper_b) in &b {
                    let sums = reader.push(op.clone(), &[a.clone(), b.clone()])?;
                    let sums = reader.converted(&sums, Elem::I64)?;
                    let sums = reader.scaled(&sums, upper_a * upper_b)?;
                    total = Some(match total {
                        None => sums,
                        Some(total) => reader.plus(&total, &sums)?,
                    });
                }
            }
            Ok(total.unwrap_or(Arg::Absent))
        }
        _ => Err(Refusal::Unsupported(format!(
            "a sum of integers has more than {EXACT_PARTS} products"
        ))),
    }
}

/// Splits x = 16·upper + lower. Returns both parts, each with the factor that it is multiplied by.
fn halves(reader: &mut OperatorReader<'_, '_>, x: &Arg) -> Result<[(Arg, f64); 2], Refusal> {
    let scaled = reader.scaled(x, 1.0 / 16.0)?;
    let upper = reader.function(Function::Floor, &scaled)?;
    let back = reader.scaled(&upper, 16.0)?;
    let lower = reader.minus(x, &back)?;
    Ok([(upper, 16.0), (lower, 1.0)])
}

/// The number of products that are added up for each element of a matrix product.
fn inner(reader: &mut OperatorReader<'_, '_>, operand: usize) -> Result<Option<u64>, Refusal> {
    Ok(reader.ty(operand)?.shape.last().and_then(|dim| dim.fixed()))
}

fn matmul_integer(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rows = reader.rank(0)?.checked_sub(2);
    let columns = reader.rank(1)?.checked_sub(1);
    let a = centred(reader, 0, 2, rows)?;
    let b = centred_weights(reader, 1, 3, columns)?;
    let count = inner(reader, 0)?;
    let sums = exact_sums(reader, &strait_import::matrix_product().into(), &a, &b, count)?;
    reader.finish(Cast { to: Elem::I32 }, &[sums])
}

/// Reads a matrix product of codes: saturate(round(a·b · (scale of a · scale of b / scale of y)) + zero point).
pub(super) fn matmul_of_codes(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let rows = reader.rank(0)?.checked_sub(2);
    let columns = reader.rank(3)?.checked_sub(1);
    let (a_rank, b_rank) = (reader.rank(0)?, reader.rank(3)?);
    let a = centred(reader, 0, 2, rows)?;
    let b = centred(reader, 3, 5, columns)?;
    let sums = reader.product(&a, &b)?;
    let scales = [
        per(reader, 1, rows, a_rank)?,
        per(reader, 4, columns, b_rank)?,
        per(reader, 6, rows, a_rank)?,
    ];
    let zero = per(reader, 7, rows, a_rank)?;
    requantized(reader, &sums, scales, zero, 7)
}

/// Multiplies the sums by scale a · scale b / scale y, and converts the products to codes. The codes have the type of
/// the zero point, which is the operand at `zero_operand`.
fn requantized(
    reader: &mut OperatorReader<'_, '_>,
    sums: &Arg,
    scales: [Arg; 3],
    zero: Arg,
    zero_operand: usize,
) -> Result<(), Refusal> {
    let [a, b, y] = &scales;
    let (a, b, y) = (
        reader.converted(a, Elem::F32)?,
        reader.converted(b, Elem::F32)?,
        reader.converted(y, Elem::F32)?,
    );
    let factor = reader.times(&a, &b)?;
    let factor = reader.over(&factor, &y)?;
    let scaled = reader.times(sums, &factor)?;
    let elem = reader.ty(zero_operand)?.elem;
    let (op, clipped) = saturated(reader, &scaled, Some(zero), elem)?;
    reader.finish(op, &[clipped])
}

fn conv_integer(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = convolution(reader, 1)?;
    let shape = reader.ty(1)?.shape;
    let taps: Option<SmallVec<[u64; 4]>> = fixed_dims(shape.get(1..).unwrap_or_default());
    let count = taps.and_then(|taps| taps.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent)));
    let x = centred(reader, 0, 2, None)?;
    let w = centred_weights(reader, 1, 3, Some(0))?;
    let sums = exact_sums(reader, &op.into(), &x, &w, count)?;
    reader.finish(Cast { to: Elem::I32 }, &[sums])
}

pub(super) fn conv_of_codes(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let op = convolution(reader, 3)?;
    let rank = reader.rank(0)?;
    let x = centred(reader, 0, 2, None)?;
    let w = centred(reader, 3, 5, Some(0))?;
    let bias = match reader.has(8) {
        true => reader.converted(&Arg::Operand(8), Elem::F32)?,
        false => Arg::Absent,
    };
    let sums = reader.push(op, &[x, w, bias])?;
    let scales = [
        per(reader, 1, None, rank)?,
        per(reader, 4, Some(1), rank)?,
        per(reader, 6, None, rank)?,
    ];
    let zero = per(reader, 7, None, rank)?;
    requantized(reader, &sums, scales, zero, 7)
}
