//! Reads operators that gather and scatter elements, sort them, or accumulate along an axis.

use strait_core::op::{
    ArgReduce, Cast, Combination, Cumulative, Extreme, Gather, GatherNd, Identity, NonZero, Running, Scatter,
    ScatterBy, TopK, Transpose,
};
use strait_core::{Elem, ReasonCode, TensorData};
use strait_import::{Arg, Refusal};

use super::Row;
use super::shape::one;
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("Gather", |node| {
        node.ignore(&["validate_indices"]);
        let indices = node.indices(1)?;
        node.finish(Gather { axis: 0 }, &[Arg::Operand(0), indices])
    }),
    ("GatherV2", gather),
    ("GatherNd", |node| {
        node.ignore(&["bad_indices_policy"]);
        let indices = node.indices(1)?;
        node.finish(GatherNd { batch: 0 }, &[Arg::Operand(0), indices])
    }),
    ("ScatterNd", scatter),
    ("TensorScatterUpdate", |node| scatter_into(node, Combination::Replace)),
    ("TensorScatterAdd", |node| scatter_into(node, Combination::Add)),
    ("TensorScatterMax", |node| scatter_into(node, Combination::Maximum)),
    ("TensorScatterMin", |node| scatter_into(node, Combination::Minimum)),
    ("ArgMax", |node| arg_reduce(node, Extreme::Maximum)),
    ("ArgMin", |node| arg_reduce(node, Extreme::Minimum)),
    ("TopKV2", top_k),
    ("Cumsum", |node| cumulative(node, Running::Sum)),
    ("Cumprod", |node| cumulative(node, Running::Product)),
    ("Where", places),
];

/// Gathers slices along an axis. With batch axes, the indices are coordinates along one axis after those.
fn gather(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let axis = one(node, 2, "axis")?;
    let rank = node.rank(0)?;
    let axis = node.axis(axis, rank)?;
    let indices = node.indices(1)?;
    let shared = node.int("batch_dims")?.unwrap_or(0);
    let places = node.rank(1)?;
    let batch = match shared < 0 {
        true => shared.saturating_add(places as i64),
        false => shared,
    };
    match usize::try_from(batch) {
        Ok(0) => node.finish(Gather { axis: axis as i64 }, &[Arg::Operand(0), indices]),
        Ok(batch) if batch == axis => {
            let indices = node.unsqueezed(&indices, &[-1])?;
            let batch = batch as u32;
            node.finish(GatherNd { batch }, &[Arg::Operand(0), indices])
        }
        _ => Err(Refusal::Unsupported(format!(
            "`batch_dims` is {shared} and its axis is {axis}"
        ))),
    }
}

fn by_slice(combine: Combination) -> Scatter {
    Scatter {
        by: ScatterBy::Slice,
        axis: 0,
        combine,
    }
}

/// Scatters slices into zeros. Slices at the same place are added.
fn scatter(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.ignore(&["bad_indices_policy"]);
    let shape = node.known_ints(2, "shape")?.unwrap_or_default();
    let extents: Option<Vec<u64>> = shape.iter().map(|&extent| u64::try_from(extent).ok()).collect();
    let extents = extents.ok_or_else(|| Refusal::invalid(ReasonCode::Axes, format!("its shape is {shape:?}")))?;
    let count = node.room(&extents)?;
    let elem = node.ty(1)?.elem;
    let bytes = count.checked_mul(elem.size()).map(|bytes| vec![0u8; bytes]);
    let bytes = bytes.ok_or_else(|| Refusal::invalid(ReasonCode::Limit, "its result is too large"))?;
    let zeros = Arg::Constant(TensorData::new(elem, &extents, bytes.into())?);
    let indices = node.indices(0)?;
    node.finish(by_slice(Combination::Add), &[zeros, indices, Arg::Operand(1)])
}

fn scatter_into(node: &mut Node<'_, '_>, combine: Combination) -> Result<(), Refusal> {
    node.ignore(&["bad_indices_policy"]);
    let indices = node.indices(1)?;
    node.finish(by_slice(combine), &[Arg::Operand(0), indices, Arg::Operand(2)])
}

/// The position of the extreme element; the first one if several are equal.
fn arg_reduce(node: &mut Node<'_, '_>, extreme: Extreme) -> Result<(), Refusal> {
    let op = ArgReduce {
        extreme,
        axis: one(node, 1, "axis")?,
        keep_dims: false,
        last: false,
    };
    match node.elem("output_type")?.unwrap_or(Elem::I64) {
        Elem::I64 => node.finish(op, &[Arg::Operand(0)]),
        to => {
            let place = node.push(op, &[Arg::Operand(0)])?;
            node.finish(Cast { to }, &[place])
        }
    }
}

/// The results come sorted, which is allowed even if `sorted` is false.
fn top_k(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    node.ignore(&["sorted"]);
    let op = TopK {
        k: one(node, 1, "number of elements")?,
        axis: -1,
        largest: true,
    };
    let to = node.elem("index_type")?.unwrap_or(Elem::I32);
    let found = node.push_all(op, &[Arg::Operand(0)])?;
    let [values, places] = found.as_slice() else {
        return Err(Refusal::unsupported("it has no two results"));
    };
    node.finish_result(0, Identity {}, std::slice::from_ref(values))?;
    match to {
        Elem::I64 => node.finish_result(1, Identity {}, std::slice::from_ref(places)),
        to => node.finish_result(1, Cast { to }, std::slice::from_ref(places)),
    }
}

fn cumulative(node: &mut Node<'_, '_>, of: Running) -> Result<(), Refusal> {
    let op = Cumulative {
        of,
        axis: one(node, 1, "axis")?,
        exclusive: node.flag("exclusive")?,
        reverse: node.flag("reverse")?,
    };
    node.finish(op, &[Arg::Operand(0)])
}

/// One row of coordinates for each element that is not zero.
fn places(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let columns = node.push(NonZero {}, &[Arg::Operand(0)])?;
    let permutation = [1, 0].as_slice().into();
    node.finish(Transpose { permutation }, &[columns])
}
