//! Applies a [`Plan`] to one sample at a time. Every step computes in float32, as [`Plan`] defines it, with one
//! rounding per operation, so the result is the same on every machine.

use ndarray::{ArrayView, ArrayViewMutD, IxDyn, ShapeBuilder as _};

use crate::plan::{Operation, Plan};

/// A plan, prepared for samples of one shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    /// The shape after the last step.
    pub shape: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Scale(f32),
    Offset(f32),
    NormalizeAll {
        mean: f32,
        std: f32,
    },
    /// Treats the numbers as an array of shape [outer, channels, inner].
    NormalizeChannels {
        inner: usize,
        mean: Vec<f32>,
        std: Vec<f32>,
    },
    /// Treats the numbers as an array of shape [outer, 3, inner].
    SwapColors {
        inner: usize,
    },
    /// Axis `i` of the result has `extents[i]` positions. Neighbouring positions are `strides[i]` numbers apart in the
    /// operand.
    Permute {
        extents: Vec<usize>,
        strides: Vec<usize>,
    },
}

impl Steps {
    /// Prepares the plan for samples of `shape`, which does not include the axis of the samples. The error is a
    /// sentence.
    pub(crate) fn new(plan: &Plan, shape: &[usize]) -> Result<Steps, String> {
        let found = shape.len() + 1;
        if let Some(rank) = plan.stored.as_ref().map(String::len).filter(|&rank| rank != found) {
            return Err(format!(
                "the stored layout has {rank} axes, and the array has {found}, the one of the samples included"
            ));
        }
        let mut shape = shape.to_vec();
        let mut steps = Vec::new();
        for operation in &plan.operations {
            steps.push(match operation {
                Operation::Scale(factor) => Step::Scale(*factor),
                Operation::Offset(offset) => Step::Offset(*offset),
                &Operation::NormalizeAll { mean, std } => Step::NormalizeAll { mean, std },
                Operation::NormalizeChannels { axis, mean, std } => {
                    let (channels, inner) = around(&shape, *axis)?;
                    if channels != mean.len() || channels != std.len() {
                        return Err(format!(
                            "`normalize` is for {} channels, and the samples have {channels}",
                            mean.len()
                        ));
                    }
                    Step::NormalizeChannels {
                        inner,
                        mean: mean.clone(),
                        std: std.clone(),
                    }
                }
                Operation::SwapColors { axis } => match around(&shape, *axis)? {
                    (3, inner) => Step::SwapColors { inner },
                    (channels, _) => return Err(format!("`color` is for 3 channels, and the samples have {channels}")),
                },
                Operation::Permute { axes } => {
                    let source: Option<Vec<usize>> = axes.iter().skip(1).map(|axis| axis.checked_sub(1)).collect();
                    let source =
                        source.filter(|axes| axes.len() == shape.len() && axes.iter().all(|&a| a < shape.len()));
                    let source = source.ok_or("`layout` has more or fewer axes than the samples")?;
                    let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
                    let strides = source.iter().map(|&axis| stride(axis)).collect();
                    shape = source.iter().map(|&axis| shape[axis]).collect();
                    Step::Permute {
                        extents: shape.clone(),
                        strides,
                    }
                }
            });
        }
        Ok(Steps { steps, shape })
    }

