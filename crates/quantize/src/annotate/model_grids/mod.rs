//! Grids that come with the model. If a value of the float graph has such a grid, the ports of the nodes that make and
//! read the value are given this grid.
//!
//! The target need not support the type of the codes. Signed and unsigned codes stand for the same numbers if codes and
//! zero point change by the same amount: q − z = (q − 128) − (z − 128). So if the target has no row or pair for a type,
//! the other type of the same width can take its place, and nothing is lost.
//!
//! A value that does not have to keep its grid only keeps the range of its codes. The target makes a grid of its own
//! for that range.

mod codes;
mod keep;
mod take;

pub(crate) use codes::numbers;
pub use take::{ModelGrids, take_model_grids};
