//! Tests inputs as devices hand them over: bytes with the channels last and blue first, with the preprocessing inside of
//! the artifact.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{fs, num::NonZeroUsize, path::Path};

use serde_json::{Value as Json, json};
use strait_builtin as _;
use strait_core::text;
use strait_driver::{
    artifact::Opened,
    config, pipeline,
    pipeline::Compiled,
    run,
    session::{Session, Silent},
    targets,
};
use strait_kernels::Context;
use strait_samples::{Array, NumberType, encode};

const SAMPLES: usize = 6;
const HEIGHT: usize = 5;
const WIDTH: usize = 6;

/// A convolution with a border of zeros, as exporters write it.
const MODEL: &str = "
    strait 1 float
    graph @main(%x: f32[1,3,5,6]) {
      %y: f32[1,4,ROWS,COLUMNS] = conv(%x, @w, @b) {stride=[1,1], pad=[PAD,PAD,PAD,PAD], dilation=[1,1], groups=1, pad_value=0}
      return %y
    }
    data @w: f32[4,3,3,3] = random 5
    data @b: f32[4] = random 7";

/// The model with this padding.
fn model(pad: usize) -> String {
    let text = MODEL.replace("ROWS", &(HEIGHT + 2 * pad - 2).to_string());
    text.replace("COLUMNS", &(WIDTH + 2 * pad - 2).to_string())
        .replace("PAD", &pad.to_string())
}

/// The same with the preprocessing in the graph, for bytes with the channels last.
const OF_BYTES: &str = "
    strait 1 float
    graph @main(%x: u8[1,5,6,3]) {
      %f: f32[1,5,6,3] = cast(%x) {to=f32}
      %s: f32[1,5,6,3] = sub(%f, @m)
      %d: f32[1,5,6,3] = div(%s, @d)
      %t: f32[1,3,5,6] = transpose(%d) {permutation=[0,3,1,2]}
      %y: f32[1,4,5,6] = conv(%t, @w, @b) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
      return %y
    }
    data @m: f32[3] = inline [127.0,127.0,127.0]
    data @d: f32[3] = inline [58.0,57.0,56.0]
    data @w: f32[4,3,3,3] = random 5
    data @b: f32[4] = random 7";

/// A folder with a model and bytes for it.
struct Bench(tempfile::TempDir);

/// Bytes that look random, with the channels last. Both ends of the range occur.
fn bytes() -> Vec<u8> {
    let count = SAMPLES * HEIGHT * WIDTH * 3;
    (0..count).map(|at| ((at * at * 31 + at * 7) % 256) as u8).collect()
}

impl Bench {
    fn new(model: &str) -> Bench {
        let bench = Bench(tempfile::tempdir().unwrap());
        let mut file = Vec::new();
        strait_onnx::write(&text::parse(model).unwrap(), &mut file).unwrap();
        fs::write(bench.0.path().join("model.onnx"), file).unwrap();
        let array = encode(NumberType::U8, &[SAMPLES, HEIGHT, WIDTH, 3], &bytes());
        fs::write(bench.0.path().join("x.npy"), array).unwrap();
        bench
    }

    fn compile(&self, target: &str, lines: &str) -> Result<Compiled, String> {
        let text = format!(
            "schema = 1\nmodel.file = \"model.onnx\"\ntarget.use = [\"{target}\"]\ncalibration.data = \"x.npy\"\n\
             calibration.cache = \"cache\"\noutput.dir = \"{target}\"\n{lines}"
        );
        let loaded = config::parse("deploy.toml", text, self.0.path(), &[]).map_err(|found| found.to_string())?;
        let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
        let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
        Ok(compiled.map_err(|stop| stop.to_string())?.remove(0))
    }

    /// The outputs of an artifact for the bytes of the device.
    fn run(&self, folder: &Path) -> Vec<f32> {
        let opened = Opened::open(folder, &targets::registry([]).unwrap()).unwrap_or_else(|stop| panic!("{stop}"));
        let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
        let file = self.0.path().join("y.npy");
        let inputs = [("x".to_owned(), self.0.path().join("x.npy"))].into();
        run::run(&opened, &inputs, &file, false, &session).unwrap_or_else(|stop| panic!("{stop}"));
        let array = Array::open(&file).unwrap();
        array.reals()
    }
}

/// The convolution of the normalized image in f64, with zeros around it. `offset` and `factor` are for the channels of the
/// model; the device has them reversed if `reversed` is set.
fn reference(pad: usize, offset: [f64; 3], factor: [f64; 3], reversed: bool) -> Vec<f64> {
    // Both models have the same weights.
    let module = text::parse(OF_BYTES).unwrap();
    let constant = |name: &str| -> Vec<f64> {
        let graph = module.main();
        let (id, _) = graph
            .values()
            .find(|(_, value)| module.name(value.name) == name)
            .unwrap();
        let tensor = module.data(graph.data_of(id).unwrap()).unwrap();
        tensor.to_f32().unwrap().iter().map(|&number| number.into()).collect()
    };
    let (weights, bias, bytes) = (constant("w"), constant("b"), bytes());
    let (height, width) = (HEIGHT + 2 * pad - 2, WIDTH + 2 * pad - 2);
    let mut found = Vec::new();
    for sample in 0..SAMPLES {
        for output in 0..4 {
            for at in 0..height * width {
                let (row, column) = (at / width, at % width);
                let mut sum = bias[output];
                for tap in 0..27 {
                    let (channel, y, x) = (tap / 9, row + tap % 9 / 3, column + tap % 3);
                    let inside = (pad..HEIGHT + pad).contains(&y) && (pad..WIDTH + pad).contains(&x);
                    if inside {
                        let place = ((sample * HEIGHT + y - pad) * WIDTH + x - pad) * 3;
                        let byte = bytes[place + if reversed { 2 - channel } else { channel }];
                        sum += weights[output * 27 + tap] * (f64::from(byte) - offset[channel]) * factor[channel];
                    }
                }
                found.push(sum);
            }
        }
    }
    found
}

