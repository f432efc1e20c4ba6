//! Tests that the documents made from the types are current. `STRAIT_BLESS=1` rewrites them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use strait_config as config;
use strait_testkit::is_current;

#[test]
fn the_reference_page_is_current() {
    is_current("docs/configuration.md", &config::reference_page());
}

#[test]
fn the_json_schema_is_current() {
    let schema = serde_json::to_string_pretty(&config::json_schema()).unwrap();
    is_current("docs/strait-config-1.schema.json", &format!("{schema}\n"));
}
