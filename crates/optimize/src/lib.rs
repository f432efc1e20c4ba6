//! Chooses codes and biases so that each quantized layer computes what the float layer computes on the samples.
//!
//! [`optimise`] goes through the layers in the order of the graph. A layer computes y = W·x + b from its inputs x, which
//! come from the quantized model, in which the layers before have their chosen codes. The float model computes y_f. What
//! is needed of the samples are sums: Σ x·xᵀ, Σ y_f·xᵀ, Σ x and Σ y_f. The elements of x are codes, and y_f is rounded to a
//! fixed grid first, so these sums are sums of integers. They are exact, and do not depend on the order of the samples.
//!
//! - The **bias** b = mean(y_f) − W·mean(x) makes the mean of each output right, whatever the codes are.
//! - The **codes** W minimise the squared error of y, which is a quadratic form with the matrix H = cov(x, x). The nearest
//!   plane (`algebra/plane.rs`) finds good codes for any layer, and an exact search (`algebra/search.rs`) the best ones for
//!   layers with few inputs.
//! - Before that, the weights can be **repaired**: W' = (cov(y_f, x) + λ·W)·(H + λ·I)⁻¹ computes y_f from x as well as any
//!   weights can, although x has the errors of the layers before.
//!
//! Every fourth sample is left out of the sums. On these samples, the candidates for each layer are compared, and the best
//! one is used. No step is random. All linear algebra runs in f64, in one fixed order, without fused operations: the same
//! samples give the same codes on every machine and with any number of threads.

mod algebra;
mod error;
mod fidelity;
mod layer;
mod migrate;
mod sequence;

/// The least number of samples from which something is chosen.
pub const LEAST_SAMPLES: usize = fidelity::HELD;

pub use error::Error;
pub use fidelity::{Fidelity, is_closer, is_gain, mean};
pub use layer::candidates::{Algorithms, Choice};
pub use migrate::{Balance, Cut, Migrated, MigrationTask, Pair, Plan as Migration, Rule, plan as migrate};
pub use sequence::{LayerOutcome, Optimised, Task, Untouched, layers, optimise};
