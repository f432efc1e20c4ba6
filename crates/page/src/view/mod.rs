//! What the page says, as data for the templates. All numbers are texts already.

mod forms;
mod graph;
mod inputs;
mod layers;
mod names;
mod next;
mod points;
mod settings;
mod summary;

use serde::Serialize;
use strait_report::{Analysis, Report};

use crate::PageError;

use graph::Graph;
use inputs::Inputs;
use layers::LayerView;
use names::Errors;
pub(crate) use names::Names;
pub use next::{Advice, next};
use points::Points;
use settings::Settings;
use summary::Summary;

/// The whole page.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    target: String,
    strait: String,
    redacted: bool,
    /// True if an analysis was made, so that there are errors of layers.
    analysed: bool,
    summary: Summary,
    next: Vec<Advice>,
    points: Points,
    graph: Option<Graph>,
    layers: Vec<LayerView>,
    inputs: Option<Inputs>,
    settings: Settings,
}

impl View {
    pub(crate) fn new(report: &Report, analysis: Option<&Analysis>, redacted: bool) -> View {
        let names = Names::new(report);
        let errors = Errors::new(report, analysis, &names);
        View {
            target: report.target.id.clone(),
            strait: report.strait.clone(),
            redacted,
            analysed: analysis.is_some(),
            summary: Summary::new(report),
            next: next(report, analysis, redacted),
            points: Points::new(report, analysis, &names),
            graph: Graph::new(report, &errors),
            layers: layers::layers(report, &names, &errors),
            inputs: Inputs::new(report),
            settings: Settings::new(report),
        }
    }
}

/// Checks that an analysis is of the model of the report.
pub(crate) fn related(report: &Report, analysis: &Analysis) -> Result<(), PageError> {
    let (own, other) = (&report.target.id, &analysis.target);
    if own != other {
        return Err(PageError::Unrelated(format!(
            "the artifact is compiled for `{own}`, and the analysis is of `{other}`"
        )));
    }
    let names = Names::new(report);
    match analysis.layers.iter().find(|layer| names.layer(&layer.layer).is_none()) {
        Some(layer) if analysis.layers.iter().all(|layer| names.layer(&layer.layer).is_none()) => Err(
            PageError::Unrelated(format!("the artifact has no layer `{}`", layer.layer)),
        ),
        _ => Ok(()),
    }
}

/// The address of a layer's part of the page.
fn href(index: usize) -> String {
    format!("#layer-{}", index + 1)
}
