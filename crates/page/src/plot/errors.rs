//! The error of each layer along the network: accumulated, and if only this layer is quantized.

use crate::{
    svg::{Short, Svg, path},
    words,
};

/// The errors of one layer.
#[derive(Debug)]
pub(crate) struct LayerError {
    pub(crate) name: String,
    /// The address of the layer's part of the page.
    pub(crate) href: Option<String>,
    /// The SNR of the layer's result in the integer model, in dB.
    pub(crate) entire: Option<f64>,
    /// The SNR of the model's outputs if only this layer is quantized, in dB.
    pub(crate) single: Option<f64>,
    pub(crate) jumps: bool,
}

const HEIGHT: f64 = 314.0;
const LEFT: f64 = 46.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 26.0;

/// Draws the chart. An SNR above `MOST` is drawn at the upper edge: nobody sees such an error.
pub(crate) fn errors(layers: &[LayerError]) -> String {
    const MOST: f64 = 60.0;
    let step = (900.0 / layers.len().max(1) as f64).clamp(9.0, 110.0);
    let width = LEFT + step * layers.len() as f64 + 12.0;
    let all = layers.iter().flat_map(|layer| [layer.entire, layer.single]).flatten();
    let finite: Vec<f64> = all.filter(|snr| snr.is_finite()).collect();
    let low = finite.iter().copied().fold(10.0, f64::min).max(-20.0);
    let high = finite.iter().copied().fold(30.0, f64::max).min(MOST);
    let (low, high) = ((low / 10.0).floor() * 10.0, (high / 10.0).ceil() * 10.0);
    let y = |snr: f64| TOP + (high - snr.clamp(low, high)) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let x = |index: usize| LEFT + step * (index as f64 + 0.5);
    let title = format!(
        "Signal-to-noise ratio of {} layers in the order of the network, in decibels",
        layers.len()
    );
    let mut svg = Svg::with_links([width, HEIGHT], "plot errors", &title);
    for tick in super::ticks([low, high], 6) {
        svg.line("rule", [LEFT, y(tick)], [width, y(tick)]);
        svg.label("tick end", [LEFT - 6.0, y(tick) + 4.0], &words::real(tick));
    }
    svg.label("tick", [0.0, HEIGHT - 6.0], "dB, higher is better");
    svg.label("tick end", [width, HEIGHT - 6.0], "order of the network →");
    // Names that would overlap stand in two rows.
    let (mut before, mut raised) = (f64::NEG_INFINITY, false);
    for (index, layer) in layers.iter().enumerate().filter(|(_, layer)| layer.jumps) {
        let band = step.min(26.0);
        svg.rect("jumpband", [x(index) - band / 2.0, TOP], [band, HEIGHT - TOP - BOTTOM]);
        raised = !raised && x(index) - before < 110.0;
        before = x(index);
        let y = if raised { TOP - 20.0 } else { TOP - 6.0 };
        svg.label(
            if x(index) > width / 2.0 { "jump end" } else { "jump" },
            [x(index), y],
            &words::shortened(&layer.name, 20),
        );
    }
    let line = |of: &dyn Fn(&LayerError) -> Option<f64>| {
        let points = layers.iter().enumerate();
        path(points.filter_map(|(index, layer)| Some([x(index), y(of(layer)?)])))
    };
    svg.add("path", &[("class", &"single"), ("d", &line(&|layer| layer.single))]);
    svg.add("path", &[("class", &"entire"), ("d", &line(&|layer| layer.entire))]);
    for (index, layer) in layers.iter().enumerate() {
        let href = layer.href.clone().unwrap_or_default();
        let link: &[(&str, &dyn std::fmt::Display)] = &[("href", &href), ("tabindex", &"-1")];
        if layer.href.is_some() {
            svg.open("a", link);
        } else {
            svg.open("g", &[]);
        }
        let told = |what: &str, snr: Option<f64>| snr.map(|snr| format!("; {what} {}", words::decibel(snr)));
        let told = [told("accumulated", layer.entire), told("alone", layer.single)];
        let told = told.into_iter().flatten().collect::<String>();
        svg.words("title", &[], &format!("{}{told}", layer.name));
        svg.rect("hit", [x(index) - step / 2.0, TOP], [step, HEIGHT - TOP - BOTTOM]);
        let dot = |svg: &mut Svg, class: &str, snr: f64| {
            let (x, y) = (Short(x(index)), Short(y(snr)));
            svg.add("circle", &[("class", &class), ("cx", &x), ("cy", &y), ("r", &"2.6")]);
        };
        if let Some(snr) = layer.single {
            dot(&mut svg, "single", snr);
        }
        if let Some(snr) = layer.entire {
            dot(&mut svg, "entire", snr);
        }
        svg.close(if layer.href.is_some() { "a" } else { "g" });
    }
    svg.finish()
}
