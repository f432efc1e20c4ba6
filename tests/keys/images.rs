//! Cases for the keys of preprocessing that are about images.

use super::Effect::{Bits, Error, Report};
use super::configuration::{Case, given};

const PICTURE: &str = "calibration.data='DIGITS/../../crates/images/tests/recorded/source.png'";
const TURNED: &str = "calibration.data='DIGITS/../../crates/images/tests/recorded/jpeg-turned.jpg'";
const ONE: &str = "calibration.samples=1";
/// An image, and a file that is not an image.
const BROKEN: &str =
    "calibration.data=['DIGITS/../../crates/images/tests/recorded/source.png', 'DIGITS/../../README.md']";

/// A preprocessing of images with these steps. The result is gray, eight by eight pixels.
macro_rules! steps {
    ($table:literal, $steps:literal) => {
        concat!(
            $table,
            "={ steps=[{ decode = {} }, { gray = {} }, ",
            $steps,
            ", { scale = 0.00390625 }, { layout = 'NCHW' }] }"
        )
    };
}

/// A key below `steps[]`, for all inputs and for one: the steps without it and with it.
macro_rules! each {
    ($key:literal, $before:literal, $change:literal) => {
        [
            given(
                concat!("preprocess.steps[].", $key),
                Bits,
                &[PICTURE, ONE, steps!("preprocess", $before)],
                &[steps!("preprocess", $change)],
            ),
            given(
                concat!("input.NAME.preprocess.steps[].", $key),
                Bits,
                &[PICTURE, ONE, steps!("input.image.preprocess", $before)],
                &[steps!("input.image.preprocess", $change)],
            ),
        ]
    };
}

static STEPS: [[Case; 2]; 12] = [
    each!(
        "resize.size",
        "{ resize = { size = [8, 8] } }",
        "{ resize = { size = [12, 9] } }, { crop = { size = [8, 8] } }"
    ),
    each!(
        "resize.short",
        "{ resize = { short = 9 } }, { crop = { size = [8, 8] } }",
        "{ resize = { short = 12 } }, { crop = { size = [8, 8] } }"
    ),
    each!(
        "resize.filter",
        "{ resize = { size = [8, 8] } }",
        "{ resize = { size = [8, 8], filter = 'nearest' } }"
    ),
    each!(
        "resize.like",
        "{ resize = { size = [8, 8] } }",
        "{ resize = { size = [8, 8], like = 'opencv' } }"
    ),
    each!(
        "letterbox.size",
        "{ letterbox = { size = [9, 9] } }, { crop = { size = [8, 8] } }",
        "{ letterbox = { size = [12, 9] } }, { crop = { size = [8, 8] } }"
    ),
    each!(
        "letterbox.fill",
        "{ letterbox = { size = [8, 8] } }",
        "{ letterbox = { size = [8, 8], fill = 255 } }"
    ),
    each!(
        "letterbox.at",
        "{ letterbox = { size = [8, 20], fill = 255 } }, { crop = { size = [8, 8], at = 'top_left' } }",
        "{ letterbox = { size = [8, 20], fill = 255, at = 'top_left' } }, { crop = { size = [8, 8], at = 'top_left' } }"
    ),
    each!(
        "letterbox.round",
        "{ letterbox = { size = [9, 9] } }, { crop = { size = [8, 8] } }",
        "{ letterbox = { size = [9, 9], round = 'nearest' } }, { crop = { size = [8, 8] } }"
    ),
    each!(
        "letterbox.filter",
        "{ letterbox = { size = [8, 8] } }",
        "{ letterbox = { size = [8, 8], filter = 'nearest' } }"
    ),
    each!(
        "letterbox.like",
        "{ letterbox = { size = [8, 8] } }",
        "{ letterbox = { size = [8, 8], like = 'opencv' } }"
    ),
    each!(
        "crop.size",
        "{ crop = { size = [24, 24] } }, { resize = { size = [8, 8] } }",
        "{ crop = { size = [16, 16] } }, { resize = { size = [8, 8] } }"
    ),
    each!(
        "crop.at",
        "{ crop = { size = [8, 8] } }",
        "{ crop = { size = [8, 8], at = 'top_left' } }"
    ),
];

static OTHERS: [Case; 7] = [
    given(
        "preprocess.steps[].decode.orientation",
        Bits,
        &[
            TURNED,
            ONE,
            "preprocess={ steps=[{ decode = {} }, { gray = {} }, { crop = { size = [8, 8], at = 'top_left' } }, { layout = 'NCHW' }] }",
        ],
        &[
            "preprocess={ steps=[{ decode = { orientation = 'upright' } }, { gray = {} }, { crop = { size = [8, 8], at = 'top_left' } }, { layout = 'NCHW' }] }",
        ],
    ),
    given(
        "input.NAME.preprocess.steps[].decode.orientation",
        Bits,
        &[
            TURNED,
            ONE,
            "input.image.preprocess={ steps=[{ decode = {} }, { gray = {} }, { crop = { size = [8, 8], at = 'top_left' } }, { layout = 'NCHW' }] }",
        ],
        &[
            "input.image.preprocess={ steps=[{ decode = { orientation = 'upright' } }, { gray = {} }, { crop = { size = [8, 8], at = 'top_left' } }, { layout = 'NCHW' }] }",
        ],
    ),
    given(
        "preprocess.steps[].gray.like",
        Report,
        &[PICTURE, ONE, steps!("preprocess", "{ crop = { size = [8, 8] } }")],
        &[
            "preprocess={ steps=[{ decode = {} }, { gray = { like = 'opencv' } }, { crop = { size = [8, 8] } }, { scale = 0.00390625 }, { layout = 'NCHW' }] }",
        ],
    ),
    given(
        "input.NAME.preprocess.steps[].gray.like",
        Report,
        &[
            PICTURE,
            ONE,
            steps!("input.image.preprocess", "{ crop = { size = [8, 8] } }"),
        ],
        &[
            "input.image.preprocess={ steps=[{ decode = {} }, { gray = { like = 'opencv' } }, { crop = { size = [8, 8] } }, { scale = 0.00390625 }, { layout = 'NCHW' }] }",
        ],
    ),
    given(
        "calibration.unreadable",
        Error,
        &[
            BROKEN,
            ONE,
            "calibration.unreadable='skip'",
            steps!("preprocess", "{ resize = { size = [8, 8] } }"),
        ],
        &["calibration.unreadable='error'", "calibration.samples=2"],
    ),
    given(
        "evaluation.unreadable",
        Error,
        &[
            PICTURE,
            ONE,
            "evaluation.data=['DIGITS/../../README.md', 'DIGITS/../../crates/images/tests/recorded/source.png']",
            "evaluation.unreadable='skip'",
            steps!("preprocess", "{ resize = { size = [8, 8] } }"),
        ],
        &["evaluation.unreadable='error'"],
    ),
    given(
        "optimize.unreadable",
        Error,
        &[
            PICTURE,
            ONE,
            "optimize.data=['DIGITS/../../README.md', 'DIGITS/../../crates/images/tests/recorded/source.png']",
            "optimize.unreadable='skip'",
            "optimize.accuracy_drop={ metric='cosine', points=90 }",
            steps!("preprocess", "{ resize = { size = [8, 8] } }"),
        ],
        &["optimize.unreadable='error'"],
    ),
];

/// All cases.
pub(super) fn cases() -> impl Iterator<Item = &'static Case> {
    STEPS.as_flattened().iter().chain(&OTHERS)
}
