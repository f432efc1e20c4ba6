//! A vendor's code that looks for the op itself, whose set is the house's.

use strait_plugin_sdk::{Candidate, Site};

fn groups(node: &Candidate<'_>, site: &Site<'_>) -> bool {
    format!("{:?}{:?}", node.site, site.op).is_empty()
}

fn main() {}
