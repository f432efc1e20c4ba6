//! Pools over images of codes of up to 16 bits.

use super::{
    bytes::{Code, check_code, check_codes, origin, width},
    loops::Loops,
    sums::{Carrier, Room},
};
use crate::context::Context;
use crate::integer::output_tile::{Axis, OutputTile};
use crate::simd::Job;
use crate::{
    error::{KernelError, expect_len, product},
    parallel::{Shared, for_each_chunk, try_for_each},
    simd::Simd,
    window::{Pool, Taps},
};
use strait_requantize::IntType;

/// One channel of one image that is pooled: its codes, and the taps of every output row and column.
#[derive(Clone, Copy)]
struct Plane<'a, T> {
    pool: &'a Pool,
    element: IntType,
    rows: &'a [Taps],
    columns: &'a [Taps],
    image: &'a [T],
}

impl<T: Code> Plane<'_, T> {
    /// Visits the codes in the window of one output. `step` gets each code minus the [`origin`] of its type.
    #[inline(always)]
    fn fold<A>(&self, y: Taps, x: Taps, start: A, step: impl Fn(A, u32) -> A) -> A {
        let width = self.pool.input.size[1];
        let [down, right] = self.pool.window.dilation;
        let mut state = start;
        for row in (0..y.inside).map(|i| y.first + i * down) {
            let line = &self.image[row * width..(row + 1) * width];
            for column in (0..x.inside).map(|i| x.first + i * right) {
                state = step(state, line[column].above(self.element));
            }
        }
        state
    }

    /// The sum of the codes in the window of one output. The [`origin`] of the type is subtracted from each code.
    #[inline(always)]
    fn sum(&self, y: Taps, x: Taps) -> i64 {
        self.fold(y, x, 0, |sum, code| sum + i64::from(code))
    }

    #[inline(always)]
    fn window(&self, position: usize) -> (Taps, Taps) {
        (
            self.rows[position / self.columns.len()],
            self.columns[position % self.columns.len()],
        )
    }
}

/// Checks that the slices have the sizes that the pool requires. Each output element has `out_width` bytes.
fn check(pool: &Pool, element: IntType, input: usize, out: usize, out_width: usize) -> Result<(), KernelError> {
    pool.check()?;
    check_codes("the image", element)?;
    let bytes = |elements: Option<usize>, width| elements.and_then(|e| product(&[e, width]));
    expect_len("the input", input, bytes(pool.input.elements(), width(element)))?;
    expect_len("the output", out, bytes(pool.out_images().elements(), out_width))
}

