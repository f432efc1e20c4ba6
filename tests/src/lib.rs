//! Tests that cross crates. `filetests.rs` runs every file in `filetests/`: a graph, what to run over it, and the text
//! that comes out. [`case`] reads and checks one file, [`passes`] is the table of what a file may run. [`integer`] makes
//! integers of a float graph for a target, and [`numeric`] runs graphs, for the tests of their numbers.

pub mod case;
pub mod integer;
pub mod numeric;
pub mod passes;
pub mod random_graph;
pub mod row_graph;
