//! Cases for the keys of `[optimize]`.

use super::Effect::{Bits, Error, Report};
use super::configuration::{Case, case, given};

// The model of these tests has no outliers, so its ranges stay.
/// All weights have 4 bits, so that the answers are not those of the float model.
const COARSE: &[&str] = &[
    "quantize.weights.type='int4'",
    "quantize.weights.per='tensor'",
    "optimize.accuracy_drop={ metric='cosine', points=90 }",
];

/// The same with labels, which only one metric reads.
const LABELLED: &[&str] = &[
    "optimize.data='DIGITS/eval_x.npy'",
    "optimize.labels='DIGITS/eval_y.npy'",
    "optimize.samples=40",
    "optimize.accuracy_drop={ metric='top1', points=90 }",
];

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
    case("optimize.types", Report, &["optimize.types=true"]),
    given(
        "optimize.accuracy_drop.metric",
        Report,
        COARSE,
        &["optimize.accuracy_drop.metric='agreement'"],
    ),
    given(
        "optimize.accuracy_drop.points",
        Error,
        COARSE,
        &["optimize.accuracy_drop.points=0"],
    ),
    given(
        "optimize.accuracy_drop.may_use",
        Error,
        &["optimize.accuracy_drop={ metric='cosine', points=0.0001, may_use=['float'] }"],
        &["optimize.accuracy_drop.may_use=['round']"],
    ),
    given(
        "optimize.accuracy_drop.budget.macs_16",
        Bits,
        &["optimize.accuracy_drop={ metric='cosine', points=0.019, may_use=['types'] }"],
        &["optimize.accuracy_drop.budget.macs_16=0"],
    ),
    given(
        "optimize.accuracy_drop.budget.macs_float",
        Error,
        &["optimize.accuracy_drop={ metric='cosine', points=0.0001, may_use=['float'] }"],
        &["optimize.accuracy_drop.budget.macs_float=0"],
    ),
    case(
        "optimize.size.weights_bytes",
        Bits,
        &["optimize.size.weights_bytes=4000"],
    ),
    given(
        "optimize.data",
        Error,
        LABELLED,
        &["optimize.data='DIGITS/nothing.npy'"],
    ),
    given(
        "optimize.labels",
        Error,
        LABELLED,
        &["optimize.labels='DIGITS/eval_x.npy'"],
    ),
    given("optimize.samples", Report, LABELLED, &["optimize.samples=80"]),
];
