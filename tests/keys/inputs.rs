//! Cases for the keys of inputs that say what a device hands over, and for what lies behind a cut.

use super::Effect::{Bits, Error, Files, Report};
use super::configuration::{Case, case, given};

pub(super) const CASES: &[Case] = &[
    case(
        "input.NAME.layout",
        Error,
        &[
            "input.image.layout='NCW'",
            "input.image.embed='normalize'",
            "input.image.device={ type = 'uint8', layout = 'NHWC' }",
        ],
    ),
    case(
        "input.NAME.device.type",
        Error,
        &["input.image={ embed = 'normalize', device = { type = 'float32' } }"],
    ),
    case(
        "input.NAME.device.layout",
        Error,
        &["input.image={ embed = 'normalize', device = { type = 'uint8', layout = 'NWC' } }"],
    ),
    case(
        "input.NAME.device.color",
        Error,
        &[
            "input.image={ embed = 'normalize', layout = 'NCHW', device = { type = 'uint8', layout = 'NCHW', color = 'RGB' } }",
            "preprocess.steps=[{ color = 'BGR' }]",
        ],
    ),
    given(
        "input.NAME.device.scale",
        Bits,
        &["input.image={ embed = 'normalize', layout = 'NCHW', device = { type = 'uint8', layout = 'NHWC' } }"],
        &["input.image.device.scale=0.5"],
    ),
    given(
        "input.NAME.device.zero_point",
        Bits,
        &["input.image={ embed = 'normalize', layout = 'NCHW', device = { type = 'uint8', layout = 'NHWC' } }"],
        &["input.image.device.zero_point=3"],
    ),
    case("input.NAME.batch_axis", Report, &["input.image.batch_axis=1"]),
    given(
        "input.NAME.embed",
        Bits,
        &["input.image.device={ type = 'uint8', layout = 'NHWC' }"],
        &["input.image.embed='normalize'"],
    ),
    case("input.NAME.range", Bits, &["input.image.range=[0, 3]"]),
    given(
        "model.tail",
        Files,
        &["model.outputs=['/pool/MaxPool_output_0']"],
        &["model.tail='onnx'"],
    ),
];
