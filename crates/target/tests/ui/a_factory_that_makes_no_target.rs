//! A registration whose code makes what is no target.

use std::sync::Arc;
use strait_target::{TableTarget, TargetFactory, inventory};

struct Mine(TableTarget);

inventory::submit! {
    TargetFactory {
        origin: "an example 1.0.0",
        table: "",
        kernels: &[],
        make: Some(|table| Arc::new(Mine(table))),
    }
}

fn main() {}