    /// The key of the first step that computes with numbers. `None` if all steps only move numbers.
    pub(crate) fn computing(&self) -> Option<&'static str> {
        let moves = |step: &&Step| matches!(step, Step::SwapColors { .. } | Step::Permute { .. });
        self.steps.iter().find(|step| !moves(step)).map(Step::key)
    }

    /// Applies steps that only move numbers, in place. The plan of an input that does not take floats has only such
    /// steps.
    pub(crate) fn move_numbers<T: Copy>(&self, sample: &mut [T]) {
        for step in &self.steps {
            match step {
                Step::SwapColors { inner } => swap_colors(sample, *inner),
                Step::Permute { extents, strides } => {
                    let source = sample.to_vec();
                    permute(&source, extents, strides, sample);
                }
                Step::Scale(_) | Step::Offset(_) | Step::NormalizeAll { .. } | Step::NormalizeChannels { .. } => {}
            }
        }
    }

    /// Applies all steps to a stored sample, in place. `scratch` is working memory that is kept between calls.
    pub(crate) fn apply(&self, sample: &mut [f32], scratch: &mut Vec<f32>) {
        self.steps.iter().for_each(|step| step.apply(sample, scratch));
    }

    /// Finds the first step that turns a number of a stored sample into a NaN or an infinity. Returns the name of the
    /// step, and one such number. Returns `None` if there is no such step, or if the stored sample itself has a NaN or
    /// an infinity.
    pub(crate) fn overflow(&self, sample: &mut [f32], scratch: &mut Vec<f32>) -> Option<String> {
        if sample.iter().any(|x| !x.is_finite()) {
            return None;
        }
        self.steps.iter().find_map(|step| {
            let before = sample.to_vec();
            step.apply(sample, scratch);
            // No number was NaN or infinite before this step, and steps that move numbers do not change that. So this
            // step is one that computes. It does not move numbers, so a number that is now NaN or infinite is in the
            // same place as the number from which it was computed.
            let at = sample.iter().position(|x| !x.is_finite())?;
            Some(format!(
                "the preprocessing step `{}` makes {} of {}",
                step.key(),
                sample[at],
                before[at]
            ))
        })
    }
}

impl Step {
    /// The key of the step in a configuration.
    fn key(&self) -> &'static str {
        match self {
            Step::Scale(_) => "scale",
            Step::Offset(_) => "offset",
            Step::NormalizeAll { .. } | Step::NormalizeChannels { .. } => "normalize",
            Step::SwapColors { .. } => "color",
            Step::Permute { .. } => "layout",
        }
    }

    fn apply(&self, sample: &mut [f32], scratch: &mut Vec<f32>) {
        match self {
            Step::Scale(factor) => sample.iter_mut().for_each(|x| *x *= factor),
            Step::Offset(offset) => sample.iter_mut().for_each(|x| *x += offset),
            Step::NormalizeAll { mean, std } => sample.iter_mut().for_each(|x| *x = (*x - mean) / std),
            Step::NormalizeChannels { inner, mean, std } => {
                let channels = mean.iter().zip(std).cycle();
                for (block, (mean, std)) in sample.chunks_exact_mut((*inner).max(1)).zip(channels) {
                    block.iter_mut().for_each(|x| *x = (*x - mean) / std);
                }
            }
            Step::SwapColors { inner } => swap_colors(sample, *inner),
            Step::Permute { extents, strides } => {
                scratch.clear();
                scratch.extend_from_slice(sample);
                permute(scratch, extents, strides, sample);
            }
        }
    }
}

/// Returns the number of positions along an axis, and how many numbers apart neighbouring positions are in memory. Axis
/// 0 is the axis of the samples.
fn around(shape: &[usize], axis: usize) -> Result<(usize, usize), String> {
    let inside = axis.checked_sub(1).filter(|&axis| axis < shape.len());
    let axis = inside.ok_or("the samples have no axis for the channels")?;
    Ok((shape[axis], shape[axis + 1..].iter().product::<usize>()))
}

/// Swaps the first and the last of three colors, each of which has `inner` consecutive numbers.
fn swap_colors<T>(sample: &mut [T], inner: usize) {
    for colors in sample.chunks_exact_mut((3 * inner).max(1)) {
        let (first, rest) = colors.split_at_mut(inner);
        first.swap_with_slice(&mut rest[inner..]);
    }
}

