//! The distributions of computed tensors and the channels of weights, as the report has them.

use std::{num::NonZeroUsize, ops::ControlFlow};

use strait_core::ValueId;
use strait_execute::{ExecuteError, map_in_order};
use strait_quantize::statistics::{Histogram, Statistics};

use crate::report::{BARS, ChannelsOfWeights, Distribution};

use super::{
    Analysed, Group,
    statistics::{Channel, outside},
};

impl Analysed<'_> {
    /// The distributions of the results of the layers and of the inputs of the model, in the order of the graph. Tensors
    /// that were not observed are left out.
    pub(crate) fn distributions(&self, groups: &[Group]) -> Vec<Distribution> {
        let inputs = self.built.annotated.main().inputs().iter().copied();
        let results = groups.iter().map(|group| group.result);
        inputs
            .chain(results)
            .filter_map(|value| self.distribution(value))
            .collect()
    }

    fn distribution(&self, value: ValueId) -> Option<Distribution> {
        let (module, graph) = (&self.built.annotated, self.built.annotated.main());
        let tensor = module.name(graph.value(value)?.name).to_owned();
        let seen: &Statistics = self.observation.elements(&tensor)?;
        let (from, width, counts) = bars(&seen.histogram)?;
        let grid = self.grid(value);
        Some(Distribution {
            tensor,
            from,
            width,
            counts,
            seen: [seen.min()?, seen.max()?].map(f64::from),
            grid: grid.map(|(ends, _)| ends),
            step: grid.map(|(_, step)| step),
            clipped: grid.map(|(ends, step)| outside(seen, ends, step)),
        })
    }

    /// The channels of the weights of all layers whose weights have codes.
    ///
    /// # Errors
    /// If a thread cannot be used.
    pub(crate) fn channels_of_weights(
        &self,
        groups: &[Group],
        threads: NonZeroUsize,
    ) -> Result<Vec<ChannelsOfWeights>, ExecuteError> {
        let of = |group: &Group| {
            let weights = self.coded_weights(group)?;
            let each = weights.channels.len().div_ceil(BARS).max(1);
            let parts = weights.channels.chunks(each);
            Some(ChannelsOfWeights {
                layer: group.name(self.canonical),
                tensor: weights.tensor,
                channels: weights.channels.len() as u64,
                each: each as u64,
                per_tensor: weights.per_tensor,
                most: parts.clone().map(most).collect(),
                snr: parts.map(smallest_snr).collect(),
            })
        };
        let mut all = Vec::new();
        let work = |(): &mut (), at: usize| Ok::<_, ExecuteError>(groups.get(at).and_then(of));
        let made = map_in_order(
            groups.len(),
            threads,
            || Ok(()),
            work,
            |_, channels| {
                // The weights of a layer in float are read once and not needed again soon.
                strait_mapped::release();
                all.extend(channels);
                Ok(ControlFlow::Continue(()))
            },
        );
        made.map_err(|error| error.or(ExecuteError::Ours("it was stopped".into())))?;
        Ok(all)
    }
}

fn most(channels: &[Channel]) -> f32 {
    channels.iter().map(|channel| channel.most).fold(0.0, f64::max) as f32
}

/// To a tenth of a decibel, since nobody can see more.
fn smallest_snr(channels: &[Channel]) -> Option<f32> {
    let all = channels.iter().filter_map(|channel| channel.squares.snr());
    let least = all.filter(|snr| snr.is_finite()).min_by(f64::total_cmp)?;
    Some((least * 10.0).round() as f32 / 10.0)
}

/// Joins neighbouring bins of a histogram to at most [`BARS`] bars. Returns the lower edge of the first bar, the width of a
/// bar, and the counts.
fn bars(histogram: &Histogram) -> Option<(f64, f64, Vec<u64>)> {
    let (from, _) = histogram.filled().next()?;
    // As many bins as from the first to the last one with elements.
    let bins = usize::try_from(histogram.last() - histogram.first() + 1).ok()?;
    let each = bins.div_ceil(BARS);
    let mut counts = vec![0; bins.div_ceil(each)];
    for (index, count) in histogram.occupied() {
        let bin = usize::try_from(i64::from(index) - histogram.first()).ok()?;
        *counts.get_mut(bin / each)? += count;
    }
    Some((from, histogram.width() * each as f64, counts))
}
