//! Cases for the keys of a deployment's configuration.

use super::Effect::{self, Bits, Error, Files, Placement, Report};
use super::{calibration, compiled, differences, evaluation, images, inputs, optimize, repository, unmatched};
use std::collections::BTreeMap;
use strait_builtin as _;
use strait_document::Document as _;
use strait_driver::{config::types::Config, targets};

/// A key, the assignments before and those that change it, and where this shows. `DIGITS` is the folder of the model.
pub(super) struct Case {
    key: &'static str,
    before: &'static [&'static str],
    change: &'static [&'static str],
    effect: Effect,
}

pub(super) const fn case(key: &'static str, effect: Effect, change: &'static [&'static str]) -> Case {
    given(key, effect, &[], change)
}

pub(super) const fn given(
    key: &'static str,
    effect: Effect,
    before: &'static [&'static str],
    change: &'static [&'static str],
) -> Case {
    Case {
        key,
        before,
        change,
        effect,
    }
}

const TFLITE: &[&str] = &["output.emit=['tflite']"];
const ASCEND: &[&str] = &["target.use=['ascend']"];
const HTML: &[&str] = &["output.report=['html']"];
const OPERATORS: &[&str] = &["target.use=['onnxruntime']"];
const RGB: &str = "preprocess.stored.color='RGB'";
const RULE: &[&str] = &["quantize.rule=[{ layers=['/stem/conv/Conv'], run='float' }]"];

/// A cache of the target `onnxruntime` that is wrong.
macro_rules! cache {
    ($key:literal, $keys:literal) => {
        given(
            concat!("output.target.NAME.cache[].", $key),
            Error,
            OPERATORS,
            &[concat!("output.target.onnxruntime.cache=[{ ", $keys, " }]")],
        )
    };
}

