//! Integer arithmetic of quantized inference: rounding, narrowing, every requantization form, and the decision
//! procedures on them.
//!
//! Safe, scalar and exact: this is the definition that kernels are tested against. Scale sense everywhere:
//! `real = scale * (q - zero_point)`.

pub mod form;
mod int_type;
mod per;
mod rounding;
mod step;

pub use form::{FormError, FormKind, Narrowing, OutsideDomain, Requantization};
pub use int_type::IntType;
pub use per::Per;
pub use rounding::Rounding;
pub use step::Step;