/// Writes the numbers of `source` in the order of the result.
fn permute<T: Copy>(source: &[T], extents: &[usize], strides: &[usize], out: &mut [T]) {
    let from = ArrayView::from_shape(IxDyn(extents).strides(IxDyn(strides)), source);
    let to = ArrayViewMutD::from_shape(IxDyn(extents), out);
    // Extents and strides are those of the sample's axes in another order, so both views exist.
    if let (Ok(from), Ok(mut to)) = (from, to) {
        to.assign(&from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(operations: Vec<Operation>, shape: &[usize], sample: &[f32]) -> (Vec<f32>, Vec<usize>) {
        let steps = Steps::new(
            &Plan {
                operations,
                ..Plan::default()
            },
            shape,
        )
        .unwrap();
        let mut sample = sample.to_vec();
        steps.apply(&mut sample, &mut Vec::new());
        (sample, steps.shape)
    }

    #[test]
    fn each_step_does_what_it_says() {
        // The sample has two pixels with three colours each.
        let sample = [1., 2., 3., 4., 5., 6.];
        let (mean, std) = (vec![1., 2., 3.], vec![1., 2., 3.]);
        for (operation, shape, expected, after) in [
            (
                Operation::Scale(0.5),
                &[1, 2, 3][..],
                [0.5, 1., 1.5, 2., 2.5, 3.],
                &[1, 2, 3][..],
            ),
            (Operation::Offset(-1.), &[6], [0., 1., 2., 3., 4., 5.], &[6]),
            (
                Operation::NormalizeAll { mean: 1., std: 2. },
                &[6],
                [0., 0.5, 1., 1.5, 2., 2.5],
                &[6],
            ),
            (
                Operation::NormalizeChannels {
                    axis: 3,
                    mean: mean.clone(),
                    std: std.clone(),
                },
                &[1, 2, 3],
                [0., 0., 0., 3., 1.5, 1.],
                &[1, 2, 3],
            ),
            (
                Operation::NormalizeChannels { axis: 1, mean, std },
                &[3, 1, 2],
                [0., 1., 0.5, 1., 2. / 3., 1.],
                &[3, 1, 2],
            ),
            (
                Operation::SwapColors { axis: 3 },
                &[1, 2, 3],
                [3., 2., 1., 6., 5., 4.],
                &[1, 2, 3],
            ),
            (
                Operation::SwapColors { axis: 1 },
                &[3, 1, 2],
                [5., 6., 3., 4., 1., 2.],
                &[3, 1, 2],
            ),
            (
                Operation::Permute { axes: vec![0, 3, 1, 2] },
                &[1, 2, 3],
                [1., 4., 2., 5., 3., 6.],
                &[3, 1, 2],
            ),
        ] {
            let name = format!("{operation:?}");
            assert_eq!(
                applied(vec![operation], shape, &sample),
                (expected.to_vec(), after.to_vec()),
                "{name}"
            );
        }
    }

    #[test]
    fn permutations_follow_each_other() {
        let sample: Vec<f32> = (0..24u8).map(f32::from).collect();
        let there = Operation::Permute { axes: vec![0, 2, 3, 1] };
        let back = Operation::Permute { axes: vec![0, 3, 1, 2] };
        let (moved, shape) = applied(vec![there.clone()], &[2, 3, 4], &sample);
        assert_eq!(shape, [3, 4, 2]);
        assert_eq!(moved[1], 12.0);
        assert_eq!(applied(vec![there, back], &[2, 3, 4], &sample), (sample, vec![2, 3, 4]));
    }

    #[test]
    fn a_plan_that_does_not_fit_is_refused() {
        let two = Operation::NormalizeChannels {
            axis: 1,
            mean: vec![0.; 2],
            std: vec![1.; 2],
        };
        for (stored, operation, shape) in [
            (Some("NHWC"), Operation::Scale(1.), &[2, 3][..]),
            (None, two.clone(), &[3, 2]),
            (None, two, &[]),
            (None, Operation::SwapColors { axis: 2 }, &[3, 2]),
            (None, Operation::Permute { axes: vec![0, 2, 1] }, &[1, 2, 3]),
        ] {
            let plan = Plan {
                stored: stored.map(str::to_owned),
                operations: vec![operation],
                ..Plan::default()
            };
            assert!(Steps::new(&plan, shape).is_err(), "{plan:?}");
        }
    }
}
