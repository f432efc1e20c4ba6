//! A registration that names no kernels.

use strait_target::{TargetFactory, inventory};

inventory::submit! {
    TargetFactory {
        origin: "an example 1.0.0",
        table: "",
        make: None,
    }
}

fn main() {}
