//! Cases for the keys of `[optimize]`.

use super::Effect::Bits;
use super::configuration::{Case, case, given};

pub(super) const CASES: &[Case] = &[
    case("optimize.preset", Bits, &["optimize.preset='thorough'"]),
    case("optimize.correct_bias", Bits, &["optimize.correct_bias=true"]),
    given(
        "optimize.round",
        Bits,
        &["optimize.preset='thorough'"],
        &["optimize.round=false"],
    ),
];
