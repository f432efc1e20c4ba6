//! From annotated to integers.
//!
//! [`bake()`] turns the parameters of an annotated graph into codes. [`lower`] makes a new module out of it: each node of
//! the accelerator becomes integer primitives by the recipe that the target's table names, and results that are wide carry
//! an explicit requantize. [`fuse()`] then takes requantizations and clamps into their producers, row by row of the table,
//! each with a certificate.

mod bake;
mod boundary;
mod codes;
mod free_batch;
pub mod fuse;

pub mod interval;
mod lowering;
mod outputs;
mod part;
mod recipes;
mod simulate;
mod taps;
mod walk;

pub use bake::{Baked, bake};
pub use free_batch::{OneSample, free_batch};
pub use fuse::{Attempt, FuseError, Fused, Fusion, FusionPolicy, Merged, Refused, Until, dropped_clamp, fuse};
pub use lowering::{LowerError, Lowered, Turns, lower};
pub use outputs::name_outputs;
pub use simulate::{Parameters, Resimulated, Signs, resimulate, simulate};
