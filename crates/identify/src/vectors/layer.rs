//! One recorded layer: its values by channel.

use super::Scales;
use std::{fmt, sync::Arc};
use strait_requantize::IntType;

/// The recorded values of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Name of the layer in the file.
    pub name: String,
    /// Type of the outputs.
    pub out: IntType,
    /// Shape of the recorded outputs.
    pub shape: Vec<usize>,
    /// Axis of the channels.
    pub axis: Axis,
    /// Where the accumulators come from.
    pub source: Source,
    /// Zero point of the output, if the file states it.
    pub zero_point: Option<i32>,
    /// Scales of input, weights and output, if the file states them.
    pub scales: Option<Scales>,
    /// For each channel the pairs of accumulator and output, in ascending order. Each pair is listed once.
    pub channels: Vec<Vec<Value>>,
    /// Accumulators and outputs in the order of the file.
    pub recorded: Vec<(i64, i32)>,
    /// Zero point of the input, if the accumulators are sums of recorded products.
    pub input_zero: Option<InputZero>,
    /// The same layer with the channels last, if the shapes in the file also fit that.
    pub channels_last: Arc<[Layer]>,
}

/// The zero point of a layer's input. Each accumulator depends on it: Σ (x − zero point) · w.
#[derive(Clone, Debug, PartialEq)]
pub struct InputZero {
    /// The zero point that the accumulators were computed with.
    pub stated: i64,
    /// For each accumulator the sum of its weights, in the order of the file. If the zero point rises by one, the
    /// accumulator falls by this much. Padding equals the zero point, so its weights do not count.
    pub weights: Arc<[i64]>,
}

/// A pair of accumulator and recorded output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    /// Accumulator of the value.
    pub accumulator: i64,
    /// The output.
    pub output: i32,
    /// Index of the first such output in the file's array, with elements counted from 0.
    pub at: u32,
    /// How often this pair was recorded.
    pub times: u32,
}

/// Where the accumulators of a layer come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The accumulators themselves were recorded.
    #[default]
    Accumulators,
    /// The accumulators were computed from the recorded operands of a matrix product.
    Dense,
    /// The accumulators were computed from the recorded operands of a convolution.
    Convolution,
}

/// The axis of the outputs along which the channels lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axis {
    /// The second axis: `[batch, channels, …]`. Outputs with one axis have one channel.
    #[default]
    Second,
    /// The last axis: `[batch, …, channels]`.
    Last,
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Axis::Second => "axis 1 is that of the channels",
            Axis::Last => "the last axis is that of the channels",
        })
    }
}

impl Layer {
    /// A layer made from pairs of accumulator and output, which are in the order of an array of this shape.
    pub fn new(name: &str, out: IntType, shape: &[usize], axis: Axis, recorded: Vec<(i64, i32)>) -> Layer {
        let channels = by_channel(shape, axis, &recorded);
        Layer {
            name: name.to_owned(),
            out,
            shape: shape.to_vec(),
            axis,
            source: Source::Accumulators,
            zero_point: None,
            scales: None,
            channels,
            recorded,
            input_zero: None,
            channels_last: Arc::default(),
        }
    }

    /// The same layer with another zero point of its input. `None` if the accumulators were recorded themselves, or
    /// would need more than 64 bits.
    pub(crate) fn with_input_zero(&self, zero: i64) -> Option<Layer> {
        let InputZero { stated, weights } = self.input_zero.as_ref()?;
        let less = zero.checked_sub(*stated)?;
        let moved = |(&(accumulator, output), weight): (&(i64, i32), &i64)| {
            Some((accumulator.checked_sub(weight.checked_mul(less)?)?, output))
        };
        let recorded: Vec<(i64, i32)> = self.recorded.iter().zip(&**weights).map(moved).collect::<Option<_>>()?;
        Some(Layer {
            channels: by_channel(&self.shape, self.axis, &recorded),
            recorded,
            ..self.clone()
        })
    }

    /// Number of recorded outputs.
    pub fn outputs(&self) -> usize {
        self.recorded.len()
    }

    /// Index of an output in the file's array, axis by axis.
    pub fn place(&self, at: u32) -> Vec<usize> {
        let mut rest = at as usize;
        let mut place: Vec<usize> = self
            .shape
            .iter()
            .rev()
            .map(|&extent| {
                let extent = extent.max(1);
                let here = rest % extent;
                rest /= extent;
                here
            })
            .collect();
        place.reverse();
        place
    }

    /// The same values with the channels along the other axis. `None` if that makes no difference, or if the
    /// accumulators are sums, whose axis is known.
    pub(crate) fn with_other_axis(&self) -> Option<Layer> {
        if self.source != Source::Accumulators {
            return None;
        }
        let axis = match self.axis {
            Axis::Second => Axis::Last,
            Axis::Last => Axis::Second,
        };
        let [_, _, .., last] = *self.shape else { return None };
        let channels = if axis == Axis::Last { last } else { self.shape[1] };
        // If each channel has a scale, their number shows which axis it can be.
        let fits = self
            .scales
            .as_ref()
            .is_none_or(|scales| scales.weight.channels().is_none_or(|own| own == channels));
        (self.shape.len() > 2 && fits).then(|| Layer {
            axis,
            channels: by_channel(&self.shape, axis, &self.recorded),
            ..self.clone()
        })
    }

    /// The first two values of a channel that no form can produce both of: one accumulator with two outputs, or outputs
    /// that decrease.
    pub(crate) fn contradiction(&self) -> Option<(usize, [Value; 2])> {
        let of = |(channel, values): (usize, &Vec<Value>)| {
            let two = values.windows(2).find_map(|two| {
                let two = <&[Value; 2]>::try_from(two).ok()?;
                (two[0].accumulator == two[1].accumulator || two[0].output > two[1].output).then_some(*two)
            })?;
            Some((channel, two))
        };
        self.channels.iter().enumerate().find_map(of)
    }
}

/// The values of each channel, in ascending order.
fn by_channel(shape: &[usize], axis: Axis, recorded: &[(i64, i32)]) -> Vec<Vec<Value>> {
    let (channels, inner) = match (shape, axis) {
        ([_, channels, inner @ ..], Axis::Second) => (*channels, inner.iter().product::<usize>()),
        ([_, .., channels], Axis::Last) => (*channels, 1),
        _ => (1, 1),
    };
    let mut all: Vec<Vec<Value>> = vec![Vec::new(); channels];
    for (at, &(accumulator, output)) in recorded.iter().enumerate() {
        let channel = at / inner.max(1) % channels.max(1);
        if let Some(values) = all.get_mut(channel) {
            // The cast loses nothing: a file has at most 2^24 outputs for a layer.
            values.push(Value {
                accumulator,
                output,
                at: at as u32,
                times: 1,
            });
        }
    }
    for values in &mut all {
        values.sort_unstable();
        values.dedup_by(|next, kept| {
            let same = (next.accumulator, next.output) == (kept.accumulator, kept.output);
            kept.times += u32::from(same);
            same
        });
    }
    all
}
