//! A test with everything that a target's crate needs: a table, and a kernel for each of its forms.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use strait_kernels::{
    KernelError,
    integer::{Epilogue, InRegisters, Loops, PerChannel, per_channel},
};
use strait_requantize::{Requantization, form::Arithmetic};
use strait_target::{FormKernel, Options, Registry, TargetFactory, inventory};

struct Floor(PerChannel<u32>);

impl Epilogue for Floor {
    type Constants = u32;

    fn constants(&self) -> &PerChannel<u32> {
        &self.0
    }

    fn lane(&self, shift: &u32, accumulator: i32) -> i32 {
        accumulator >> shift
    }
}

fn floor(form: &Requantization, clamp: Option<[i32; 2]>) -> Result<Box<dyn Loops>, KernelError> {
    let shifts = per_channel(form, |channel| match channel.arithmetic() {
        Arithmetic::Affine(a) if a.shift < 32 => Some(a.shift.into()),
        _ => None,
    })?;
    Ok(Box::new(InRegisters::new(Floor(shifts), form, clamp)))
}

const TABLE: &str = r#"
schema = 2
id = "floor"
version = "1.0.0"
quantize.rounding = "half_even"
accumulator.int8 = { bits = 32, overflow = "wrap" }

[reference]
oracle = "nothing"
evidence = "assumed"

[types]
pairs = [["int8", "int8"]]
activation = { symmetric = true }
weight = { symmetric = true, per = ["channel"] }
bias = { int8 = "int32" }

[form.floor]
kind = { shift = { shift = { min = 0, max = 31 }, rounding = "floor" } }
output = ["int8"]
per = ["channel"]
from = "free"
"#;

inventory::submit! {
    TargetFactory::new("an example 1.0.0", TABLE).kernels(&[FormKernel::new("floor", &floor)])
}

#[test]
fn a_crate_of_its_own_registers_a_target_with_a_kernel() {
    let registry = Registry::builtin().unwrap();
    let target = registry.get("floor", &Options::new()).unwrap();
    assert_eq!(target.spec().form.len(), 1);
}
