//! The target table: what a target computes, as data.
//!
//! A table is UTF-8 TOML with `schema = 2`, in a file or included in a program. The same parser is used for both
//! ([`Table::parse`]). The JSON schema and `docs/target-table.md` are generated from the types and their documentation.

mod accept;
mod build;
mod by_term;
mod check;
mod compare;
mod evidence;
mod extends;
mod form;
mod fusion;
mod nearest;
mod nearness;
mod observer;
mod op;
mod option;
mod pair;
mod parse;
mod passes;
mod place;
mod rates;
mod recipe;
mod reference;
mod rescale;
mod spelling;
mod types;
mod words;

use by_term::ByTerm;
pub use compare::{Change, Comparison, Effect, Raise};
pub use evidence::{Row, Support};
pub use extends::{Base, Extends, MAX_TABLE_BYTES};
pub use form::{Arithmetic, ClampSet, FormRow, Holds, RightShift, Scale, ScaleRule, ShiftLimits, ZeroPoint};
pub use fusion::{Difference, FusionDefault, FusionRow, Own, Produced, Verb, When, With};
pub use nearest::{Built, Measured};
pub use nearness::{DerivedForm, Distance, Nearness, PossibleGain};
pub use observer::{CodeKind, Observed, Observer, ObserverOptions};
pub use op::{Limit, OpRow, Run, ShownOf, SymmetricOperands};
pub use option::{OptionRow, OptionType, OptionValue, Options};
pub use pair::{Activation, Pair};
pub use parse::{Table, TableError};
pub use passes::{Alignment, Alignments, Passes};
pub use place::{OpSite, Operand};
pub use rates::{Rates, Work};
pub use recipe::{Fraction, Lines, Padding, PoolPadding, Recipe, Reciprocal, WeightGrid};
pub use reference::reference_page;
pub use rescale::{Rescale, Scales};
pub use types::{
    Accumulator, ActivationScheme, BiasType, Divide, Overflow, Points, Quantize, ScaleSet, SumBlock, Types,
    WeightScheme,
};
pub use words::{Evidence, FloatRule, Integer, Per, WeightPer};

#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::LazyLock};
use strait_core::Term;
use strait_document::{Document, Format as TextFormat, Rule, Shape, words};

/// The version of the table format that this version of Strait reads.
pub const SCHEMA: u32 = 2;

/// A target table that has been checked, with its overlays applied. [`Table::parse`] makes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// The version of the table format: 2.
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 2)))]
    pub schema: u32,
    /// The name of the target in configurations, in kebab-case.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "id")))]
    pub id: String,
    /// The version of the table. A patch version changes only texts. With a minor version, the table accepts more than before.
    /// With a major version, results have other bits.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "version")))]
    pub version: String,
    /// A base table that this table extends. It is in a file in the same folder. Each of the files has a `schema`, an `id` and
    /// a `version` of its own, and no two have the same `id`. Every other key that is absent in this table is taken from the
    /// base table. If both have the key, this table wins: TOML tables are merged key by key, and lists are replaced. The base
    /// table need not be complete, and may extend a third table. Only a table in a file can extend another table.
    pub extends: Option<Extends>,
    /// Who makes the chip or the runtime.
    pub vendor: Option<String>,
    /// The licence of the table.
    pub licence: Option<String>,
    /// Where the documentation of the target is.
    pub docs: Option<String>,
    /// The reference whose results the target reproduces.
    pub reference: Reference,
    /// The chip.
    pub silicon: Option<Silicon>,
    /// Which types and grids codes can have.
    pub types: Types,
    /// The accumulators, by the type of the activations.
    #[cfg_attr(feature = "schema", schemars(extend("propertyNames" = { "enum": Integer::NAMES })))]
    pub accumulator: BTreeMap<Integer, Accumulator>,
    /// The rewrite rules of the float graph that run for this target, in addition to those for every target. At a node, they are
    /// tried in this order.
    #[serde(default)]
    pub rules: Vec<FloatRule>,
    /// How real numbers are quantized to codes.
    pub quantize: Quantize,
    /// The requantizations that the target computes, by name.
    pub form: BTreeMap<String, FormRow>,
    /// How ops are lowered to integers. The name of a row is the term of its op. If the row has the key `ops`, its name can be
    /// any other.
    #[serde(default)]
    pub op: BTreeMap<String, OpRow>,
    /// Lists of ops that the passes before lowering treat alike.
    #[serde(default)]
    pub passes: Passes,
    /// Fusions of a requantization into its producer. Rows are tried in order.
    #[serde(default)]
    pub fusion: Vec<FusionRow>,
    /// Which fusions are made unless a configuration says otherwise.
    #[serde(default)]
    pub fusion_default: FusionDefault,
    /// How ops that stay on the host are computed.
    #[serde(default)]
    pub host: Host,
    /// Options that a configuration may set.
    #[serde(default)]
    pub options: BTreeMap<String, OptionRow>,
    /// `[overlay.OPTION.VALUE]`: a partial table that is merged over this table if the option has this value. Overlays of
    /// several options are merged in the order of the options' names. TOML tables are merged key by key, and lists are
    /// replaced.
    #[serde(default)]
    pub overlay: BTreeMap<String, BTreeMap<String, PartialTable>>,
    /// The formats that are written for this target in addition to the artifact, unless a configuration says otherwise.
    #[serde(default)]
    pub emit: Vec<Format>,
    /// The values of the target's options, including defaults.
    #[serde(skip)]
    pub chosen: Options,
    /// SHA-256 of the table's text. The text contains the digest of the table that it extends.
    #[serde(skip)]
    pub digest: [u8; 32],
    /// The tables that this table extends: its base table, the base table of that table, and so on.
    #[serde(skip)]
    pub bases: Vec<Base>,
    /// The rows of `op` by term.
    #[serde(skip)]
    by_term: ByTerm,
}

