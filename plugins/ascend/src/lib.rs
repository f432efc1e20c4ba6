//! The target `ascend`: what AMCT's deploy models compute on Ascend's cube unit.
//!
//! The kernel of a fused requantization is this crate's own: the scale's product with an accumulator in `f32`, rounded to
//! the nearest even integer, ReLU, then the offset. What stands there before the fusion is the host's to compute.

mod amct;
mod requant;
pub mod text_proto;

use strait_plugin_sdk::{FormKernel, TargetFactory, dialect::Dialect, inventory};

inventory::submit! {
    TargetFactory::new(
        concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
        include_str!("../target.toml"),
    )
    .kernels(&[
            FormKernel::new("requant", &requant::prepare),
            FormKernel::host("dequant-quant"),
            FormKernel::host("dequant-s16"),
            FormKernel::host("requant-s16"),
        ])
    .dialect(Dialect::of::<amct::Simple>())
}
