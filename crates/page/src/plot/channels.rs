//! The weights of a layer, channel by channel: how large they are, and how well their codes stand for them.

use strait_report::ChannelsOfWeights;

use crate::{
    svg::{Short, Svg},
    words,
};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 150.0;
const FLOOR: f64 = 112.0;

/// Draws a bar for each channel with its largest magnitude, and a dot with the SNR of its codes.
pub(crate) fn channels(of: &ChannelsOfWeights) -> String {
    let most = of
        .most
        .iter()
        .copied()
        .map(f64::from)
        .fold(0.0, f64::max)
        .max(f64::MIN_POSITIVE);
    let finite = of
        .snr
        .iter()
        .flatten()
        .copied()
        .map(f64::from)
        .filter(|snr| snr.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), snr| {
        (low.min(snr), high.max(snr))
    });
    let (low, high) = ((low / 10.0).floor() * 10.0, ((high / 10.0).floor() + 1.0) * 10.0);
    let step = (WIDTH - 76.0) / of.most.len().max(1) as f64;
    let x = |index: usize| 40.0 + step * index as f64;
    let y = |snr: f64| 14.0 + (high - snr) / (high - low).max(1.0) * (FLOOR - 20.0);
    let mut svg = Svg::new(
        [WIDTH, HEIGHT],
        "plot channels",
        "Largest weight and error of the codes for each channel",
    );
    svg.label("tick end", [36.0, 14.0], &words::real(most));
    svg.label("tick end", [36.0, FLOOR], "0");
    if low.is_finite() && high.is_finite() {
        svg.label("tick start", [WIDTH - 34.0, 14.0], &words::real(high));
        svg.label("tick start", [WIDTH - 34.0, FLOOR - 2.0], &words::real(low));
        svg.label("tick start", [WIDTH - 34.0, (FLOOR + 14.0) / 2.0], "dB");
    }
    svg.line("axis", [40.0, FLOOR], [WIDTH - 36.0, FLOOR]);
    let mut bars = String::new();
    let mut dots = String::new();
    for (index, &magnitude) in of.most.iter().enumerate() {
        let height = f64::from(magnitude) / most * (FLOOR - 10.0);
        let width = Short((step - 0.8).max(0.6));
        bars += &format!(
            "M{} {}h{width}v{}h-{width}z",
            Short(x(index)),
            Short(FLOOR),
            Short(-height)
        );
        if let Some(snr) = of
            .snr
            .get(index)
            .copied()
            .flatten()
            .map(f64::from)
            .filter(|snr| snr.is_finite())
        {
            // A line of no length with round ends is a dot, and takes little space in the file.
            dots += &format!("M{} {}h0", Short(x(index) + step / 2.0), Short(y(snr)));
        }
    }
    svg.add("path", &[("class", &"bars"), ("d", &bars)]);
    svg.add("path", &[("class", &"dots"), ("d", &dots)]);
    let told = match of.each {
        0 | 1 => format!("{} channels", words::count(of.channels)),
        each => format!("{} channels, {each} in each bar", words::count(of.channels)),
    };
    svg.label("tick middle", [WIDTH / 2.0, FLOOR + 20.0], &told);
    svg.finish()
}
