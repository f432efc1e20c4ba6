//! Tests that cross crates. `filetests.rs` runs every file in `filetests/`: a graph, what to run over it, and the text
//! that comes out. [`case`] reads and checks one file, [`passes`] is the table of what a file may run.

pub mod case;
pub mod passes;
