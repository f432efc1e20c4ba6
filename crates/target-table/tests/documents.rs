//! Checks that the documents that are generated from the types of a table are current. `STRAIT_BLESS=1` rewrites them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_target::{Table, spec};
use strait_testkit::is_current;

#[test]
fn the_reference_page_is_current() {
    is_current("docs/target-table.md", &spec::reference_page());
}

#[test]
fn the_json_schema_is_current() {
    let schema = serde_json::to_string_pretty(&spec::json_schema()).unwrap();
    is_current("docs/strait-target-2.schema.json", &format!("{schema}\n"));
}

/// The TOML code blocks of a page.
fn blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("\n```toml\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap()).collect()
}

#[test]
fn the_first_table_of_the_page_is_one_and_all_that_is_said_more_of_it_is_right() {
    let page = include_str!("../../../docs/plugins/toml.md").replace("\r\n", "\n");
    let blocks = blocks(&page);
    let (first, more) = blocks.split_first().unwrap();
    assert!(more.len() > 2, "{}", more.len());
    let mut text = format!("{first}\n");
    for block in more {
        let alone = Table::parse("first.toml", format!("{first}\n{block}\n"));
        alone.unwrap_or_else(|findings| panic!("{findings}"));
        text += &format!("{block}\n");
    }
    Table::parse("first.toml", text).unwrap_or_else(|findings| panic!("{findings}"));
}
