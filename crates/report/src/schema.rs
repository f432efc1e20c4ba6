//! The JSON schema of `report.json`: its promise.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde::Serialize;
use serde_json::Value as Json;

use crate::Report;

/// The JSON schema of a report, as committed in `docs/strait-report-2.schema.json`.
pub fn json_schema() -> Json {
    // A format is the name of a type of Rust.
    let plain = RecursiveTransform(|schema: &mut Schema| {
        schema.remove("format");
    });
    let settings = SchemaSettings::draft07().for_serialize().with_transform(plain);
    settings.into_generator().into_root_schema_for::<Report>().to_value()
}

/// Numbers of layers with a requantization. They are `strait_compile::Shares`, which knows no schema.
#[derive(JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only its form is of use")]
pub(crate) struct Shares {
    /// Those that the target's own model computes.
    own: usize,
    /// Those of which it leaves a requantization to the host.
    host: usize,
}

/// Difference of two functions on an interval. It is `strait_requantize::Verdict`, whose crate depends on nothing of ours.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(dead_code, reason = "only its form is of use")]
pub(crate) enum Verdict {
    /// They are equal on all of it.
    Exact,
    /// They differ somewhere.
    Bounded {
        /// The largest difference, in units of the result.
        max_lsb: u32,
        /// The smallest accumulator where they differ by that much.
        witness: i64,
        /// The part of the interval's integers where they differ, in (0, 1].
        share: f64,
    },
    /// Nothing is known: results of 32 bits, whose normalised parameters are not the same.
    Unknown,
}
