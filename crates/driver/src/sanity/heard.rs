//! Lints of parts beside larger numbers, of coarser grids and of raised scales, of which an output of the model hears nothing.
//!
//! A part of a tensor loses its bits beside others, but whoever reads the tensor may want nothing of the part: masked scores of an
//! attention over one place, bands of a spectrum whose logarithm counts. No estimate knows that, so the model is simulated with
//! more bits for the part and for those that read it, for several lints at once and, where an output gains by that, for half of
//! them. Channels of an output count by themselves: those that the part becomes may be small beside others there, too.

use strait_evaluate::floats;
use strait_execute::Tensor;

use crate::{report::Lint, session::Session, stop::Stop};

use super::{
    Reference, SEARCHED, Subject,
    outputs::Squares,
    simulated::{Lift, Simulated},
};

/// Decibels that an output, or a part of one, has to gain.
const GAIN: f64 = 0.5;

/// The same of a channel of an output, of which chance alone makes some.
const CHANNEL_GAIN: f64 = 10.0;

/// Numbers of a channel, of all samples, by which it can be judged.
const LEAST_NUMBERS: usize = 32;

/// A channel with a better SNR, in dB, has lost nothing.
const LOST: f64 = 30.0;

/// Simulations for the lints of one target; what is then not known to be heard of alone is told.
const MOST: usize = 8;

impl Reference<'_> {
    /// The lints without those that no output hears.
    ///
    /// # Errors
    /// A run that fails, or that takes more memory than it may; an interruption.
    pub(crate) fn heard(
        &self,
        lints: Vec<Lint>,
        subject: &Subject<'_>,
        session: &Session<'_>,
    ) -> Result<Vec<Lint>, Stop> {
        // What leaves the model by itself is heard.
        let is_read = |lint: &&Lint| match lint.code.as_str() {
            "range-unlike" => !lint.readers.is_empty(),
            code => code == "grid-coarser" || code == "scale-raised",
        };
        let read: Vec<&Lint> = lints.iter().filter(is_read).collect();
        if read.is_empty() {
            return Ok(lints);
        }
        let Some(without) = Simulated::with(&[], self, self.outputs.len().min(SEARCHED), subject, session)? else {
            return Ok(lints);
        };
        let (mut open, mut unheard, mut left) = (vec![&read[..]], Vec::new(), MOST);
        while let Some(some) = open.pop().filter(|_| left > 0) {
            left -= 1;
            match (self.gains(some, &without, subject, session)?, some) {
                (false, _) => unheard.extend_from_slice(some),
                (true, [] | [_]) => {}
                (true, _) => {
                    let (first, second) = some.split_at(some.len() / 2);
                    open.extend([second, first]);
                }
            }
        }
        let unheard: Vec<Lint> = unheard.into_iter().cloned().collect();
        Ok(lints.into_iter().filter(|lint| !unheard.contains(lint)).collect())
    }

    /// True if an output gains by more bits for what lints tell of, and where the configuration takes no rules for
    /// float.
    fn gains(
        &self,
        lints: &[&Lint],
        without: &Simulated,
        subject: &Subject<'_>,
        session: &Session<'_>,
    ) -> Result<bool, Stop> {
        let mut is_refused = false;
        for lift in Lift::of(subject.spec) {
            let rules = lints.iter().flat_map(|lint| {
                let layers: Vec<String> = [&lint.layer].into_iter().chain(&lint.readers).cloned().collect();
                [Some(lift.rule(subject, &layers)), lift.of_tensor(subject, &lint.tensor)]
            });
            let rules: Vec<String> = rules.flatten().collect();
            let simulated = Simulated::with(&rules, self, self.outputs.len().min(SEARCHED), subject, session)?;
            is_refused = simulated.is_none();
            let Some(with) = simulated else { continue };
            let mut outputs = with.outputs.iter().zip(&without.outputs);
            let gains = |(with, without): (Option<f64>, Option<f64>), by: f64| {
                with.zip(without).is_some_and(|(with, without)| with >= without + by)
            };
            let is_heard = outputs.any(|(with, without)| gains((with.snr, without.snr), GAIN));
            let outputs = self
                .channels(&with.runs)?
                .into_iter()
                .zip(self.channels(&without.runs)?);
            let channels = outputs.flat_map(|(with, without)| with.into_iter().zip(without));
            let lost = |(_, without): &(Squares, Squares)| without.snr().is_some_and(|snr| snr < LOST);
            let mut lost = channels.filter(lost);
            if is_heard || lost.any(|(with, without)| gains((with.snr(), without.snr()), CHANNEL_GAIN)) {
                return Ok(true);
            }
        }
        Ok(is_refused)
    }

    /// The sums of squares of the channels of each output: of what lies at one place of its second axis. A channel of few numbers
    /// gains by chance, so that an output of such has none.
    fn channels(&self, outputs: &[Vec<Tensor>]) -> Result<Vec<Vec<Squares>>, Stop> {
        let mut all: Vec<Vec<Squares>> = self.of_float.iter().map(|_| Vec::new()).collect();
        for (float, other) in self.outputs.iter().zip(outputs) {
            for (all, (float, other)) in all.iter_mut().zip(float.iter().zip(other)) {
                let &[_, channels, ref inner @ ..] = float.shape() else {
                    continue;
                };
                if float.shape() != other.shape() || channels == 0 || !float.elem().is_float() {
                    continue;
                }
                let inner: usize = inner.iter().product();
                if inner * outputs.len() < LEAST_NUMBERS {
                    continue;
                }
                all.resize(channels, Squares::default());
                for (at, (&x, y)) in floats(float)?.iter().zip(floats(other)?).enumerate() {
                    all[at / inner.max(1) % channels].add(x, y);
                }
            }
        }
        Ok(all)
    }
}
