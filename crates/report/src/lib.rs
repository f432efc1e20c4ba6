//! The report of a compilation, as data. [`Report`] is the content of `report.json` in an artifact. Callers decide how
//! it is shown to people.
//!
//! The report does not depend on when, where, by whom or with how many threads the artifact was made. Some parts of the
//! report, and of `quantization.json`, follow from the graphs and certificates of the artifact alone. These parts can
//! later be checked against the graphs and certificates ([`disagreements`], [`contradictions`]).

mod agreed;
mod analysis;
mod build;
mod data;
mod derived;
mod distributions;
mod evidence;
mod file_operators;
mod fusions;
mod grounds;
mod lints;
mod migrated;
mod nearness;
mod optimized;
mod pictures;
mod precision;
mod rules;
mod sanity;
#[cfg(feature = "schema")]
mod schema;
mod tail;
mod untouched;

use std::{
    collections::BTreeMap,
    io::{self, Write as _},
};

use serde::{Deserialize, Serialize};

use strait_compile::Shares;
use strait_document::Diagnostic;
use strait_evaluate::Accuracy;

pub use crate::grounds::Outside;
pub use agreed::contradictions;
pub use analysis::{
    ANALYSIS_SCHEMA, Analysis, Cause, CostlyLayer, LayerAnalysis, LossCode, LossReason, MetricPoints, Share,
    TensorStatistics, TriedRule, WeightStatistics,
};
pub use build::{Material, build, of_built};
pub use data::DataReport;
pub use derived::disagreements;
pub use distributions::{BARS, ChannelsOfWeights, Distribution};
pub use evidence::{Counts, EvidenceReport, Ground, claim};
pub use file_operators::{FileOperators, OnCpu};
pub use fusions::{FiredReport, Fusions, MergedReport, Miss, RefusedReport, RowReport};
pub use lints::{Lint, LintCode, PartLoss, RangeLoss, RequantizedBy, Taken};
pub use migrated::{MovedScale, ScalePair};
pub use nearness::{Distance, FreeIntegers, FromScales};
pub use optimized::{CandidateError, Optimized, OptimizedLayer, OptimizedRange, OptimizedRanges};
pub use pictures::{
    ChangedAnswers, ChangedSample, GivenAnswer, Look, MOST_BYTES, MOST_POINTS, MOST_SAMPLES, MOST_SIDE, SeenInput,
    SeenSample,
};
pub use precision::{LossLimit, MixedPrecision, PrecisionStep};
pub use rules::{KeyReport, Otherwise, RuleReport};
pub use sanity::{ErrorJump, Fault, Remedy, Sanity, SanityOutput, Unjudged};
#[cfg(feature = "schema")]
pub use schema::{analysis_schema, json_schema};
pub use tail::TailReport;
pub use untouched::UntouchedLayer;

/// Name of the report's file in an artifact.
pub const REPORT_FILE: &str = "report.json";

/// Version of the report's schema.
pub const SCHEMA: u32 = 2;

