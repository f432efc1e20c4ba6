//! Computes the codes of a tile, one element after the other.

use super::{bytes::width, epilogue::PerChannel};
use crate::integer::output_tile::{Axis, OutputTile};
use strait_requantize::IntType;

/// Computes the codes of a tile and writes them, one element after the other. `lane` is called for each element with
/// the constants of its channel, and its result is limited by the two bounds, which are codes of type `out`. Row `r` of
/// the tile starts at element `r·stride`.
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
        match out {
            IntType::I8 | IntType::U8 | IntType::I4 | IntType::U4 => {
                row_by_lane::<[u8; 1], T, C>(bounds, elements, place, row, to, constants, &lane);
            }
            IntType::I16 | IntType::U16 => {
                row_by_lane::<[u8; 2], T, C>(bounds, elements, place, row, to, constants, &lane);
            }
            IntType::I32 => {
                row_by_lane::<[u8; 4], T, C>(bounds, elements, place, row, to, constants, &lane);
            }
        }
    }
}

/// Computes and writes one row of codes, as elements of type `N`.
#[inline(always)]
pub(crate) fn row_by_lane<N: Narrow, T: Copy, C>(
    [low, high]: [i32; 2],
    elements: &[T],
    place: &OutputTile<'_>,
    row: usize,
    out: &mut [u8],
    constants: &PerChannel<C>,
    lane: &impl Fn(&C, T) -> i32,
) {
    let out = N::elements(out);
    match (place.axis, constants) {
        (Axis::Columns, PerChannel::Channels(constants)) => {
            for ((to, &x), constants) in out.iter_mut().zip(elements).zip(&constants[place.first_channel..]) {
                *to = N::narrow(lane(constants, x).min(high).max(low));
            }
        }
        (_, constants) => {
            let constants = constants.get(place.first_channel + row);
            for (to, &x) in out.iter_mut().zip(elements) {
                *to = N::narrow(lane(constants, x).min(high).max(low));
            }
        }
    }
}

/// An element of the results, as bytes.
pub(crate) trait Narrow: Sized {
    /// The bytes of a value, which must be in the range of the type.
    fn narrow(value: i32) -> Self;
    /// Views bytes as elements, without copying.
    fn elements(bytes: &mut [u8]) -> &mut [Self];
}

impl Narrow for [u8; 1] {
    #[inline(always)]
    fn narrow(value: i32) -> Self {
        [value as u8]
    }

    #[inline(always)]
    fn elements(bytes: &mut [u8]) -> &mut [Self] {
        bytes.as_chunks_mut().0
    }
}

impl Narrow for [u8; 2] {
    #[inline(always)]
    fn narrow(value: i32) -> Self {
        // The low half of a value has the same bits for i16 and u16.
        (value as i16).to_ne_bytes()
    }

    #[inline(always)]
    fn elements(bytes: &mut [u8]) -> &mut [Self] {
        bytes.as_chunks_mut().0
    }
}

impl Narrow for [u8; 4] {
    #[inline(always)]
    fn narrow(value: i32) -> Self {
        value.to_ne_bytes()
    }

    #[inline(always)]
    fn elements(bytes: &mut [u8]) -> &mut [Self] {
        bytes.as_chunks_mut().0
    }
}
