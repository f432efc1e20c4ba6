//! JPEG: sequential and progressive, with Huffman codes and 8 bits (ITU-T T.81). This decoder uses the arithmetic of
//! libjpeg-turbo, with which Pillow and OpenCV decode, so it gives the same levels as these libraries.
//!
//! ```text
//! bytes ─▶ markers      tables, frame, scans                         markers.rs
//!           │ scans      coefficients of each block                   scan.rs, bits.rs, huffman.rs
//!           │ idct       levels of each component                     idct.rs
//!           ▼ color      upsampled levels as red, green and blue      upsample.rs, color.rs
//! ```
//!
//! Decoders in other crates use another transform. For example, on photographs without subsampling, the levels of
//! `zune-jpeg` 0.5 differ by up to 3.

mod bits;
mod color;
mod huffman;
mod idct;
mod markers;
mod scan;
mod upsample;

use crate::pixels::admit;
use crate::{ImageError, Pixels};

pub(crate) use markers::decode;

/// A component of the frame: luma, chroma, or a color.
struct Component {
    id: u8,
    /// The horizontal and the vertical sampling factor, each from 1 to 4.
    sampling: [usize; 2],
    /// The position of the component's quantization table.
    table: usize,
    /// Width and height in levels, not including the padding that completes blocks.
    size: [usize; 2],
    /// Width and height in blocks, including the padding that completes the units of several components (MCUs).
    blocks: [usize; 2],
    /// For a progressive frame: 64 coefficients for each block, in row-major order of frequencies.
    coefficients: Vec<i16>,
    /// The levels. Each row has `8 · blocks[0]` of them.
    levels: Vec<u8>,
}

/// The size of an image, and the components of the image.
struct Frame {
    width: usize,
    height: usize,
    progressive: bool,
    /// The largest horizontal and the largest vertical sampling factor of any component.
    most: [usize; 2],
    components: Vec<Component>,
}

/// The quantization steps for the 64 frequencies, in row-major order.
type Quantization = [u16; 64];

/// Coefficients are coded in zigzag order. For each position in this order: the position of the coefficient in a
/// row-major block.
const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21,
    28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
    47, 55, 62, 63,
];

fn damaged(what: &str) -> ImageError {
    ImageError::Damaged(what.to_owned())
}

impl Frame {
    /// Reads a frame from its header, which starts with the precision.
    fn new(header: &[u8], progressive: bool) -> Result<Frame, ImageError> {
        let broken = || damaged("its frame has no header");
        let &[precision, h1, h0, w1, w0, count, ref rest @ ..] = header else {
            return Err(broken());
        };
        if precision != 8 {
            return Err(ImageError::Unsupported("JPEG of more than 8 bits"));
        }
        let height = u16::from_be_bytes([h1, h0]);
        if height == 0 {
            return Err(ImageError::Unsupported("JPEG that says its height at its end"));
        }
        let (width, height) = admit(u16::from_be_bytes([w1, w0]).into(), height.into())?;
        if ![1, 3, 4].contains(&count) || rest.len() != 3 * usize::from(count) {
            return Err(damaged("it has components other than 1, 3 or 4"));
        }
        let mut components = Vec::new();
        for component in rest.chunks_exact(3) {
            let sampling = [component[1] >> 4, component[1] & 15].map(usize::from);
            let table = usize::from(component[2]);
            if sampling.iter().any(|factor| !(1..=4).contains(factor)) || table > 3 {
                return Err(damaged("a component has an impossible sampling"));
            }
            if components.iter().any(|other: &Component| other.id == component[0]) {
                return Err(damaged("two components have one name"));
            }
            components.push(Component {
                id: component[0],
                sampling,
                table,
                size: [0; 2],
                blocks: [0; 2],
                coefficients: Vec::new(),
                levels: Vec::new(),
            });
        }
        // If there is only one component, its unit is one block, whatever its sampling factors are.
        if let [only] = components.as_mut_slice() {
            only.sampling = [1; 2];
        }
        let largest = |axis: usize| components.iter().map(|one| one.sampling[axis]).max().unwrap_or(1);
        let most = [largest(0), largest(1)];
        let mut frame = Frame {
            width,
            height,
            progressive,
            most,
            components,
        };
        let units = frame.units();
        let size = [width, height];
        for component in &mut frame.components {
            for axis in 0..2 {
                component.size[axis] = (size[axis] * component.sampling[axis]).div_ceil(most[axis]);
                component.blocks[axis] = units[axis] * component.sampling[axis];
            }
            let levels = 64 * component.blocks[0] * component.blocks[1];
            component.levels = vec![0; levels];
            if progressive {
                component.coefficients = vec![0; levels];
            }
        }
        Ok(frame)
    }

    /// Number of units (MCUs) of the image, horizontally and vertically.
    fn units(&self) -> [usize; 2] {
        [
            self.width.div_ceil(8 * self.most[0]),
            self.height.div_ceil(8 * self.most[1]),
        ]
    }

    /// Transforms the coefficients of a progressive frame to levels.
    fn transform(&mut self, tables: &[Option<Quantization>; 4]) -> Result<(), ImageError> {
        for component in &mut self.components {
            let table = tables[component.table].as_ref().ok_or_else(no_table)?;
            let across = component.blocks[0];
            let (blocks, _) = component.coefficients.as_chunks::<64>();
            for (at, block) in blocks.iter().enumerate() {
                let place = at / across * 64 * across + at % across * 8;
                idct::transform(block, table, &mut component.levels[place..], 8 * across);
            }
            component.coefficients = Vec::new();
        }
        Ok(())
    }

    /// Upsamples the components and converts them to pixels.
    fn pixels(&self, space: color::Space) -> Pixels {
        let mut pixels = Pixels {
            width: self.width,
            height: self.height,
            channels: 3,
            levels: Vec::with_capacity(3 * self.width * self.height),
        };
        let mut rows: Vec<Vec<u8>> = self.components.iter().map(|_| vec![0; self.width + 8]).collect();
        let mut sums = vec![0; self.width + 8];
        for y in 0..self.height {
            for (component, row) in self.components.iter().zip(&mut rows) {
                upsample::row(component, self.most, y, row, &mut sums);
            }
            color::append(&rows, self.width, space, &mut pixels.levels);
        }
        pixels
    }
}

fn no_table() -> ImageError {
    damaged("a component has no quantization table")
}