const CASES: &[Case] = &[
    case("schema", Error, &["schema=2"]),
    case("model.file", Error, &["model.file='absent.onnx'"]),
    case(
        "model.sha256",
        Error,
        &["model.sha256='0000000000000000000000000000000000000000000000000000000000000000'"],
    ),
    case("model.bind", Error, &["model.bind={ M = 1 }"]),
    case("model.inputs", Error, &["model.inputs=['/nothing']"]),
    case("model.outputs", Bits, &["model.outputs=['/pool/MaxPool']"]),
    case("model.hybrid", Error, &["model.hybrid='float'"]),
    case(
        "input.NAME.preprocess.stored.layout",
        Error,
        &["input.image.preprocess={ stored = { layout = 'NHW' }, steps = [{ layout = 'NCHW' }] }"],
    ),
    case(
        "input.NAME.preprocess.stored.color",
        Error,
        &[
            "input.image.preprocess={ stored = { layout = 'NHWC', color = 'RGB' }, steps = [{ color = 'BGR' }, { layout = 'NCHW' }] }",
        ],
    ),
    case(
        "input.NAME.preprocess.steps[].scale",
        Bits,
        &["input.image.preprocess={ stored = { layout = 'NHWC' }, steps = [{ scale = 0.125 }, { layout = 'NCHW' }] }"],
    ),
    case(
        "input.NAME.preprocess.steps[].offset",
        Bits,
        &[
            "input.image.preprocess={ stored = { layout = 'NHWC' }, steps = [{ scale = 0.0625 }, { offset = 1 }, { layout = 'NCHW' }] }",
        ],
    ),
    case(
        "input.NAME.preprocess.steps[].normalize.mean",
        Bits,
        &[
            "input.image.preprocess={ stored = { layout = 'NHWC' }, steps = [{ scale = 0.0625 }, { normalize = { mean = [1] } }, { layout = 'NCHW' }] }",
        ],
    ),
    case(
        "input.NAME.preprocess.steps[].normalize.std",
        Bits,
        &[
            "input.image.preprocess={ stored = { layout = 'NHWC' }, steps = [{ scale = 0.0625 }, { normalize = { std = [2] } }, { layout = 'NCHW' }] }",
        ],
    ),
    case(
        "input.NAME.preprocess.steps[].color",
        Error,
        &["input.image.preprocess={ stored = { layout = 'NHWC', color = 'RGB' }, steps = [{ color = 'BGR' }] }"],
    ),
    case(
        "input.NAME.preprocess.steps[].layout",
        Error,
        &["input.image.preprocess={ stored = { layout = 'NHWC' }, steps = [{ layout = 'NCWH' }, { layout = 'NC' }] }"],
    ),
    case("preprocess.stored.layout", Error, &["preprocess.stored.layout='NHW'"]),
    case(
        "preprocess.stored.color",
        Error,
        &[RGB, "preprocess.steps=[{ color = 'BGR' }]"],
    ),
    case(
        "preprocess.steps[].scale",
        Bits,
        &["preprocess.steps=[{ scale = 0.125 }, { layout = 'NCHW' }]"],
    ),
    case(
        "preprocess.steps[].offset",
        Bits,
        &["preprocess.steps=[{ scale = 0.0625 }, { offset = 1 }, { layout = 'NCHW' }]"],
    ),
    case(
        "preprocess.steps[].normalize.mean",
        Bits,
        &["preprocess.steps=[{ scale = 0.0625 }, { normalize = { mean = [1] } }, { layout = 'NCHW' }]"],
    ),
    case(
        "preprocess.steps[].normalize.std",
        Bits,
        &["preprocess.steps=[{ scale = 0.0625 }, { normalize = { std = [2] } }, { layout = 'NCHW' }]"],
    ),
    case(
        "preprocess.steps[].color",
        Error,
        &[RGB, "preprocess.steps=[{ color = 'BGR' }, { layout = 'NCHW' }]"],
    ),
    case(
        "preprocess.steps[].layout",
        Error,
        &["preprocess.steps=[{ layout = 'NC' }]"],
    ),
    case("target.use", Bits, &["target.use=['sima']"]),
    case("plugin[].path", Error, &["plugin=[{ path='absent.so' }]"]),
    given(
        "plugin[].required",
        Error,
        &["plugin=[{ path='absent.so', required=false }]"],
        &["plugin=[{ path='absent.so' }]"],
    ),
    case(
        "target.file[].path",
        Bits,
        &[
            "target.file=[{ path='DIGITS/../../configs/targets/acme-npu2.toml' }]",
            "target.use=['acme-npu2']",
        ],
    ),
    given(
        "target.file[].sha256",
        Error,
        &["target.file=[{ path='DIGITS/../../configs/targets/acme-npu2.toml' }]"],
        &[
            "target.file=[{ path='DIGITS/../../configs/targets/acme-npu2.toml', sha256='0000000000000000000000000000000000000000000000000000000000000000' }]",
        ],
    ),
    given(
        "target.options",
        Bits,
        &["target.use=['sima']"],
        &["target.options.sima.requantization_mode='tflite'"],
    ),
    case("quantize.given", Error, &["quantize.given='requantize'"]),
    case("quantize.weights.type", Bits, &["quantize.weights.type='int4'"]),
    case("quantize.weights.observer", Bits, &["quantize.weights.observer='arq'"]),
    case("quantize.weights.per", Bits, &["quantize.weights.per='tensor'"]),
    given(
        "quantize.weights.block",
        Bits,
        &["quantize.activations.type='float32'", "quantize.weights.per='block'"],
        &["quantize.weights.block=16"],
    ),
    case("quantize.weights.unfit", Error, &["quantize.weights.unfit='coarse'"]),
    case(
        "quantize.activations.type",
        Bits,
        &["quantize.activations.type='int16'"],
    ),
    given(
        "quantize.rule[].reason",
        Report,
        RULE,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], run='float', reason='because' }]"],
    ),
    given(
        "quantize.rule[].target",
        Placement,
        RULE,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], run='float', target=['sima'] }]"],
    ),
    given(
        "quantize.rule[].layers",
        Placement,
        RULE,
        &["quantize.rule=[{ layers=['/head/conv/Conv'], run='float' }]"],
    ),
    given(
        "quantize.rule[].op",
        Placement,
        RULE,
        &["quantize.rule=[{ op=['Gemm'], run='float' }]"],
    ),
    given(
        "quantize.rule[].between.from",
        Placement,
        &["quantize.rule=[{ between={ from=['/stem/conv/Conv'], to=['/head/conv/Conv'] }, run='float' }]"],
        &["quantize.rule=[{ between={ from=['/block/Add'], to=['/head/conv/Conv'] }, run='float' }]"],
    ),
    given(
        "quantize.rule[].between.to",
        Placement,
        &["quantize.rule=[{ between={ from=['/stem/conv/Conv'], to=['/head/conv/Conv'] }, run='float' }]"],
        &["quantize.rule=[{ between={ from=['/stem/conv/Conv'], to=['/block/Add'] }, run='float' }]"],
    ),
    given(
        "quantize.rule[].tensors",
        Bits,
        &["quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], range=[0, 9] }]"],
        &["quantize.rule=[{ tensors=['/stem/act/Relu_output_0'], range=[0, 9] }]"],
    ),
    given(
        "quantize.rule[].operands",
        Bits,
        &["quantize.rule=[{ layers=['/block/Add'], operands=[0], range=[0, 9] }]"],
        &["quantize.rule=[{ layers=['/block/Add'], operands=[1], range=[0, 9] }]"],
    ),
    given(
        "quantize.rule[].results",
        Bits,
        &["quantize.rule=[{ layers=['/block/Add'], range=[0, 9] }]"],
        &["quantize.rule=[{ layers=['/block/Add'], operands=[0], results=[0], range=[0, 9] }]"],
    ),
    given(
        "quantize.rule[].optional",
        Error,
        &["quantize.rule=[{ layers=['/nothing'], run='float', optional=true }]"],
        &["quantize.rule=[{ layers=['/nothing'], run='float', optional=false }]"],
    ),
    given(
        "quantize.rule[].run",
        Placement,
        RULE,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], run='auto' }]"],
    ),
    given(
        "quantize.rule[].range",
        Bits,
        &["quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], range=[0, 9] }]"],
        &["quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], range=[0, 8] }]"],
    ),
    case(
        "quantize.rule[].observer",
        Bits,
        &["quantize.rule=[{ tensors=['**'], observer='mse' }]"],
    ),
    given(
        "quantize.rule[].observer_options.percentile",
        Bits,
        &["quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], observer='percentile' }]"],
        &[
            "quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], observer='percentile', observer_options={ percentile=60 } }]",
        ],
    ),
    given(
        "quantize.rule[].observer_options.lower_percentile",
        Bits,
        &["quantize.rule=[{ tensors=['**'], observer='percentile' }]"],
        &["quantize.rule=[{ tensors=['**'], observer='percentile', observer_options={ lower_percentile=60 } }]"],
    ),
    given(
        "quantize.rule[].observer_options.bins",
        Bits,
        &["quantize.rule=[{ tensors=['**'], observer='hfmg' }]"],
        &["quantize.rule=[{ tensors=['**'], observer='hfmg', observer_options={ bins=256 } }]"],
    ),
    given(
        "quantize.rule[].observer_options.averaging_constant",
        Bits,
        &["quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], observer='moving_average' }]"],
        &[
            "quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], observer='moving_average', observer_options={ averaging_constant=0.9 } }]",
        ],
    ),
    given(
        "quantize.rule[].observer_options.axis",
        Bits,
        &["quantize.rule=[{ tensors=['logits'], observer='isotone' }]"],
        &["quantize.rule=[{ tensors=['logits'], observer='isotone', observer_options={ axis=0 } }]"],
    ),
    given(
        "quantize.rule[].observer_options.search_range",
        Bits,
        &["quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], observer='ifmr' }]"],
        &[
            "quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], observer='ifmr', observer_options={ search_range=[0.2, 0.4] } }]",
        ],
    ),
    given(
        "quantize.rule[].observer_options.search_step",
        Bits,
        &[
            "quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], observer='ifmr', observer_options={ search_range=[0.2, 0.9] } }]",
        ],
        &[
            "quantize.rule=[{ tensors=['/pool/MaxPool_output_0'], observer='ifmr', observer_options={ search_range=[0.2, 0.9], search_step=0.6 } }]",
        ],
    ),
    case(
        "quantize.rule[].weights.type",
        Bits,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], weights={ type='int4' } }]"],
    ),
    case(
        "quantize.rule[].weights.observer",
        Bits,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], weights={ observer='arq' } }]"],
    ),
    case(
        "quantize.rule[].weights.unfit",
        Error,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], weights={ unfit='coarse' } }]"],
    ),
    case(
        "quantize.rule[].weights.per",
        Bits,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], weights={ per='tensor' } }]"],
    ),
    given(
        "quantize.rule[].weights.block",
        Bits,
        &["quantize.rule=[{ op=['Gemm'], run='float', weights={ type='int8', per='block' } }]"],
        &["quantize.rule=[{ op=['Gemm'], run='float', weights={ type='int8', per='block', block=16 } }]"],
    ),
    case(
        "quantize.activations.symmetric",
        Bits,
        &["quantize.activations.symmetric=true"],
    ),
    case(
        "quantize.weights.symmetric",
        Error,
        &["quantize.weights.symmetric=false"],
    ),
    case(
        "quantize.rule[].activations.symmetric",
        Bits,
        &["quantize.rule=[{ layers=['/block/Add'], activations={ symmetric=true } }]"],
    ),
    case(
        "quantize.activations.scale",
        Bits,
        &["quantize.activations.scale='power_of_two'"],
    ),
    case(
        "quantize.weights.scale",
        Bits,
        &["quantize.weights.scale='power_of_two'"],
    ),
    case(
        "quantize.rule[].activations.scale",
        Bits,
        &["quantize.rule=[{ layers=['/block/Add'], activations={ scale='power_of_two' } }]"],
    ),
    case(
        "quantize.rule[].weights.scale",
        Bits,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], weights={ scale='power_of_two' } }]"],
    ),
    given(
        "quantize.rule[].weights.symmetric",
        Error,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], weights={ symmetric=true } }]"],
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], weights={ symmetric=false } }]"],
    ),
    case(
        "quantize.alignment.activation",
        Bits,
        &["quantize.alignment.activation='none'"],
    ),
    case(
        "quantize.alignment.elementwise",
        Bits,
        &["quantize.alignment.elementwise='output'"],
    ),
    case(
        "quantize.alignment.concat",
        Error,
        &["quantize.alignment.concat='least'"],
    ),
    case(
        "quantize.alignment.pooling",
        Bits,
        &["quantize.alignment.pooling='input'"],
    ),
    case(
        "quantize.alignment.resize",
        Error,
        &["quantize.alignment.resize='least'"],
    ),
    given(
        "quantize.alignment.passive",
        Bits,
        &[
            "calibration.observer='percentile'",
            "calibration.observer_options.percentile=98",
        ],
        &["quantize.alignment.passive='output'"],
    ),
    case(
        "quantize.alignment.simplify",
        Bits,
        &["quantize.alignment.simplify=false"],
    ),
    given(
        "quantize.alignment.force_overlap",
        Bits,
        &["quantize.alignment.elementwise='output'"],
        &["quantize.alignment.force_overlap=true"],
    ),
    case(
        "quantize.rule[].alignment",
        Bits,
        &["quantize.rule=[{ layers=['/block/Add'], alignment='large' }]"],
    ),
    case(
        "quantize.rule[].simplify",
        Bits,
        &["quantize.rule=[{ layers=['/block/Add'], simplify=false }]"],
    ),
    case(
        "quantize.rule[].activations.type",
        Bits,
        &["quantize.rule=[{ layers=['/stem/conv/Conv'], activations={ type='int16' } }]"],
    ),
    case("rewrite.do_fusion", Bits, &["rewrite.do_fusion=false"]),
    case(
        "rewrite.skip_fusion_layers",
        Bits,
        &["rewrite.skip_fusion_layers=['/stem/*/Conv']"],
    ),
    case(
        "rewrite.off",
        Bits,
        &["rewrite.off=['batch-normalization-into-producer']"],
    ),
    case(
        "rewrite.switch_file",
        Bits,
        &["rewrite.switch_file='DIGITS/../../tests/keys/fusion_switch.cfg'"],
    ),
    given("fusion.accept", Bits, ASCEND, &["fusion.accept='exact'"]),
    // No fusion of the digits model differs by more than one unit, so a larger bound changes nothing: without `accept`
    // it is refused.
    case("fusion.max_lsb", Error, &["fusion.max_lsb=2"]),
    given(
        "fusion.refused",
        Error,
        &["target.use=['ascend']", "fusion.accept='exact'"],
        &["fusion.refused='error'"],
    ),
    case("gate.host_layers", Report, &["gate.host_layers=[]"]),
    case("gate.fusions", Report, &["gate.fusions='exact'"]),
    case("gate.sanity", Report, &["gate.sanity='error'"]),
    case("output.dir", Error, &["output.dir='DIGITS/digits.onnx'"]),
    case("output.emit", Files, &["output.emit=[]"]),
    case("output.report", Files, HTML),
    given("output.redact", Report, HTML, &["output.redact=true"]),
    case("output.qdq_activations", Files, &["output.qdq_activations='int8'"]),
    case(
        "output.target.NAME.emit",
        Files,
        &["output.target.generic-int8.emit=['tflite']"],
    ),
    given(
        "output.target.NAME.layout",
        Files,
        TFLITE,
        &["output.target.generic-int8.layout='NHWC'"],
    ),
    given(
        "output.target.NAME.inputs",
        Files,
        TFLITE,
        &["output.target.generic-int8.inputs='int8'"],
    ),
    given(
        "output.target.NAME.outputs",
        Files,
        TFLITE,
        &["output.target.generic-int8.outputs='uint8'"],
    ),
    given(
        "output.target.NAME.labels",
        Error,
        TFLITE,
        &["output.target.generic-int8.labels='absent.txt'"],
    ),
    cache!("past", "past='past.*', present='logits'"),
    cache!("present", "present='present.*'"),
    cache!("type", "present='present.*', type='int4'"),
    cache!("grids", "present='present.*', grids='absent'"),
];

