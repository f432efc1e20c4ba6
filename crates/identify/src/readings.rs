//! Other interpretations of a recorded layer. They are tried if no arithmetic explains the layer as the file describes
//! it.

use crate::{
    Rereading,
    ends::without_strays,
    search,
    vectors::{RecordedLayer, RecordedValue},
    zeros,
};

/// The minimum number of values that a channel must have so that the line through its outputs can be estimated.
const LEAST_VALUES: usize = 12;
/// The lines through the outputs are compared with each other for at most this many channels.
const MOST_CHANNELS: usize = 128;
/// How many zero points on each side of the estimated one are tried, too.
const BESIDE: i64 = 2;

/// One interpretation of a recorded layer, and how it differs from what the file states.
pub(crate) struct Reading {
    pub(crate) layer: RecordedLayer,
    /// The statements of the file that are replaced. The zero point of the output is not among them, since the true one
    /// is only known when the layer is explained.
    pub(crate) rereadings: Vec<Rereading>,
    /// True if the zero point that the file states for the output is ignored.
    pub(crate) open_zero: bool,
}

/// Returns the other interpretations of a layer: with the channels along another axis, with another zero point of the
/// input, with another zero point of the output, and all combinations of these. Other zero points of the input are only
/// tried if `moves_input` is true.
pub(crate) fn others(layer: &RecordedLayer, moves_input: bool) -> impl Iterator<Item = Reading> {
    let elsewhere = layer
        .with_other_axis()
        .into_iter()
        .chain(layer.channels_last.iter().cloned());
    let elsewhere = elsewhere.map(|other| (vec![Rereading::Channels(other.axis)], other));
    let channels = std::iter::once((Vec::new(), layer.clone())).chain(elsewhere);
    let zeros = channels.flat_map(|(rereadings, layer)| {
        let open = layer.zero_point.map(|_| RecordedLayer {
            zero_point: None,
            ..layer.clone()
        });
        let read = [(false, Some(layer)), (true, open)];
        read.into_iter().filter_map(move |(open_zero, layer)| {
            let rereadings = rereadings.clone();
            Some(Reading {
                layer: layer?,
                rereadings,
                open_zero,
            })
        })
    });
    let inputs = zeros.flat_map(move |reading| {
        let other = if moves_input { other_input_zero(&reading) } else { None };
        std::iter::once(reading).chain(other)
    });
    // The first interpretation is left out, since it is the one that the file states.
    inputs.skip(1)
}

/// Replaces the stated zero point of the input by the zero point that explains the outputs best.
fn other_input_zero(reading: &Reading) -> Option<Reading> {
    let layer = &reading.layer;
    let stated = layer.input_zero.as_ref()?.stated;
    let estimate = stated.checked_add(estimated(layer)?)?;
    let ends = without_strays(layer);
    let fit = |zero: i64| {
        let layer = layer.with_input_zero(zero)?;
        let best = zeros::likely(&layer, ends).into_iter().next()?;
        Some((search::fits(&layer, ends, best), zero, layer))
    };
    let near = (estimate.saturating_sub(BESIDE)..=estimate.saturating_add(BESIDE)).filter(|&zero| zero != stated);
    // If several zero points fit equally well, the first one is taken.
    let best = near
        .filter_map(fit)
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    let (_, found, layer) = best?;
    let mut rereadings = reading.rereadings.clone();
    rereadings.push(Rereading::InputZeroPoint { stated, found });
    Some(Reading {
        layer,
        rereadings,
        open_zero: reading.open_zero,
    })
}

/// Estimates by how much the stated zero point of the input is wrong.
///
/// Let A be the accumulators, which were computed with the stated zero point, S the sum of a channel's weights, and d
/// the true zero point minus the stated one. Plotted over A, the outputs of the channel lie on a line:
///
/// output = factor · (A − d · S) + zero point of the output.
///
/// So each channel gives a point (factor · S, intercept), and all these points lie on a line with the slope −d. The
/// slope is estimated as the median slope of the lines through pairs of points. So a few wrong values or clamped
/// channels do no harm.
fn estimated(layer: &RecordedLayer) -> Option<i64> {
    let weights = &layer.input_zero.as_ref()?.weights;
    let ends = without_strays(layer);
    let lines = layer.channels.iter().filter_map(|values| {
        let inside = |value: &&RecordedValue| value.output > ends[0] && value.output < ends[1];
        let values: Vec<&RecordedValue> = values.iter().filter(inside).collect();
        let (factor, intercept) = line(&values)?;
        let sums = values.iter().filter_map(|value| weights.get(value.at as usize));
        Some((factor * median(sums.map(|&sum| sum as f64))?, intercept))
    });
    let mut points: Vec<(f64, f64)> = lines.take(MOST_CHANNELS).collect();
    points.extend(layer.zero_point.map(|zero| (0.0, f64::from(zero))));
    let pairs = points.iter().enumerate().flat_map(|(index, one)| {
        points[..index]
            .iter()
            .map(move |other| (one.0 - other.0, one.1 - other.1))
    });
    // Pairs of points that are close together are left out, since they give an inexact slope.
    let widest = pairs.clone().map(|(x, _)| x.abs()).fold(0.0, f64::max);
    let slopes = pairs.filter(|(x, _)| x.abs() > widest / 4.0).map(|(x, y)| y / x);
    let off = -median(slopes)?;
    (off.abs() < f64::from(1 << 30)).then(|| off.round() as i64)
}

/// Fits a line to the outputs as a function of the accumulators. Returns its slope, which is the factor, and its
/// intercept. The slope is that of the line through two points: the medians of the lowest third and of the highest
/// third of the values. Returns `None` if there are too few values, or if the slope is not positive.
fn line(values: &[&RecordedValue]) -> Option<(f64, f64)> {
    let third = values.len() / 3;
    if values.len() < LEAST_VALUES {
        return None;
    }
    let middle = |values: &[&RecordedValue]| {
        let accumulator = median(values.iter().map(|value| value.accumulator as f64))?;
        Some((accumulator, median(values.iter().map(|value| f64::from(value.output)))?))
    };
    let (low, high) = (middle(&values[..third])?, middle(&values[values.len() - third..])?);
    let factor = (high.1 - low.1) / (high.0 - low.0);
    let offsets = values
        .iter()
        .map(|value| f64::from(value.output) - factor * value.accumulator as f64);
    (factor.is_finite() && factor > 0.0).then_some((factor, median(offsets)?))
}

fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    let middle = numbers.len() / 2;
    if numbers.is_empty() {
        return None;
    }
    Some(*numbers.select_nth_unstable_by(middle, f64::total_cmp).1)
}
