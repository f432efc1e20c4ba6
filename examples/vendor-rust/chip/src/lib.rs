//! The target `acme-edge`: a chip that does not exist.
//!
//! Its table says what it computes. `scale31.rs` computes that as the chip does, and `package.rs` writes the files that
//! the chip's loader reads. The same factory is registered for a program and exported by a library.

mod package;
mod scale31;

use std::sync::Arc;

use strait_plugin_sdk::form::Requantization;
use strait_plugin_sdk::graph::{Module, Reason, ReasonCode};
use strait_plugin_sdk::kernel::Loops;
use strait_plugin_sdk::{
    Candidate, FormKernel, OptionValue, Sink, TableTarget, Target, TargetError, TargetFactory, TargetSpec, inventory,
};

/// The target. Programs link it, and the library exports it.
pub const FACTORY: TargetFactory = TargetFactory::new(
    concat!("acme-edge ", env!("CARGO_PKG_VERSION")),
    include_str!("../target.toml"),
)
.kernels(&[FormKernel::new("scale31", &scale31::prepare)])
.code(&|table| Ok(Arc::new(AcmeEdge(table))));

inventory::submit! { FACTORY }

/// The target's table and kernels, and code for the files that a table cannot describe.
struct AcmeEdge(TableTarget);

impl Target for AcmeEdge {
    fn spec(&self) -> &TargetSpec {
        self.0.spec()
    }

    fn loops(&self, form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, TargetError> {
        self.0.loops(form, clamp)
    }

    fn admits(&self, node: &Candidate<'_>) -> Result<(), TargetError> {
        let room = match self.spec().chosen.get("weights") {
            Some(OptionValue::Integer(room @ 1..)) => room.unsigned_abs(),
            _ => return Ok(()),
        };
        let weights = (0..node.operands()).filter(|&operand| node.is_constant(operand));
        let mut counts = weights.filter_map(|operand| Some(node.extents(operand)?.iter().product::<u64>()));
        match counts.find(|&count| count > room) {
            Some(count) => {
                let text = format!("its {count} weights are more than the {room} for which the board has room");
                Err(Reason::new(ReasonCode::from("acme-weights"), text).into())
            }
            None => Ok(()),
        }
    }

    fn emit(&self, module: &Module, sink: &mut dyn Sink) -> Result<(), TargetError> {
        let fields = self.spec().chosen.get("fields") == Some(&OptionValue::Bool(true));
        package::write(module, fields, sink)
    }
}
