//! Grids that came with the model. If a value of the float graph has one, the ports of the nodes that make and read it
//! are given this grid.
//!
//! The codes need not have a type that the target supports. Signed and unsigned codes stand for the same numbers if the
//! zero point moves along: q − z = (q − 128) − (z − 128). So a type that the target does not pair becomes the other
//! type of the same width, and nothing is lost.
//!
//! A value that is freed from its grid keeps only the range of its codes. The target makes a grid of its own for that
//! range.

mod codes;
mod keep;
mod take;

pub(crate) use codes::numbers;
pub use take::{ModelGrids, take_model_grids};