/// Computes each output plane from its input plane. `value` returns the code of one output, minus the [`origin`] of the
/// code's type.
fn each_plane<T: Code>(
    pool: &Pool,
    element: IntType,
    input: &[u8],
    out: &mut [u8],
    value: impl Fn(Plane<'_, T>, Taps, Taps) -> u32 + Sync + Send,
) {
    let (rows, columns) = (&pool.taps(0)[..], &pool.taps(1)[..]);
    let (input, out) = (T::codes(input), T::codes_mut(out));
    let steps = out.len().saturating_mul(pool.window.kernel[0] * pool.window.kernel[1]);
    for_each_chunk(out, pool.out_plane(), steps, |channel, out| {
        let image = &input[channel * pool.input.plane()..(channel + 1) * pool.input.plane()];
        let plane = Plane {
            pool,
            element,
            rows,
            columns,
            image,
        };
        for (line, &y) in out.chunks_exact_mut(columns.len()).zip(rows) {
            line.iter_mut()
                .zip(columns)
                .for_each(|(to, &x)| *to = T::new(element, value(plane, y, x)));
        }
    });
}

/// Computes the largest code of each window, for elements of up to 16 bits. Padding is ignored. A window that consists
/// only of padding gives the type's smallest code.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have the extents of `pool`.
pub fn max_pool(_: &Context, pool: &Pool, element: IntType, input: &[u8], out: &mut [u8]) -> Result<(), KernelError> {
    fn best<T: Code>(plane: Plane<'_, T>, y: Taps, x: Taps) -> u32 {
        // The type has up to 16 bits, so its smallest code minus its origin fits in 32 bits.
        let lowest = plane.element.min() - origin(plane.element);
        plane.fold(y, x, lowest as u32, u32::max)
    }
    check(pool, element, input.len(), out.len(), width(element))?;
    match (out.is_empty(), width(element)) {
        (true, _) => {}
        (_, 1) => each_plane(pool, element, input, out, best::<[u8; 1]>),
        _ => each_plane(pool, element, input, out, best::<[u8; 2]>),
    }
    Ok(())
}

/// Computes the mean of each window, for elements of up to 16 bits. The mean is on the grid of the input: it is the sum
/// of the codes divided by their number, rounded half away from zero, and then limited to the bounds `clamp`. With
/// `count_padding`, padding elements count as codes `pad_value`. A window without an element gives `pad_value`.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have the extents of `pool`, or if `pad_value` is not a code of the type.
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
    check(pool, element, input.len(), out.len(), width(element))?;
    check_code("the pad value", element, pad_value)?;
    let mean = Mean {
        origin: origin(element).into(),
        count_padding,
        pad_value: pad_value.into(),
        ends: super::epilogue::bounds(element, clamp).map(i64::from),
    };
    match (out.is_empty(), width(element)) {
        (true, _) => {}
        // The sum of up to 2^24 codes of 8 bits is below 2^32.
        (_, 1) if pool.window.kernel[0] * pool.window.kernel[1] <= 1 << 24 => {
            each_plane(pool, element, input, out, |plane: Plane<'_, [u8; 1]>, y, x| {
                mean.of(y, x, plane.fold(y, x, 0_u32, u32::wrapping_add).into())
            });
        }
        (_, 1) => each_plane(pool, element, input, out, |plane: Plane<'_, [u8; 1]>, y, x| {
            mean.of(y, x, plane.sum(y, x))
        }),
        _ => each_plane(pool, element, input, out, |plane: Plane<'_, [u8; 2]>, y, x| {
            mean.of(y, x, plane.sum(y, x))
        }),
    }
    Ok(())
}

/// The parameters of an average pool; see [`average_pool`].
struct Mean {
    origin: i64,
    count_padding: bool,
    pad_value: i64,
    ends: [i64; 2],
}

impl Mean {
    /// The mean of a window, computed from `sum`, the sum of its codes. The [`origin`] of the type is subtracted from
    /// each code and from the mean.
    #[inline(always)]
    fn of(&self, y: Taps, x: Taps, sum: i64) -> u32 {
        let inside = (y.inside * x.inside) as i64;
        let count = if self.count_padding {
            (y.padded * x.padded) as i64
        } else {
            inside
        };
        let sum = sum + inside * self.origin + (count - inside) * self.pad_value;
        let mean = match count {
            0 => self.pad_value,
            // ⌊(2|sum| + count) / (2 count)⌋ rounds the magnitude half up. With the sign of the sum, this rounds half
            // away from zero.
            _ => sum.signum() * ((2 * sum.abs() + count) / (2 * count)),
        };
        // The mean of codes is itself in the range of the codes.
        (mean.min(self.ends[1]).max(self.ends[0]) - self.origin) as u32
    }
}