/// The reference of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The name and version of the reference, whose results the integer model should have.
    pub oracle: String,
    /// How well it is known that the target computes the same as the reference. A row may state its own evidence.
    pub evidence: Evidence,
}

/// The chip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Silicon {
    /// The name and stepping of the chip.
    pub name: Option<String>,
    /// The versions of the chip's firmware.
    pub firmware: Option<String>,
    /// The reference that the bits were compared with.
    pub fidelity: Fidelity,
    /// Recordings that show that rows are `measured`. `strait plugin check` replays the recordings, and says what they do not
    /// cover. With a `fidelity` of `silicon`, a row that says `measured` counts as `documented` if no recording names it.
    #[serde(default)]
    pub evidence: Vec<Recording>,
    /// How much the chip does in a cycle. Without it, `strait check` does not estimate cycles.
    pub rates: Option<Rates>,
}

/// A file of recorded layers, in the format that docs/plugins/silicon.md describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The path of the `.npz` file, relative to the folder of the table.
    pub file: String,
    /// SHA-256 of the file.
    #[cfg_attr(feature = "schema", schemars(extend("format" = "sha256")))]
    pub sha256: String,
    /// The rows for which the recording is evidence, named as in reports: `"form scale"`, `"op conv"`, `"fusion requantize"`,
    /// `"accumulator int8"`.
    #[serde(default)]
    pub rows: Vec<String>,
}

words! {
    /// The reference that the bits were compared with.
    Fidelity {
        /// Nothing: the table is derived from public information.
        Derived = "derived",
        /// A specification.
        Specification = "specification",
        /// The vendor's runtime.
        Runtime = "runtime",
        /// The chip itself.
        Silicon = "silicon",
    }
}

/// How ops that stay on the host are computed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The arithmetic of these ops.
    #[serde(default)]
    pub default: HostType,
    /// Where codes are dequantized for these ops.
    #[serde(default)]
    pub boundary: Boundary,
    /// Where islands run. The target could compute the nodes of an island, but only ops on the host read their results.
    #[serde(default)]
    pub islands: Islands,
}

words! {
    /// A format that is written in addition to the artifact.
    Format {
        /// ONNX with `QuantizeLinear` and `DequantizeLinear` around float operators. Every target can have it.
        QdqOnnx = "qdq-onnx",
        /// ONNX with a quantized operator for each layer on the accelerator, such as `QLinearConv`. A target that computes the same
        /// integers as the kernels of these operators lists this word.
        QOperatorOnnx = "qoperator-onnx",
        /// TFLite, with an integer operator for each layer on the accelerator. A target that computes the same integers as
        /// LiteRT's kernels lists this word, possibly only with a certain option.
        TfLite = "tflite",
        /// Files in the target's own format, which code in the target's crate writes. A target that has such files lists this word.
        Package = "package",
    }
}

words! {
    /// The arithmetic of an op on the host.
    #[derive(Default)]
    HostType {
        /// In `f32`.
        #[default]
        Float32 = "float32",
    }
}

