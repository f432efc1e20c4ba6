//! Float kernels. Their results have the same bits on every instruction set and with any number of threads.

mod coded;
mod col2im;
mod columns;
mod conv;
mod depthwise;
mod gemm;
mod maths;
mod matrix;
mod pool;
mod reduce;
mod statistics;
mod sums;

pub use coded::{CodedMatrix, HalfBytes};
pub use col2im::{Blocks, col2im};
pub use conv::conv;
pub use gemm::{Bias, gemm};
pub(crate) use maths::silu32;
pub use maths::{Unary, pow, unary};
pub use matrix::Matrix;
pub use pool::{average_pool, max_pool};
pub use reduce::{Reduction, reduce, softmax};
pub use statistics::{Range, count_clamped, count_in_bins, range};
pub use sums::{squared_errors, squares};
