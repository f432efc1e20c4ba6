//! The target `ascend`: it computes what AMCT's deploy models compute on Ascend's cube unit.
//!
//! This crate has its own kernel for a fused requantization: the product of scale and accumulator in `f32`, rounded to
//! the nearest even integer, then ReLU, then the offset. Requantizations that are not fused are computed by the host's
//! kernels.

mod amct;
mod package;
mod record;
mod requant;

use std::sync::Arc;
use strait_plugin_sdk::form::Requantization;
use strait_plugin_sdk::graph::Module;
use strait_plugin_sdk::kernel::Loops;
use strait_plugin_sdk::{
    Emission, FormKernel, Recorded, Sink, TableTarget, Target, TargetError, TargetFactory, TargetSpec,
    dialect::Dialect, inventory,
};

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
    .tested()
    .dialect(Dialect::of::<amct::Simple>())
    .code(&|table| Ok(Arc::new(Ascend(table))))
}

/// The table and the kernels of the target, and AMCT's files.
struct Ascend(TableTarget);

impl Target for Ascend {
    fn spec(&self) -> &TargetSpec {
        self.0.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.0.loops(form, clamp)
    }

    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        package::write(&Emission::new(module, "model"), sink)
    }

    fn emit_all(&self, emission: &Emission<'_>, sink: &mut dyn Sink) -> Result<(), TargetError> {
        package::write(emission, sink)
    }

    fn counts_outputs(&self) -> bool {
        true
    }

    fn recorded(&self, text: &str) -> Result<Vec<Recorded>, TargetError> {
        record::grids(text)
    }
}