words! {
    /// Where codes are dequantized for an op on the host.
    #[derive(Default)]
    Boundary {
        /// On the host.
        #[default]
        DequantizeOnHost = "dequantize_on_host",
    }
}

words! {
    /// Where an island runs. An island is a group of connected nodes without a convolution, Gemm or MatMul. Only ops on
    /// the host read its results. An output of the model does not count as an op on the host.
    #[derive(Default)]
    Islands {
        /// On the host, because quantizing values between ops on the host would only cost accuracy.
        #[default]
        Float = "float",
        /// On the accelerator, as far as it can compute the nodes of the island.
        Integer = "integer",
    }
}

/// A part of a table, which has only some of the keys. The keys are checked as part of the table that they are merged
/// into.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct PartialTable {
    /// The formats that are written with this overlay.
    #[serde(default)]
    pub emit: Vec<Format>,
    /// The names of the rows of ops that the overlay has.
    #[serde(default)]
    pub op: BTreeMap<String, IgnoredAny>,
}

#[cfg(feature = "schema")]
impl JsonSchema for PartialTable {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PartialTable".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object" })
    }
}

/// The formats of texts in a table, which the types of JSON cannot express.
const FORMATS: &[TextFormat] = &[
    TextFormat {
        name: "id",
        expectation: "small letters and digits with single hyphens between them, a letter first",
        rule: Rule::Text(check::is_kebab_case),
    },
    TextFormat {
        name: "version",
        expectation: "three numbers with dots between them",
        rule: Rule::Text(check::is_semver),
    },
    TextFormat {
        name: "sha256",
        expectation: "64 hexadecimal digits, small letters",
        rule: Rule::Text(check::is_sha256),
    },
    TextFormat {
        name: "range",
        expectation: "two integers, the first below the second",
        rule: Rule::Ascending,
    },
    TextFormat {
        name: "file-name",
        expectation: "the name of a file without a folder",
        rule: Rule::Text(extends::is_file_name),
    },
];

impl Document for TargetSpec {
    const NAME: &'static str = "the table";
    const SCHEMA: u32 = SCHEMA;
    const FORMATS: &'static [TextFormat] = FORMATS;

    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<TargetSpec>);
        &SHAPE
    }
}

/// The JSON schema of a table, as committed in `docs/strait-target-2.schema.json`.
#[cfg(feature = "schema")]
pub fn json_schema() -> serde_json::Value {
    strait_document::json_schema::<TargetSpec>()
}

impl TargetSpec {
    /// Returns the table's forms with these names. Names that the table does not have are skipped.
    fn forms_of<'a>(&'a self, names: &'a [String]) -> impl Iterator<Item = &'a FormRow> {
        names.iter().filter_map(|name| self.form.get(name))
    }

    /// Returns the rows for an op's term. If the op is computed in different ways for different types or limits, there are
    /// several rows. If the table has no row for the op, there are none, and the op runs on the host.
    pub fn op_rows(&self, term: Term) -> impl Iterator<Item = (&str, &OpRow)> {
        self.by_term
            .of(&self.op, term)
            .iter()
            .map(|(name, row)| (name.as_str(), row))
    }

    /// True if the table has a row for an op's term. This does not need the index of the rows.
    pub(crate) fn has_rows(&self, term: Term) -> bool {
        self.op.iter().any(|(name, row)| by_term::is_for(name, row, term))
    }

    /// Returns one of the rows for an op's term, if possible one that computes on codes. It does not matter which row,
    /// because all rows of an op agree in everything that does not depend on types: where the op runs, which operands
    /// are parameters, and whether the result keeps the scale and zero point of the operand.
    pub fn op_row(&self, term: Term) -> Option<(&str, &OpRow)> {
        let named = |name: &str, row: &OpRow| row.ops.is_none() && name == term.name();
        self.op_rows(term)
            .min_by_key(|(name, row)| (row.is_weight_only(), !named(name, row)))
    }

    /// The row by which an op is computed on real numbers with quantized weights.
    pub fn weight_only_row(&self, term: Term) -> Option<(&str, &OpRow)> {
        self.op_rows(term).find(|(_, row)| row.is_weight_only())
    }

