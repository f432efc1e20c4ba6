//! Integer convolution. Weights are the rows and output positions the columns of the panels, which are packed strip by
//! strip.

use super::{
    bytes::{check_code, check_codes, flip, width},
    depthwise,
    finish::{Axis, Finish, OutputTile, check_channels},
    lane::Lane,
    planes::{Bias, Planes, Starts, Weights},
    product::{COLUMNS, STRIP, Strip, StripStarts},
    sums::Carrier,
};
use crate::{
    error::{KernelError, expect_len, product},
    isa::{Context, Job},
    parallel::{Shared, for_each_chunk, try_for_each},
    simd::{Dots, Simd},
    window::{Conv, Layout},
};
use strait_requantize::IntType;

/// Weights of a convolution, packed once when the plan is made.
#[derive(Clone, Debug)]
pub struct ConvWeights {
    pub(super) conv: Conv,
    pub(super) layout: Layout,
    pub(super) element: IntType,
    pub(super) planes: Planes,
    /// The code that stands for an element of the padding.
    pub(super) pad: i32,
    /// The packed weights, `[planes][out_channels][depth]`, with depth padded with zeros.
    pub(super) rows: Vec<u8>,
    pub(super) starts: Starts,
    /// The offset of each tap in the image, one for each element of the padded depth.
    pub(super) taps: Vec<usize>,
}

impl ConvWeights {
    /// Packs weights `[out_channels, channels/groups, height, width]` for activations of type `element`, of 8 or 16
    /// bits. `conv.input.batch` does not matter. `pad_value` is the code that stands for an element of the padding.
    /// `bias` has one value per output channel, in the accumulator's unit, with all zero points folded in.
    ///
    /// # Errors
    /// [`KernelError::Shape`] if a slice does not have the extents of `conv`; [`KernelError::Size`] beyond the limits,
    /// and for weights of more than 17 bits.
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
        // Lifted weights need the sum of each window. In a depthwise convolution that costs as much as the product
        // itself, so weights are not lifted there.
        let mut planes = match is_depthwise(&conv, &layout) {
            true => Planes::new(element, weights.ends(), bias.carrier()),
            false => Planes::lifted(element, weights.ends(), bias.carrier(), k),
        }?;
        let row = |o: usize| (o * k..(o + 1) * k).map(|at| i64::from(weights.get(at)));
        // Depthwise loops read bytes as they are, without an offset.
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
        // Beyond K the weights are 0, so any tap will do.
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

    /// Upper bound on the packed size in bytes of weights with `k` values per output channel, including the data packed
    /// beside them, for activations of type `element` and weights between `ends`. The extents have to be those of a
    /// tensor in memory, so that no product overflows.
    ///
    /// # Errors
    /// [`KernelError::Size`] for weights of more than 17 bits.
    pub fn packed_bytes(
        [out_channels, k]: [usize; 2],
        element: IntType,
        ends: [i32; 2],
        carrier: Carrier,
    ) -> Result<usize, KernelError> {
        // Whether weights are lifted depends on the window, so both sizes are considered.
        let lifted = Planes::lifted(element, ends, carrier, k)?;
        let either = [Planes::new(element, ends, carrier)?, lifted];
        let bytes = |planes: Planes| out_channels * planes.bytes(k) + planes.padded(k) * size_of::<usize>();
        Ok(either.map(bytes).into_iter().fold(0, usize::max))
    }

    /// The shapes of the convolution.
    pub fn conv(&self) -> &Conv {
        &self.conv
    }

    /// The packed weights of one output channel in one plane.
    pub(super) fn row(&self, plane: usize, output: usize) -> &[u8] {
        let depth = self.planes.depth(self.conv.depth());
        let row = plane * self.conv.out_channels + output;
        &self.rows[row * depth..(row + 1) * depth]
    }
}

/// True if [`depthwise`] can compute the convolution.
fn is_depthwise(conv: &Conv, layout: &Layout) -> bool {
    conv.groups == conv.input.channels && conv.input.plane() > 0 && layout.output[1] <= depthwise::WIDEST
}

