//! Reads PNG. The crate `png` inflates the data and undoes the filters; this module converts the result to red, green
//! and blue.

use std::io::{Cursor, Write};

use crate::pixels::admit;
use crate::{ImageError, Pixels, exif};

/// How much memory, in bytes, the decoder may use besides the image. It needs memory for text chunks and color
/// profiles, which we do not read.
const MOST_MEMORY: usize = 64 << 20;

/// Decodes a file to pixels. Also returns the orientation in the Exif data.
pub(crate) fn decode(bytes: &[u8]) -> Result<(Pixels, u8), ImageError> {
    let damaged = |error: png::DecodingError| match error {
        png::DecodingError::LimitsExceeded => ImageError::Damaged("its chunks take too much memory".to_owned()),
        other => ImageError::Damaged(other.to_string()),
    };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: MOST_MEMORY });
    // Colors of a palette, and levels of fewer than 8 bits, are expanded to 8 bits.
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let header = decoder.read_header_info().map_err(damaged)?;
    let (width, height) = admit(header.width.into(), header.height.into())?;
    let mut reader = decoder.read_info().map_err(damaged)?;
    let orientation = reader.info().exif_metadata.as_deref().map_or(1, exif::orientation);
    let samples = reader.output_color_type().0.samples();
    let mut stored = vec![0; width * height * samples];
    reader.next_frame(&mut stored).map_err(damaged)?;
    let levels = match samples {
        1 => stored.iter().flat_map(|&gray| [gray; 3]).collect(),
        2 => stored.chunks_exact(2).flat_map(|pixel| [pixel[0]; 3]).collect(),
        4 => stored
            .chunks_exact(4)
            .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
            .collect(),
        _ => stored,
    };
    let pixels = Pixels {
        width,
        height,
        channels: 3,
        levels,
    };
    Ok((pixels, orientation))
}

/// Writes pixels as a PNG.
///
/// # Errors
/// The errors of `out`.
pub fn encode(pixels: &Pixels, out: impl Write) -> std::io::Result<()> {
    let (Ok(width), Ok(height)) = (u32::try_from(pixels.width), u32::try_from(pixels.height)) else {
        return Err(std::io::Error::other("a PNG has fewer pixels"));
    };
    let mut encoder = png::Encoder::new(out, width, height);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_color(match pixels.channels {
        1 => png::ColorType::Grayscale,
        _ => png::ColorType::Rgb,
    });
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels.levels)?;
    writer.finish()?;
    Ok(())
}
