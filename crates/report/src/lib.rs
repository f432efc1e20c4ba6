//! Report of a compilation, as data: `report.json` in an artifact is [`Report`]. Who shows it to people makes a table of it.
//!
//! Nothing in it depends on when, where, by whom or with how many threads the artifact was made. Parts of it, as of
//! `quantization.json`, follow from the graphs and certificates of an artifact alone, and can be held against these later
//! ([`disagreements`], [`contradictions`]).

mod agreed;
mod build;
mod data;
mod derived;
mod evidence;
mod fusions;
mod grounds;
mod lints;
mod nearness;
mod rules;
mod sanity;
#[cfg(feature = "schema")]
mod schema;

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
};

use serde::{Deserialize, Serialize};

use strait_compile::Shares;
use strait_document::Diagnostic;
use strait_evaluate::Accuracy;

pub use agreed::contradictions;
pub use build::{Material, build, of_built};
pub use data::DataReport;
pub use derived::disagreements;
pub use evidence::{Counts, EvidenceReport, Ground, Outside, claim};
pub use fusions::{FiredReport, Fusions, MergedReport, Miss, RefusedReport, RowReport};
pub use lints::{Lint, PartLoss, RangeLoss, RequantizedBy, Taken};
pub use nearness::{Distance, FreeIntegers, FromScales};
pub use rules::{KeyReport, Otherwise, RuleReport};
pub use sanity::{ErrorJump, Fault, Remedy, Sanity, SanityOutput, Unjudged};
#[cfg(feature = "schema")]
pub use schema::json_schema;

/// The file of the report in an artifact.
pub const REPORT_FILE: &str = "report.json";

/// The version of the report's keys.
pub const SCHEMA: u32 = 2;

/// The content of `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of the compiler.
    pub strait: String,
    /// For which target.
    pub target: TargetReport,
    /// Reason why the artifact is not for deployment; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_for_deployment: Option<String>,
    /// The samples that are images, by their role: `calibration`, `evaluation`; absent where there are none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, DataReport>,
    /// Notes on what was assumed, and warnings of probable mistakes; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// Number of layers, by the place where they run.
    pub summary: Summary,
    /// Evidence that the layers compute what the target does.
    pub evidence: EvidenceReport,
    /// The layers that were held against the target's own model of its arithmetic, and those that it does not compute; absent
    /// where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<schema::Shares>"))]
    pub own_model: Option<Shares>,
    /// Size of the parameters.
    pub size: Size,
    /// The integer model beside the float model on the first calibration samples.
    #[serde(default)]
    pub sanity: Sanity,
    /// Accuracy, where `[evaluation]` asks for it.
    pub accuracy: Option<Accuracy>,
    /// The demands of `[gate]`, in its order.
    pub gates: Vec<GateReport>,
    /// The operations of the integer model in the order in which they run.
    pub layers: Vec<Layer>,
    /// Fusions of the requantizations.
    pub fusions: Fusions,
    /// Findings that cost accuracy and can be mended in the model or the configuration.
    pub lints: Vec<Lint>,
    /// The rules over the float graph that found their pattern, and how often each was applied.
    pub rewrites: Vec<Rewrite>,
    /// The rules of `[[quantize.rule]]`.
    pub rules: Vec<RuleReport>,
    /// The keys of `[quantize]` for all layers, and for which the target or a rule says otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantize: Vec<KeyReport>,
}

/// A target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TargetReport {
    /// Its id.
    pub id: String,
    /// The version of its table.
    pub version: String,
    /// The reference that the integer model equals.
    pub reference: String,
    /// Evidence of the table's rows that have none of their own: `proved`, `measured`, `documented` or `assumed`.
    pub evidence: String,
}

/// A warning or a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// `warning` or `note`.
    pub severity: String,
    /// Stable: a letter and three digits.
    pub code: String,
    /// One sentence.
    pub text: String,
}

impl From<&Diagnostic> for Remark {
    fn from(found: &Diagnostic) -> Remark {
        Remark {
            severity: found.severity.name().to_owned(),
            code: found.code.clone(),
            text: found.message.clone(),
        }
    }
}

/// Counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Operations on the accelerator.
    pub accelerator: usize,
    /// Operations on the host.
    pub host: usize,
    /// Conversions between real numbers and codes, but for those of weights.
    pub conversions: usize,
    /// Fusions that change no integer.
    pub exact: usize,
    /// Fusions that change integers by at most so many units in the last place.
    pub bounded: usize,
    /// Requantizations that stay operations of their own.
    pub unfused: usize,
    /// Their cost: the elements that requantizations write in one run of the model, each of which is read and written once
    /// more than if its producer had narrowed it.
    pub requantized: u64,
}

/// Bytes of all parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// In the float model.
    pub float_bytes: u64,
    /// In the integer model: its constants, those of layers on the host included.
    pub integer_bytes: u64,
}

/// A demand and whether it is met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GateReport {
    /// Its key in `[gate]`.
    pub gate: String,
    /// True if it is met.
    pub met: bool,
    /// The measured figure, and the demanded one.
    pub text: String,
}

/// An operation of the integer model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Its name.
    pub name: String,
    /// The layers of the float model that it was made from.
    pub sources: Vec<String>,
    /// Operator of the layer.
    pub op: String,
    /// Reason why the layer runs on the host; absent on the accelerator.
    pub host: Option<ReasonReport>,
    /// Its results.
    pub results: Vec<ValueReport>,
    /// The form of the requantization that is part of it.
    pub form: Option<String>,
    /// Nearness of its integers to the ideal, where the compiler chose the integers.
    pub free_integers: Option<FreeIntegers>,
    /// Nearness of its integers where the runtime makes them, and the gain of other integers. Absent for a plain shift,
    /// whose factor is part of the weights.
    pub from_scales: Option<FromScales>,
    /// The codes that its result is clipped to.
    pub clamp: Option<[i32; 2]>,
    /// The fusion that made it.
    pub fusion: Option<FiredReport>,
    /// The evidence of the weakest row that it rests on; absent on the host.
    pub evidence: Option<String>,
    /// The rows of the target's table that decide its bits, the weakest last.
    pub rests_on: Vec<String>,
    /// The forms among them that were shown to be right on fewer accumulators than the layer can have.
    pub outside: Vec<Outside>,
}

/// A code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReasonReport {
    /// Stable, kebab-case.
    pub code: String,
    /// One sentence.
    pub text: String,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueReport {
    /// Its name in the float model, where it has one there.
    pub name: String,
    /// The type of its elements.
    pub elem: String,
    /// Its extents.
    pub shape: Vec<u64>,
    /// Its grid: real = scale · (code − zero point).
    pub grid: Option<Grid>,
}

/// The grid of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// One scale, or one for each channel.
    pub scale: Vec<f32>,
    /// One zero point, or one for each channel.
    pub zero_point: Vec<i32>,
}

/// Numbers of matches and applications of a rule over the float graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// The rule's name.
    pub rule: String,
    /// Number of places where its pattern is, also those where it was refused.
    #[serde(default)]
    pub matched: usize,
    /// Number of applications.
    pub applied: usize,
}

impl Report {
    /// The gates that are not met.
    pub fn failed_gates(&self) -> impl Iterator<Item = &GateReport> {
        self.gates.iter().filter(|gate| !gate.met)
    }

    /// Writes `report.json`, as it is made and not from memory: it has about a kilobyte for each layer.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, out: impl io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        serde_json::to_writer_pretty(&mut out, self)?;
        out.write_all(b"\n")?;
        out.flush()
    }
}
