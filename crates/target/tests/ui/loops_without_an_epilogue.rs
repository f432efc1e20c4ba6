//! Loops that are to be compiled for what is no epilogue.

use strait_kernels::integer::InRegisters;
use strait_requantize::IntType;

struct Floor(u32);

fn main() {
    let _ = InRegisters::new(Floor(3), IntType::I8, None);
}