    /// Returns the rows by which an op is computed on activations of a type, in the order in which they are tried.
    /// These rows may differ in limits, in forms, and in keys that only affect lowering.
    pub fn rows_for(&self, term: Term, activation: Activation) -> impl Iterator<Item = (&str, &OpRow)> {
        self.op_rows(term)
            .filter(move |(_, row)| row.is_host() || self.pairs(row).any(|pair| pair.activation == activation))
    }

    /// The first of the rows by which an op is computed on activations of a type.
    pub fn row_for(&self, term: Term, activation: Activation) -> Option<(&str, &OpRow)> {
        self.rows_for(term, activation).next()
    }

    /// Returns the pairs of activation type and weight type of a row: the pairs that the row names, or else all pairs
    /// of the table that the row's recipe accepts.
    pub fn pairs<'a>(&'a self, row: &'a OpRow) -> impl Iterator<Item = Pair> + 'a {
        let pairs = row.pairs.as_deref().unwrap_or(&self.types.pairs).iter().copied();
        pairs.filter(|pair| pair.is_weight_only() == row.is_weight_only())
    }

    /// The pairs of activation type and weight type of an op, the preferred one first.
    pub fn pairs_of(&self, term: Term) -> impl Iterator<Item = Pair> + '_ {
        let all = self.types.pairs.iter().copied();
        all.filter(move |&pair| {
            self.op_rows(term)
                .any(|(_, row)| self.pairs(row).any(|has| has == pair))
        })
    }

    /// Returns the weight-only pairs of an op, the preferred one first. Convolutions and Gemms have such pairs,
    /// and other ops if the table has a weight-only row for them. If
    /// the op has a row for weight-only pairs, the accelerator computes the pairs of this row. The host can compute all
    /// weight-only pairs of the table.
    pub fn weight_only_pairs(&self, term: Term) -> impl Iterator<Item = Pair> + '_ {
        let weighs = matches!(term, Term::Conv | Term::Gemm) || self.weight_only_row(term).is_some();
        let all = self.types.pairs.iter().copied();
        all.filter(move |pair| weighs && pair.is_weight_only())
    }

    /// Granularities of the scales that weights of a type can have in a row, the preferred one first. A row for scales
    /// per channel also accepts a single scale for the tensor. A row for a scale per tensor does not accept scales per
    /// channel.
    pub fn weight_granularities(&self, row: Option<&OpRow>, weight: Integer) -> Vec<WeightPer> {
        let mut per = self.types.weight(weight).per.clone();
        if let Some(own) = row.and_then(|row| row.weight_per) {
            per.sort_by_key(|per| *per != own);
            if own == WeightPer::Tensor {
                per.truncate(1);
            }
        }
        per
    }

    /// The row that converts codes of a type to another scale, zero point or type; `None` if the target cannot do this.
    pub fn requantizes(&self, from: Integer) -> Option<(&str, &OpRow)> {
        self.row_for(Term::Requantize, from.into())
            .filter(|(_, row)| !row.is_host())
    }

    /// The formats that can be written for this target.
    pub fn formats(&self) -> Vec<Format> {
        let formats = Format::ALL.iter().copied();
        formats
            .filter(|format| *format == Format::QdqOnnx || self.emit.contains(format))
            .collect()
    }

    /// Finds an option and a value of it with which this format can be written. This method is for formats that
    /// [`TargetSpec::formats`] does not return.
    pub fn option_for(&self, format: Format) -> Option<(&str, OptionValue)> {
        self.overlay.iter().find_map(|(option, values)| {
            let value = values.iter().find(|(_, overlay)| overlay.emit.contains(&format))?.0;
            Some((option.as_str(), self.options.get(option)?.value_of(value)))
        })
    }

    /// Finds the chosen option that the row of ops with this name comes from, or by which the row is changed, and the
    /// option's value. Returns `None` if the row is the same for all values of the options.
    pub fn option_of(&self, row: &str) -> Option<(&str, &OptionValue)> {
        self.overlay.iter().find_map(|(option, values)| {
            let chosen = self.chosen.get(option)?;
            let mut merged = values.iter().filter(|(_, overlay)| overlay.op.contains_key(row));
            let row = self.options.get(option)?;
            let is_chosen = merged.any(|(value, _)| row.value_of(value) == *chosen);
            is_chosen.then_some((option.as_str(), chosen))
        })
    }

    /// The digest of the table as hexadecimal digits.
    pub fn digest_text(&self) -> String {
        hexadecimal(&self.digest)
    }
}

/// A digest as hexadecimal digits.
fn hexadecimal(digest: &[u8; 32]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
