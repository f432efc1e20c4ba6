//! The target `generic-int8`, which follows the rules of LiteRT's reference kernels for int8 and 16x8. The target also
//! has uint8, int4 weights and weight-only quantization. The host's own kernels compute its requantizations.
//!
//! The target consists only of a table. Compiling with `target.toml` loaded as a file gives the same bytes.

use strait_plugin_sdk::{FormKernel, TargetFactory, inventory};

inventory::submit! {
    TargetFactory::new(
        concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
        include_str!("../target.toml"),
    )
    .kernels(&[
            FormKernel::host("two-roundings"),
        FormKernel::host("wide"),
            FormKernel::host("one-rounding"),
            FormKernel::host("sixteen-by-eight"),
            FormKernel::host("float64"),
            FormKernel::host("float64-8"),
            FormKernel::host("mean"),
        ])
    .tested()
}
