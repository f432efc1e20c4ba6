//! One recorded layer, with its values sorted by channel.

use super::LayerScales;
use std::{fmt, sync::Arc};
use strait_requantize::IntType;

/// The recorded values of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedLayer {
    /// Name of the layer in the file.
    pub name: String,
    /// Type of the outputs.
    pub out: IntType,
    /// Shape of the recorded outputs.
    pub shape: Vec<usize>,
    /// The axis of the outputs along which the channels lie.
    pub axis: ChannelAxis,
    /// Where the accumulators come from.
    pub source: AccumulatorSource,
    /// Zero point of the output, if the file states it.
    pub zero_point: Option<i32>,
    /// Scales of input, weights and output, if the file states them.
    pub scales: Option<LayerScales>,
    /// For each channel, the pairs of an accumulator and its output, in ascending order. Equal pairs are listed once.
    pub channels: Vec<Vec<RecordedValue>>,
    /// Accumulators and outputs in the order of the file.
    pub recorded: Vec<(i64, i32)>,
    /// Zero point of the input, if the accumulators are sums of recorded products.
    pub input_zero: Option<InputZero>,
    /// The same layer with the channels on the last axis, if the shapes in the file also fit this layout.
    pub channels_last: Arc<[RecordedLayer]>,
}

/// The zero point of a layer's input. Each accumulator depends on it: Σ (x − zero point) · w.
#[derive(Clone, Debug, PartialEq)]
pub struct InputZero {
    /// The zero point that the accumulators were computed with.
    pub stated: i64,
    /// For each accumulator, the sum of the weights that are multiplied for it, in the order of the file. If the
    /// input's zero point grows by one, the accumulator falls by this sum. Elements of the padding equal the zero
    /// point, so their weights do not count.
    pub weights: Arc<[i64]>,
}

/// A recorded pair of an accumulator and its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordedValue {
    /// Accumulator of the value.
    pub accumulator: i64,
    /// The recorded output.
    pub output: i32,
    /// Index, in the file's array, of the first output that was recorded for this pair. Elements are counted from 0.
    pub at: u32,
    /// How often this pair was recorded.
    pub times: u32,
}

/// Where the accumulators of a layer come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccumulatorSource {
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
pub enum ChannelAxis {
    /// The second axis: `[batch, channels, …]`. Outputs with a single axis have one channel.
    #[default]
    Second,
    /// The last axis: `[batch, …, channels]`.
    Last,
}

impl fmt::Display for ChannelAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChannelAxis::Second => "axis 1 is that of the channels",
            ChannelAxis::Last => "the last axis is that of the channels",
        })
    }
}

impl RecordedLayer {
    /// Makes a layer from pairs of accumulator and output. The pairs are in the order of the elements of an array of
    /// the given shape.
    pub fn new(
        name: &str,
        out: IntType,
        shape: &[usize],
        axis: ChannelAxis,
        recorded: Vec<(i64, i32)>,
    ) -> RecordedLayer {
        let channels = by_channel(shape, axis, &recorded);
        RecordedLayer {
            name: name.to_owned(),
            out,
            shape: shape.to_vec(),
            axis,
            source: AccumulatorSource::Accumulators,
            zero_point: None,
            scales: None,
            channels,
            recorded,
            input_zero: None,
            channels_last: Arc::default(),
        }
    }

    /// Returns the same layer with another zero point of its input. Returns `None` if the file has the accumulators
    /// themselves, or if the new accumulators would need more than 64 bits.
    pub(crate) fn with_input_zero(&self, zero: i64) -> Option<RecordedLayer> {
        let InputZero { stated, weights } = self.input_zero.as_ref()?;
        let less = zero.checked_sub(*stated)?;
        let moved = |(&(accumulator, output), weight): (&(i64, i32), &i64)| {
            Some((accumulator.checked_sub(weight.checked_mul(less)?)?, output))
        };
        let recorded: Vec<(i64, i32)> = self.recorded.iter().zip(&**weights).map(moved).collect::<Option<_>>()?;
        Some(RecordedLayer {
            channels: by_channel(&self.shape, self.axis, &recorded),
            recorded,
            ..self.clone()
        })
    }

    /// Number of recorded outputs.
    pub fn outputs(&self) -> usize {
        self.recorded.len()
    }

    /// Index of an output in the file's array, one number for each axis.
    pub fn place(&self, at: u32) -> Vec<usize> {
        let mut rest = at as usize;
        let mut place = vec![0; self.shape.len()];
        for (here, &extent) in place.iter_mut().zip(&self.shape).rev() {
            *here = rest % extent.max(1);
            rest /= extent.max(1);
        }
        place
    }

    /// Returns the same values with the channels along the last axis instead of the second, or along the second instead
    /// of the last. Returns `None` if this makes no difference, or if the accumulators were computed from operands,
    /// whose shapes show the axis.
    pub(crate) fn with_other_axis(&self) -> Option<RecordedLayer> {
        if self.source != AccumulatorSource::Accumulators {
            return None;
        }
        let axis = match self.axis {
            ChannelAxis::Second => ChannelAxis::Last,
            ChannelAxis::Last => ChannelAxis::Second,
        };
        let [_, _, .., last] = *self.shape else { return None };
        let channels = if axis == ChannelAxis::Last { last } else { self.shape[1] };
        // If each channel has a scale, the number of scales shows along which axis the channels can lie.
        let fits = self
            .scales
            .as_ref()
            .is_none_or(|scales| scales.weight.channels().is_none_or(|own| own == channels));
        (self.shape.len() > 2 && fits).then(|| RecordedLayer {
            axis,
            channels: by_channel(&self.shape, axis, &self.recorded),
            ..self.clone()
        })
    }

    /// Finds the first two values of a channel that contradict each other: the same accumulator with two outputs, or a
    /// larger accumulator with a smaller output. No form can produce both values. Returns them with their channel;
    /// `None` if no values contradict each other.
    pub(crate) fn contradiction(&self) -> Option<(usize, [RecordedValue; 2])> {
        let of = |(channel, values): (usize, &Vec<RecordedValue>)| {
            let two = values.windows(2).find_map(|two| {
                let two = <&[RecordedValue; 2]>::try_from(two).ok()?;
                (two[0].accumulator == two[1].accumulator || two[0].output > two[1].output).then_some(*two)
            })?;
            Some((channel, two))
        };
        self.channels.iter().enumerate().find_map(of)
    }
}

/// Sorts the recorded values by channel, and those of each channel in ascending order.
fn by_channel(shape: &[usize], axis: ChannelAxis, recorded: &[(i64, i32)]) -> Vec<Vec<RecordedValue>> {
    let (channels, inner) = match (shape, axis) {
        ([_, channels, inner @ ..], ChannelAxis::Second) => (*channels, inner.iter().product::<usize>()),
        ([_, .., channels], ChannelAxis::Last) => (*channels, 1),
        _ => (1, 1),
    };
    let mut all: Vec<Vec<RecordedValue>> = vec![Vec::new(); channels];
    for (at, &(accumulator, output)) in recorded.iter().enumerate() {
        let channel = at / inner.max(1) % channels.max(1);
        if let Some(values) = all.get_mut(channel) {
            // No bits are lost in the cast, since a layer has at most 2^24 outputs.
            values.push(RecordedValue {
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
