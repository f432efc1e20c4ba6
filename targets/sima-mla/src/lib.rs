//! The target `sima`: SiMa's MLA accelerator.
//!
//! The arithmetic of the MLA is only partly public. The table says which parts are documented and which are assumed.
//! This crate has its own code for requantizations that round half to even, for one accumulator at a time. For whole
//! vectors of accumulators, the host's kernels are used, which compute the same.

mod half_even;
mod multiply_shift;
mod package;
mod shift;

use std::sync::Arc;
use strait_plugin_sdk::form::Requantization;
use strait_plugin_sdk::graph::Module;
use strait_plugin_sdk::kernel::Loops;
use strait_plugin_sdk::{FormKernel, Sink, TableTarget, Target, TargetError, TargetFactory, TargetSpec, inventory};

inventory::submit! {
    TargetFactory::new(
        concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
        include_str!("../target.toml"),
    )
    .kernels(&[
            FormKernel::new("arith-folded", &shift::prepare),
            FormKernel::new("fractional-zero", &multiply_shift::prepare),
            FormKernel::new("tflite", &multiply_shift::prepare),
            FormKernel::new("common-grid", &multiply_shift::prepare),
        ])
    .tested()
    .code(&|table| Ok(Arc::new(Mla(table))))
}

/// The target: its table, its kernels and its own files.
struct Mla(TableTarget);

impl Target for Mla {
    fn spec(&self) -> &TargetSpec {
        self.0.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.0.loops(form, clamp)
    }

    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        package::write(module, sink)
    }
}
