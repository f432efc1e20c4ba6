//! Pools on 8-bit images.

use super::{
    bytes::{byte_of, check_8_bits, flip, width},
    finish::{Axis, Finish, Place, check_channels},
};
use crate::{
    error::{KernelError, expect_len, product},
    isa::{Context, Job},
    parallel::{Shared, for_each_chunk, try_for_each},
    simd::Simd,
    window::{Pool, Taps},
};
use strait_requantize::IntType;

/// The taps of every output row and column, and the input of one channel.
#[derive(Clone, Copy)]
struct Plane<'a> {
    pool: &'a Pool,
    rows: &'a [Taps],
    columns: &'a [Taps],
    image: &'a [u8],
}

impl Plane<'_> {
    /// Folds the bytes under the window of one output.
    #[inline(always)]
    fn fold(&self, y: Taps, x: Taps, start: i32, step: impl Fn(i32, u8) -> i32) -> i32 {
        let width = self.pool.input.size[1];
        let [down, right] = self.pool.window.dilation;
        let mut state = start;
        for row in (0..y.inside).map(|i| y.first + i * down) {
            let line = &self.image[row * width..(row + 1) * width];
            for column in (0..x.inside).map(|i| x.first + i * right) {
                state = step(state, line[column]);
            }
        }
        state
    }

    #[inline(always)]
    fn window(&self, position: usize) -> (Taps, Taps) {
        (
            self.rows[position / self.columns.len()],
            self.columns[position % self.columns.len()],
        )
    }
}

/// Checks a pool of bytes into elements of `out_width` bytes.
fn check(pool: &Pool, element: IntType, input: usize, out: usize, out_width: usize) -> Result<(), KernelError> {
    pool.check()?;
    check_8_bits("the image", element)?;
    expect_len("the input", input, pool.input.elements())?;
    let elements = pool.out_images().elements().and_then(|e| product(&[e, out_width]));
    expect_len("the output", out, elements)
}

