//! Tries every hypothesis and every rule for one interpretation of a recorded layer.

use crate::{
    answer::Subject,
    edges::Bounds,
    ends,
    hypothesis::Hypothesis,
    rules::RuntimeRule,
    search::{self, Recorded},
    vectors::{RecordedLayer, RecordedValue, VectorsError},
    zeros,
};
use strait_requantize::Requantization;

/// At most this many zero points are tried one after the other.
const MOST_ZEROS: i64 = 1024;
/// An arithmetic that gives wrong results for more than 1 / `MOST_MISSED` of the outputs does not explain a layer.
pub(crate) const MOST_MISSED: usize = 10;

/// An arithmetic, with the parameters that produce the most values of a layer.
pub(crate) struct Fit {
    pub(crate) subject: Subject,
    pub(crate) form: Requantization,
    /// Number of outputs that the arithmetic does not produce.
    pub(crate) missed: usize,
}

/// All arithmetics that were tried for one interpretation of a recorded layer. The arithmetic with the fewest wrong
/// outputs comes first.
pub(crate) struct Tried {
    pub(crate) layer: RecordedLayer,
    /// Lowest and highest output. Results may be saturated there.
    pub(crate) ends: [i32; 2],
    pub(crate) fits: Vec<Fit>,
}

impl Tried {
    pub(crate) fn of(file: &str, layer: &RecordedLayer) -> Result<Tried, VectorsError> {
        let ordered = layer.contradiction().is_none();
        let bounds = ordered.then(|| Bounds::new(layer));
        if let Some(bounds) = &bounds {
            check_zero_points(file, bounds)?;
        }
        let ends = bounds
            .as_ref()
            .map_or_else(|| ends::without_strays(layer), |bounds| bounds.ends);
        let mut tried = Tried {
            layer: layer.clone(),
            ends,
            fits: Vec::new(),
        };
        if let Some(bounds) = &bounds {
            tried.add_exact(bounds);
        }
        let explained: Vec<Subject> = tried.fits.iter().map(|fit| fit.subject).collect();
        let of = Recorded {
            layer,
            ends,
            zeros: zeros::likely(layer, ends),
        };
        tried.add_rules(&of.zeros, &explained);
        tried.add_nearest(&of, &explained);
        tried.fits.sort_by_key(|fit| fit.missed);
        Ok(tried)
    }

    fn add(&mut self, subject: Subject, form: Requantization) -> usize {
        let missed = count_missed(&self.layer, &form, self.ends);
        self.fits.push(Fit { subject, form, missed });
        missed
    }

    /// Adds the hypotheses and rules that produce every value.
    fn add_exact(&mut self, bounds: &Bounds<'_>) {
        if let Some(scales) = &bounds.layer.scales {
            for rule in RuntimeRule::ALL {
                let mut forms = bounds
                    .zero_points()
                    .filter_map(|zero| rule.form(bounds.layer, scales, zero).ok());
                let gives_all = |form: &Requantization| missed(bounds.layer, form, bounds.ends).next().is_none();
                if let Some(form) = forms.find(gives_all) {
                    self.add(Subject::Rule(rule), form);
                }
            }
        }
        for widths in Hypothesis::by_width() {
            // Multipliers are tried from the widest to the narrowest. If there is no solution for a width, there is
            // none for smaller widths either.
            for hypothesis in widths {
                let Some(form) = search::exact(&hypothesis, bounds) else {
                    break;
                };
                self.add(Subject::Hypothesis(hypothesis), form);
            }
        }
    }

    /// Adds the rules that do not produce every value, each with the best of the zero points in `zeros`.
    fn add_rules(&mut self, zeros: &[i32], explained: &[Subject]) {
        let Some(scales) = self.layer.scales.clone() else {
            return;
        };
        for rule in RuntimeRule::ALL {
            let subject = Subject::Rule(rule);
            if explained.contains(&subject) {
                continue;
            }
            let forms = zeros
                .iter()
                .filter_map(|&zero| rule.form(&self.layer, &scales, zero).ok());
            if let Some(form) = forms.min_by_key(|form| count_missed(&self.layer, form, self.ends)) {
                self.add(subject, form);
            }
        }
    }

