//! The layout of tensors. Channels are the last axis in SiMa's tools, but the second axis in the IR.

/// The axes of the IR in the order in which they are stored. Tensors with four axes are stored in the order N, H, W, C,
/// and other tensors in the order of the IR.
pub(super) fn stored_order(rank: usize) -> Vec<usize> {
    if rank == 4 {
        vec![0, 2, 3, 1]
    } else {
        (0..rank).collect()
    }
}

/// Puts a list that has an entry for each axis into the order in which axes are stored.
pub(super) fn stored<T: Copy>(by_axis: &[T]) -> Vec<T> {
    let order = stored_order(by_axis.len()).into_iter();
    order.filter_map(|axis| by_axis.get(axis).copied()).collect()
}

/// The position that an axis of the IR has in the stored order.
pub(super) fn stored_axis(axis: usize, rank: usize) -> usize {
    stored_order(rank).iter().position(|&a| a == axis).unwrap_or(axis)
}

/// The elements of a tensor with its axes in another order. Each element has `width` bytes.
pub(super) fn permuted(bytes: &[u8], width: usize, shape: &[u64], order: &[usize]) -> Vec<u8> {
    let extent = |axis: usize| shape.get(axis).map_or(1, |&extent| extent as usize);
    let stride = |axis: usize| (axis + 1..shape.len()).map(extent).product::<usize>();
    let axes: Vec<(usize, usize)> = order.iter().map(|&axis| (extent(axis), stride(axis))).collect();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0; axes.len()];
    for _ in 0..bytes.len() / width.max(1) {
        let at: usize = index.iter().zip(&axes).map(|(i, (_, stride))| i * stride).sum();
        out.extend_from_slice(bytes.get(at * width..(at + 1) * width).unwrap_or_default());
        // The index is advanced to the next element, with the last axis fastest.
        for (i, (extent, _)) in index.iter_mut().zip(&axes).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
    out
}

/// Converts weights of a convolution from the order `[G·O, I, H, W]` to `[H, W, I, G, O]`, where G is the number of
/// groups, O the outputs and I the inputs of one group, and H and W the size of the kernel. Returns the new shape and
/// the elements.
pub(super) fn convolution_weights(bytes: &[u8], width: usize, shape: [u64; 4], groups: u64) -> ([u64; 5], Vec<u8>) {
    let [outputs, inputs, height, columns] = shape;
    let each = outputs / groups.max(1);
    let split = [groups, each, inputs, height, columns];
    (
        [height, columns, inputs, groups, each],
        permuted(bytes, width, &split, &[3, 4, 2, 0, 1]),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_come_last() {
        assert_eq!(stored(&[1, 16, 8, 9]), [1, 8, 9, 16]);
        assert_eq!(stored(&[3, 4]), [3, 4]);
        assert_eq!((stored_axis(1, 4), stored_axis(2, 4), stored_axis(1, 3)), (3, 1, 1));
    }

    #[test]
    fn elements_move_with_their_axes() {
        // A tensor of shape [2, 3] with two bytes per element.
        let bytes: Vec<u8> = (0..12).collect();
        assert_eq!(
            permuted(&bytes, 2, &[2, 3], &[1, 0]),
            [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]
        );
        assert_eq!(permuted(&bytes, 2, &[2, 3], &[0, 1]), bytes);
        assert_eq!(permuted(&[7], 1, &[], &[]), [7]);
    }

    #[test]
    fn weights_are_split_into_groups() {
        // Two groups with one output each, three inputs, and a 1 × 1 window.
        let (shape, weights) = convolution_weights(&[0, 1, 2, 10, 11, 12], 1, [2, 3, 1, 1], 2);
        assert_eq!((shape, weights), ([1, 1, 3, 2, 1], vec![0, 10, 1, 11, 2, 12]));
    }
}
