//! Reads resizes of images.

use super::Row;
use crate::read::operator_reader::{Arg, OperatorReader, Refusal, option, options};
use crate::schema::Activation;
use strait_core::ReasonCode;
use strait_core::op::{Coordinate, Nearest, Resize, ResizeMode};

pub(super) const ROWS: &[Row] = &[
    Row::new("RESIZE_BILINEAR", 4, |reader| {
        let options = options!(reader, ResizeBilinearOptions);
        let (corners, centers) = (
            option!(options, align_corners, false),
            option!(options, half_pixel_centers, false),
        );
        resize(reader, ResizeMode::Linear, corners, centers)
    })
    .on_one_grid(),
    Row::new("RESIZE_NEAREST_NEIGHBOR", 4, |reader| {
        let options = options!(reader, ResizeNearestNeighborOptions);
        let (corners, centers) = (
            option!(options, align_corners, false),
            option!(options, half_pixel_centers, false),
        );
        resize(reader, ResizeMode::Nearest, corners, centers)
    })
    .on_one_grid(),
];

/// Reads a resize of an image. Operands: the image, and its new height and width. Let s be the distance, in the image,
/// between the source positions of neighbouring pixels of the result. In nearest mode, pixel x of the result is the
/// pixel of the image at x·s, rounded down. If `centers` is true, it is the pixel at (x + ½)·s, rounded down. If
/// `corners` is true, it is the pixel at x·s, rounded to the nearest integer.
fn resize(reader: &mut OperatorReader<'_, '_>, mode: ResizeMode, corners: bool, centers: bool) -> Result<(), Refusal> {
    reader.of_rank(0, 4)?;
    let sizes = reader.known_ints(1, "size")?.unwrap_or_default();
    let &[height, width] = sizes.as_slice() else {
        return Err(Refusal::invalid(
            ReasonCode::Resize,
            format!("its size is {sizes:?}, and not two numbers"),
        ));
    };
    let (coordinate, nearest) = match (corners, centers) {
        (true, true) => {
            return Err(Refusal::invalid(
                ReasonCode::Resize,
                "corners and centers cannot both be aligned",
            ));
        }
        (true, false) => (Coordinate::AlignCorners, Nearest::RoundPreferCeil),
        (false, true) => (Coordinate::HalfPixel, Nearest::RoundPreferCeil),
        (false, false) => (Coordinate::Asymmetric, Nearest::Floor),
    };
    let extents = reader.extents(&Arg::Operand(0))?;
    let op = Resize {
        nearest,
        ..Resize::to_sizes(mode, coordinate, &[extents[0], extents[3], height, width])
    };
    let image = reader.image(&Arg::Operand(0))?;
    let result = reader.push(op, &[image])?;
    reader.finish_image(result, Activation::None)
}
