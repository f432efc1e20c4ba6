//! A library that exports the text of a table instead of a factory.

use strait_plugin_sdk::export_plugin;

export_plugin!("schema = 2");

fn main() {}
