//! Makes convolutions of many shapes, and finds the elements of the input that each output reads.

use strait_kernels::{Conv, Images, Window};

/// A convolution of two images.
pub(crate) fn case(channels: usize, size: [usize; 2], out_channels: usize, groups: usize, window: Window) -> Conv {
    Conv {
        window,
        input: Images {
            batch: 2,
            channels,
            size,
        },
        out_channels,
        groups,
    }
}

/// Convolutions with kernels of one element or many, dense, grouped and depthwise, with padding on some or all sides,
/// with strides and with dilations.
pub(crate) fn cases() -> Vec<Conv> {
    let window = |kernel, pads, stride, dilation| Window {
        pads,
        stride,
        dilation,
        ..Window::new(kernel)
    };
    let plain = |kernel, pads| window(kernel, pads, [1; 2], [1; 2]);
    vec![
        case(1, [1, 1], 1, 1, plain([1, 1], [0; 4])),
        case(3, [5, 7], 5, 1, plain([3, 3], [1; 4])),
        case(8, [7, 7], 13, 1, plain([1, 1], [0; 4])),
        case(8, [7, 7], 14, 1, plain([1, 1], [0; 4])),
        case(5, [16, 16], 17, 1, plain([1, 1], [0; 4])),
        case(8, [7, 9], 3, 1, window([1, 1], [0; 4], [2, 2], [1, 1])),
        case(6, [13, 17], 6, 6, window([3, 3], [1; 4], [2, 2], [1, 1])),
        case(4, [20, 41], 4, 4, window([3, 3], [2; 4], [1, 1], [2, 2])),
        case(19, [9, 10], 19, 19, window([3, 3], [2, 1, 0, 1], [3, 2], [1, 1])),
        case(4, [9, 11], 8, 2, window([2, 4], [0, 3, 2, 1], [1, 3], [1, 2])),
        case(2, [1, 50], 3, 1, window([1, 9], [0, 4, 0, 4], [1, 2], [1, 1])),
        case(40, [6, 6], 7, 1, plain([3, 3], [1; 4])),
        case(2, [4, 4], 2, 1, window([5, 5], [3; 4], [3, 5], [1, 1])),
        case(3, [30, 20], 24, 3, plain([1, 3], [0, 1, 0, 1])),
    ]
}

/// Computes each element of the output as `element(channel, input)`. Taps are numbered in the order channel, row,
/// column. For a tap, `input` returns the index of the element by which the tap's weight is multiplied, or `None` for
/// padding.
pub(crate) fn outputs<T>(c: &Conv, mut element: impl FnMut(usize, &dyn Fn(usize) -> Option<usize>) -> T) -> Vec<T> {
    let [height, width] = c.input.size;
    let [kernel_height, kernel_width] = c.window.kernel;
    let [rows, columns] = c.window.output(c.input.size).unwrap();
    let (per_group, outputs) = (c.input.channels / c.groups, c.out_channels / c.groups);
    let along = |axis: usize, output: usize, tap: usize| {
        let start = output * c.window.stride[axis] + tap * c.window.dilation[axis];
        start
            .checked_sub(c.window.pads[axis])
            .filter(|&at| at < c.input.size[axis])
    };
    let mut out = vec![];
    for b in 0..c.input.batch {
        for o in 0..c.out_channels {
            for (y, x) in (0..rows * columns).map(|p| (p / columns, p % columns)) {
                out.push(element(o, &|tap| {
                    let channel = o / outputs * per_group + tap / (kernel_height * kernel_width);
                    let y = along(0, y, tap / kernel_width % kernel_height)?;
                    let x = along(1, x, tap % kernel_width)?;
                    Some(((b * c.input.channels + channel) * height + y) * width + x)
                }));
            }
        }
    }
    out
}
