//! Loops that are made from a value that is not an epilogue.

use strait_plugin_sdk::form::Requantization;
use strait_plugin_sdk::kernel::InRegisters;

struct Floor(u32);

fn loops(form: &Requantization) {
    let _ = InRegisters::new(Floor(3), form, None);
}

fn main() {}
