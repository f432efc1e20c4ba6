//! The integer arithmetic of quantized inference: rounding, narrowing, every form of requantization, and procedures
//! that decide, for example, whether two requantizations are equal.
//!
//! The code is safe, scalar and exact, and kernels are tested against it. Scales are always used as in `real = scale *
//! (q - zero_point)`.
//!
//! For example, LiteRT's convolution rounds twice, and its FULLY_CONNECTED rounds once. Do both give the same results?
//! On the interval below they do not, but they differ by at most one:
//!
//! ```
//! use strait_requantize::{IntType, Verdict, compare, scales::litert};
//!
//! let twice = litert::convolution(0.02, &0.003.into(), 0.1, -5, IntType::I8)?;
//! let once = litert::fully_connected(0.02, &[0.003].into_iter().collect(), 0.1, -5, IntType::I8)?;
//! assert_eq!(twice.eval(0, 40_000)?, 19); // 40000 * 0.0006 - 5
//!
//! let verdict = compare(&[twice.into()], &once.into(), 0, (-1 << 20, 1 << 20))?;
//! assert!(matches!(verdict, Verdict::Bounded { max_lsb: 1, .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod certificate;
mod convert;
pub mod decide;
pub mod form;
pub mod function;
pub mod half_float;
mod int_type;
pub mod mixed;
mod per;
pub mod quantize;
pub mod range;
mod rounding;
pub mod scales;
pub mod small_float;
mod step;
mod words;

pub use certificate::{Argument, Because, Certificate, FromFloat};
pub use convert::to_steps;
pub use decide::{DecideError, Thresholds, Verdict, compare, compose, thresholds};
pub use form::{FormError, FormKind, Narrowing, OutsideDomain, Requantization, Roundings};
pub use int_type::IntType;
pub use per::Per;
pub use rounding::Rounding;
pub use step::{Step, clamp_twice};
