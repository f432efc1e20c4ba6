//! Mixed precision: which layers get wider activations, move to the host, or get narrower weights.
//!
//! - [`units`] divides the activations of a model into sets that share one type, so that no tensor is needed in two types.
//! - [`Noises`] measures what the quantization of each set, or of the weights of each layer, costs at the outputs.
//! - [`Candidates`] sorts by what is gained for the cost, and [`least`] finds how many of them are enough.
//!
//! What is enough, the caller decides: with a metric, measured on the integer model.

mod noises;
mod search;
mod units;
mod weights;

pub use noises::Noises;
pub use search::{Candidate, Candidates, Found, least};
pub use units::{Unit, float_units, multiply_adds, node_operations, units};
pub use weights::{LayerWeights, weights};
