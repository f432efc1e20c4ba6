//! A vendor's code that accesses the op itself, which is private: targets see only its term and attributes.

use strait_plugin_sdk::FusionSite;

fn groups(site: &FusionSite<'_>) -> bool {
    format!("{:?}", site.op).is_empty()
}

fn main() {}
