//! Loops that are to be compiled for what is no epilogue.

use strait_kernels::integer::InRegisters;
use strait_requantize::Requantization;

struct Floor(u32);

fn loops(form: &Requantization) {
    let _ = InRegisters::new(Floor(3), form, None);
}

fn main() {}
