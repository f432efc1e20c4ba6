//! Finds layers of the compiled model by the names of the float model.

use std::collections::BTreeMap;

use strait_report::{Analysis, ChannelsOfWeights, Distribution, Layer, LayerAnalysis, Report};

use super::href;

/// The positions of the layers by their names and by those of the layers of the float model from which they were made.
pub(crate) struct Names<'r> {
    layers: BTreeMap<&'r str, usize>,
    tensors: BTreeMap<&'r str, usize>,
    distributions: BTreeMap<&'r str, &'r Distribution>,
    weights: BTreeMap<&'r str, &'r ChannelsOfWeights>,
}

impl<'r> Names<'r> {
    pub(crate) fn new(report: &'r Report) -> Names<'r> {
        let mut layers = BTreeMap::new();
        // If several operations were made from a layer, the layer stands for the one that computes most, or for the last of these. A
        // conversion only counts if there is nothing else.
        let weight = |layer: &Layer| (!converts(layer), layer.operations.unwrap_or(0));
        for (index, layer) in report.layers.iter().enumerate() {
            for name in layer.sources.iter().chain([&layer.name]) {
                let best = layers.entry(name.as_str()).or_insert(index);
                if report
                    .layers
                    .get(*best)
                    .is_some_and(|best| weight(best) <= weight(layer))
                {
                    *best = index;
                }
            }
        }
        // Where a tensor leaves the integers, its error is that of the layer in front of the conversion.
        let results = report.layers.iter().enumerate().filter(|(_, layer)| !converts(layer));
        let results = results.flat_map(|(index, layer)| layer.results.iter().map(move |result| (&*result.name, index)));
        let distributions = report.distributions.iter().map(|of| (of.tensor.as_str(), of));
        let weights = report.weights.iter().map(|of| (of.layer.as_str(), of));
        Names {
            layers,
            tensors: results.collect(),
            distributions: distributions.collect(),
            weights: weights.collect(),
        }
    }

    /// The addresses of the layers' parts of the page, by their names.
    pub(crate) fn addresses(&self) -> BTreeMap<String, String> {
        let layers = self.layers.iter();
        layers.map(|(&name, &index)| (name.to_owned(), href(index))).collect()
    }

    /// The position of a layer.
    pub(crate) fn layer(&self, name: &str) -> Option<usize> {
        self.layers.get(name).copied()
    }

    /// The position of an analysed layer: of the operation that makes its result, if the compiled model has this tensor.
    pub(crate) fn analysed(&self, layer: &LayerAnalysis) -> Option<usize> {
        let made = layer
            .result
            .as_ref()
            .and_then(|result| self.tensors.get(result.tensor.as_str()));
        made.copied().or_else(|| self.layer(&layer.layer))
    }

    /// The distribution of a tensor of the compiled model. Codes of a tensor have its name with an addition behind a colon.
    pub(crate) fn distribution(&self, tensor: &str) -> Option<&'r Distribution> {
        let found = self.distributions.get(tensor);
        found.or_else(|| self.distributions.get(plain(tensor))).copied()
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

/// The name of a layer or a tensor without what the compiler has added to it behind a colon.
pub(crate) fn plain(name: &str) -> &str {
    let added = |(_, added): &(&str, &str)| {
        !added.is_empty() && added.chars().all(|own| own.is_ascii_alphanumeric() || own == '_')
    };
    name.rsplit_once(':').filter(added).map_or(name, |(base, _)| base)
}

/// The layers of the model from which an operation was made, each once.
pub(crate) fn sources(layer: &Layer) -> Vec<&str> {
    let mut sources: Vec<&str> = Vec::new();
    for source in layer.sources.iter().map(|source| plain(source)) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
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
            if let Some(index) = names.analysed(layer) {
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
