//! Reads the windows that slide over an image: strides, and the amounts of padding that `SAME` stands for.

use crate::read::operator_reader::{OperatorReader, Refusal};
use crate::schema::Padding;
use smallvec::SmallVec;
use strait_core::ReasonCode;
use strait_import::same_padding;

/// A number from the options, which must be positive.
pub(super) fn positive(number: i32, what: &str) -> Result<u32, Refusal> {
    let found = u32::try_from(number).ok().filter(|&number| number > 0);
    found.ok_or_else(|| Refusal::invalid(ReasonCode::Window, format!("its {what} is {number}")))
}

/// Returns the padding of a window over the spatial axes of an operand with channels last: first the amounts before
/// each axis, then the amounts after each axis. `SAME` stands for padding with which there are ⌈extent / stride⌉
/// windows along an axis. If the sum of both amounts is odd, the amount after the axis is larger by one.
pub(super) fn paddings(
    reader: &mut OperatorReader<'_, '_>,
    operand: usize,
    padding: Padding,
    [size, stride, dilation]: [&[u32]; 3],
) -> Result<SmallVec<[u32; 4]>, Refusal> {
    let axes = size.len();
    let mut pad: SmallVec<[u32; 4]> = SmallVec::from_elem(0, 2 * axes);
    if padding == Padding::Valid {
        return Ok(pad);
    }
    let shape = reader.ty(operand)?.shape;
    for axis in 0..axes {
        let extent = shape.get(axis + 1).and_then(|dim| dim.fixed()).ok_or_else(|| {
            let text = "the padding depends on a symbolic dimension; bind it to a number";
            Refusal::invalid(ReasonCode::SymbolicWindow, text)
        })?;
        let total = same_padding(extent, size[axis].into(), stride[axis], dilation[axis]);
        let misfit = || format!("the window does not fit axis {}", axis + 1);
        let total = total.ok_or_else(|| Refusal::invalid(ReasonCode::Window, misfit()))?;
        pad[axis] = total / 2;
        pad[axis + axes] = total - total / 2;
    }
    Ok(pad)
}
