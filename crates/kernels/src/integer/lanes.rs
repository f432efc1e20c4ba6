//! Computes the codes of a tile, one element after the other.

use super::{bytes::width, epilogue::PerChannel};
use crate::integer::output_tile::{Axis, OutputTile};
use strait_requantize::IntType;

/// Computes the codes of a tile and writes them, one element after the other. `lane` is called for each element with
/// the constants of the element's channel. The result of `lane` is limited by the two bounds, which are codes of type
/// `out`. Row `r` of the tile starts at element `r·stride`.
#[inline(always)]
pub(crate) fn by_lane<T: Copy, C>(
    out: IntType,
    bounds: [i32; 2],
    (elements, stride): (&[T], usize),
    place: &OutputTile<'_>,
    constants: &PerChannel<C>,
    lane: impl Fn(&C, T) -> i32,
) {
    for row in 0..place.rows {
        let elements = &elements[row * stride..row * stride + place.columns];
        // SAFETY: tiles of different tasks do not overlap, and the borrow ends before the next row.
        let to = unsafe { place.bytes(width(out), row, 0, place.columns) };
        let row = (place, row, constants);
        // The result is a code of the type, so the casts lose nothing.
        match out {
            IntType::I8 | IntType::U8 | IntType::I4 | IntType::U4 => {
                row_by_lane(bounds, elements, row, to, &lane, |code| [code as u8]);
            }
            IntType::I16 | IntType::U16 => {
                row_by_lane(bounds, elements, row, to, &lane, |code| (code as i16).to_ne_bytes());
            }
            IntType::I32 => row_by_lane(bounds, elements, row, to, &lane, i32::to_ne_bytes),
        }
    }
}

/// Computes and writes one row of codes, as elements of `N` bytes.
#[inline(always)]
fn row_by_lane<const N: usize, T: Copy, C>(
    [low, high]: [i32; 2],
    elements: &[T],
    (place, row, constants): (&OutputTile<'_>, usize, &PerChannel<C>),
    out: &mut [u8],
    lane: &impl Fn(&C, T) -> i32,
    bytes: impl Fn(i32) -> [u8; N],
) {
    let out = out.as_chunks_mut().0;
    match (place.axis, constants) {
        (Axis::Columns, PerChannel::Channels(constants)) => {
            for ((to, &x), constants) in out.iter_mut().zip(elements).zip(&constants[place.first_channel..]) {
                *to = bytes(lane(constants, x).min(high).max(low));
            }
        }
        (_, constants) => {
            let constants = constants.get(place.first_channel + row);
            for (to, &x) in out.iter_mut().zip(elements) {
                *to = bytes(lane(constants, x).min(high).max(low));
            }
        }
    }
}
