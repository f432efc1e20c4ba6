//! What the artifact was made from, and how to make it again.

use serde::Serialize;
use serde_json::Value;
use strait_report::Report;

use crate::words;

#[derive(Debug, Serialize)]
pub(crate) struct Settings {
    command: String,
    versions: Vec<[String; 2]>,
    digests: Vec<[String; 2]>,
    data: Vec<[String; 2]>,
    claim: String,
    evidence: Vec<EvidenceRow>,
    keys: Option<Vec<[String; 2]>>,
    rules: Vec<RuleView>,
    rewrites: Vec<[String; 2]>,
}

#[derive(Debug, Serialize)]
struct EvidenceRow {
    row: String,
    evidence: String,
    layers: usize,
    note: String,
}

#[derive(Debug, Serialize)]
struct RuleView {
    number: usize,
    reason: String,
    keys: String,
    layers: String,
    otherwise: Vec<String>,
}

impl Settings {
    pub(crate) fn new(report: &Report) -> Settings {
        let target = &report.target;
        let mut keys = Vec::new();
        if let Some(settings) = &report.settings {
            flatten("", settings, &mut keys);
        }
        Settings {
            command: command(report),
            versions: [
                ["strait", &report.strait],
                ["target", &target.id],
                ["table of the target", &target.version],
                ["reference", &target.reference],
            ]
            .map(|row| row.map(str::to_owned))
            .into(),
            digests: report
                .sources
                .iter()
                .map(|(what, digest)| [what.clone(), digest.clone()])
                .collect(),
            data: (report.data.iter())
                .map(|(what, data)| {
                    let left = match data.left_out.len() {
                        0 => String::new(),
                        left => format!(
                            "; {} left out: {}",
                            words::counted(left, "image"),
                            data.left_out.join(", ")
                        ),
                    };
                    [
                        what.clone(),
                        format!(
                            "{}, read by {}{left}",
                            words::counted(data.samples, "sample"),
                            data.reader()
                        ),
                    ]
                })
                .collect(),
            claim: report.evidence.claim.clone(),
            evidence: (report.evidence.rows.iter())
                .map(|ground| EvidenceRow {
                    row: ground.row.clone(),
                    evidence: ground.evidence.clone(),
                    layers: ground.layers,
                    note: ground.note.clone().unwrap_or_default(),
                })
                .collect(),
            keys: report.settings.as_ref().map(|_| keys),
            rules: report
                .rules
                .iter()
                .enumerate()
                .map(|(index, rule)| rule_view(index, rule))
                .collect(),
            rewrites: (report.rewrites.iter())
                .map(|rewrite| {
                    [
                        rewrite.rule.clone(),
                        format!("applied {} of {} times", rewrite.applied, rewrite.matched),
                    ]
                })
                .collect(),
        }
    }
}

/// The command that makes the artifact again.
fn command(report: &Report) -> String {
    let mut all = vec!["strait", "compile", "deploy.toml", "--target", &report.target.id];
    for set in &report.set {
        all.extend(["--set", set]);
    }
    all.into_iter().map(words::shell).collect::<Vec<_>>().join(" ")
}

fn rule_view(index: usize, rule: &strait_report::RuleReport) -> RuleView {
    let keys: Vec<String> = rule
        .keys
        .iter()
        .map(|key| format!("{} = {}", key.key, key.value))
        .collect();
    let otherwise = rule
        .keys
        .iter()
        .flat_map(|key| key.otherwise.iter().map(move |other| (key, other)));
    RuleView {
        number: index + 1,
        reason: rule.reason.clone().unwrap_or_default(),
        keys: keys.join(", "),
        layers: match rule.layers.len() {
            0 => words::counted(rule.tensors.len() + rule.operands.len(), "tensor"),
            layers => words::counted(layers, "layer"),
        },
        otherwise: otherwise
            .map(|(key, other)| {
                let has = other.has.as_deref().unwrap_or("another value");
                format!("{}: {} is {has}, by {}", other.name, key.key, other.by)
            })
            .collect(),
    }
}

/// Each value with the path of its key. Keys that are not set are left out.
fn flatten(path: &str, value: &Value, out: &mut Vec<[String; 2]>) {
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                flatten(&path, value, out);
            }
        }
        Value::Null => {}
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{path}[{index}]"), item, out);
            }
        }
        plain => out.push([path.to_owned(), plain.to_string()]),
    }
}