impl dyn Loops + '_ {
    /// Computes the sums of windows, with requantization, for elements of type `element`, of 8 or 16 bits. Elements in
    /// the padding and beyond the padding count as `pad_value`. The channels are either the channels of the image
    /// ([`Axis::Rows`]) or the positions of an output plane in row-major order ([`Axis::Columns`]).
    pub fn sum_pool(
        &self,
        cx: &Context,
        pool: &Pool,
        axis: Axis,
        element: IntType,
        pad_value: i32,
        carrier: Carrier,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        check(pool, element, input.len(), out.len(), self.width(carrier))?;
        check_code("the pad value", element, pad_value)?;
        self.check_channels(match axis {
            Axis::Rows => pool.input.channels,
            Axis::Columns => pool.out_plane(),
        })?;
        let sums = Sum {
            loops: self,
            cx,
            pool,
            axis,
            pad_value,
            carrier,
        };
        match (out.is_empty(), width(element)) {
            (true, _) => Ok(()),
            (_, 1) => sums.run::<[u8; 1]>(element, input, out),
            _ => sums.run::<[u8; 2]>(element, input, out),
        }
    }
}

/// A pool that sums each window and requantizes the sum.
struct Sum<'a> {
    loops: &'a dyn Loops,
    cx: &'a Context,
    pool: &'a Pool,
    axis: Axis,
    pad_value: i32,
    carrier: Carrier,
}

impl Sum<'_> {
    fn run<T: Code>(&self, element: IntType, input: &[u8], out: &mut [u8]) -> Result<(), KernelError> {
        let &Sum {
            loops,
            cx,
            pool,
            axis,
            pad_value,
            carrier,
        } = self;
        let channels = pool.input.channels;
        let input = T::codes(input);
        let (rows, columns) = (&pool.taps(0)[..], &pool.taps(1)[..]);
        let steps = out.len().saturating_mul(pool.window.kernel[0] * pool.window.kernel[1]);
        let out = Shared::new(out);
        // A global pool has long windows, so few planes are enough work for a task.
        try_for_each(pool.input.batch * channels, steps, &|index| {
            let image = &input[index * pool.input.plane()..(index + 1) * pool.input.plane()];
            let place = OutputTile {
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
                element,
                rows,
                columns,
                image,
            };
            let mut sums = Room::<PIECE>::new(carrier);
            for first in (0..place.columns).step_by(PIECE) {
                let columns = PIECE.min(place.columns - first);
                cx.run(SumJob {
                    plane,
                    pad_value,
                    first,
                    columns,
                    sums: &mut sums,
                });
                let first_channel = match axis {
                    Axis::Rows => place.first_channel,
                    Axis::Columns => first,
                };
                let place = OutputTile {
                    at: place.at + first,
                    columns,
                    first_channel,
                    ..place
                };
                loops.finish(*cx, sums.sums(), columns, &place)?;
            }
            Ok(())
        })
    }
}

/// Number of accumulators in a tile.
const PIECE: usize = 1024;

/// A job that computes the sums of windows, for the output positions from `first` on.
struct SumJob<'a, T> {
    plane: Plane<'a, T>,
    pad_value: i32,
    first: usize,
    columns: usize,
    sums: &'a mut Room<PIECE>,
}

impl<T: Code> Job for SumJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let origin = origin(self.plane.element);
        let taps = self.plane.pool.window.kernel[0] * self.plane.pool.window.kernel[1];
        let windows = (self.first..self.first + self.columns).map(|at| self.plane.window(at));
        match self.sums {
            // Each addition may wrap. The caller makes sure that the whole sum fits, so the result is right.
            Room::I32(sums) => {
                for (sum, (y, x)) in sums.iter_mut().zip(windows) {
                    let inside = (y.inside * x.inside) as i32;
                    *sum = self
                        .plane
                        .fold(y, x, 0_i32, i32::wrapping_add_unsigned)
                        .wrapping_add(inside.wrapping_mul(origin))
                        .wrapping_add((taps as i32).wrapping_sub(inside).wrapping_mul(self.pad_value));
                }
            }
            Room::I64(sums) => {
                for (sum, (y, x)) in sums.iter_mut().zip(windows) {
                    let inside = (y.inside * x.inside) as i64;
                    *sum = self.plane.sum(y, x)
                        + inside * i64::from(origin)
                        + (taps as i64 - inside) * i64::from(self.pad_value);
                }
            }
        }
    }
}