/// One output channel at a time, from its input plane.
fn each_plane(
    pool: &Pool,
    element: IntType,
    input: &[u8],
    out: &mut [u8],
    value: impl Fn(Plane<'_>, Taps, Taps) -> u8 + Sync + Send,
) -> Result<(), KernelError> {
    check(pool, element, input.len(), out.len(), 1)?;
    if out.is_empty() {
        return Ok(());
    }
    let (rows, columns) = (&pool.taps(0)[..], &pool.taps(1)[..]);
    let steps = out.len().saturating_mul(pool.window.kernel[0] * pool.window.kernel[1]);
    for_each_chunk(out, pool.out_plane(), steps, |channel, out| {
        let image = &input[channel * pool.input.plane()..(channel + 1) * pool.input.plane()];
        let plane = Plane {
            pool,
            rows,
            columns,
            image,
        };
        for (line, &y) in out.chunks_exact_mut(columns.len()).zip(rows) {
            line.iter_mut()
                .zip(columns)
                .for_each(|(to, &x)| *to = value(plane, y, x));
        }
    });
    Ok(())
}

/// The largest code of each window of I8 or U8 elements. Padding takes no part; a window without an element gives the
/// type's smallest code.
///
/// # Errors
/// [`KernelError::Shape`] where a slice does not have the extents of `pool`.
pub fn max_pool(_: &Context, pool: &Pool, element: IntType, input: &[u8], out: &mut [u8]) -> Result<(), KernelError> {
    let flip = flip(element);
    each_plane(pool, element, input, out, |plane, y, x| {
        // Between 0 and 255.
        plane.fold(y, x, 0, |best, byte| best.max(i32::from(byte ^ flip))) as u8 ^ flip
    })
}

/// The mean of each window of I8 or U8 elements on their own grid: the sum of codes divided by the number of elements,
/// rounded half away from zero, then clamped. `count_padding`: the padding counts, with the code `pad_value`. A window
/// without an element gives `pad_value`.
///
/// # Errors
/// [`KernelError::Shape`] where a slice does not have the extents of `pool`, or `pad_value` is no code of the type.
pub fn average_pool(
    _: &Context,
    pool: &Pool,
    element: IntType,
    count_padding: bool,
    pad_value: i32,
    clamp: Option<[i32; 2]>,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), KernelError> {
    let flip = flip(element);
    let lowest = element.min();
    byte_of("the pad value", element, pad_value)?;
    let [low, high] = super::epilogue::bounds(element, clamp);
    each_plane(pool, element, input, out, |plane, y, x| {
        let inside = (y.inside * x.inside) as i64;
        let count = if count_padding {
            (y.padded * x.padded) as i64
        } else {
            inside
        };
        // Up to 2^24 bytes are below 2^32, whatever the sign that their sum passes through.
        let sum = i64::from(plane.fold(y, x, 0, |sum, byte| sum.wrapping_add(i32::from(byte ^ flip))) as u32);
        let sum = sum + inside * i64::from(lowest) + (count - inside) * i64::from(pad_value);
        let mean = match count {
            0 => i64::from(pad_value),
            // ⌊(2|sum| + count) / (2 count)⌋ rounds half away from zero; the sign is put back.
            _ => sum.signum() * ((2 * sum.abs() + count) / (2 * count)),
        };
        // A mean of codes is a code; its lowest byte is the element.
        (mean as i32).min(high).max(low) as u8
    })
}

pub(crate) fn sum_pool(
    finish: &dyn Finish,
    cx: &Context,
    pool: &Pool,
    axis: Axis,
    element: IntType,
    pad_value: i32,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), KernelError> {
    check(pool, element, input.len(), out.len(), width(finish.out()))?;
    byte_of("the pad value", element, pad_value)?;
    let channels = pool.input.channels;
    check_channels(
        finish,
        match axis {
            Axis::Rows => channels,
            Axis::Columns => pool.out_plane(),
        },
    )?;
    if out.is_empty() {
        return Ok(());
    }
    let (rows, columns) = (&pool.taps(0)[..], &pool.taps(1)[..]);
    let steps = out.len().saturating_mul(pool.window.kernel[0] * pool.window.kernel[1]);
    let out = Shared::new(out);
    // A window of a global pool is long: only few planes make a task then.
    try_for_each(pool.input.batch * channels, steps, &|index| {
        let image = &input[index * pool.input.plane()..(index + 1) * pool.input.plane()];
        let place = Place {
            out: &out,
            at: index * pool.out_plane(),
            row_stride: 0,
            rows: 1,
            columns: pool.out_plane(),
            axis,
            first_channel: match axis {
                Axis::Rows => index % channels,
                Axis::Columns => 0,
            },
        };
        let plane = Plane {
            pool,
            rows,
            columns,
            image,
        };
        let mut sums = [0; PIECE];
        for first in (0..place.columns).step_by(PIECE) {
            let columns = PIECE.min(place.columns - first);
            cx.run(SumJob {
                plane,
                element,
                pad_value,
                first,
                sums: &mut sums[..columns],
            });
            let first_channel = match axis {
                Axis::Rows => place.first_channel,
                Axis::Columns => first,
            };
            let place = Place {
                at: place.at + first,
                columns,
                first_channel,
                ..place
            };
            finish.finish(*cx, &sums, columns, &place)?;
        }
        Ok(())
    })
}

/// Accumulators of a tile.
const PIECE: usize = 1024;

/// The sums of the windows from position `first` on.
struct SumJob<'a> {
    plane: Plane<'a>,
    element: IntType,
    pad_value: i32,
    first: usize,
    sums: &'a mut [i32],
}

impl Job for SumJob<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let flip = flip(self.element);
        let taps = (self.plane.pool.window.kernel[0] * self.plane.pool.window.kernel[1]) as i32;
        for (at, sum) in self.sums.iter_mut().enumerate() {
            let (y, x) = self.plane.window(self.first + at);
            let inside = (y.inside * x.inside) as i32;
            *sum = self
                .plane
                .fold(y, x, 0, |sum, byte| sum.wrapping_add(i32::from(byte ^ flip)))
                .wrapping_add(inside.wrapping_mul(self.element.min()))
                .wrapping_add((taps - inside).wrapping_mul(self.pad_value));
        }
    }
}
