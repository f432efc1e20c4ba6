//! `lookup`: computes a function of one variable as a table of its results. The row's definition says how the entries
//! are computed. If the definition is that of a runtime's function, this function may fix the grid of the result.
//! Annotation has then given the result this grid. If the definition is that of no runtime, the entries are the results
//! of the correctly rounded function from the operand's grid to the result's grid. If the row has a left shift of n
//! bits and the result has at most 8 bits, the entries come from the float executor: they are rounded to a grid that is
//! finer by n bits, and a right shift by n bits then gives the result. If a fusion applies this shift to the entries of
//! the table, the entries are rounded twice. If the table has entries only for evenly spaced codes, an `interpolate` op
//! interpolates linearly between them.

use super::NodeToLower;
use super::narrow::{Wide, shift};
use crate::lowering::{Grid, Lowering, integers};
use strait_core::op::{Interpolate, Lookup};
use strait_core::{Elem, Failure, Op, Reason, ReasonCode, TensorData, ValueId, refused};
use strait_execute::evaluate;
use strait_requantize::function::{Definition, Nearest, Pointwise};
use strait_requantize::quantize::dequantize;
use strait_requantize::{IntType, Per, Rounding};
use strait_target::spec::{Lines, Recipe};

pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    definition: Definition,
    left_shift: u8,
    rounding: Option<Rounding>,
) -> Result<(), Failure> {
    let (x, y) = grids(lowering, site, rounding)?;
    if x.ty.bits() > 16 || y.ty.bits() > 16 {
        let text = format!("a table from {} to {} is not one of codes", x.ty, y.ty);
        return refused(ReasonCode::TableType, text);
    }
    if let Some(wide) = finer(&y, left_shift) {
        let codes = evaluated(&site.node.op, &x, &wide)?;
        let acc = look_up(lowering, site, Lookup {}, &codes, &wide)?;
        let from = Wide::on_grid(acc, wide.zero, wide.scale);
        let made = shift(lowering, site, from, (&y).into(), Per::Tensor(left_shift))?;
        return lowering.set_codes(site, 0, made);
    }
    let codes = defined(&site.node.op, definition, &x, &y)?;
    let made = look_up(lowering, site, Lookup {}, &codes, &y)?;
    lowering.set_codes(site, 0, made)
}

/// The table of a function whose entries are correctly rounded (`nearest.v1`), for formats that have no operator for the
/// function. `None` if `recipe` computes the function in another way.
pub(crate) fn table(op: &Op, recipe: Recipe, x: &Grid, y: &Grid) -> Result<Option<TensorData>, Failure> {
    let Recipe::Lookup {
        definition: Definition::Nearest,
        left_shift: None,
        rounding,
        interpolate: None,
    } = recipe
    else {
        return Ok(None);
    };
    let y = Grid {
        rounding: rounding.unwrap_or(y.rounding),
        ..y.clone()
    };
    let codes = defined(op, Definition::Nearest, x, &y)?;
    Ok(Some(integers(&[codes.len() as u64], &codes, Elem::from(y.ty))?))
}

/// Computes the function by linear interpolation between entries for evenly spaced codes. Each entry is correctly
/// rounded.
pub(super) fn interpolate(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    lines: Lines,
    rounding: Option<Rounding>,
) -> Result<(), Failure> {
    let (x, y) = grids(lowering, site, rounding)?;
    let text = || format!("{} entries are not on evenly spaced codes of {}", lines.entries, x.ty);
    let step = lines.step(x.ty.bits()).filter(|_| y.ty.bits() <= 16);
    let step = step.ok_or_else(|| Reason::new(ReasonCode::TableType, text()))?;
    let entries = nearest(&site.node.op, &x, &y)?.entries(step);
    let entries = entries.map_err(|error| Reason::new(ReasonCode::LookupDomain, error.to_string()))?;
    let codes: Vec<i32> = entries.into_iter().map(|code| within(&y, code)).collect();
    let rounding = lines.rounding;
    let made = look_up(lowering, site, Interpolate { step, rounding }, &codes, &y)?;
    lowering.set_codes(site, 0, made)
}

