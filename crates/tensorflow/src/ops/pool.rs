//! Reads pools.

use smallvec::SmallVec;
use strait_core::op::{AveragePool, Cast, MaxPool};
use strait_core::{Elem, ReasonCode};
use strait_import::{Arg, Refusal};

use super::Row;
use super::layout::{Layout, finish, layout, to_first};
use super::window::{of_image, spatial, window};
use crate::node::Node;

pub(super) const ROWS: &[Row] = &[
    ("MaxPool", |node| max_pool(node, 2)),
    ("MaxPool3D", |node| max_pool(node, 3)),
    ("MaxPoolV2", max_pool_of_operands),
    ("AvgPool", |node| average_pool(node, 2)),
    ("AvgPool3D", |node| average_pool(node, 3)),
];

fn size(node: &mut Node<'_, '_>, layout: Layout, axes: usize) -> Result<SmallVec<[u32; 2]>, Refusal> {
    let size = spatial(node, "ksize", layout, axes)?;
    size.ok_or_else(|| Refusal::invalid(ReasonCode::Window, "`ksize` is missing"))
}

fn extents(size: &[u32]) -> Vec<u64> {
    size.iter().map(|&n| n.into()).collect()
}

fn max_pool(node: &mut Node<'_, '_>, axes: usize) -> Result<(), Refusal> {
    let layout = layout(node)?;
    let size = size(node, layout, axes)?;
    let window = window(node, layout, &extents(&size))?;
    let op = MaxPool {
        size,
        stride: window.stride,
        pad: window.pad,
        dilation: window.dilation,
        ceil: false,
    };
    largest(node, layout, op)
}

/// A maximum pool whose window and strides are operands.
fn max_pool_of_operands(node: &mut Node<'_, '_>) -> Result<(), Refusal> {
    let layout = layout(node)?;
    let list = |node: &mut Node<'_, '_>, position, key| -> Result<SmallVec<[u32; 2]>, Refusal> {
        of_image(key, &node.known_ints(position, key)?.unwrap_or_default(), layout, 2)
    };
    let size = list(node, 1, "ksize")?;
    let stride = list(node, 2, "strides")?;
    let shape = node.ty(0)?.shape;
    let mut pad: SmallVec<[u32; 4]> = SmallVec::from_elem(0, 4);
    match node.text("padding", "")? {
        "VALID" => {}
        "SAME" => {
            for axis in 0..2 {
                let extent = shape.get(layout.spatial(axis));
                (pad[axis], pad[axis + 2]) = super::window::same(extent, size[axis].into(), stride[axis], 1)?;
            }
        }
        other => return Err(Refusal::Unsupported(format!("`padding` is `{other}`"))),
    }
    let op = MaxPool {
        size,
        stride,
        pad,
        dilation: SmallVec::from_elem(1, 2),
        ceil: false,
    };
    largest(node, layout, op)
}

fn largest(node: &mut Node<'_, '_>, layout: Layout, op: MaxPool) -> Result<(), Refusal> {
    let elem = node.ty(0)?.elem;
    let x = to_first(node, layout, Arg::Operand(0))?;
    if elem.int_type().is_some_and(|codes| codes.bits() <= 16) {
        // Floats represent these integers exactly.
        let x = node.converted(&x, Elem::F32)?;
        let largest = node.push(op, &[x])?;
        return finish(node, layout, Cast { to: elem }, &[largest]);
    }
    finish(node, layout, op, &[x])
}

/// An average pool. Padding does not count in the mean.
fn average_pool(node: &mut Node<'_, '_>, axes: usize) -> Result<(), Refusal> {
    let layout = layout(node)?;
    let size = size(node, layout, axes)?;
    let window = window(node, layout, &extents(&size))?;
    let op = AveragePool {
        size,
        stride: window.stride,
        pad: window.pad,
        dilation: window.dilation,
        ceil: false,
        count_include_pad: false,
    };
    let x = to_first(node, layout, Arg::Operand(0))?;
    finish(node, layout, op, &[x])
}
