//! Moves scale between neighbouring layers, channel by channel, so that their tensors are easier to round.
//!
//! If a value is divided by a factor for each channel, and the weights of all layers that read it are multiplied by the same
//! factors, then the model computes what it computed before. The node that makes the value takes up the division in its
//! constants: a normalization in its scale and bias, a layer in the weights and the bias of each output. Where no node can do so,
//! but the value is real in the quantized model, too, a multiplication is put in.
//!
//! - [`Walk`](walk::Walk) finds the channels that have to have the same factor, and the constants that take the factors up.
//! - A [seam](seams::Seam) is what has to be decided together: channels of the same values.
//! - For each seam, factors are computed by a few rules. Its layers are run with rounded activations and weights on samples that
//!   were left out, and the rule with the least error of their results is used, if it is clearly better than no factors.

mod apply;
mod choose;
mod classes;
mod gather;
mod insert;
mod label;
mod plan;
mod seams;
#[cfg(test)]
mod tests;
mod trial;
mod walk;

pub use apply::{Balance, Migrated};
pub use choose::Rule;
pub use plan::{MigrationTask, Pair, Plan, plan};
pub use walk::Cut;