/// The operand's grid, and the result's grid with the rounding that is used for entries.
fn grids(lowering: &Lowering<'_>, site: &NodeToLower<'_>, rounding: Option<Rounding>) -> Result<(Grid, Grid), Failure> {
    let y = lowering.needed_grid(site)?;
    let rounding = rounding.unwrap_or(y.rounding);
    Ok((lowering.operand_grid(site, 0)?, Grid { rounding, ..y }))
}

/// Returns a grid whose steps are 2^`bits` times smaller than those of `grid`. Its codes have to fit into 32 bits, so
/// the function returns `None` if the codes of `grid` have more than 8 bits, or if `bits` is 0 or more than 23.
fn finer(grid: &Grid, bits: u8) -> Option<Grid> {
    let step = (grid.ty.bits() <= 8 && (1..=23).contains(&bits)).then(|| 1 << bits)?;
    let scale = Some(grid.scale / step as f32).filter(|scale| scale.is_normal())?;
    Some(Grid {
        ty: IntType::I32,
        range: grid.range.start() * step..=grid.range.end() * step,
        rounding: grid.rounding,
        scale,
        zero: grid.zero * step,
    })
}

/// Appends a lookup whose table has the entries `codes`.
fn look_up(
    lowering: &mut Lowering<'_>,
    site: &NodeToLower<'_>,
    op: impl Into<Op>,
    codes: &[i32],
    grid: &Grid,
) -> Result<ValueId, Failure> {
    let table = integers(&[codes.len() as u64], codes, Elem::from(grid.ty))?;
    let table = lowering.walk.data("table", table, Some(grid.params()));
    let operands = [lowering.operand(site, 0)?.value, table];
    lowering.emit(site.node, op, &operands, Some(grid.params()), "lookup")
}

/// The entries of the table according to a definition.
fn defined(op: &Op, definition: Definition, x: &Grid, y: &Grid) -> Result<Vec<i32>, Failure> {
    let table = Pointwise::of(definition, nearest(op, x, y)?).and_then(|function| function.table());
    let table = table.map_err(|error| Reason::new(ReasonCode::LookupDomain, error.to_string()))?;
    Ok(table.into_iter().map(|code| within(y, code)).collect())
}

/// The function of an op between two grids, correctly rounded.
fn nearest(op: &Op, x: &Grid, y: &Grid) -> Result<Nearest, Failure> {
    let function = op
        .real()
        .ok_or_else(|| Failure::Defect(format!("{} has no table", op.term())))?;
    Ok(Nearest {
        function,
        elements: x.ty,
        input_scale: x.scale,
        input_zp: x.zero,
        out: y.ty,
        scale: y.scale,
        zp: y.zero,
        rounding: y.rounding,
    })
}

/// Limits a code to the range of the grid.
fn within(y: &Grid, code: i32) -> i32 {
    code.min(*y.range.end()).max(*y.range.start())
}

/// Computes the entries by running the op in the float executor.
fn evaluated(op: &Op, x: &Grid, y: &Grid) -> Result<Vec<i32>, Failure> {
    let inputs: Vec<f32> = x.ty.range().map(|q| dequantize(q, x.scale, x.zero)).collect();
    let inputs = TensorData::from_values(&[inputs.len() as u64], &inputs)?;
    let outputs = evaluate(op, &[Some(&inputs)]);
    let outputs = outputs.map_err(|error| Failure::Defect(format!("its table: {error}")))?;
    let values = outputs
        .first()
        .ok_or_else(|| Failure::defect("its table has no entries"))?;
    // At a pole, such as that of the reciprocal at 0, the entry saturates. Where the function is not defined, the entry
    // is the code of real zero.
    Ok(values.to_f32()?.iter().map(|&v| y.code(v)).collect())
}