/// The largest difference, as a part of the largest number.
fn difference(found: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let most = expected.iter().fold(0.0f64, |most, number| most.max(number.abs()));
    let pairs = found.iter().zip(expected);
    pairs.fold(0.0f64, |worst, (&found, expected)| {
        worst.max((f64::from(found) - expected).abs())
    }) / most
}

fn ports(folder: &Path) -> Json {
    let manifest: Json = serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    manifest["ports"].clone()
}

const CAMERA: &str = "
    [input.x]
    layout = \"NCHW\"
    device = { type = \"uint8\", layout = \"NHWC\", color = \"BGR\" }
    embed = \"normalize\"
    preprocess = { stored = { layout = \"NHWC\", color = \"BGR\" }, steps = [{ color = \"RGB\" }, NORMALIZE] }";

#[test]
fn bytes_of_a_camera_are_the_codes_of_the_first_layer() {
    for (target, pad, normalize, offset, factor, zero) in [
        (
            "generic-int8",
            1,
            "{ normalize = { mean = [127], std = [58, 57, 56] } }",
            [127.0; 3],
            [1.0 / 58.0, 1.0 / 57.0, 1.0 / 56.0],
            127,
        ),
        (
            "sima",
            1,
            "{ scale = 0.00392156862745098 }",
            [0.0; 3],
            [1.0 / 255.0; 3],
            0,
        ),
        (
            "generic-int8",
            0,
            "{ scale = 0.00392156862745098 }, { normalize = { mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] } }",
            [123.675, 116.28, 103.53],
            [1.0 / 58.395, 1.0 / 57.12, 1.0 / 57.375],
            0,
        ),
    ] {
        let bench = Bench::new(&model(pad));
        let compiled = bench.compile(target, &CAMERA.replace("NORMALIZE", normalize)).unwrap();
        let hosts = compiled
            .report
            .layers
            .iter()
            .filter(|layer| layer.host.is_some())
            .count();
        assert_eq!((compiled.report.summary.host, hosts), (0, 0), "{target} {normalize}");
        assert_eq!(
            ports(&compiled.folder)["inputs"],
            json!([{
                "name": "x", "type": "u8", "shape": [1, HEIGHT, WIDTH, 3], "layout": "NHWC", "color": "BGR", "scale": 1.0,
                "zero_point": zero, "codes": { "type": "i8", "scale": 1.0, "zero_point": zero - 128 }
            }]),
            "{target} {normalize}"
        );
        let found = bench.run(&compiled.folder);
        let worst = difference(&found, &reference(pad, offset, factor, true));
        assert!(worst < 0.02, "{target} {normalize}: {worst}");
    }
}

#[test]
fn a_mean_that_is_no_code_stays_an_operation_in_front_of_a_border() {
    let bench = Bench::new(&model(1));
    let normalize = "{ normalize = { mean = [123.675, 116.28, 103.53], std = [58.395, 57.12, 57.375] } }";
    let compiled = bench
        .compile("generic-int8", &CAMERA.replace("NORMALIZE", normalize))
        .unwrap();
    let remarks: Vec<&str> = compiled
        .report
        .remarks
        .iter()
        .map(|remark| remark.text.as_str())
        .collect();
    let told = remarks
        .iter()
        .any(|text| text.contains("scale and mean of the input `x`") && text.contains("pads"));
    assert!(told, "{remarks:?}");
    let factor = [1.0 / 58.395, 1.0 / 57.12, 1.0 / 57.375];
    let worst = difference(
        &bench.run(&compiled.folder),
        &reference(1, [123.675, 116.28, 103.53], factor, true),
    );
    assert!(worst < 0.03, "{worst}");
}

#[test]
fn a_model_of_bytes_has_no_layer_on_the_host_in_front() {
    let bench = Bench::new(OF_BYTES);
    let factor = [1.0 / 58.0, 1.0 / 57.0, 1.0 / 56.0];
    for target in ["generic-int8", "sima", "ascend", "onnxruntime"] {
        let compiled = bench.compile(target, "").unwrap();
        assert_eq!(compiled.report.summary.host, 0, "{target}");
        let worst = difference(&bench.run(&compiled.folder), &reference(1, [127.0; 3], factor, false));
        assert!(worst < 0.02, "{target}: {worst}");
    }
}

#[test]
fn what_a_device_cannot_hand_over_is_refused_with_the_key() {
    let bench = Bench::new(&model(1));
    for (lines, parts) in [
        (
            "[input.x]\nembed = \"normalize\"",
            &["it is not said what the device hands over", "device = { type"][..],
        ),
        (
            "[input.x]\nembed = \"normalize\"\ndevice = { type = \"float32\" }",
            &["only numbers of the type uint8"],
        ),
        (
            "[input.x]\nembed = \"normalize\"\ndevice = { type = \"uint8\", layout = \"NHWC\" }\nlayout = \"NCW\"",
            &["its layout has other axes"],
        ),
        (
            "[input.x]\nembed = \"normalize\"\ndevice = { type = \"uint8\" }\n[input.x.preprocess]\nsteps = [{ scale = 0 }]",
            &["a factor of 0"],
        ),
    ] {
        let told = bench.compile("generic-int8", lines).unwrap_err();
        for part in parts {
            assert!(told.contains(part), "{told}");
        }
    }
}
