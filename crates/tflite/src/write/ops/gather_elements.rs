//! One element for each index, by GATHER_ND, which wants all coordinates of an element.

use super::super::Site;
use super::super::emitter::{Emitter, Refused, Stored};
use super::super::flatbuffer::Table;
use super::axis;
use strait_core::op::GatherElements;
use strait_core::{Elem, TensorData};

/// The largest number of coordinates that are written: they are constants of 8 bytes each.
const MOST_COORDINATES: u64 = 1 << 24;

/// Joins the indices, which are the coordinates along one axis, with constant coordinates along the other axes. The
/// indices modulo the extent are not negative, as GATHER_ND wants them.
pub(super) fn gather_elements(emitter: &mut Emitter<'_>, site: &Site<'_>, own: &GatherElements) -> Result<(), Refused> {
    let (x, indices) = (emitter.image(site.node, 0)?, emitter.image(site.node, 1)?);
    let (from, shape) = (emitter.tensor(x).shape.clone(), emitter.tensor(indices).shape.clone());
    let along = axis(own.axis, shape.len())?;
    let count = shape.iter().try_fold(1u64, |count, &extent| count.checked_mul(extent));
    let count = count.filter(|count| count.saturating_mul(shape.len() as u64) <= MOST_COORDINATES);
    let count = count.ok_or_else(|| format!("its result has more than {MOST_COORDINATES} coordinates"))?;
    let list = |shape: &[u64]| Stored {
        shape: shape.to_vec(),
        elem: Elem::I64,
        grid: None,
    };
    let made = emitter.result(site.node)?;
    let extent = constant(&[1], vec![from[along] as i64])?;
    let name = emitter.tensor(made).name.clone();
    let extent = emitter.add(format!("{name}_extent"), list(&[1]), Some(extent.bytes().clone()))?;
    let positive = emitter.step("FLOOR_MOD", &[indices, extent], "positive", None)?;
    let single = [shape.clone(), vec![1]].concat();
    let column = emitter.like(indices, "column", single.clone())?;
    emitter.reshape(positive, column)?;
    let mut columns = Vec::with_capacity(shape.len());
    for own in 0..shape.len() {
        if own == along {
            columns.push(column);
            continue;
        }
        let behind: u64 = shape[own + 1..].iter().product();
        let coordinates = (0..count).map(|at| (at / behind.max(1) % shape[own].max(1)) as i64);
        let data = constant(&single, coordinates.collect())?;
        let name = format!("{name}_axis_{own}");
        columns.push(emitter.add(name, list(&single), Some(data.bytes().clone()))?);
    }
    let coordinates = [shape.clone(), vec![shape.len() as u64]].concat();
    let coordinates = emitter.like(indices, "coordinates", coordinates)?;
    let options = Table::default().int(0, shape.len() as i32, 0);
    let options = Some(options);
    emitter.emit("CONCATENATION", &columns, &[coordinates], options)?;
    emitter.emit("GATHER_ND", &[x, coordinates], &[made], None)
}

fn constant(shape: &[u64], values: Vec<i64>) -> Result<TensorData, Refused> {
    TensorData::from_integers(Elem::I64, shape, &values).map_err(|error| error.to_string())
}
