//! Grids that came with the model: values of the float graph that have one become what is given for the ports of nodes.
//!
//! The types of codes need not be those of the target. Codes with and without a sign stand for the same numbers where the zero
//! point moves with them: q − z = (q − 128) − (z − 128). So a type of which the target has no pair becomes the other one of the
//! same width, and nothing is lost.
//!
//! A value that is set free keeps nothing of its grid but the range of its codes, on which the target makes one of its own.

mod codes;
mod keep;
mod take;

pub(crate) use codes::numbers;
pub use take::{ModelGrids, take_model_grids};
