//! A library of a table without the factory around it.

use strait_plugin_sdk::export_plugin;

export_plugin!("schema = 2");

fn main() {}
