//! Integer convolution as a matrix product. The rows are weights, and the columns are output positions, which are
//! packed into panels strip by strip.

use super::{
    bytes::{flip, width},
    depthwise,
    lane::Lane,
    loops::Loops,
    planes::Starts,
    product::{COLUMNS, STRIP, Strip, StripStarts},
};
use crate::context::Context;
use crate::integer::conv_weights::{ConvWeights, is_depthwise};
use crate::integer::output_tile::{Axis, OutputTile};
use crate::simd::Job;
use crate::{
    error::{KernelError, expect_len, product},
    parallel::{Shared, for_each_chunk, try_for_each},
    simd::{Dots, Simd},
    window::Layout,
};

/// Number of bytes of panels that one task packs. They are few enough to stay in the second-level cache.
const STRIP_BYTES: usize = 192 << 10;
/// The largest number of panels of a task. It is a multiple of three, the number of panels of a register tile.
const STRIP_PANELS: usize = STRIP / COLUMNS;

impl dyn Loops + '_ {
    /// Computes a convolution with requantization. The accumulator of an output is `bias[o] + Σ w·x`. `input` is
    /// `[batch, channels, height, width]`, and `out` is `[batch, out_channels, rows, columns]`.
    pub fn conv(
        &self,
        cx: &Context,
        weights: &ConvWeights,
        batch: usize,
        input: &[u8],
        out: &mut [u8],
    ) -> Result<(), KernelError> {
        let ConvWeights { conv, ref layout, .. } = *weights;
        let images = crate::window::Images { batch, ..conv.input };
        self.check_channels(conv.out_channels)?;
        let bytes = images
            .elements()
            .and_then(|elements| product(&[elements, width(weights.element)]));
        expect_len("the input", input.len(), bytes)?;
        let out_image = product(&[conv.out_channels, layout.positions()]);
        let out_image = out_image.ok_or_else(|| KernelError::Size("the output of a convolution".into()))?;
        expect_len(
            "the output",
            out.len(),
            product(&[batch, out_image, self.width(weights.planes.carrier)]),
        )?;
        if out.is_empty() {
            return Ok(());
        }
        if is_depthwise(&conv, layout) {
            return match weights.planes.words {
                true => depthwise::depthwise::<i16>(self, cx, weights, input, out),
                false => depthwise::depthwise::<u8>(self, cx, weights, input, out),
            };
        }

        let strips = Strips {
            loops: self,
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
}

/// The work of a convolution. It is divided into strips of output positions, for each group and image.
struct Strips<'a, 'b> {
    loops: &'a dyn Loops,
    cx: &'a Context,
    weights: &'a ConvWeights,
    out: &'a Shared<'b, u8>,
    /// Number of elements in one image of the output.
    out_image: usize,
}

impl Strips<'_, '_> {
    /// Computes images that first have to be copied to the padded layout.
    fn padded<T: Lane>(&self, input: &[u8]) -> Result<(), KernelError> {
        let &ConvWeights {
            conv,
            ref layout,
            element,
            pad,
            ..
        } = self.weights;
        let (plane, planes) = (conv.input.plane() * width(element), conv.input.channels * layout.plane);
        let mut padded = vec![T::element(element, pad); planes + COLUMNS];
        for (b, image) in input.chunks_exact(conv.input.channels * plane).enumerate() {
            for_each_chunk(&mut padded[..planes], layout.plane, image.len() / 4, |c, to| {
                let codes = T::elements(element, &image[c * plane..(c + 1) * plane]);
                layout.place_plane(&codes, to);
            });
            self.run(b, &padded)?;
        }
        Ok(())
    }

    /// Computes one image that already has the padded layout.
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
    /// The first output position that the strip has.
    first: usize,
    /// The largest number of output positions that the strip may have.
    columns: usize,
    base: usize,
}

impl<T: Lane> Job for StripTask<'_, '_, T> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Result<(), KernelError> {
        let &Strips {
            loops, weights, out, ..
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
        // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
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
        strip.run::<S, T::Products>(loops)
    }
}

/// Sums the first `k` bytes of each column. The panels are `depth` bytes deep.
#[inline(always)]
fn column_sums<S: Simd>(panels: &[u8], [k, depth]: [usize; 2], to: &mut [i32; STRIP]) {
    let (to, _) = to.as_chunks_mut::<COLUMNS>();
    for (panel, to) in panels.chunks_exact((COLUMNS * depth).max(1)).zip(to) {
        let (fours, rest) = panel.as_chunks::<64>().0.split_at(k / 4);
        // SAFETY: this code is compiled for `S`, and it only runs on machines that have `S`.
        let mut sums = unsafe { [S::Dots::new(0, &[0; COLUMNS]); 4] };
        for some in fours.chunks(sums.len()) {
            for (sum, four) in sums.iter_mut().zip(some) {
                // SAFETY: as above, the machine has the instruction set `S`.
                *sum = unsafe { sum.add_dots::<true>(four, [1; 4]) };
            }
        }
        if let Some(last) = rest.first() {
            // Elements after the first K do not belong to the window, so they are multiplied by 0.
            let ones = [0, 1, 2, 3].map(|at| u8::from(at < k % 4));
            // SAFETY: as above, the machine has the instruction set `S`.
            sums[0] = unsafe { sums[0].add_dots::<true>(last, ones) };
        }
        for sum in sums {
            to.iter_mut().zip(sum.to_array()).for_each(|(to, sum)| *to += sum);
        }
    }
}

/// Packs the output positions from `first` on, with all their taps.
struct PackJob<'a, T> {
    layout: &'a Layout,
    image: &'a [T],
    taps: &'a [usize],
    first: usize,
    /// The mask that elements are XORed with if they are bytes.
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

/// Copies the elements of some runs, given as `(offset, length)`, one run after the other. If the runs have fewer than
/// sixteen elements together, the rest of the result has no meaning, but is the same on every machine.
#[inline(always)]
fn sixteen<T: Lane>(image: &[T], runs: &[(usize, usize)]) -> [T; COLUMNS] {
    let mut line = [T::default(); 2 * COLUMNS];
    let mut to = 0;
    for &(offset, length) in runs {
        // If the image has at least sixteen elements from the start of the run on, sixteen are copied at once. The next
        // run overwrites those elements that do not belong to this run.
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
