//! A vendor's code that looks for the op itself, whose set is the house's.

use strait_plugin_sdk::FusionSite;

fn groups(site: &FusionSite<'_>) -> bool {
    format!("{:?}", site.op).is_empty()
}

fn main() {}
