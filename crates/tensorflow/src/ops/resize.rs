//! Reads resizes of images, which have channels last.

use strait_core::op::{Coordinate, Nearest, Resize, ResizeMode};
use strait_core::{Elem, ReasonCode};
use strait_import::{Arg, Refusal};

use super::Row;
use super::layout::{Layout, finish, to_first};
use crate::operator_reader::OperatorReader;

pub(super) const ROWS: &[Row] = &[
    ("ResizeBilinear", |reader| resize(reader, ResizeMode::Linear)),
    ("ResizeNearestNeighbor", |reader| resize(reader, ResizeMode::Nearest)),
    ("ResizeBicubic", |reader| resize(reader, ResizeMode::Cubic)),
];

/// Reads a resize of an image. The attributes say how coordinates are mapped: by pixel centres, by corners, or by
/// edges.
fn resize(reader: &mut OperatorReader<'_, '_>, mode: ResizeMode) -> Result<(), Refusal> {
    let (corners, centers) = (reader.flag("align_corners")?, reader.flag("half_pixel_centers")?);
    let coordinate = match (corners, centers) {
        (true, true) => return Err(Refusal::unsupported("it keeps corners and half pixels at once")),
        (true, false) => Coordinate::AlignCorners,
        (false, true) => Coordinate::HalfPixel,
        (false, false) => Coordinate::Asymmetric,
    };
    let size = reader.known_ints(1, "size")?.unwrap_or_default();
    let extents = reader.extents(&Arg::Operand(0))?;
    let ([rows, columns], [batch, .., channels]) = (size.as_slice(), extents.as_slice()) else {
        let text = format!("an image of rank {} to {size:?}", extents.len());
        return Err(Refusal::invalid(ReasonCode::Resize, text));
    };
    let sizes = [*batch, *channels, *rows, *columns];
    // If corners or centres are aligned, coordinates are rounded to the nearest position, and ties are rounded up.
    // Otherwise coordinates are truncated.
    let nearest = match coordinate {
        Coordinate::Asymmetric => Nearest::Floor,
        _ => Nearest::RoundPreferCeil,
    };
    let op = Resize {
        nearest,
        // If centres are aligned, TensorFlow uses the cubic filter with the coefficient −½, and excludes elements
        // outside of the image.
        exclude_outside: mode == ResizeMode::Cubic && centers,
        cubic: if centers { -0.5 } else { -0.75 },
        ..Resize::to_sizes(mode, coordinate, &sizes)
    };
    let mut x = to_first(reader, Layout::Last, Arg::Operand(0))?;
    if mode != ResizeMode::Nearest {
        x = reader.converted(&x, Elem::F32)?;
    }
    finish(reader, Layout::Last, op, &[x])
}