    /// Adds the best forms of the hypotheses that do not produce every value. Usually only the widest such hypothesis
    /// of each family and rounding is added. The narrower ones are also added if no arithmetic produces every value and
    /// the widest one has few wrong outputs.
    fn add_nearest(&mut self, of: &Recorded<'_>, explained: &[Subject]) {
        let exact = !explained.is_empty();
        for widths in Hypothesis::by_width() {
            let left: Vec<Hypothesis> = widths
                .into_iter()
                .filter(|hypothesis| !explained.contains(&Subject::Hypothesis(*hypothesis)))
                .collect();
            let Some((widest, narrower)) = left.split_first() else {
                continue;
            };
            let Some(missed) = self.add_widths(of, std::slice::from_ref(widest)) else {
                continue;
            };
            if !exact && missed * MOST_MISSED <= of.layer.outputs() {
                self.add_widths(of, narrower);
            }
        }
    }

    /// Adds the best form of each of these hypotheses, which differ only in the multiplier's width. Returns the number
    /// of wrong outputs of the best of them.
    fn add_widths(&mut self, of: &Recorded<'_>, widths: &[Hypothesis]) -> Option<usize> {
        let first = widths.first()?;
        let bits: Vec<u8> = widths.iter().map(|hypothesis| hypothesis.bits).collect();
        let found = search::nearest(first.family, first.rounding, &bits, of);
        let forms = widths
            .iter()
            .zip(found)
            .filter_map(|(hypothesis, form)| Some((*hypothesis, form?)));
        forms
            .map(|(hypothesis, form)| self.add(Subject::Hypothesis(hypothesis), form))
            .min()
    }

    /// Number of outputs that the best arithmetic does not produce.
    pub(crate) fn missed(&self) -> usize {
        self.fits.first().map_or(self.layer.outputs(), |best| best.missed)
    }

    /// True if all the best arithmetics, those with the fewest wrong outputs, add a constant of any size instead of a
    /// zero point.
    pub(crate) fn needs_constant(&self) -> bool {
        let missed = self.missed();
        let mut best = self.fits.iter().filter(|fit| fit.missed <= missed);
        best.all(|fit| matches!(fit.form, Requantization::FractionalZero(_)))
    }

    /// True if this interpretation explains the layer clearly better than `other`. There are two cases. Either this
    /// interpretation has fewer than half as many wrong outputs. Or it changes a zero point, needs no constant of any
    /// size while `other` needs one, and has no more wrong outputs.
    pub(crate) fn is_much_better(&self, other: &Tried, other_zero: bool) -> bool {
        let explains = |tried: &Tried| tried.missed() * MOST_MISSED <= tried.layer.outputs();
        let by_zero = other_zero && !self.needs_constant() && other.needs_constant();
        explains(self) && (self.missed() * 2 < other.missed() || by_zero && self.missed() <= other.missed())
    }
}

fn check_zero_points(file: &str, bounds: &Bounds<'_>) -> Result<(), VectorsError> {
    let zeros = bounds.zero_points();
    if i64::from(*zeros.end()) - i64::from(*zeros.start()) < MOST_ZEROS {
        return Ok(());
    }
    Err(VectorsError {
        file: file.to_owned(),
        array: Some(format!("{}/zero_point", bounds.layer.name)),
        wrong: format!(
            "it is missing, and the outputs leave {} ..= {}",
            zeros.start(),
            zeros.end()
        ),
        right: "the output's zero point, or accumulators on both sides of zero".into(),
    })
}

/// Results of a form for a channel's accumulators, clamped to the lowest and the highest output; `None` where the form
/// overflows.
pub(crate) fn codes<'a>(
    form: &'a Requantization,
    channel: usize,
    values: &'a [RecordedValue],
    [low, high]: [i32; 2],
) -> impl Iterator<Item = Option<i32>> + 'a {
    let scalars = form.channel(channel.min(form.channels().unwrap_or(1).saturating_sub(1)));
    values.iter().map(move |value| {
        let code = scalars.as_ref().ok().and_then(|form| form.eval(value.accumulator).ok());
        code.map(|code| code.min(high).max(low))
    })
}

/// The number of outputs that a form does not produce.
fn count_missed(layer: &RecordedLayer, form: &Requantization, ends: [i32; 2]) -> usize {
    let values = missed(layer, form, ends);
    values.map(|(_, value, _)| value.times as usize).sum()
}

/// The recorded values that a form does not produce, each with its channel and with the form's result.
pub(crate) fn missed<'a>(
    layer: &'a RecordedLayer,
    form: &'a Requantization,
    ends: [i32; 2],
) -> impl Iterator<Item = (usize, &'a RecordedValue, Option<i32>)> {
    layer.channels.iter().enumerate().flat_map(move |(channel, values)| {
        let codes = codes(form, channel, values, ends).zip(values);
        codes.filter_map(move |(code, value)| (code != Some(value.output)).then_some((channel, value, code)))
    })
}
