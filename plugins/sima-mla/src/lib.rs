//! The target `sima`: SiMa's MLA.
//!
//! What it computes is public in part; its table says which parts are documented and which are assumed. The kernels are
//! this crate's own: they round half to even and nothing else, which is cheaper than the host's for every rounding.

mod half_even;
mod multiply_shift;
mod shift;

use strait_target::{FormKernel, TargetFactory, inventory};

inventory::submit! {
    TargetFactory {
        origin: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")),
        table: include_str!("../target.toml"),
        kernels: &[
            FormKernel { form: "arith-folded", prepare: shift::prepare },
            FormKernel { form: "fractional-zero", prepare: multiply_shift::prepare },
            FormKernel { form: "tflite", prepare: multiply_shift::prepare },
            FormKernel { form: "common-grid", prepare: multiply_shift::prepare },
        ],
        make: None,
    }
}
