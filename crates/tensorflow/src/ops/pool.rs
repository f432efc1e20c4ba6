//! Reads pools.

use smallvec::SmallVec;
use strait_core::op::{Cast, MaxPool};
use strait_core::{Elem, ReasonCode};
use strait_import::{Arg, Refusal, Window};

use super::Row;
use super::layout::{Layout, finish, layout, to_first};
use super::window::{of_image, spatial, window};
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("MaxPool", |reader| max_pool(reader, 2)),
    ("MaxPool3D", |reader| max_pool(reader, 3)),
    ("MaxPoolV2", max_pool_of_operands),
    ("AvgPool", |reader| average_pool(reader, 2)),
    ("AvgPool3D", |reader| average_pool(reader, 3)),
];

fn size(reader: &mut OperatorReader<'_, '_>, layout: Layout, axes: usize) -> Result<SmallVec<[u32; 2]>, Refusal> {
    let size = spatial(reader, "ksize", layout, axes)?;
    size.ok_or_else(|| Refusal::invalid(ReasonCode::Window, "`ksize` is missing"))
}

fn extents(size: &[u32]) -> Vec<u64> {
    size.iter().map(|&n| n.into()).collect()
}

fn max_pool(reader: &mut OperatorReader<'_, '_>, axes: usize) -> Result<(), Refusal> {
    let layout = layout(reader)?;
    let size = size(reader, layout, axes)?;
    let window = window(reader, layout, &extents(&size))?;
    largest(reader, layout, window.max_pool(size, false))
}

/// Reads a max pool whose window and strides are operands.
fn max_pool_of_operands(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let layout = layout(reader)?;
    let list = |reader: &mut OperatorReader<'_, '_>, position, key| -> Result<SmallVec<[u32; 2]>, Refusal> {
        of_image(key, &reader.known_ints(position, key)?.unwrap_or_default(), layout, 2)
    };
    let size = list(reader, 1, "ksize")?;
    let stride = list(reader, 2, "strides")?;
    let shape = reader.ty(0)?.shape;
    let mut pad: SmallVec<[u32; 4]> = SmallVec::from_elem(0, 4);
    match reader.text("padding", "")? {
        "VALID" => {}
        "SAME" => {
            for axis in 0..2 {
                let extent = shape.get(layout.spatial(axis));
                (pad[axis], pad[axis + 2]) = super::window::same(extent, size[axis].into(), stride[axis], 1)?;
            }
        }
        other => return Err(Refusal::Unsupported(format!("`padding` is `{other}`"))),
    }
    let window = Window {
        stride,
        ..Window::dense(pad)
    };
    largest(reader, layout, window.max_pool(size, false))
}

fn largest(reader: &mut OperatorReader<'_, '_>, layout: Layout, op: MaxPool) -> Result<(), Refusal> {
    let elem = reader.ty(0)?.elem;
    let x = to_first(reader, layout, Arg::Operand(0))?;
    if elem.int_type().is_some_and(|codes| codes.bits() <= 16) {
        // The operand's integers are converted to floats, which can represent all of them exactly.
        let x = reader.converted(&x, Elem::F32)?;
        let largest = reader.push(op, &[x])?;
        return finish(reader, layout, Cast { to: elem }, &[largest]);
    }
    finish(reader, layout, op, &[x])
}

/// Reads an average pool. Padding is not counted in the mean.
fn average_pool(reader: &mut OperatorReader<'_, '_>, axes: usize) -> Result<(), Refusal> {
    let layout = layout(reader)?;
    let size = size(reader, layout, axes)?;
    let window = window(reader, layout, &extents(&size))?;
    let x = to_first(reader, layout, Arg::Operand(0))?;
    finish(reader, layout, window.average_pool(size, false, false), &[x])
}
