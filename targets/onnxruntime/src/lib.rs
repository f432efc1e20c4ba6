//! The target `onnxruntime`, which computes what the quantized operators of ONNX Runtime compute on the CPU: activations
//! are uint8, weights int8. The host's own kernels compute its requantizations.
//!
//! The target consists only of a table. Compiling with `target.toml` loaded as a file gives the same bytes.

use strait_plugin_sdk::{FormKernel, TargetFactory, inventory};

inventory::submit! {
    TargetFactory::new(
        concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
        include_str!("../target.toml"),
    )
    .kernels(&[FormKernel::host("product"), FormKernel::host("zero-inside")])
    .tested()
}
