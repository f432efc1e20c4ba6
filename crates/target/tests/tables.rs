//! The tables in the repository are right.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use strait_target::{Options, Table};

#[test]
fn every_table_of_a_plugin_parses_with_every_overlay() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    let mut found = 0;
    for entry in std::fs::read_dir(plugins).unwrap() {
        let path = entry.unwrap().path().join("target.toml");
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let table = Table::parse(path.display().to_string(), text).unwrap_or_else(|e| panic!("{e}"));
        let spec = table.spec(&Options::new()).unwrap();
        assert!(
            spec.op_row(strait_core::Term::Conv)
                .is_some_and(|(_, row)| row.recipe().is_some())
        );
        found += 1;
    }
    assert!(found > 0);
}
