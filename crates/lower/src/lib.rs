//! Makes an integer graph from an annotated graph.
//!
//! - [`bake()`] rounds the parameters of the annotated graph to codes.
//! - [`lower`] makes a new module. Each node on the accelerator becomes integer primitives, by the recipe that the
//!   target's table names. If a recipe makes accumulators, a separate requantize node turns them into codes.
//! - [`fuse()`] then moves requantizations and clamps into the nodes that produce their operands, as the rows of the
//!   table allow. Each fusion gets a certificate.

mod bake;
mod boundary;
mod codes;
mod error;
mod exact_tables;
mod free_batch;
pub mod fuse;

pub mod interval;
mod lowering;
mod operators;
mod outputs;
mod part;
mod recipes;
mod segment;
mod simulate;
mod taps;
mod walk;

pub use bake::{Baked, Chosen, bake, rebake};
pub use error::LowerError;
pub use exact_tables::with_exact_tables;
pub use free_batch::{FreeBatch, OneSample, free_batch};
pub use fuse::{Attempt, FuseError, Fused, Fusion, FusionPolicy, Merged, Refused, Until, dropped_clamp, fuse};
pub use lowering::{Lowered, Turns, lower};
pub use operators::operators;
pub use outputs::name_outputs;
pub use segment::{Segment, simulate_segment};
pub use simulate::{Parameters, Resimulated, Signs, resimulate, simulate, simulate_unlimited};
