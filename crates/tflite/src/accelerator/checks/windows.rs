//! Constraints on the windows of convolutions and pools.

use super::unless;
use crate::accelerator::site::Site;

/// Strides are at most 3.
pub(in crate::accelerator) fn strides(site: &Site<'_>) -> Option<String> {
    let window = site.window()?;
    unless(window.strides.iter().all(|stride| (1..=3).contains(stride)), || {
        format!("its strides {:?} are not in 1 to 3", window.strides)
    })
}

/// Strides over 3 are only supported without padding and dilation.
pub(in crate::accelerator) fn wide_strides(site: &Site<'_>) -> Option<String> {
    let (window, x) = (site.window()?, site.input(0)?.image());
    let is_padded = |axis: usize| {
        let [kernel, stride] = [window.kernel[axis], window.strides[axis].max(1)];
        // SAME makes ⌈x / stride⌉ positions, and pads if the last window ends behind the image.
        !window.is_valid && (x[axis] - 1) / stride * stride + kernel > x[axis]
    };
    let plain = window.dilations == [1, 1] && !is_padded(0) && !is_padded(1);
    unless(plain || window.strides.iter().all(|&stride| stride <= 3), || {
        format!(
            "its strides {:?} are over 3, which needs an image without padding, and no dilation",
            window.strides
        )
    })
}

/// The window of a pool has at most 256 rows and 65536 elements.
pub(in crate::accelerator) fn pool_window(site: &Site<'_>) -> Option<String> {
    let [height, width] = site.window()?.kernel;
    unless(height <= 256 && height * width <= 256 * 256, || {
        format!("its window is {height} by {width}")
    })
}

/// The window of an average pool is at most 8 by 8, unless its padding is VALID.
pub(in crate::accelerator) fn average_window(site: &Site<'_>) -> Option<String> {
    let window = site.window()?;
    match window.is_valid {
        true => pool_window(site),
        false => unless(window.kernel.iter().all(|&extent| extent <= 8), || {
            let [height, width] = window.kernel;
            format!("its window is {height} by {width}, and more than 8 by 8 needs the padding VALID")
        }),
    }
}

/// The result of a transposed convolution has the extents that its padding stands for.
pub(in crate::accelerator) fn transposed_shape(site: &Site<'_>) -> Option<String> {
    let (window, x, y) = (site.window()?, site.input(2)?.image(), site.output()?.image());
    let expected = |at: usize| match window.is_valid {
        true => x[at] * window.strides[at] + (window.kernel[at] - window.strides[at]).max(0),
        false => x[at] * window.strides[at],
    };
    let expected = [expected(0), expected(1)];
    unless(y[..2] == expected, || {
        format!(
            "its result is {} by {}, not {} by {}",
            y[0], y[1], expected[0], expected[1]
        )
    })
}

/// Strides of a transposed convolution are 1 × 1 or 2 × 2, or 2 along the only axis with several positions.
pub(in crate::accelerator) fn transposed_strides(site: &Site<'_>) -> Option<String> {
    let (window, x) = (site.window()?, site.input(2)?.image());
    let one = |axis: usize| x[axis] == 1 && window.kernel[axis] == 1;
    let fits = match window.strides {
        [1, 1] | [2, 2] => true,
        [1, 2] => one(0),
        [2, 1] => one(1),
        _ => false,
    };
    unless(fits, || format!("its strides {:?} are not supported", window.strides))
}