/// Keys about libraries that are loaded. Only the tests in `crates/cli/tests/library` have a worker for these.
const OF_LIBRARIES: &[&str] = &["plugin[].sha256", "trust.unpinned"];

#[test]
fn every_key_of_a_configuration_takes_effect_or_is_refused() {
    let cases = || {
        CASES
            .iter()
            .chain(calibration::CASES)
            .chain(evaluation::CASES)
            .chain(images::cases())
            .chain(inputs::CASES)
            .chain(optimize::CASES)
    };
    let of_libraries = OF_LIBRARIES.iter().copied();
    let keys: Vec<&str> = cases().map(|case| case.key).chain(of_libraries).collect();
    let mut wrong = unmatched(Config::shape(), &keys);
    let digits = repository().join("models/digits").display().to_string();
    let mut outcomes = BTreeMap::new();
    let mut outcome = |set: Vec<String>| {
        let compile = || compiled(|| targets::registry([]).unwrap(), "generic-int8", &set);
        outcomes.entry(set.clone()).or_insert_with(compile).clone()
    };
    for case in cases() {
        let all = |lists: &[&[&str]]| -> Vec<String> {
            lists
                .concat()
                .iter()
                .map(|set| set.replace("DIGITS", &digits))
                .collect()
        };
        let (one, other) = (outcome(all(&[case.before])), outcome(all(&[case.before, case.change])));
        if let Some(error) = one.get(&Error) {
            wrong.push(format!("`{}`: refused before the change: {error}", case.key));
        }
        let seen = differences(&one, &other);
        if !seen.contains(&case.effect) || (case.effect != Error && other.contains_key(&Error)) {
            let error = other.get(&Error).map(String::as_str).unwrap_or_default();
            wrong.push(format!(
                "`{}` changes {seen:?}, not {:?} {error}",
                case.key, case.effect
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_model_that_does_not_fit_is_blamed_on_the_key_that_asks_for_it() {
    for (set, words) in [
        (
            "model.bind.N=8",
            "samples are given to the model one by one: set `model.bind.N` to 1",
        ),
        ("model.bind={ batch=1 }", "dimension `batch` is not in the model"),
        (
            "model.inputs=['/stem/convv/Conv']",
            "`/stem/convv/Conv` in `model.inputs` is neither a tensor nor a layer",
        ),
        (
            "model.outputs=['/stem/convv/Conv']",
            "`/stem/convv/Conv` in `model.outputs` is neither a tensor nor a layer",
        ),
        (
            "model.inputs=['/block/pointwise/Conv_output_0']",
            "the outputs depend on the model's input `image` too",
        ),
        ("model.hybrid='float'", "`model.hybrid` is about layers of TFLite"),
        ("model.file='absent.onnx'", "absent.onnx"),
    ] {
        let outcome = compiled(|| targets::registry([]).unwrap(), "generic-int8", &[set.to_owned()]);
        let error = outcome.get(&Error).unwrap_or_else(|| panic!("{set} is accepted"));
        let blamed = error.contains("--> --set:1:") && error.contains(&format!("| {set}"));
        assert!(blamed && error.contains(words), "{set}: {error}");
    }
}
