//! Converts between the codes and the real numbers of a grid.

use crate::annotate::settings::Given;
use std::sync::Arc;
use strait_core::{DataId, Elem, Failure, GraphId, Module, Parts, QuantParams, TensorData, ValueId};
use strait_requantize::Per;

/// scale · (q − zero point) for each code, in f32.
pub(crate) fn numbers(codes: &TensorData, grid: &QuantParams) -> Result<Vec<f32>, Failure> {
    each(codes, grid, |code, scale, zero| {
        (code.saturating_sub(zero)) as f32 * scale
    })
}

/// Calls `of` for each code, with the code and the scale and zero point that apply to it, and returns the results.
fn each<T>(codes: &TensorData, grid: &QuantParams, of: impl Fn(i64, f32, i64) -> T) -> Result<Vec<T>, Failure> {
    let parts = parts(codes, grid)?;
    let values = codes.to_i64()?.into_iter().enumerate();
    Ok(values
        .map(|(index, code)| {
            let part = parts.of(index);
            of(code, *at(&grid.scale, part), (*at(&grid.zero_point, part)).into())
        })
        .collect())
}

fn parts(tensor: &TensorData, grid: &QuantParams) -> Result<Parts, Failure> {
    let shape: Vec<usize> = tensor.shape().iter().map(|&extent| extent as usize).collect();
    Parts::of_grid(grid, &shape).ok_or_else(|| Failure::defect("the blocks of a grid do not fill its axis"))
}

fn at<T>(per: &Per<T>, part: usize) -> &T {
    match per {
        Per::Tensor(value) => value,
        Per::Channel(values) => &values[part.min(values.len() - 1)],
    }
}

/// Returns the real numbers that the smallest and the largest code of a grid stand for. Returns `None` if the codes
/// have more than 16 bits, because such codes may not use all of their range.
pub(super) fn range(grid: &QuantParams) -> Option<[f32; 2]> {
    grid.ends()?.into_iter().reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])
}

/// Converts a value's grid to codes of type `elem`. If the value is a constant, also converts its codes. If `elem` is
/// neither the model's type nor the same type with the other signedness, returns the grid of the model's own codes.
pub(super) fn given_in(
    module: &mut Module,
    graph: GraphId,
    value: ValueId,
    grid: &QuantParams,
    codes: Option<DataId>,
    elem: Elem,
) -> Result<Option<Given>, Failure> {
    let Some(own) = grid.codes else { return Ok(None) };
    let elem = match own == elem || own.other_sign() == Some(elem) {
        true => elem,
        false => own,
    };
    let params = grid.bare().moved(own.distance_to(elem));
    let constant = module.graph(graph).and_then(|graph| module.constant(graph, value));
    let codes = match (codes, constant) {
        (Some(codes), _) => Some(codes),
        (None, Some(real)) => {
            let (least, most) = elem.integers().unwrap_or((i64::MIN, i64::MAX));
            let tensor = recoded(real, &params, elem, (least, most))?;
            Some(module.add_data(tensor))
        }
        (None, None) => None,
    };
    let params = Arc::new(params);
    Ok(Some(Given { elem, params, codes }))
}

/// The codes of real numbers that lie on a grid: for each x, x / scale is very close to a whole number.
fn recoded(
    real: &TensorData,
    grid: &QuantParams,
    elem: Elem,
    (least, most): (i64, i64),
) -> Result<TensorData, Failure> {
    let parts = parts(real, grid)?;
    let codes: Vec<i64> = (real.to_f32()?.iter().enumerate())
        .map(|(index, &x)| {
            let part = parts.of(index);
            let steps = (f64::from(x) / f64::from(*at(&grid.scale, part))).round();
            (steps as i64)
                .saturating_add(i64::from(*at(&grid.zero_point, part)))
                .clamp(least, most)
        })
        .collect();
    Ok(TensorData::from_integers(elem, real.shape(), &codes)?)
}