/// Number of panel bytes that one task packs, so that they stay in the second-level cache.
const STRIP_BYTES: usize = 192 << 10;
/// The largest number of panels of a task, a multiple of the three panels of a register tile.
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
    let bytes = images
        .elements()
        .and_then(|elements| product(&[elements, width(weights.element)]));
    expect_len("the input", input.len(), bytes)?;
    let out_image = product(&[conv.out_channels, layout.positions()]);
    let out_image = out_image.ok_or_else(|| KernelError::Size("the output of a convolution".into()))?;
    expect_len(
        "the output",
        out.len(),
        product(&[batch, out_image, finish.width(weights.planes.carrier)]),
    )?;
    if out.is_empty() {
        return Ok(());
    }
    if is_depthwise(&conv, layout) {
        return match weights.planes.words {
            true => depthwise::depthwise::<i16>(finish, cx, weights, input, out),
            false => depthwise::depthwise::<u8>(finish, cx, weights, input, out),
        };
    }

    let strips = Strips {
        finish,
        cx,
        weights,
        out: &Shared::new(out),
        out_image,
    };
    if weights.planes.words {
        strips.padded::<i16>(input)
    } else if layout.in_place {
        let mut images = input.chunks_exact(conv.input.image()).enumerate();
        images.try_for_each(|(b, image)| strips.run(b, image))
    } else {
        strips.padded::<u8>(input)
    }
}

/// The work of a convolution: strips of output positions, for all groups of some images.
struct Strips<'a, 'b> {
    finish: &'a dyn Finish,
    cx: &'a Context,
    weights: &'a ConvWeights,
    out: &'a Shared<'b, u8>,
    /// Number of elements in one image of the output.
    out_image: usize,
}

impl Strips<'_, '_> {
    /// Runs images that first have to be copied into the padded layout.
    fn padded<T: Lane>(&self, input: &[u8]) -> Result<(), KernelError> {
        let &ConvWeights {
            conv,
            ref layout,
            element,
            pad,
            ..
        } = self.weights;
        let (plane, planes) = (conv.input.plane() * width(element), conv.input.channels * layout.plane);
        let mut padded = vec![T::default(); planes + COLUMNS];
        for (b, image) in input.chunks_exact(conv.input.channels * plane).enumerate() {
            for_each_chunk(&mut padded[..planes], layout.plane, image.len() / 4, |c, to| {
                let codes = T::elements(element, &image[c * plane..(c + 1) * plane]);
                layout.pad_plane(&codes, T::element(element, pad), to);
            });
            self.run(b, &padded)?;
        }
        Ok(())
    }

    /// Runs one image that already has the layout.
    fn run<T: Lane>(&self, b: usize, image: &[T]) -> Result<(), KernelError> {
        let ConvWeights {
            conv, layout, planes, ..
        } = self.weights;
        let panel_bytes = COLUMNS * planes.depth(conv.depth());
        let strip_panels = (STRIP_BYTES / panel_bytes.max(1)).clamp(3, STRIP_PANELS) / 3 * 3;
        let strips = layout.positions().div_ceil(strip_panels * COLUMNS);
        let steps = self.out_image.saturating_mul(conv.depth()) / 16;
        try_for_each(conv.groups * strips, steps, &|task| {
            let (group, strip) = (task / strips, task % strips);
            self.cx.run(StripTask {
                strips: self,
                image,
                group,
                first: strip * strip_panels * COLUMNS,
                columns: strip_panels * COLUMNS,
                base: b * self.out_image,
            })
        })
    }
}

struct StripTask<'a, 'b, T> {
    strips: &'a Strips<'a, 'b>,
    image: &'a [T],
    group: usize,
    /// The first output position of the strip.
    first: usize,
    /// The largest number of output positions of the strip.
    columns: usize,
    base: usize,
}

