//! Goes through the layers of a graph in their order, and chooses the codes of each layer from what it reads in the model
//! as quantized so far.

mod frontier;
mod layers;
mod run;
mod store;

pub use run::{LayerOutcome, Optimised, Task, Untouched, layers, optimise};
