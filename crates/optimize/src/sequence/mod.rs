//! Goes through the layers of a graph in their order, and chooses the parameters of each layer from what it reads or makes in
//! the model as quantized so far.

mod frontier;
mod layers;
mod means;
mod models;
mod positions;
mod run;
mod shift;
mod store;
mod task;

pub use run::optimise;
pub use task::{LayerOutcome, Optimised, Task, Untouched, layers};
