//! Tests a target. [`examine`] makes the report that a vendor gets.
//!
//! The kernels are tested with requantizations within the limits of each form of the table, first with extreme
//! parameters and then with others. Every result is compared with `strait-requantize`, which defines the forms. The
//! accumulators are those where a result changes and their neighbours, the ends of the domain, and others of every
//! magnitude. Forms that are defined for accumulators of more than 32 bits are also tested with 64-bit sums of 16-bit
//! codes. All instruction sets of the machine have to give the same bits.
//!
//! The tests only use the interface that every target has. So all targets are tested in the same way: those that are
//! only a table, those with their own kernels, and those in a library.

mod accumulators;
mod kit;
mod near_ties;
mod numbers;
mod placed;
mod runs;
mod samples;
#[cfg(test)]
mod tests;

pub use kit::{Examination, ExaminationProgress, Group, Kit, Line, Recording, examine};