impl<T: Lane> Job for StripTask<'_, '_, T> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Result<(), KernelError> {
        let &Strips {
            finish, weights, out, ..
        } = self.strips;
        let ConvWeights {
            conv,
            ref layout,
            element,
            ref planes,
            ref rows,
            ref starts,
            ref taps,
            ..
        } = *weights;
        let (channels, outputs) = (conv.input.channels / conv.groups, conv.out_channels / conv.groups);
        let depth = planes.depth(conv.depth());
        let positions = layout.positions();
        let columns = self.columns.min(positions - self.first);
        let mut panels = vec![0; columns.next_multiple_of(COLUMNS) * depth];
        let pack = PackJob {
            layout,
            image: &self.image[self.group * channels * layout.plane..],
            taps,
            first: self.first,
            flip: flip(element),
            panels: &mut panels,
        };
        // SAFETY: this code is compiled for `S`, so the machine has it.
        unsafe { S::call(pack) };
        let first_channel = self.group * outputs;
        let group = |plane: usize| {
            let row = plane * conv.out_channels + first_channel;
            &rows[row * depth..(row + outputs) * depth]
        };
        let (mut narrow, mut wide) = ([0; STRIP], [0; STRIP]);
        if planes.lift != 0 {
            let mut sums = [0; STRIP];
            column_sums::<S>(&panels, [conv.depth(), depth], &mut sums);
            narrow = sums.map(|sum| planes.lift.wrapping_mul(sum));
            wide = sums.map(|sum| i64::from(planes.lift) * i64::from(sum));
        }
        let strip = Strip {
            factors: &planes.factors(depth, group, |_| &panels)[..planes.list.len()],
            starts: match starts {
                Starts::I32(starts) => StripStarts::Narrow {
                    rows: &starts[first_channel..first_channel + outputs],
                    columns: &narrow,
                },
                Starts::I64(starts) => StripStarts::Wide {
                    rows: &starts[first_channel..first_channel + outputs],
                    columns: &wide,
                },
            },
            carrier: planes.carrier,
            place: OutputTile {
                out,
                at: self.base + first_channel * positions + self.first,
                row_stride: positions,
                rows: outputs,
                columns,
                axis: Axis::Rows,
                first_channel,
            },
        };
        strip.run::<S, T::Products>(finish)
    }
}

/// Sums the first `k` bytes of each column, for panels that are `depth` bytes deep.
#[inline(always)]
fn column_sums<S: Simd>(panels: &[u8], [k, depth]: [usize; 2], to: &mut [i32; STRIP]) {
    let (to, _) = to.as_chunks_mut::<COLUMNS>();
    for (panel, to) in panels.chunks_exact((COLUMNS * depth).max(1)).zip(to) {
        let (fours, rest) = panel.as_chunks::<64>().0.split_at(k / 4);
        // SAFETY: this code is compiled for `S`, so the machine has it.
        let mut sums = unsafe { [S::Dots::new(0, &[0; COLUMNS]); 4] };
        for some in fours.chunks(sums.len()) {
            for (sum, four) in sums.iter_mut().zip(some) {
                // SAFETY: as above, the machine has `S`.
                *sum = unsafe { sum.add_dots::<true>(four, [1; 4]) };
            }
        }
        if let Some(last) = rest.first() {
            // Elements behind K do not belong to the window, so they get the factor 0.
            let ones = [0, 1, 2, 3].map(|at| u8::from(at < k % 4));
            // SAFETY: as above, the machine has `S`.
            sums[0] = unsafe { sums[0].add_dots::<true>(last, ones) };
        }
        for sum in sums {
            to.iter_mut().zip(sum.to_array()).for_each(|(to, sum)| *to += sum);
        }
    }
}

/// Packs the output positions from `first` on, for all taps.
struct PackJob<'a, T> {
    layout: &'a Layout,
    image: &'a [T],
    taps: &'a [usize],
    first: usize,
    /// XOR mask for elements that are bytes.
    flip: u8,
    panels: &'a mut [u8],
}

impl<T: Lane> Job for PackJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self) {
        let panel_bytes = 4 * COLUMNS * (self.taps.len() / T::LANES);
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
            T::pack(rows, self.taps, self.flip, |tap| {
                sixteen(&self.image[tap..], &runs[..used])
            });
        }
    }
}

/// Gathers the elements of some runs, one run after the other. Elements beyond the runs have no meaning, but are the
/// same on every machine.
#[inline(always)]
fn sixteen<T: Lane>(image: &[T], runs: &[(usize, usize)]) -> [T; COLUMNS] {
    let mut line = [T::default(); 2 * COLUMNS];
    let mut to = 0;
    for &(offset, length) in runs {
        // Copies sixteen elements at once if the image has them. The next run overwrites what was too much.
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
        return [T::default(); COLUMNS];
    };
    *start
}
