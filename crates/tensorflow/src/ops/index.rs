//! Reads operators that gather and scatter elements, sort them, or accumulate along an axis.

use strait_core::op::{
    ArgReduce, Cast, Combination, Cumulative, Extreme, Gather, GatherNd, Identity, NonZero, Running, TopK, Transpose,
};
use strait_core::{Elem, ReasonCode, TensorData};
use strait_import::{Arg, Refusal, scatter_slices};

use super::Row;
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("Gather", |reader| {
        reader.ignore(&["validate_indices"]);
        let indices = reader.indices(1)?;
        reader.finish(Gather { axis: 0 }, &[Arg::Operand(0), indices])
    }),
    ("GatherV2", gather),
    ("GatherNd", |reader| {
        reader.ignore(&["bad_indices_policy"]);
        let indices = reader.indices(1)?;
        reader.finish(GatherNd { batch: 0 }, &[Arg::Operand(0), indices])
    }),
    ("ScatterNd", scatter),
    ("TensorScatterUpdate", |reader| {
        scatter_into(reader, Combination::Replace)
    }),
    ("TensorScatterAdd", |reader| scatter_into(reader, Combination::Add)),
    ("TensorScatterMax", |reader| scatter_into(reader, Combination::Maximum)),
    ("TensorScatterMin", |reader| scatter_into(reader, Combination::Minimum)),
    ("ArgMax", |reader| arg_reduce(reader, Extreme::Maximum)),
    ("ArgMin", |reader| arg_reduce(reader, Extreme::Minimum)),
    ("TopKV2", top_k),
    ("Cumsum", |reader| cumulative(reader, Running::Sum)),
    ("Cumprod", |reader| cumulative(reader, Running::Product)),
    ("Where", places),
];

/// Reads an operator that gathers slices along an axis. If there are batch axes, the indices apply to an axis after
/// them.
fn gather(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.given_int(2, "axis")?;
    let rank = reader.rank(0)?;
    let axis = reader.axis(axis, rank)?;
    let indices = reader.indices(1)?;
    let shared = reader.int("batch_dims")?.unwrap_or(0);
    let places = reader.rank(1)?;
    let batch = match shared < 0 {
        true => shared.saturating_add(places as i64),
        false => shared,
    };
    match usize::try_from(batch) {
        Ok(0) => reader.finish(Gather { axis: axis as i64 }, &[Arg::Operand(0), indices]),
        Ok(batch) if batch == axis => {
            let indices = reader.unsqueezed(&indices, &[-1])?;
            let batch = batch as u32;
            reader.finish(GatherNd { batch }, &[Arg::Operand(0), indices])
        }
        _ => Err(Refusal::Unsupported(format!(
            "`batch_dims` is {shared} and its axis is {axis}"
        ))),
    }
}

/// Reads an operator that scatters slices into a tensor of zeros. Slices for the same place are added.
fn scatter(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["bad_indices_policy"]);
    let shape = reader.known_ints(2, "shape")?.unwrap_or_default();
    let extents: Option<Vec<u64>> = shape.iter().map(|&extent| u64::try_from(extent).ok()).collect();
    let extents = extents.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, format!("its shape is {shape:?}")))?;
    let count = reader.room(&extents)?;
    let elem = reader.ty(1)?.elem;
    let bytes = count.checked_mul(elem.size()).map(|bytes| vec![0u8; bytes]);
    let bytes = bytes.ok_or_else(|| Refusal::invalid(ReasonCode::Limit, "its result is too large"))?;
    let zeros = Arg::Constant(TensorData::new(elem, &extents, bytes.into())?);
    let indices = reader.indices(0)?;
    reader.finish(scatter_slices(Combination::Add), &[zeros, indices, Arg::Operand(1)])
}

fn scatter_into(reader: &mut OperatorReader<'_, '_>, combine: Combination) -> Result<(), Refusal> {
    reader.ignore(&["bad_indices_policy"]);
    let indices = reader.indices(1)?;
    reader.finish(scatter_slices(combine), &[Arg::Operand(0), indices, Arg::Operand(2)])
}

/// Reads an operator that finds the position of the largest or smallest element. If several elements are equal, the
/// result is the first of their positions.
fn arg_reduce(reader: &mut OperatorReader<'_, '_>, extreme: Extreme) -> Result<(), Refusal> {
    let op = ArgReduce {
        extreme,
        axis: reader.given_int(1, "axis")?,
        keep_dims: false,
        last: false,
    };
    match reader.elem("output_type")?.unwrap_or(Elem::I64) {
        Elem::I64 => reader.finish(op, &[Arg::Operand(0)]),
        to => {
            let place = reader.push(op, &[Arg::Operand(0)])?;
            reader.finish(Cast { to }, &[place])
        }
    }
}

/// Reads an operator that returns the largest elements. Here they are always sorted, which is allowed even if the
/// attribute `sorted` is false.
fn top_k(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.ignore(&["sorted"]);
    let op = TopK {
        k: reader.given_int(1, "number of elements")?,
        axis: -1,
        largest: true,
    };
    let to = reader.elem("index_type")?.unwrap_or(Elem::I32);
    let found = reader.push_all(op, &[Arg::Operand(0)])?;
    let [values, places] = found.as_slice() else {
        return Err(Refusal::unsupported("it has no two results"));
    };
    reader.finish_result(0, Identity {}, std::slice::from_ref(values))?;
    match to {
        Elem::I64 => reader.finish_result(1, Identity {}, std::slice::from_ref(places)),
        to => reader.finish_result(1, Cast { to }, std::slice::from_ref(places)),
    }
}

fn cumulative(reader: &mut OperatorReader<'_, '_>, of: Running) -> Result<(), Refusal> {
    let op = Cumulative {
        of,
        axis: reader.given_int(1, "axis")?,
        exclusive: reader.flag("exclusive")?,
        reverse: reader.flag("reverse")?,
    };
    reader.finish(op, &[Arg::Operand(0)])
}

/// Reads an operator that finds all elements that are not zero. The result has a row with the coordinates of each.
fn places(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let columns = reader.push(NonZero {}, &[Arg::Operand(0)])?;
    let permutation = [1, 0].as_slice().into();
    reader.finish(Transpose { permutation }, &[columns])
}
