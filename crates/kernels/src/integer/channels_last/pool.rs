//! Pools over images of 8-bit codes whose channels are last. Each output adds or compares vectors of channels.

use crate::context::Context;
use crate::error::{KernelError, expect_len, product};
use crate::integer::{
    bytes::{check_8_bits, check_code, flip},
    loops::Loops,
    output_tile::{Axis, OutputTile},
    sums::Carrier,
};
use crate::parallel::{Shared, for_each_chunk, try_for_each};
use crate::simd::{Job, Simd};
use crate::window::{Pool, Taps};
use strait_requantize::IntType;

/// Number of channels that are computed at once.
const CHANNELS: usize = 512;

/// The largest window whose sum of 8-bit codes is sure to fit in 32 bits, with any padding.
const LARGEST_WINDOW: usize = 1 << 22;

fn check(pool: &Pool, element: IntType, input: usize, out: usize, out_width: usize) -> Result<(), KernelError> {
    pool.check()?;
    check_8_bits("the image", element)?;
    expect_len("the input", input, pool.input.elements())?;
    let elements = pool.out_images().elements();
    expect_len("the output", out, elements.and_then(|e| product(&[e, out_width])))
}

/// The window of one output in an image whose channels are last.
#[derive(Clone, Copy)]
struct Place<'a> {
    pool: &'a Pool,
    image: &'a [u8],
    y: Taps,
    x: Taps,
}

impl Place<'_> {
    /// Calls `step` with the elements of each tap in the image, from channel `first` on.
    #[inline(always)]
    fn each(&self, first: usize, mut step: impl FnMut(&[u8])) {
        let (channels, width) = (self.pool.input.channels, self.pool.input.size[1]);
        let [down, right] = self.pool.window.dilation;
        for row in (0..self.y.inside).map(|i| self.y.first + i * down) {
            for column in (0..self.x.inside).map(|i| self.x.first + i * right) {
                step(&self.image[(row * width + column) * channels + first..]);
            }
        }
    }
}

/// Computes the largest code of each window, as [`max_pool`](crate::integer::max_pool) does, for images `[batch, height,
/// width, channels]` of 8-bit codes.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have the extents of `pool`, or codes do not have 8 bits.
pub fn max_pool_last(
    cx: &Context,
    pool: &Pool,
    element: IntType,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), KernelError> {
    check(pool, element, input.len(), out.len(), 1)?;
    if out.is_empty() {
        return Ok(());
    }
    let (rows, columns, channels) = (&pool.taps(0)[..], &pool.taps(1)[..], pool.input.channels);
    let steps = out.len().saturating_mul(pool.window.kernel[0] * pool.window.kernel[1]) / 16;
    for_each_chunk(out, columns.len() * channels, steps, |line, out| {
        let image = &input[line / rows.len() * pool.input.image()..][..pool.input.image()];
        for (out, &x) in out.chunks_exact_mut(channels).zip(columns) {
            let y = rows[line % rows.len()];
            cx.run(Largest {
                place: Place { pool, image, y, x },
                flip: flip(element),
                out,
            });
        }
    });
    Ok(())
}

/// A job that computes the largest codes of a window.
struct Largest<'a> {
    place: Place<'a>,
    flip: u8,
    out: &'a mut [u8],
}

impl Job for Largest<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Largest { place, flip, out } = self;
        // The smallest code of the type; XOR `flip`, codes are compared as unsigned numbers.
        out.fill(flip);
        place.each(0, |elements| {
            for (to, &x) in out.iter_mut().zip(elements) {
                *to = (*to ^ flip).max(x ^ flip) ^ flip;
            }
        });
    }
}

impl dyn Loops + '_ {
    /// Computes the sums of windows, with requantization, as [`sum_pool`](#method.sum_pool) does, for images `[batch,
    /// height, width, channels]` of 8-bit codes. The channels of the requantization are those of the image.
    pub fn sum_pool_last(
        &self,
        cx: &Context,
        pool: &Pool,
        element: IntType,
        pad_value: i32,
        carrier: Carrier,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        check(pool, element, input.len(), out.len(), self.width(carrier))?;
        check_code("the pad value", element, pad_value)?;
        self.check_channels(pool.input.channels)?;
        let [height, width] = pool.window.kernel;
        if height * width > LARGEST_WINDOW {
            return Err(KernelError::Size(format!("sums of {height} × {width} codes")));
        }
        if out.is_empty() {
            return Ok(());
        }
        let (rows, columns, channels) = (&pool.taps(0)[..], &pool.taps(1)[..], pool.input.channels);
        let out = &Shared::new(out);
        let parts = channels.div_ceil(CHANNELS);
        let tasks = pool.input.batch * pool.out_plane() * parts;
        let steps = (tasks * channels).saturating_mul(height * width) / 16;
        try_for_each(tasks, steps, &|task| {
            let (position, first) = (task / parts, task % parts * CHANNELS);
            let (y, x) = (position / columns.len() % rows.len(), position % columns.len());
            let image = &input[position / pool.out_plane() * pool.input.image()..][..pool.input.image()];
            let (y, x) = (rows[y], columns[x]);
            let missing = height * width - y.inside * x.inside;
            let mut sums = [0; CHANNELS];
            let count = CHANNELS.min(channels - first);
            cx.run(Sum {
                place: Place { pool, image, y, x },
                flip: flip(element),
                first,
                // The number of taps is at most 2^22.
                start: pad_value * missing as i32 + (y.inside * x.inside) as i32 * element.min(),
                sums: &mut sums[..count],
            });
            let place = OutputTile {
                out,
                at: position * channels + first,
                row_stride: channels,
                rows: 1,
                columns: count,
                axis: Axis::Columns,
                first_channel: first,
            };
            self.finish_narrow(*cx, carrier, &sums, CHANNELS, &place)
        })
    }
}

/// A job that sums the codes of a window.
struct Sum<'a> {
    place: Place<'a>,
    flip: u8,
    /// The first channel.
    first: usize,
    start: i32,
    sums: &'a mut [i32],
}

impl Job for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let Sum {
            place,
            flip,
            first,
            start,
            sums,
        } = self;
        sums.fill(start);
        place.each(first, |elements| {
            for (sum, &x) in sums.iter_mut().zip(elements) {
                *sum += i32::from(x ^ flip);
            }
        });
    }
}
