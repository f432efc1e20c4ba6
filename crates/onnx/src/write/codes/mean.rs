//! Means, which are all a QLinearGlobalAveragePool.

use super::super::attributes::{int, ints};
use super::super::emitter::{Emitter, RUNTIME_DOMAIN};
use super::super::ops::At;
use super::grids;
use super::product::shape_of_result;
use crate::error::WriteError;
use strait_core::op::Reduce;

/// Writes the mean over all spatial axes.
pub(super) fn global(emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
    let outputs = at.outputs(emitter);
    let x = grids::operand(emitter, at, 0)?;
    pool(emitter, at, x, outputs)
}

/// Writes the mean over any axes. The operand is transposed such that these axes are the last ones, and reshaped to an
/// image of one column for each mean; the result is reshaped back. A mean over the height and the width of an image
/// needs neither a transpose nor a reshape.
pub(super) fn reduce(emitter: &mut Emitter<'_>, at: At<'_>, reduce: &Reduce) -> Result<(), WriteError> {
    let dims = emitter.ty(at.node.input(0)).map(|ty| &ty.shape[..]);
    let dims = dims.ok_or_else(|| at.unwritable("it has no operand"))?;
    let reduced = reduce
        .reduced(dims.len())
        .map_err(|reason| at.unwritable(reason.text))?;
    let kept: Vec<usize> = (0..dims.len()).filter(|axis| !reduced.contains(axis)).collect();
    let mut x = grids::operand(emitter, at, 0)?;
    if reduce.keep_dims && kept == [0, 1] && dims.len() == 4 {
        let outputs = at.outputs(emitter);
        return pool(emitter, at, x, outputs);
    }
    let order: Vec<i64> = kept.iter().chain(&reduced[..]).map(|&axis| axis as i64).collect();
    if !order.is_sorted() {
        let name = format!("{}_moved", at.name);
        x[0] = emitter.step("Transpose", &name, vec![x[0].clone()], vec![ints("perm", &order)]);
    }
    let count = |axes: &[usize]| (axes.iter()).try_fold(1, |count, &axis| Some(count * dims[axis].fixed()? as i64));
    let columns = count(&reduced).ok_or_else(|| at.unwritable("the extents that it reduces are not known"))?;
    // Without a known batch, the number of rows follows from the number of elements.
    let rows = count(&kept).unwrap_or(-1);
    let shape = emitter.ints(&format!("{}_rows_shape", at.name), &[1, rows, columns, 1]);
    x[0] = emitter.step(
        "Reshape",
        &format!("{}_rows", at.name),
        vec![x[0].clone(), shape],
        vec![],
    );
    let means = emitter.fresh(&format!("{}_means", at.name));
    pool(emitter, at, x, vec![means.clone()])?;
    let shape = shape_of_result(emitter, at)?;
    let shape = emitter.ints(&format!("{}_shape", at.name), &shape);
    let outputs = at.outputs(emitter);
    emitter.node("Reshape", at.name, vec![means, shape], outputs, vec![]);
    Ok(())
}

fn pool(emitter: &mut Emitter<'_>, at: At<'_>, x: Vec<String>, outputs: Vec<String>) -> Result<(), WriteError> {
    let inputs = [x, grids::result(emitter, at)?].concat();
    let channels = vec![int("channels_last", 0)];
    emitter.node_of(
        RUNTIME_DOMAIN,
        "QLinearGlobalAveragePool",
        at.name,
        inputs,
        outputs,
        channels,
    );
    Ok(())
}
