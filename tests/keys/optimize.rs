//! Cases for the keys of `[optimize]`.

use super::Effect::{Bits, Report};
use super::configuration::{Case, case, given};

// The model of these tests has no outliers, so its ranges stay.
pub(super) const CASES: &[Case] = &[
    case("optimize.preset", Bits, &["optimize.preset='thorough'"]),
    case("optimize.ranges", Report, &["optimize.ranges=true"]),
    case("optimize.smooth", Report, &["optimize.smooth=true"]),
    case("optimize.equalize", Report, &["optimize.equalize=true"]),
    case("optimize.correct_bias", Bits, &["optimize.correct_bias=true"]),
    given(
        "optimize.round",
        Bits,
        &["optimize.preset='thorough'", "quantize.weights.type='int4'"],
        &["optimize.round=false"],
    ),
];
