//! Integer arithmetic of quantized inference: rounding, narrowing, every requantization form, and the decision
//! procedures on them.
//!
//! Safe, scalar and exact: this is the definition that kernels are tested against. Scale sense everywhere:
//! `real = scale * (q - zero_point)`.

mod certificate;
mod convert;
pub mod decide;
pub mod form;
mod int_type;
mod per;
pub mod quantize;
mod rounding;
pub mod scales;
mod step;
pub mod thresholds;

pub use certificate::{Certificate, CertificateError};
pub use convert::{compose, to_steps};
pub use decide::{Verdict, compare};
pub use form::{FormError, FormKind, Narrowing, OutsideDomain, Requantization};
pub use int_type::IntType;
pub use per::Per;
pub use rounding::Rounding;
pub use step::Step;
pub use thresholds::{DecideError, Thresholds};
