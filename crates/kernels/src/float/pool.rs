//! Pools of floats. The elements of a window are visited in the order row, column.

use crate::context::Context;
use crate::{
    error::{KernelError, expect_len},
    parallel::for_each_chunk,
    window::{Pool, Taps},
};

/// Computes the largest element of each window. Padding and NaNs are ignored. A window with nothing but padding and
/// NaNs gives −∞.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have the extents of `pool`.
pub fn max_pool(_: &Context, pool: &Pool, input: &[f32], out: &mut [f32]) -> Result<(), KernelError> {
    each_window(
        pool,
        input,
        out,
        f32::NEG_INFINITY,
        |best, x| if x > best { x } else { best },
        |best, _, _| best,
    )
}

/// Computes the mean of each window: its elements are added row by row, and the sum is divided by their number. With
/// `count_padding`, padding elements count as zeros. Elements beyond the padding never count. A window without an
/// element gives 0.
///
/// # Errors
/// [`KernelError::Shape`] if a slice does not have the extents of `pool`.
pub fn average_pool(
    _: &Context,
    pool: &Pool,
    count_padding: bool,
    input: &[f32],
    out: &mut [f32],
) -> Result<(), KernelError> {
    each_window(
        pool,
        input,
        out,
        0.0,
        |sum, x| sum + x,
        |sum, y, x| {
            let count = if count_padding {
                y.padded * x.padded
            } else {
                y.inside * x.inside
            };
            sum / count.max(1) as f32
        },
    )
}

fn each_window(
    pool: &Pool,
    input: &[f32],
    out: &mut [f32],
    start: f32,
    step: impl Fn(f32, f32) -> f32 + Sync + Send,
    finish: impl Fn(f32, Taps, Taps) -> f32 + Sync + Send,
) -> Result<(), KernelError> {
    pool.check()?;
    expect_len("the input", input.len(), pool.input.elements())?;
    expect_len("the output", out.len(), pool.out_images().elements())?;
    if out.is_empty() {
        return Ok(());
    }
    let (rows, columns) = (pool.taps(0), pool.taps(1));
    let width = pool.input.size[1];
    let [down, right] = pool.window.dilation;
    let steps = out.len().saturating_mul(pool.window.kernel[0] * pool.window.kernel[1]);
    for_each_chunk(out, pool.out_plane(), steps, |channel, plane| {
        let image = &input[channel * pool.input.plane()..(channel + 1) * pool.input.plane()];
        for (line, &y) in plane.chunks_exact_mut(columns.len()).zip(&rows) {
            for (value, &x) in line.iter_mut().zip(&columns) {
                let mut state = start;
                for row in (0..y.inside).map(|i| y.first + i * down) {
                    for column in (0..x.inside).map(|i| x.first + i * right) {
                        state = step(state, image[row * width + column]);
                    }
                }
                *value = finish(state, y, x);
            }
        }
    });
    Ok(())
}
