//! Links the targets of this repository into a program, and does nothing else.
//!
//! The linker drops a crate that is only named in `Cargo.toml`, and so loses the target that the crate registers. The
//! `use` lines here keep these crates. If a target is a dependency of this crate but has no `use` line, this crate does
//! not compile.

#![deny(unused_crate_dependencies)]

#[cfg(feature = "ascend")] // tidy: allow(names): a feature links the crate
use strait_target_ascend as _;
#[cfg(feature = "generic-int8")] // tidy: allow(names): a feature links the crate
use strait_target_generic_int8 as _;
#[cfg(feature = "onnxruntime")] // tidy: allow(names): a feature links the crate
use strait_target_onnxruntime as _;
#[cfg(feature = "sima-mla")]
use strait_target_sima_mla as _;

// Used by the tests in `tests/`.
#[cfg(test)]
use strait_target as _;
