//! Compares kernels with their definitions, on every instruction set. All tests are in one program, so that only this
//! program has to be linked.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod support;

mod affine_sums;
mod chains;
mod channels_last;
mod coded_products;
mod exhaustive;
mod float_functions;
mod float_products;
mod integer_elementwise;
mod integer_products;
mod integer_wide_elementwise;
mod integer_wide_products;
mod mixed;
mod requantize;
mod requantize_wide;
