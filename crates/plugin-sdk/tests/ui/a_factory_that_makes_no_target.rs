//! A registration whose code returns a value that is not a target.

use std::sync::Arc;
use strait_plugin_sdk::{TableTarget, TargetFactory, inventory};

struct Mine(TableTarget);

inventory::submit! {
    TargetFactory::new("an example 1.0.0", "").code(&|table| Ok(Arc::new(Mine(table))))
}

fn main() {}
