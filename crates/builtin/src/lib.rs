//! The targets in the box, and nothing else.
//!
//! A crate that is only named in a manifest is dropped by the linker, and what it submits to the registry with it. Using
//! it here keeps it; a target that is forgotten here does not compile.

#![deny(unused_crate_dependencies)]

#[cfg(feature = "ascend")] // tidy: allow(names): a feature links the crate
use strait_target_ascend as _;
#[cfg(feature = "generic-int8")] // tidy: allow(names): a feature links the crate
use strait_target_generic_int8 as _;
#[cfg(feature = "sima-mla")]
use strait_target_sima_mla as _;

// For the tests in `tests/`.
#[cfg(test)]
use strait_target as _;
