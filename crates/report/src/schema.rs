//! The JSON schema of `report.json`. Programs that read the file may rely on it.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::Serialize;
use serde_json::Value as Json;

use crate::{Analysis, Report};

/// The JSON schema of a report. It is committed as `docs/strait-report-2.schema.json`.
pub fn json_schema() -> Json {
    schema_of::<Report>()
}

/// The JSON schema of the analysis that `strait analyze --json` prints. It is committed as
/// `docs/strait-analysis-1.schema.json`.
pub fn analysis_schema() -> Json {
    schema_of::<Analysis>()
}

fn schema_of<T: JsonSchema>() -> Json {
    // `format` has names of Rust types, which mean nothing to other readers of the schema.
    let plain = RecursiveTransform(|schema: &mut Schema| {
        schema.remove("format");
    });
    let settings = SchemaSettings::draft07().for_serialize().with_transform(plain);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// How many layers with a requantization the target's own model computes. This type has the same fields as
/// `strait_compile::Shares`, whose crate does not depend on a schema library.
#[derive(JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only its form is of use")]
pub(crate) struct Shares {
    /// Number of layers whose requantizations the target's own model computes.
    own: usize,
    /// Number of layers for which the target's own model leaves a requantization to the host.
    host: usize,
}

/// Difference of two functions on an interval. This type has the same form as `strait_requantize::Verdict`, whose crate
/// depends on none of our crates.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(dead_code, reason = "only its form is of use")]
pub(crate) enum Verdict {
    /// The functions are equal on the whole interval.
    Exact,
    /// The functions differ somewhere.
    Bounded {
        /// The largest difference, in units of the result.
        max_lsb: u32,
        /// The smallest accumulator at which the functions differ by that much.
        witness: i64,
        /// Fraction of the interval's integers at which the functions differ, in (0, 1].
        share: f64,
    },
    /// It is not known whether the functions differ. This is so if the results have 32 bits and the normalised
    /// parameters of the functions differ.
    Unknown,
}
