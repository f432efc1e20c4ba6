//! Support for tests that involve several crates.
//!
//! `filetests.rs` runs every file in `filetests/`: a graph, what to run on it, and the expected text. [`case`] reads
//! and checks one file, and [`passes`] lists what a file may run. [`integer`] compiles a float graph to integers for a
//! target. [`numeric`] runs graphs, for tests that compare numbers.

pub mod case;
pub mod integer;
pub mod numeric;
pub mod passes;
pub mod random_graph;
pub mod row_graph;
