//! The weights of a convolution, packed when the plan is made.

use super::{
    bytes::{check_code, check_codes},
    planes::{Bias, Planes, Starts, Weights},
    sums::Carrier,
};
use crate::{
    error::{KernelError, expect_len, product},
    window::{Conv, Layout},
};
use strait_requantize::IntType;

/// The weights of a convolution. They are packed once, when the plan is made.
#[derive(Clone, Debug)]
pub struct ConvWeights {
    pub(super) conv: Conv,
    pub(super) layout: Layout,
    pub(super) element: IntType,
    pub(super) planes: Planes,
    /// The code of a padding element.
    pub(super) pad: i32,
    /// The packed weights, `[planes][out_channels][depth]`. `depth` is the number of bytes of one output channel's
    /// weights in one plane, padded with zeros to a multiple of four.
    pub(super) rows: Vec<u8>,
    pub(super) starts: Starts,
    /// The offset of each tap in the image. There is one for each element of the padded depth.
    pub(super) taps: Vec<usize>,
}

impl ConvWeights {
    /// Packs weights `[out_channels, channels/groups, height, width]` for activations of type `element`, of 8 or 16
    /// bits. `conv.input.batch` does not matter. `pad_value` is the code of a padding element. `bias` has one value per
    /// output channel, in the unit of the accumulators. It must already contain the terms by which zero points change
    /// the accumulators.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if a slice does not have the extents of `conv`; [`KernelError::Size`] if an extent
    /// exceeds the limits, or weights have more than 17 bits.
    pub fn new(
        conv: Conv,
        element: IntType,
        pad_value: i32,
        weights: Weights<'_>,
        bias: Bias<'_>,
    ) -> Result<ConvWeights, KernelError> {
        conv.check()?;
        check_codes("the activation", element)?;
        check_code("the pad value", element, pad_value)?;
        let layout = Layout::new(conv.window, conv.input)?;
        let k = conv.depth();
        expect_len("the weights", weights.len(), product(&[conv.out_channels, k]))?;
        if let Some(values) = bias.len() {
            expect_len("the bias", values, Some(conv.out_channels))?;
        }
        // If weights are lifted, which means that a constant is subtracted from them (see `Planes`), the sum of each
        // window is needed. In a depthwise convolution, this sum takes as long as the convolution itself, so weights
        // are not lifted.
        let mut planes = match is_depthwise(&conv, &layout) {
            true => Planes::new(element, weights.ends(), bias.carrier()),
            false => Planes::lifted(element, weights.ends(), bias.carrier(), k),
        }?;
        let row = |o: usize| (o * k..(o + 1) * k).map(|at| i64::from(weights.get(at)));
        // The loops for depthwise convolutions read each code without an offset.
        let offset = if is_depthwise(&conv, &layout) && !planes.words {
            0
        } else {
            planes.offset(element)
        };
        let start = |o: usize| bias.get(o).wrapping_add(offset * row(o).sum::<i64>());
        planes.prove((0..conv.out_channels).map(|o| (start(o), row(o).map(i64::abs).sum())));
        let starts = Starts::new(planes.narrow, (0..conv.out_channels).map(start));
        let depth = planes.depth(k);
        let mut rows = vec![0; planes.list.len() * conv.out_channels * depth];
        let plane_bytes = conv.out_channels * depth;
        for (plane, rows) in planes.list.iter().zip(rows.chunks_exact_mut(plane_bytes.max(1))) {
            for (o, row) in rows.chunks_exact_mut(depth.max(1)).enumerate() {
                let weights = (o * k..(o + 1) * k).map(|at| weights.get(at));
                if planes.words {
                    let row = row.as_chunks_mut().0.iter_mut();
                    row.zip(weights).for_each(|(to, w)| *to = plane.word(w));
                } else {
                    row.iter_mut().zip(weights).for_each(|(to, w)| *to = planes.byte(w));
                }
            }
        }
        // The weights beyond K are 0, so it does not matter which element they are multiplied with.
        let channels = if conv.out_channels == 0 {
            0
        } else {
            conv.input.channels / conv.groups
        };
        let mut taps = layout.tap_offsets(channels);
        taps.resize(planes.padded(taps.len()), 0);
        Ok(ConvWeights {
            conv,
            layout,
            element,
            planes,
            pad: pad_value,
            rows,
            starts,
            taps,
        })
    }

    /// Returns an upper bound for the size in bytes of packed weights, including the data that is packed beside them.
    /// Each output channel has `k` weights, whose values lie between `ends`. Activations have the type `element`. The
    /// extents have to be those of a tensor in memory, because otherwise their product could overflow.
    ///
    /// # Errors
    /// [`KernelError::Size`] if weights have more than 17 bits.
    pub fn packed_bytes(
        [out_channels, k]: [usize; 2],
        element: IntType,
        ends: [i32; 2],
        carrier: Carrier,
    ) -> Result<usize, KernelError> {
        // Whether weights are lifted depends on the window, which is not known here. So the size is computed for both
        // cases, and the larger size is returned.
        let lifted = Planes::lifted(element, ends, carrier, k)?;
        let either = [Planes::new(element, ends, carrier)?, lifted];
        let bytes = |planes: Planes| out_channels * planes.bytes(k) + planes.padded(k) * size_of::<usize>();
        Ok(either.map(bytes).into_iter().fold(0, usize::max))
    }

    /// The shapes of the convolution.
    pub fn conv(&self) -> &Conv {
        &self.conv
    }

    /// The packed weights of one output channel, in one plane.
    pub(super) fn row(&self, plane: usize, output: usize) -> &[u8] {
        let depth = self.planes.depth(self.conv.depth());
        let row = plane * self.conv.out_channels + output;
        &self.rows[row * depth..(row + 1) * depth]
    }
}

/// True if the loops in [`depthwise`] can compute the convolution.
pub(super) fn is_depthwise(conv: &Conv, layout: &Layout) -> bool {
    conv.groups == conv.input.channels && conv.input.plane() > 0 && layout.output[1] <= WIDEST
}

/// The longest output row that the loops of [`super::depthwise`] can compute.
pub(super) const WIDEST: usize = 1 << 11;
