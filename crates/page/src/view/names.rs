//! Finds layers of the compiled model by the names of the float model.

use std::collections::BTreeMap;

use strait_report::{Analysis, ChannelsOfWeights, Distribution, Layer, LayerAnalysis, Report};

/// The positions of the layers by their names and by those of the layers of the float model from which they were made.
pub(crate) struct Names<'r> {
    layers: BTreeMap<&'r str, usize>,
    distributions: BTreeMap<&'r str, &'r Distribution>,
    weights: BTreeMap<&'r str, &'r ChannelsOfWeights>,
}

impl<'r> Names<'r> {
    pub(crate) fn new(report: &'r Report) -> Names<'r> {
        let mut layers = BTreeMap::new();
        // If several operations were made from a layer, the layer stands for the one that computes most. A conversion only
        // counts if there is nothing else.
        let weight = |layer: &Layer| (!converts(layer), layer.operations.unwrap_or(0));
        for (index, layer) in report.layers.iter().enumerate() {
            for name in layer.sources.iter().chain([&layer.name]) {
                let best = layers.entry(name.as_str()).or_insert(index);
                if report
                    .layers
                    .get(*best)
                    .is_some_and(|best| weight(best) < weight(layer))
                {
                    *best = index;
                }
            }
        }
        let distributions = report.distributions.iter().map(|of| (of.tensor.as_str(), of));
        let weights = report.weights.iter().map(|of| (of.layer.as_str(), of));
        Names {
            layers,
            distributions: distributions.collect(),
            weights: weights.collect(),
        }
    }

    /// The position of a layer.
    pub(crate) fn layer(&self, name: &str) -> Option<usize> {
        self.layers.get(name).copied()
    }

    /// The distribution of a tensor of the compiled model. Codes of a tensor have its name with an addition behind a colon.
    pub(crate) fn distribution(&self, tensor: &str) -> Option<&'r Distribution> {
        let base = || tensor.rsplit_once(':').map(|(base, _)| base);
        let found = self.distributions.get(tensor);
        found.or_else(|| self.distributions.get(base()?)).copied()
    }

    /// The weights of the layer at a position.
    pub(crate) fn weights(&self, index: usize, layer: &Layer) -> Option<&'r ChannelsOfWeights> {
        let own = |name: &&String| self.layer(name) == Some(index);
        layer
            .sources
            .iter()
            .filter(own)
            .find_map(|name| self.weights.get(name.as_str()).copied())
    }
}

/// True if a layer only converts between real numbers and codes, or between grids.
pub(crate) fn converts(layer: &Layer) -> bool {
    matches!(layer.op.as_str(), "quantize" | "dequantize" | "requantize")
}

/// The errors of the layers, by their positions.
pub(crate) struct Errors<'a> {
    of: BTreeMap<usize, &'a LayerAnalysis>,
}

impl<'a> Errors<'a> {
    pub(crate) fn new(_: &Report, analysis: Option<&'a Analysis>, names: &Names<'_>) -> Errors<'a> {
        let layers = analysis.into_iter().flat_map(|analysis| &analysis.layers);
        let mut of = BTreeMap::new();
        for layer in layers {
            if let Some(index) = names.layer(&layer.layer) {
                of.entry(index).or_insert(layer);
            }
        }
        Errors { of }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&'a LayerAnalysis> {
        self.of.get(&index).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }
}

/// How bad an SNR is, from 0 (nobody sees it) to 4.
pub(crate) fn badness(snr: f64) -> usize {
    [40.0, 30.0, 20.0, 10.0].iter().filter(|limit| snr < **limit).count()
}
