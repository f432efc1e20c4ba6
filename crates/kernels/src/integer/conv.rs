//! Convolution: weights are the rows, output positions the columns of the panels, which are packed strip by strip.

use super::{
    bytes::{byte_of, check_8_bits, flip, width},
    depthwise,
    finish::{Axis, Finish, Place, check_channels},
    product::{COLUMNS, Factors, STRIP, Strip, padded_depth},
};
use crate::{
    error::{KernelError, expect_len, product},
    isa::{Context, Job},
    parallel::{Shared, for_each_chunk, try_for_each},
    simd::{Simd, interleave},
    window::{Conv, Layout},
};
use strait_requantize::IntType;

/// Weights of a convolution, packed when the plan is made.
#[derive(Clone, Debug)]
pub struct ConvWeights {
    pub(super) conv: Conv,
    pub(super) layout: Layout,
    pub(super) element: IntType,
    pub(super) pad: u8,
    /// `[out_channels][depth]`, depth padded with zeros.
    pub(super) rows: Vec<u8>,
    pub(super) starts: Vec<i32>,
    /// The offset of each tap, one for each byte of the padded depth.
    pub(super) taps: Vec<usize>,
}

impl ConvWeights {
    /// Packs weights `[out_channels, channels/groups, height, width]` for activations of type `element` (I8 or U8).
    /// `conv.input.batch` does not matter. `pad_value` is the code that a padded element reads as; `bias` has one value
    /// for each output channel, in the accumulator's unit and with all zero points folded in.
    ///
    /// # Errors
    /// [`KernelError::Shape`] where a slice does not have the extents of `conv`; [`KernelError::Size`] beyond the
    /// limits.
    pub fn new(
        conv: Conv,
        element: IntType,
        pad_value: i32,
        weights: &[i8],
        bias: Option<&[i32]>,
    ) -> Result<ConvWeights, KernelError> {
        conv.check()?;
        check_8_bits("the activation", element)?;
        let pad = byte_of("the pad value", element, pad_value)?;
        let layout = Layout::new(conv.window, conv.input)?;
        let k = conv.depth();
        expect_len("the weights", weights.len(), product(&[conv.out_channels, k]))?;
        if let Some(bias) = bias {
            expect_len("the bias", bias.len(), Some(conv.out_channels))?;
        }
        let depth = padded_depth(k);
        let mut rows = vec![0; conv.out_channels * depth];
        let mut starts = Vec::with_capacity(conv.out_channels);
        // An activation of i8 is read as x + 128: 128·Σw too much. Depthwise loops read it as it is.
        let excess = if is_depthwise(&conv, &layout) {
            0
        } else {
            i32::from(flip(element))
        };
        for o in 0..conv.out_channels {
            let source = &weights[o * k..(o + 1) * k];
            rows[o * depth..]
                .iter_mut()
                .zip(source)
                .for_each(|(to, &w)| *to = w.cast_unsigned());
            let sum = source.iter().fold(0_i32, |sum, &w| sum.wrapping_add(i32::from(w)));
            starts.push(bias.map_or(0, |b| b[o]).wrapping_sub(excess.wrapping_mul(sum)));
        }
        // Beyond k the weights are 0: any tap will do.
        let channels = if conv.out_channels == 0 {
            0
        } else {
            conv.input.channels / conv.groups
        };
        let mut taps = layout.tap_offsets(channels);
        taps.resize(taps.len().next_multiple_of(4), 0);
        Ok(ConvWeights {
            conv,
            layout,
            element,
            pad,
            rows,
            starts,
            taps,
        })
    }

    /// The bytes that weights of `k` for each output channel are packed into, with what is packed beside them. The extents
    /// are those of a tensor that exists.
    pub fn packed_bytes(out_channels: usize, k: usize) -> usize {
        let depth = padded_depth(k);
        out_channels * (depth + size_of::<i32>()) + depth * size_of::<usize>()
    }

    /// Extents and window of the convolution.
    pub fn conv(&self) -> &Conv {
        &self.conv
    }
}

/// The convolution is one for [`depthwise`].
fn is_depthwise(conv: &Conv, layout: &Layout) -> bool {
    conv.groups == conv.input.channels && conv.input.plane() > 0 && layout.output[1] <= depthwise::WIDEST
}

/// Panel bytes of a task: they stay in the second-level cache.
const STRIP_BYTES: usize = 192 << 10;
/// The most panels of a task; a multiple of the register tile's three.
const STRIP_PANELS: usize = STRIP / COLUMNS;

