//! From annotated to integers.
//!
//! [`lower`] makes a new module out of an annotated graph: parameters are baked, each node of the accelerator
//! becomes integer primitives by the recipe that the target's table names, and results that are wide carry
//! an explicit requantize. [`fuse()`] then takes requantizations and clamps into their producers, row by row of the table,
//! each with a certificate.

mod bake;
mod boundary;
mod fake_quantize;
pub mod fuse;

pub mod interval;
mod lowering;
mod recipes;
mod taps;

pub use fake_quantize::fake_quantize;
pub use fuse::{Attempt, FuseError, Fused, Fusion, FusionPolicy, Merged, Refused, Until, dropped_clamp, fuse};
pub use lowering::{LowerError, Lowered, lower};