/// Contents of `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The schema version, [`SCHEMA`].
    pub schema: u32,
    /// Version of the compiler that made the report.
    pub strait: String,
    /// The target that the model was compiled for.
    pub target: TargetReport,
    /// Why the artifact must not be deployed; absent if it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_for_deployment: Option<String>,
    /// For samples that are images: how they were read. The keys are the uses of the samples, `calibration` and
    /// `evaluation`. Absent if no samples are images.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, DataReport>,
    /// Digests of what the artifact was made from: `model`, `config`, and the uses of the samples, such as `calibration`. Empty
    /// if the report was made without files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
    /// The settings of the configuration, without paths. Absent if there is no configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<serde_json::Value>,
    /// The keys that the command line set, each as `KEY=VALUE`, in their order. Paths are left out, as in `settings`. Empty if it
    /// set none, or if the configuration has `redact`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Notes on what was assumed, and warnings about probable mistakes; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// How many layers run on the accelerator and how many on the host, with other counts.
    pub summary: Summary,
    /// Evidence that the layers compute what the target computes.
    pub evidence: EvidenceReport,
    /// How many layers were compared with the target's own model of its arithmetic, and how many layers that model does
    /// not compute. Absent if the target has no such model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<schema::Shares>"))]
    pub own_model: Option<Shares>,
    /// Where the operators of the TFLite file run. Absent if no such file is written, or if no option of the target names
    /// an accelerator for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_operators: Option<FileOperators>,
    /// What lies behind the outputs at which the model is cut: a float model, which runs behind the integer model. Metrics are
    /// those of both together. Absent if there is no such tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<TailReport>,
    /// Size of the parameters.
    pub size: Size,
    /// Comparison of the integer model with the float model on the first calibration samples.
    #[serde(default)]
    pub sanity: Sanity,
    /// Measured accuracy, if `[evaluation]` asks for it.
    pub accuracy: Option<Accuracy>,
    /// If a metric falls by more than a point: the three layers whose quantization alone does most harm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costly: Vec<CostlyLayer>,
    /// The requirements in `[gate]`, in the order of the configuration.
    pub gates: Vec<GateReport>,
    /// The operations of the integer model, in the order in which they run.
    pub layers: Vec<Layer>,
    /// Which requantizations were fused and which were not.
    pub fusions: Fusions,
    /// What the algorithms of `[optimize]` have done. Absent if none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimized: Option<Optimized>,
    /// What the searches of `[optimize]` for the types of layers have found, in the order in which they ran. Absent if there were
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mixed_precision: Vec<MixedPrecision>,
    /// Findings that lower the accuracy and could be avoided by changing the model or the configuration.
    pub lints: Vec<Lint>,
    /// The rules over the float graph whose pattern was found, and how often each was applied.
    pub rewrites: Vec<Rewrite>,
    /// The rules in `[[quantize.rule]]` and their effect.
    pub rules: Vec<RuleReport>,
    /// The keys of `[quantize]` that are set for all layers. Each key lists the layers for which the target or a rule
    /// decided otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quantize: Vec<KeyReport>,
    /// How the numbers of the computed tensors are distributed in the float model, and where they are cut off. Empty if no
    /// samples were observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Distribution>,
    /// The weights that have codes, channel by channel. Empty if the configuration has `redact`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<ChannelsOfWeights>,
    /// What the network sees: the first calibration samples after their preprocessing, for each input. Empty without samples, or
    /// if the configuration has `redact`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<SeenInput>,
    /// The samples of `[evaluation]` whose answer changed, for each output with one answer to a sample. Empty if no metric reads
    /// such an output, or if the configuration has `redact`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedAnswers>,
}

/// The target that a model was compiled for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TargetReport {
    /// Id of the target.
    pub id: String,
    /// Version of the target's table.
    pub version: String,
    /// The reference whose results the integer model reproduces, such as a chip or a runtime.
    pub reference: String,
    /// Evidence for those rows of the table that state none themselves: `proved`, `measured`, `documented` or
    /// `assumed`.
    pub evidence: String,
}

/// A warning or a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// `warning` or `note`.
    pub severity: String,
    /// Stable code of the remark: a letter and three digits.
    pub code: String,
    /// The remark, in one sentence.
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

/// Counts of operations, fusions and requantizations in the integer model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Number of operations on the accelerator.
    pub accelerator: usize,
    /// Number of operations on the host.
    pub host: usize,
    /// Number of conversions between real numbers and codes, without those of weights.
    pub conversions: usize,
    /// Number of fusions that do not change any integer result.
    pub exact: usize,
    /// Number of fusions that may change integers, but by no more than a proven number of steps (LSB).
    pub bounded: usize,
    /// Number of requantizations that stay operations of their own.
    pub unfused: usize,
    /// Cost of the requantizations that were not fused: the number of elements that they write in one run of the model.
    /// Each of these elements is read and written once more than if its producer had requantized it.
    pub requantized: u64,
}

