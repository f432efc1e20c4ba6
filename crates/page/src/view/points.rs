//! Where the points went: the causes of the change of each metric, and the error of each layer.

use serde::Serialize;
use strait_report::{Analysis, LayerAnalysis, MetricPoints, Report};

use crate::{
    plot::{self, LayerError},
    words,
};

use super::{href, names::Names, summary};

#[derive(Debug, Serialize)]
pub(crate) struct Points {
    waterfalls: Vec<Waterfall>,
    evaluated: String,
    /// The chart of the errors along the network.
    chart: Option<String>,
    measured: String,
    jumps: Vec<Jump>,
    worst: Vec<Worst>,
    /// Without an analysis: the layers that the compilation itself found to cost most.
    costly: Vec<Worst>,
}

#[derive(Debug, Serialize)]
struct Waterfall {
    name: String,
    whole: Option<String>,
    svg: Option<String>,
    /// The causes that change nothing, with the reasons.
    notes: Vec<[String; 2]>,
}

#[derive(Debug, Serialize)]
struct Jump {
    layer: String,
    href: Option<String>,
    before: String,
    after: String,
}

/// A layer that costs much.
#[derive(Debug, Default, Serialize)]
struct Worst {
    layer: String,
    href: Option<String>,
    op: String,
    single: String,
    entire: String,
    share: String,
    reasons: Vec<String>,
}

/// The table has at most this many layers; all are in the chart and in the part about layers.
const MOST: usize = 10;

impl Points {
    pub(crate) fn new(report: &Report, analysis: Option<&Analysis>, names: &Names<'_>) -> Points {
        let link = |name: &str| names.layer(name).map(href);
        let costly = report.costly.iter().filter(|_| analysis.is_none());
        let costly = costly.map(|costly| Worst {
            layer: costly.layer.clone(),
            href: link(&costly.layer),
            single: words::decibel(costly.snr),
            ..Worst::default()
        });
        let costly = costly.collect();
        let from_sanity = report.sanity.layers.iter().map(|jump| Jump {
            layer: jump.layer.clone(),
            href: link(&jump.layer),
            before: words::decibel(jump.before),
            after: words::decibel(jump.after),
        });
        let Some(analysis) = analysis else {
            return Points {
                waterfalls: Vec::new(),
                evaluated: String::new(),
                chart: None,
                measured: String::new(),
                jumps: from_sanity.collect(),
                worst: Vec::new(),
                costly,
            };
        };
        let mut along: Vec<(usize, LayerError)> = analysis
            .layers
            .iter()
            .map(|layer| {
                let index = names.analysed(layer);
                let error = LayerError {
                    name: layer.layer.clone(),
                    href: index.map(href),
                    entire: layer.entire,
                    single: layer.single,
                    jumps: layer.jumps,
                };
                (index.unwrap_or(usize::MAX), error)
            })
            .collect();
        along.sort_by_key(|(index, _)| *index);
        let along: Vec<LayerError> = along.into_iter().map(|(_, error)| error).collect();
        let mut jumping: Vec<&LayerAnalysis> = analysis.layers.iter().filter(|layer| layer.jumps).collect();
        jumping.sort_by_key(|layer| names.analysed(layer));
        let jumps = jumping.into_iter().map(|layer| Jump {
            layer: layer.layer.clone(),
            href: names.analysed(layer).map(href),
            before: layer.before.map_or_else(String::new, words::decibel),
            after: layer.entire.map_or_else(String::new, words::decibel),
        });
        let jumps = jumps.collect();
        let shown = |snr: Option<f64>| snr.map_or_else(|| "–".to_owned(), words::decibel);
        let worst = analysis.layers.iter().take(MOST).map(|layer| Worst {
            layer: layer.layer.clone(),
            href: names.analysed(layer).map(href),
            op: layer.op.clone(),
            single: shown(layer.single),
            entire: shown(layer.entire),
            share: words::percent(layer.share),
            reasons: layer.reasons.iter().map(|reason| reason.text.clone()).collect(),
        });
        Points {
            waterfalls: analysis.metrics.iter().map(waterfall).collect(),
            evaluated: words::counted(analysis.evaluated as usize, "sample"),
            chart: (!along.is_empty()).then(|| plot::errors(&along)),
            measured: words::counted(analysis.samples as usize, "calibration sample"),
            jumps,
            worst: worst.collect(),
            costly,
        }
    }
}

fn waterfall(metric: &MetricPoints) -> Waterfall {
    let points = |value: f64| metric.unit.points(value);
    let steps: Vec<plot::Step> = (metric.shares.iter())
        .filter_map(|share| {
            let change = share.change.as_ref()?;
            Some(plot::Step {
                label: share.cause.words().to_owned(),
                change: points(change.value),
                interval: change.interval.map(|ends| ends.map(points)),
            })
        })
        .collect();
    let whole = metric.change.as_ref();
    let title = format!("Change of {} by cause, in points", metric.name);
    let others = metric.shares.iter().filter(|share| share.change.is_none());
    let noted = others.map(|share| {
        let note = share.note.as_deref().unwrap_or("not known");
        [
            share.cause.words().to_owned(),
            note.trim_start_matches("nothing: ").to_owned(),
        ]
    });
    Waterfall {
        name: match &metric.output {
            Some(output) => format!("{} of {output}", metric.name),
            None => metric.name.clone(),
        },
        whole: whole.map(|change| summary::points(metric.unit, change)),
        svg: (!steps.is_empty())
            .then(|| plot::waterfall(&steps, whole.map(|change| points(change.value)), "points", &title)),
        notes: noted.collect(),
    }
}
