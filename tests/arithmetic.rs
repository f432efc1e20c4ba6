//! Tests that integer models compute the arithmetic that they stand for. All are in one program, so that it is linked
//! once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "bounds/main.rs"]
mod bounds;
mod dilated;
mod divisors;
mod given;
mod grids;
mod holes;
mod interpolated;
mod litert;
mod masks;
mod migrated;
mod numbers;
mod other_ways;
mod outputs;
mod overrides;
mod resampled;
mod residual;
mod revisions;
mod same_numbers;
mod simulation;
mod spelled_out;
mod sums_of_16_bits;
mod turns;
mod units;
mod weight_only;
