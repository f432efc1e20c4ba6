//! Linear algebra in f64 on matrices in row-major order.
//!
//! Each result is the same on every machine. A sum of products has four partial sums, for the indices k ≡ 0, 1, 2, 3
//! (mod 4), which are added as (0 + 1) + (2 + 3). No operation is fused, and threads only share out whole rows.

pub(crate) mod cholesky;
pub(crate) mod plane;
pub(crate) mod products;
pub(crate) mod search;