/// Size of all parameters, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Size in the float model.
    pub float_bytes: u64,
    /// Size of the constants in the integer model, including those of layers on the host.
    pub integer_bytes: u64,
}

/// A requirement in `[gate]`, and whether it is met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GateReport {
    /// Key of the requirement in `[gate]`.
    pub gate: String,
    /// True if the requirement is met.
    pub met: bool,
    /// The measured figure and the required one, in words.
    pub text: String,
}

/// An operation of the integer model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Layer {
    /// Name of the operation.
    pub name: String,
    /// The layers of the float model from which the operation was made.
    pub sources: Vec<String>,
    /// Operator of the layer.
    pub op: String,
    /// Why the layer runs on the host; absent if it runs on the accelerator.
    pub host: Option<ReasonReport>,
    /// What the operation reads, in the order of its operands. Operands that are left out are not listed. Empty in reports of
    /// versions that did not have this key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<OperandReport>,
    /// The number of multiply-adds of the operation; for an operation without products, the number of elements that it
    /// visits. Absent in reports of versions that did not have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// Results of the operation.
    pub results: Vec<ValueReport>,
    /// Kind of the requantization that is part of the operation.
    pub form: Option<String>,
    /// How near the requantization comes to the ideal function, if the compiler chose its integers.
    pub free_integers: Option<Box<FreeIntegers>>,
    /// If the runtime computes the integers of the requantization from scales: how near the requantization comes to the
    /// ideal function, and how much nearer it would come with the best possible integers. Absent for a requantization
    /// that only shifts.
    pub from_scales: Option<Box<FromScales>>,
    /// Smallest and largest code to which the result is clamped.
    pub clamp: Option<[i32; 2]>,
    /// The fusion that made the operation.
    pub fusion: Option<Box<FiredReport>>,
    /// The weakest evidence among the rows that the operation rests on; absent if it runs on the host.
    pub evidence: Option<String>,
    /// The rows of the target's table that determine the bits of the results. The row with the weakest evidence is the last
    /// one.
    pub rests_on: Vec<String>,
    /// The forms whose evidence covers fewer accumulators than the operation can have.
    pub outside: Vec<Outside>,
}

/// A reason: a code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReasonReport {
    /// Stable code of the reason, in kebab-case.
    pub code: String,
    /// The reason in one sentence.
    pub text: String,
}

/// A value that an operation reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OperandReport {
    /// Name of the value.
    pub name: String,
    /// Element type of the value.
    pub elem: String,
    /// Shape of the value.
    pub shape: Vec<u64>,
    /// True if the value is part of the model, such as weights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub constant: bool,
}

/// A result of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueReport {
    /// Name of the value. If the value exists in the float model, it has the same name there.
    pub name: String,
    /// Element type of the value.
    pub elem: String,
    /// Shape of the value.
    pub shape: Vec<u64>,
    /// Scale and zero point: real = scale · (code − zero point).
    pub grid: Option<Grid>,
}

/// Scales and zero points of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// One scale, or one for each channel.
    pub scale: Vec<f32>,
    /// One zero point, or one for each channel.
    pub zero_point: Vec<i32>,
}

/// How often a rule over the float graph matched and was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rewrite {
    /// Name of the rule.
    pub rule: String,
    /// Number of places where the rule's pattern was found, including those where the rule was refused.
    #[serde(default)]
    pub matched: usize,
    /// Number of places where the rule was applied.
    pub applied: usize,
}

impl Report {
    /// The gates that are not met.
    pub fn failed_gates(&self) -> impl Iterator<Item = &GateReport> {
        self.gates.iter().filter(|gate| !gate.met)
    }

    /// Writes `report.json` directly to `out`. The whole text, which has about a kilobyte for each layer, is never in
    /// memory at once.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_json(&self, out: impl io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(1 << 16, out);
        serde_json::to_writer_pretty(&mut out, self)?;
        out.write_all(b"\n")?;
        out.flush()
    }
}
