//! The target `generic-int8`: the rules of LiteRT's reference kernels for int8 and 16x8, with uint8, int4 weights and weights
//! alone besides, computed by the host's own kernels.
//!
//! It is only a table; loaded from `target.toml` as a file it gives the same bytes.

use strait_kernels::integer::standard;
use strait_target::{FormKernel, TargetFactory, inventory};

inventory::submit! {
    TargetFactory {
        origin: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
        table: include_str!("../target.toml"),
        kernels: &[
            FormKernel { form: "two-roundings", prepare: standard },
            FormKernel { form: "one-rounding", prepare: standard },
            FormKernel { form: "sixteen-by-eight", prepare: standard },
            FormKernel { form: "float64", prepare: standard },
            FormKernel { form: "mean", prepare: standard },
        ],
        make: None,
    }
}