pub(crate) fn conv(
    finish: &dyn Finish,
    cx: &Context,
    weights: &ConvWeights,
    batch: usize,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), KernelError> {
    let ConvWeights { conv, ref layout, .. } = *weights;
    let images = crate::window::Images { batch, ..conv.input };
    check_channels(finish, conv.out_channels)?;
    expect_len("the input", input.len(), images.elements())?;
    let out_image = product(&[conv.out_channels, layout.positions()]);
    let out_image = out_image.ok_or_else(|| KernelError::Size("the output of a convolution".into()))?;
    expect_len(
        "the output",
        out.len(),
        product(&[batch, out_image, width(finish.out())]),
    )?;
    if out.is_empty() {
        return Ok(());
    }
    if is_depthwise(&conv, layout) {
        return depthwise::depthwise(finish, cx, weights, input, out);
    }

    let mut padded = if layout.in_place {
        Vec::new()
    } else {
        vec![0; conv.input.channels * layout.plane + COLUMNS]
    };
    let panel_bytes = COLUMNS * padded_depth(conv.depth());
    let strip_panels = (STRIP_BYTES / panel_bytes.max(1)).clamp(3, STRIP_PANELS) / 3 * 3;
    let strips = layout.positions().div_ceil(strip_panels * COLUMNS);
    let steps = out_image.saturating_mul(conv.depth()) / 16;
    let out = Shared::new(out);
    for b in 0..batch {
        let image = &input[b * conv.input.image()..(b + 1) * conv.input.image()];
        let image = if layout.in_place {
            image
        } else {
            let planes = conv.input.channels * layout.plane;
            for_each_chunk(
                &mut padded[..planes],
                layout.plane,
                conv.input.image() / 4,
                |c, plane| {
                    let source = &image[c * conv.input.plane()..(c + 1) * conv.input.plane()];
                    layout.pad_plane(source, weights.pad, plane);
                },
            );
            &padded
        };
        try_for_each(conv.groups * strips, steps, &|task| {
            let (group, strip) = (task / strips, task % strips);
            cx.run(StripTask {
                finish,
                weights,
                image,
                group,
                strip,
                strip_panels,
                out: &out,
                base: b * out_image,
            })
        })?;
    }
    Ok(())
}

struct StripTask<'a, 'b> {
    finish: &'a dyn Finish,
    weights: &'a ConvWeights,
    image: &'a [u8],
    group: usize,
    strip: usize,
    strip_panels: usize,
    out: &'a Shared<'b, u8>,
    base: usize,
}

impl Job for StripTask<'_, '_> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Result<(), KernelError> {
        let ConvWeights {
            conv,
            ref layout,
            element,
            ref rows,
            ref starts,
            ref taps,
            ..
        } = *self.weights;
        let (channels, outputs) = (conv.input.channels / conv.groups, conv.out_channels / conv.groups);
        let depth = taps.len();
        let positions = layout.positions();
        let first = self.strip * self.strip_panels * COLUMNS;
        let columns = (self.strip_panels * COLUMNS).min(positions - first);
        let mut panels = vec![0; columns.next_multiple_of(COLUMNS) * depth];
        let image = &self.image[self.group * channels * layout.plane..];
        let pack = PackJob {
            layout,
            image,
            taps,
            first,
            flip: flip(element),
            panels: &mut panels,
        };
        // SAFETY: this is compiled for `S`.
        unsafe { S::call(pack) };
        let first_channel = self.group * outputs;
        let strip = Strip {
            factors: Factors {
                rows: &rows[first_channel * depth..(first_channel + outputs) * depth],
                panels: &panels,
                depth,
                row_starts: &starts[first_channel..first_channel + outputs],
                column_starts: &[0; STRIP],
            },
            place: Place {
                out: self.out,
                at: self.base + first_channel * positions + first,
                row_stride: positions,
                rows: outputs,
                columns,
                axis: Axis::Rows,
                first_channel,
            },
        };
        strip.run::<S, true>(self.finish)
    }
}

/// Packs the positions from `first` on, for all taps.
struct PackJob<'a> {
    layout: &'a Layout,
    image: &'a [u8],
    taps: &'a [usize],
    first: usize,
    flip: u8,
    panels: &'a mut [u8],
}

impl Job for PackJob<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let panel_bytes = COLUMNS * self.taps.len();
        for (p, panel) in self.panels.chunks_exact_mut(panel_bytes.max(1)).enumerate() {
            let first = self.first + p * COLUMNS;
            let count = COLUMNS.min(self.layout.positions() - first);
            let mut runs = [(0, 0); COLUMNS];
            let mut used = 0;
            for (slot, run) in runs.iter_mut().zip(self.layout.runs(first, count)) {
                *slot = run;
                used += 1;
            }
            let (rows, _) = panel.as_chunks_mut::<64>();
            for (row, four) in rows.iter_mut().zip(self.taps.as_chunks::<4>().0) {
                let mut lines = [[0; COLUMNS]; 4];
                for (line, &tap) in lines.iter_mut().zip(four) {
                    *line = sixteen(&self.image[tap..], &runs[..used]);
                }
                *row = interleave(&lines, self.flip);
            }
        }
    }
}

/// The bytes of some stretches, one after the other. What is beyond them is not defined, but always the same.
#[inline(always)]
fn sixteen(image: &[u8], runs: &[(usize, usize)]) -> [u8; COLUMNS] {
    let mut line = [0; 2 * COLUMNS];
    let mut to = 0;
    for &(offset, length) in runs {
        // Sixteen bytes where there are as many: the next stretch overwrites what is too much.
        match (
            image[offset..].first_chunk::<COLUMNS>(),
            line[to..].first_chunk_mut::<COLUMNS>(),
        ) {
            (Some(from), Some(to)) => *to = *from,
            _ => line[to..to + length].copy_from_slice(&image[offset..offset + length]),
        }
        to += length;
    }
    let [start, _] = line.as_chunks::<COLUMNS>().0 else {
        return [0; COLUMNS];
    };
    *start
}
