//! Makes the report of a compilation into one HTML page: `report.html`.
//!
//! Everything on the page comes from a [`Report`] and, if there is one, from an [`Analysis`]. The page needs no other file
//! and no network. The same report gives the same bytes.
//!
//! `view` turns the report into what the page says, as data. `plot` draws it, and the templates put it together. Names of
//! layers come from files of strangers: the template engine escapes every text, and `svg.rs` does so in drawings.

pub mod drawing;
#[cfg(test)]
mod example;
mod fold;
mod layout;
mod plot;
mod prose;
mod redact;
mod svg;
#[cfg(test)]
mod tests;
mod view;
mod viewers;
mod words;

use minijinja::Environment;
use strait_report::{Analysis, Report};

use view::View;
pub use view::{Advice, next};
pub use viewers::{layer_notes, node_data};

/// Name of the page's file.
pub const PAGE_FILE: &str = "report.html";

/// Why a page cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The analysis is of another model or target than the report.
    #[error("the analysis does not belong to the artifact: {0}")]
    Unrelated(String),
    /// A template has a mistake, which is a bug of this crate.
    #[error("the template of the page has a mistake: {0:#}")]
    Template(#[from] minijinja::Error),
}

/// The templates by their names. All names end with `.html`, so that all texts in them are escaped.
const TEMPLATES: &[(&str, &str)] = &[
    ("page.html", include_str!("../templates/page.html")),
    ("summary.html", include_str!("../templates/summary.html")),
    ("points.html", include_str!("../templates/points.html")),
    ("graph.html", include_str!("../templates/graph.html")),
    ("layers.html", include_str!("../templates/layers.html")),
    ("inputs.html", include_str!("../templates/inputs.html")),
    ("look.html", include_str!("../templates/look.html")),
    ("settings.html", include_str!("../templates/settings.html")),
];

const STYLE: &str = include_str!("../templates/page.css");
const SCRIPT: &str = include_str!("../templates/page.js");

/// Makes the page. With `redacted`, layers and tensors have numbers instead of names, statistics of weights are left out, and
/// so is every text that may quote a name.
///
/// # Errors
/// If the analysis does not belong to the report.
pub fn page(report: &Report, analysis: Option<&Analysis>, redacted: bool) -> Result<String, PageError> {
    if let Some(analysis) = analysis {
        view::related(report, analysis)?;
    }
    let (mut report, mut analysis) = (report.clone(), analysis.cloned());
    if redacted {
        redact::redact(&mut report, analysis.as_mut());
    }
    let view = View::new(&report, analysis.as_ref(), redacted);
    let mut templates = Environment::new();
    for (name, source) in TEMPLATES {
        templates.add_template(name, source)?;
    }
    templates.add_global("style", minijinja::Value::from_safe_string(STYLE.to_owned()));
    templates.add_global("script", minijinja::Value::from_safe_string(SCRIPT.to_owned()));
    let layers = view::Names::new(&report).addresses();
    templates.add_filter("prose", move |text: &str| {
        minijinja::Value::from_safe_string(prose::prose(text, |name| layers.get(name).cloned()))
    });
    let page = templates.get_template("page.html")?;
    let page = page.render(minijinja::value::Serde(&view))?;
    // A document must not contain control characters, which a name from a file can have.
    let control = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    Ok(page.replace(control, "\u{fffd}"))
}
