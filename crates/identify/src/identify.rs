//! Finds the arithmetics that explain a layer. If no arithmetic explains the layer, the recording is interpreted in
//! other ways, and all arithmetics are tried again.

use crate::{
    answer::{Answer, Explained, OUTLIERS, Refuted, Rereading, Subject, Witness},
    edges::Bounds,
    readings, search,
    tried::{Fit, MOST_MISSED, Tried, codes, missed},
    vectors::{RecordedLayer, RecordedValue, VectorsError},
};
use strait_requantize::Requantization;

/// Compares a layer with every hypothesis and, if it has scales, with every rule. If nothing explains the layer,
/// everything is tried again with the channels along another axis, and with other zero points than the file states.
///
/// # Errors
/// If more zero points are possible for the layer than can be tried. The message names `file`.
pub fn identify(file: &str, layer: &RecordedLayer) -> Result<Answer, VectorsError> {
    let tried = Tried::of(file, layer)?;
    // An arithmetic that adds a constant of any size in each channel can explain a layer even if the stated zero point
    // is wrong.
    let states_zero = layer.zero_point.is_some() || layer.input_zero.is_some();
    if tried.missed() == 0 && !(states_zero && tried.needs_constant()) {
        return Ok(tried.answer());
    }
    // If the stated zero point of the input is wrong, only arithmetics that add a constant in each channel can explain
    // the layer.
    let moves_input = tried.missed() * MOST_MISSED > layer.outputs() || tried.needs_constant();
    let (mut best, mut rereadings, mut open_zero) = (tried, Vec::new(), false);
    for reading in readings::others(layer, moves_input) {
        // If every zero point is possible, the values cannot show that the stated one is wrong.
        let Ok(tried) = Tried::of(file, &reading.layer) else {
            continue;
        };
        let is_of_input = |rereading: &Rereading| matches!(rereading, Rereading::InputZeroPoint { .. });
        let of_input = reading.rereadings.iter().any(is_of_input);
        if tried.is_much_better(&best, reading.open_zero || of_input) {
            (best, rereadings, open_zero) = (tried, reading.rereadings, reading.open_zero);
        }
    }
    let mut answer = best.answer();
    answer.rereadings = rereadings;
    let mut zeros = answer
        .explained
        .iter()
        .filter_map(|explained| explained.form.zero_point());
    if let (true, Some(stated), Some(found)) = (open_zero, layer.zero_point, zeros.next()) {
        answer.rereadings.push(Rereading::ZeroPoint { stated, found });
    }
    Ok(answer)
}

impl Tried {
    fn answer(self) -> Answer {
        let Tried { layer, ends, fits } = self;
        let outputs = layer.outputs();
        let bounds = layer.contradiction().is_none().then(|| Bounds::new(&layer));
        let at = |end: fn(&[RecordedValue]) -> Option<&RecordedValue>| {
            let ends = layer.channels.iter().filter_map(move |values| end(values));
            ends.map(|value| value.accumulator)
        };
        let mut answer = Answer {
            layer: layer.name.clone(),
            outputs,
            accumulators: layer.channels.iter().map(|values| accumulators(values)).sum(),
            ends,
            range: [
                at(<[RecordedValue]>::first).min().unwrap_or(0),
                at(<[RecordedValue]>::last).max().unwrap_or(0),
            ],
            rereadings: Vec::new(),
            explained: Vec::new(),
            refuted: Vec::new(),
        };
        let best = fits.first().map(|fit| (fit.form.clone(), fit.missed));
        for fit in fits {
            let told_apart = match &best {
                Some((best, missed)) => is_told_apart(&layer, &fit, (best, *missed), ends),
                None => true,
            };
            if told_apart {
                answer.refute(&layer, fit);
            } else {
                answer.explain(&layer, fit, bounds.as_ref());
            }
        }
        // An arithmetic whose parameters have few bits is less likely to fit by chance. So the one with the fewest bits
        // comes first.
        answer
            .explained
            .sort_by_key(|explained| (explained.subject.parameters(), explained.missed));
        answer
    }
}

impl Answer {
    fn explain(&mut self, layer: &RecordedLayer, fit: Fit, bounds: Option<&Bounds<'_>>) {
        let Fit {
            subject,
            form,
            missed: count,
        } = fit;
        let mut outliers: Vec<(usize, &RecordedValue, Option<i32>)> = missed(layer, &form, self.ends).collect();
        outliers.sort_by_key(|(_, value, _)| value.at);
        let witness =
            |(channel, value, expected): (usize, &RecordedValue, _)| Witness::of(layer, channel, value, expected);
        let factors = match (&subject, bounds) {
            (Subject::Hypothesis(hypothesis), Some(bounds)) if count == 0 => search::factors(hypothesis, &form, bounds),
            _ => Vec::new(),
        };
        self.explained.push(Explained {
            subject,
            clamps: clamps(layer, &form, self.ends),
            factors,
            missed: count,
            outliers: outliers.into_iter().take(OUTLIERS).map(witness).collect(),
            form,
        });
    }

    fn refute(&mut self, layer: &RecordedLayer, fit: Fit) {
        let witness = missed(layer, &fit.form, self.ends).next();
        if let Some((channel, value, expected)) = witness {
            self.refuted.push(Refuted {
                subject: fit.subject,
                witness: Witness::of(layer, channel, value, expected),
                form: fit.form,
                missed: fit.missed,
            });
        }
    }
}

/// True if the recorded values show that this arithmetic explains the layer worse than the best one.
///
/// If the best arithmetic produces every value, this arithmetic is worse if it misses a value. Otherwise some recorded
/// values are wrong, and this arithmetic may fail for more values than the best one by chance: a value at which the two
/// arithmetics differ may be wrong, and so may the two values that bound the best factor of each channel. This
/// arithmetic is worse if it fails for more values than chance can explain.
fn is_told_apart(layer: &RecordedLayer, fit: &Fit, (best, fewest): (&Requantization, usize), ends: [i32; 2]) -> bool {
    let outputs = layer.outputs();
    if fewest * MOST_MISSED > outputs {
        return true;
    }
    let more = fit.missed.saturating_sub(fewest);
    if more == 0 || fewest == 0 {
        return more > 0;
    }
    let differing: usize = layer
        .channels
        .iter()
        .enumerate()
        .map(|(channel, values)| {
            let [one, other] = [&fit.form, best].map(|form| codes(form, channel, values, ends));
            let differing = one.zip(other).zip(values).filter(|((one, other), _)| one != other);
            differing.map(|(_, value)| value.times as usize).sum::<usize>()
        })
        .sum();
    let open = differing + 2 * layer.channels.len();
    more > (3 * fewest * open).div_ceil(outputs)
}

/// Number of distinct accumulators of one channel, whose values are sorted.
fn accumulators(values: &[RecordedValue]) -> usize {
    values.chunk_by(|a, b| a.accumulator == b.accumulator).count()
}

/// For the lowest and for the highest output: true if the form has results beyond it, so that a clamp is needed.
fn clamps(layer: &RecordedLayer, form: &Requantization, [low, high]: [i32; 2]) -> [bool; 2] {
    let mut clamps = [false; 2];
    for (channel, values) in layer.channels.iter().enumerate() {
        let code = |value: Option<&RecordedValue>| {
            let channel = channel.min(form.channels().unwrap_or(1).saturating_sub(1));
            form.eval(channel, value?.accumulator).ok()
        };
        clamps[0] |= code(values.first()).is_some_and(|code| code < low);
        clamps[1] |= code(values.last()).is_some_and(|code| code > high);
    }
    clamps
}
