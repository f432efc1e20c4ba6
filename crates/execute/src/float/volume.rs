//! Pools over three spatial axes.

use super::conv_transpose::{behind, wide};
use crate::layers::Layers;
use crate::prelude::*;
use strait_kernels::float::conv;

/// True if the node's window has three spatial axes.
pub(crate) fn applies(site: &NodeSlots<'_>) -> bool {
    site.optional(0).is_some_and(|x| x.dims.len() == 5)
}

pub(crate) fn prepare_conv(op: &op::Conv, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let layers = Layers::new(op, site)?;
    Ok(reading(3, move |io| {
        let (x, weight, bias) = (io.input::<f32>(0)?, io.input::<f32>(1)?, io.optional(2)?);
        let context = io.context;
        layers.each(&[0.0], x, io.output()?, |read, result| {
            Ok(conv(context, &layers.layer, read, weight, bias, result)?)
        })
    }))
}

/// The taps of a window along one axis, for one position of the result: the coordinate of the first tap inside of the
/// operand, the number of taps inside of the operand, and the number of taps inside of the padded operand.
#[derive(Clone, Copy)]
struct Taps {
    first: usize,
    inside: usize,
    padded: usize,
}

/// The function that a pool computes for each window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Maximum,
    Mean { count_padding: bool },
}

struct VolumePool {
    of: Of,
    /// The extents of one channel of the operand.
    size: [usize; 3],
    taps: [Vec<Taps>; 3],
    dilation: [usize; 3],
}

pub(crate) fn prepare_max(op: &op::MaxPool, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    pool(Of::Maximum, site, [&op.size, &op.stride, &op.dilation, &op.pad])
}

pub(crate) fn prepare_average(op: &op::AveragePool, site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    let count_padding = op.count_include_pad;
    pool(
        Of::Mean { count_padding },
        site,
        [&op.size, &op.stride, &op.dilation, &op.pad],
    )
}

/// Prepares a pool. `lists` are the size of its window, the strides, the dilations and the padding.
fn pool(of: Of, site: &NodeSlots<'_>, lists: [&[u32]; 4]) -> Result<Box<dyn Step>, StepError> {
    let (x, y) = (&site.input(0)?.dims, &site.output()?.dims);
    let [kernel, stride, dilation, pad] = lists.map(wide);
    let (begins, ends) = pad.split_at(pad.len() / 2);
    let (size, made) = (behind(&x[2..], 1)?, behind(&y[2..], 1)?);
    let (kernel, stride, dilation) = (behind(&kernel, 1)?, behind(&stride, 1)?, behind(&dilation, 1)?);
    let (begin, end) = (behind(begins, 0)?, behind(ends, 0)?);
    let along = |axis: usize| -> Vec<Taps> {
        let taps = |position: usize| {
            // This coordinate counts from the start of the padding.
            let start = position * stride[axis];
            let below = |end: usize| {
                end.saturating_sub(start)
                    .div_ceil(dilation[axis].max(1))
                    .min(kernel[axis])
            };
            let skipped = below(begin[axis]);
            Taps {
                first: (start + skipped * dilation[axis]).saturating_sub(begin[axis]),
                inside: below(begin[axis] + size[axis]) - skipped,
                padded: below(begin[axis] + size[axis] + end[axis]),
            }
        };
        (0..made[axis]).map(taps).collect()
    };
    Ok(Box::new(VolumePool {
        of,
        size,
        taps: [along(0), along(1), along(2)],
        dilation,
    }))
}

impl VolumePool {
    /// Computes the result of one window in one channel. The taps are visited in row-major order.
    fn window(&self, image: &[f32], taps: [Taps; 3]) -> f32 {
        let at = |axis: usize, tap: usize| taps[axis].first + tap * self.dilation[axis];
        let mut state = if self.of == Of::Maximum { f32::NEG_INFINITY } else { 0.0 };
        for z in (0..taps[0].inside).map(|tap| at(0, tap)) {
            for y in (0..taps[1].inside).map(|tap| at(1, tap)) {
                for x in (0..taps[2].inside).map(|tap| at(2, tap)) {
                    let element = image[(z * self.size[1] + y) * self.size[2] + x];
                    match self.of {
                        Of::Maximum if element > state => state = element,
                        Of::Maximum => {}
                        Of::Mean { .. } => state += element,
                    }
                }
            }
        }
        let Of::Mean { count_padding } = self.of else {
            return state;
        };
        let counted = taps.map(|taps| if count_padding { taps.padded } else { taps.inside });
        state / counted.iter().product::<usize>().max(1) as f32
    }
}

impl Step for VolumePool {
    fn run(&self, io: &mut Io<'_>) -> Result<(), StepError> {
        let x = io.input::<f32>(0)?;
        let out = io.output::<f32>()?;
        let plane: usize = self.size.iter().product();
        let made: usize = self.taps.iter().map(Vec::len).product();
        if plane == 0 || made == 0 {
            return Ok(());
        }
        for (image, out) in x.chunks_exact(plane).zip(out.chunks_exact_mut(made)) {
            let mut out = out.iter_mut();
            for &z in &self.taps[0] {
                for &y in &self.taps[1] {
                    for (&x, out) in self.taps[2].iter().zip(&mut out) {
                        *out = self.window(image, [z, y, x]);
                    }
                }
            }
        }
        Ok(())
    }
}
