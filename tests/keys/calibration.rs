//! Cases for the keys of `[calibration]`.

use super::Effect::{Bits, Error, Files};
use super::configuration::{Case, case, given};

const OVERFLOWING: &[&str] = &["preprocess.steps=[{ scale=2e37 }, { layout='NCHW' }]"];

pub(super) const CASES: &[Case] = &[
    case("calibration.data", Bits, &["calibration.data='DIGITS/eval_x.npy'"]),
    case("calibration.record", Error, &["calibration.record='DIGITS/README.md'"]),
    case("calibration.samples", Bits, &["calibration.samples=2"]),
    given("calibration.nan", Error, OVERFLOWING, &["calibration.nan='error'"]),
    case(
        "quantize.params",
        Bits,
        &["quantize.params='DIGITS/../../tests/params/one.toml'"],
    ),
    case("calibration.observer", Bits, &["calibration.observer='mse'"]),
    given(
        "calibration.observer_options.percentile",
        Bits,
        &["calibration.observer='percentile'"],
        &["calibration.observer_options.percentile=60"],
    ),
    given(
        "calibration.observer_options.lower_percentile",
        Bits,
        &["calibration.observer='percentile'"],
        &["calibration.observer_options.lower_percentile=60"],
    ),
    given(
        "calibration.observer_options.bins",
        Bits,
        &["calibration.observer='hfmg'"],
        &["calibration.observer_options.bins=256"],
    ),
    given(
        "calibration.observer_options.averaging_constant",
        Bits,
        &["calibration.observer='moving_average'"],
        &["calibration.observer_options.averaging_constant=0.9"],
    ),
    given(
        "calibration.observer_options.axis",
        Error,
        &["quantize.rule=[{ tensors=['logits'], observer='isotone' }]"],
        &["calibration.observer_options.axis=7"],
    ),
    given(
        "calibration.observer_options.search_range",
        Bits,
        &["calibration.observer='ifmr'"],
        &["calibration.observer_options.search_range=[0.2, 0.4]"],
    ),
    given(
        "calibration.observer_options.search_step",
        Bits,
        &[
            "calibration.observer='ifmr'",
            "calibration.observer_options.search_range=[0.2, 0.9]",
        ],
        &["calibration.observer_options.search_step=0.6"],
    ),
    case("calibration.config", Error, &["calibration.config='absent.cfg'"]),
    case(
        "calibration.cache",
        Files,
        &["calibration.cache='DIGITS/../../target/tmp/keys-cache'"],
    ),
    // A float model has no scales of its own.
];
