//! What to do next: at most three things, each a rule or a command to paste.

use serde::Serialize;
use strait_report::{Analysis, Report, TriedRule};

use crate::words;

use super::summary;

/// The most pieces of advice.
const MOST: usize = 3;

/// A rule is worth naming if it brings this many points, or this many decibels.
const WORTH: f64 = 0.05;

/// A piece of advice: a rule or a command.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// What it is for.
    pub what: String,
    /// What it brings, if that was measured.
    pub effect: Option<String>,
    /// What to paste. In a command, `deploy.toml` stands for the configuration and `ARTIFACT` for the artifact's folder.
    pub paste: String,
    /// Where to paste it.
    pub place: &'static str,
}

const RULE: &str = "into the configuration";
const COMMAND: &str = "into a terminal";

/// Returns at most three pieces of advice. With `redacted`, none of them names a file.
pub fn next(report: &Report, analysis: Option<&Analysis>, redacted: bool) -> Vec<Advice> {
    let mut advice = Vec::new();
    if let Some(rule) = &report.sanity.rule {
        let effect = match (rule.mends, rule.snr) {
            (true, Some(snr)) => Some(format!(
                "{} in a simulation, and no output is damaged",
                words::decibel(snr)
            )),
            (false, Some(snr)) => Some(format!(
                "{} in a simulation, which alone is not enough",
                words::decibel(snr)
            )),
            _ => None,
        };
        advice.push(Advice {
            what: "An output is damaged. This rule repairs what does most harm".to_owned(),
            effect,
            paste: rule.toml.trim().to_owned(),
            place: RULE,
        });
    }
    if let Some(analysis) = analysis {
        advice.extend(tried(analysis));
        advice.extend(untried(analysis));
    }
    let falls = report.accuracy.iter().flat_map(|accuracy| &accuracy.metrics);
    let falls = falls.filter_map(summary::gain).any(|gain| gain < -WORTH);
    if analysis.is_none() && !redacted && (falls || !report.costly.is_empty() || report.accuracy.is_none()) {
        let id = &report.target.id;
        advice.push(Advice {
            what: "Find out which layers lose accuracy and why, and see it on a page".to_owned(),
            effect: None,
            paste: format!(
                "strait analyze deploy.toml --target {id} --json > analysis.json\n\
                 strait report ARTIFACT --analysis analysis.json"
            ),
            place: COMMAND,
        });
    }
    if report.accuracy.is_none() && !redacted {
        advice.push(Advice {
            what: "Measure the accuracy, so that gates can hold it".to_owned(),
            effect: None,
            paste: "[evaluation]\ndata = \"evaluation/\"\nlabels = \"labels.txt\"\nmetrics = [\"top1\"]".to_owned(),
            place: RULE,
        });
    }
    advice.truncate(MOST);
    advice
}

/// The rules that were tried and help, the best first.
fn tried(analysis: &Analysis) -> Vec<Advice> {
    let mut found: Vec<(f64, Advice)> = analysis.tried.iter().filter_map(|rule| helps(analysis, rule)).collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.into_iter().map(|(_, advice)| advice).collect()
}

fn helps(analysis: &Analysis, rule: &TriedRule) -> Option<(f64, Advice)> {
    let first = analysis.metrics.iter().zip(&rule.changes).find_map(|(metric, change)| {
        let change = change.as_ref()?;
        // Whether more is better is known from the whole change: a metric loses by being quantized.
        let loss = metric
            .change
            .as_ref()
            .map_or(-1.0, |whole| if whole.value > 0.0 { 1.0 } else { -1.0 });
        Some((
            -loss * metric.unit.points(change.value),
            format!("{} {}", metric.name, summary::points(metric.unit, change)),
        ))
    });
    let snr = match rule.snr {
        [Some(before), Some(after)] => Some((
            after - before,
            format!("outputs from {} to {}", words::decibel(before), words::decibel(after)),
        )),
        _ => None,
    };
    let gain = first.as_ref().map(|first| first.0).or(snr.as_ref().map(|snr| snr.0))?;
    let mut effect: Vec<String> = first.into_iter().chain(snr).map(|(_, words)| words).collect();
    for (share, what) in [
        (rule.wide, "of the operations on 16 bits"),
        (rule.host, "of the operations to the host"),
    ] {
        if share > 0.0 {
            effect.push(format!("{} {what}", words::percent(share)));
        }
    }
    (gain > WORTH).then(|| {
        let layer = analysis.layers.iter().find(|layer| layer.layer == rule.layer);
        let why = layer
            .and_then(|layer| layer.reasons.first())
            .map(|reason| format!(": {}", reason.text));
        let advice = Advice {
            what: format!("Layer {}{}", rule.layer, why.unwrap_or_default()),
            effect: Some(effect.join("; ")),
            paste: rule.toml.trim().to_owned(),
            place: RULE,
        };
        (gain, advice)
    })
}

/// Rules against the reasons of the worst layers, which were not tried.
fn untried(analysis: &Analysis) -> Vec<Advice> {
    let tried = |toml: &str| analysis.tried.iter().any(|rule| rule.toml.trim() == toml.trim());
    let worst = analysis
        .layers
        .iter()
        .take(3)
        .filter(|layer| layer.single.is_some_and(|snr| snr < 30.0));
    worst
        .flat_map(|layer| layer.reasons.iter().map(move |reason| (layer, reason)))
        .filter_map(|(layer, reason)| {
            let toml = reason.toml.as_ref().filter(|toml| !tried(toml))?;
            Some(Advice {
                what: format!("Layer {}: {}", layer.layer, reason.text),
                effect: None,
                paste: toml.trim().to_owned(),
                place: RULE,
            })
        })
        .collect()
}
