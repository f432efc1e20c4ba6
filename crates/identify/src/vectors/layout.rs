//! The order of the axes in recorded images, weights and outputs.

/// The positions that the four axes of an array have in the file. The axes are [batch, channels, height, width] for
/// images and [outputs, inputs, height, width] for weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// For each axis of the images, both inputs and outputs, its position in the file.
    pub(super) image: [usize; 4],
    /// For each axis of the weights, its position in the file.
    pub(super) weight: [usize; 4],
}

/// Channels come directly after the batch.
pub(super) const FIRST: Layout = Layout {
    image: [0, 1, 2, 3],
    weight: [0, 1, 2, 3],
};

/// Channels come last. Weights are [outputs, height, width, inputs] or [height, width, inputs, outputs].
pub(super) const LAST: [Layout; 2] = [
    Layout {
        image: [0, 3, 1, 2],
        weight: [0, 3, 1, 2],
    },
    Layout {
        image: [0, 3, 1, 2],
        weight: [3, 2, 0, 1],
    },
];

/// The dimensions of an array in the order of `axes`.
pub(super) fn extents(shape: [usize; 4], axes: [usize; 4]) -> [usize; 4] {
    axes.map(|axis| shape[axis])
}

/// The elements of an array with its axes put into the order of `axes`.
pub(super) fn ordered<T: Copy>(numbers: Vec<T>, shape: [usize; 4], axes: [usize; 4]) -> Vec<T> {
    if axes == FIRST.image {
        return numbers;
    }
    let steps = [shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1];
    let ([a, b, c, d], step) = (extents(shape, axes), axes.map(|axis| steps[axis]));
    let mut ordered = Vec::with_capacity(numbers.len());
    for i in 0..a {
        for j in 0..b {
            for k in 0..c {
                ordered.extend((0..d).map(|l| numbers[i * step[0] + j * step[1] + k * step[2] + l * step[3]]));
            }
        }
    }
    ordered
}

/// The inverse of the order `axes`. It restores the order of the file.
pub(super) fn back(axes: [usize; 4]) -> [usize; 4] {
    let mut back = [0; 4];
    for (position, axis) in axes.into_iter().enumerate() {
        back[axis] = position;
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_in_the_order_of_the_file() {
        let (shape, numbers) = ([2, 3, 4, 5], (0..120).collect::<Vec<u8>>());
        for layout in LAST {
            for axes in [layout.image, layout.weight] {
                let ordered = ordered(numbers.clone(), shape, axes);
                assert_ne!(ordered, numbers);
                let again = super::ordered(ordered, extents(shape, axes), back(axes));
                assert_eq!(again, numbers);
            }
        }
        // Row 1, column 2, channel 4 of image 1. The offset skips the first image and one row.
        let channels_first = ordered(numbers, shape, LAST[0].image);
        assert_eq!(channels_first[60 + 4 * 12 + 4 + 2], 60 + 20 + 10 + 4);
    }
}
