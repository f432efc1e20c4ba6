//! Drops lints about things that do not affect any output of the model. Three kinds of lints are tested: lints on parts
//! of tensors whose numbers are small compared with other parts, on scales that were made coarser, and on raised scales
//! of weights.
//!
//! A part of a tensor may lose bits because it shares a scale with larger numbers. But the layers that read the tensor
//! may not need that part. Examples are the masked scores of an attention, and bands of a spectrum of which only the
//! logarithm is used. Whether the part is needed cannot be estimated. So the model is simulated with more bits for the
//! part and for the layers that read it. Several lints are tried at once. If an output improves, each half of these
//! lints is tried by itself. The channels of an output are compared one by one, because a small part may become
//! channels of the output that are also small compared with others.

use strait_evaluate::floats;
use strait_execute::Tensor;

use crate::{report::Lint, session::Session, stop::Stop};

use super::{
    Reference, SEARCHED, Subject,
    outputs::Squares,
    simulated::{Lift, Simulated},
};

/// By how many decibels an output, or a part of one, must improve for a lint to be kept.
const GAIN: f64 = 0.5;

/// By how many decibels a channel of an output must improve for a lint to be kept. Single channels can improve by a few
/// decibels by chance alone.
const CHANNEL_GAIN: f64 = 10.0;

/// A channel is only judged if it has this many numbers, over all samples.
const LEAST_NUMBERS: usize = 32;

/// If the SNR of a channel, in dB, is better than this, the channel counts as undamaged.
const LOST: f64 = 30.0;

/// At most this many simulations are made for the lints of one target. Lints that are still undecided after that are
/// kept.
const MOST: usize = 8;

impl Reference<'_> {
    /// Returns the lints, except those that do not affect any output.
    ///
    /// # Errors
    /// If a run fails or needs more memory than is allowed, or if the user interrupts.
    pub(crate) fn heard(
        &self,
        lints: Vec<Lint>,
        subject: &Subject<'_>,
        session: &Session<'_>,
    ) -> Result<Vec<Lint>, Stop> {
        // A value that is itself an output of the model always affects an output.
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

    /// True if an output improves when the layers of these lints get more bits. Also true if this cannot be simulated,
    /// because the configuration does not allow these layers to run in float.
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
                [
                    Some(lift.rule(subject.spec, &layers)),
                    lift.of_tensor(subject.spec, &lint.tensor),
                ]
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

    /// Computes the sums of squares for each channel of each output. Channels are the second axis. An output whose
    /// channels have too few numbers gets an empty list, because the SNR of such a channel can improve by chance.
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
