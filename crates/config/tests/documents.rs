//! The documents that are made from the types are current. `STRAIT_BLESS=1` rewrites them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path};

use strait_config as config;

fn is_current(name: &str, content: &str) {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name);
    if std::env::var_os("STRAIT_BLESS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
    }
    // A checkout may have other line ends.
    let committed = fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        committed == content,
        "docs/{name} is not what the types say: run `cargo xtask bless`"
    );
}

#[test]
fn the_reference_page_is_current() {
    is_current("configuration.md", &config::reference_page());
}

#[test]
fn the_json_schema_is_current() {
    let schema = serde_json::to_string_pretty(&config::json_schema()).unwrap();
    is_current("strait-config-1.schema.json", &format!("{schema}\n"));
}
