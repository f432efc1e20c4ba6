//! Tests inputs as devices hand them over: bytes with the channels last and blue first, with the preprocessing inside of
//! the artifact.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{fs, path::Path};

use serde_json::{Value as Json, json};
use strait_core::text;
use strait_driver::pipeline::Compiled;
use strait_images::{Pixels, encode_png};
use strait_import::ReadOptions;
use strait_samples::{NumberType, encode};

use crate::deploy::Bench;

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

/// Bytes that look random, with the channels last. Both ends of the range occur.
fn bytes() -> Vec<u8> {
    let count = SAMPLES * HEIGHT * WIDTH * 3;
    (0..count).map(|at| ((at * at * 31 + at * 7) % 256) as u8).collect()
}

/// A folder with a model and bytes for it.
fn bench(model: &str) -> Bench {
    let bench = Bench::new(model);
    bench.samples(NumberType::U8, &[SAMPLES, HEIGHT, WIDTH, 3], &bytes());
    bench
}

fn compile(bench: &Bench, target: &str, lines: &str) -> Result<Compiled, String> {
    bench.compile(target, target, lines)
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
        let bench = bench(&model(pad));
        let compiled = compile(&bench, target, &CAMERA.replace("NORMALIZE", normalize)).unwrap();
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
fn codes_with_a_sign_are_the_codes_of_the_first_layer() {
    // The device hands over bytes less 128. What the steps compute with are the bytes.
    let bytes_less_128 = "type = \"int8\", zero_point = -128";
    let normalize = "{ normalize = { mean = [127], std = [58, 57, 56] } }";
    let lines = CAMERA
        .replace("NORMALIZE", normalize)
        .replace("normalize\"\n", "all\"\n");
    let lines = lines.replace("type = \"uint8\"", bytes_less_128);
    let factor = [1.0 / 58.0, 1.0 / 57.0, 1.0 / 56.0];
    let expected = reference(1, [127.0; 3], factor, true);
    for target in ["generic-int8", "sima", "ascend", "onnxruntime"] {
        let bench = bench(&model(1));
        let signed: Vec<u8> = bytes().iter().map(|byte| byte ^ 0x80).collect();
        bench.samples(NumberType::I8, &[SAMPLES, HEIGHT, WIDTH, 3], &signed);
        let compiled = compile(&bench, target, &lines).unwrap();
        assert_eq!(compiled.report.summary.host, 0, "{target}");
        let port = &ports(&compiled.folder)["inputs"][0];
        assert_eq!(
            (&port["type"], &port["scale"], &port["zero_point"]),
            (&json!("i8"), &json!(1.0), &json!(-1)),
            "{target}"
        );
        let worst = difference(&bench.run(&compiled.folder), &expected);
        assert!(worst < 0.02, "{target}: {worst}");
    }
}

#[test]
fn a_scale_of_the_device_is_part_of_the_first_layer() {
    let bench = bench(&model(1));
    let lines = "
        [input.x]
        layout = \"NCHW\"
        device = { type = \"uint8\", layout = \"NHWC\", scale = 0.5, zero_point = 7 }
        embed = \"all\"";
    let compiled = compile(&bench, "generic-int8", lines).unwrap();
    assert_eq!(compiled.report.summary.host, 0);
    let worst = difference(&bench.run(&compiled.folder), &reference(1, [7.0; 3], [0.5; 3], false));
    assert!(worst < 0.02, "{worst}");
}

#[test]
fn images_become_codes_with_a_sign() {
    let bench = Bench::new(&model(1));
    fs::create_dir(bench.at("images")).unwrap();
    for (position, bytes) in bytes().chunks(HEIGHT * WIDTH * 3).enumerate() {
        let pixels = Pixels {
            width: WIDTH,
            height: HEIGHT,
            channels: 3,
            levels: bytes.to_vec(),
        };
        let file = fs::File::create(bench.at(&format!("images/{position}.png"))).unwrap();
        encode_png(&pixels, file).unwrap();
    }
    let lines = |device: &str| {
        format!(
            "[input.x]
             layout = \"NCHW\"
             device = {{ {device}, layout = \"NHWC\" }}
             embed = \"all\"
             preprocess = {{ steps = [{{ decode = {{}} }}, {{ scale = 0.00392156862745098 }}] }}"
        )
    };
    let mut found = Vec::new();
    for device in ["type = \"uint8\"", "type = \"int8\", zero_point = -128"] {
        let compiled = bench.compile_on("generic-int8", "images", &lines(device)).unwrap();
        found.push(bench.run_on(&compiled.folder, "images"));
    }
    let worst = difference(&found[0], &reference(1, [0.0; 3], [1.0 / 255.0; 3], false));
    assert!(worst < 0.02, "{worst}");
    assert_eq!(found[0], found[1]);
}

/// Sequences with the batch as second axis, and a table that all samples share.
const SEQUENCES: &str = "
    strait 1 float
    graph @main(%x: f32[5,\"batch\",3], %table: f32[5,1,3]) {
      %s: f32[5,\"batch\",3] = add(%x, %table)
      %y: f32[5,\"batch\",3] = relu(%s)
      return %y
    }";

#[test]
fn the_batch_is_where_the_model_has_it() {
    let bench = Bench::new(SEQUENCES);
    let reals = |count: usize| -> Vec<u8> {
        let numbers = (0..count).map(|at| ((at * 37) % 101) as f32 / 50.0 - 1.0);
        numbers.flat_map(f32::to_le_bytes).collect()
    };
    fs::create_dir(bench.at("data")).unwrap();
    let write = |name: &str, shape: &[usize]| {
        let array = encode(NumberType::F32, shape, &reals(shape.iter().product()));
        fs::write(bench.at(&format!("data/{name}.npy")), array).unwrap();
    };
    write("x", &[SAMPLES, 5, 3]);
    write("table", &[5, 1, 3]);
    let lines = "output.emit = [\"qdq-onnx\"]
        [input.x]
        layout = \"TNC\"
        batch_axis = 1
        [input.table]
        batch_axis = \"none\"";
    let compiled = bench.compile_on("generic-int8", "data", lines).unwrap();
    let inputs = &ports(&compiled.folder)["inputs"];
    assert_eq!(
        (&inputs[0]["shape"], &inputs[0]["layout"]),
        (&json!([5, 1, 3]), &json!("TNC"))
    );
    assert_eq!(inputs[1]["shape"], json!([5, 1, 3]));
    // The file for runtimes takes any number of sequences, and the one table.
    let file = strait_onnx::read(&compiled.folder.join("model.qdq.onnx"), &ReadOptions::default()).unwrap();
    let types: Vec<String> = (file.main().inputs().iter())
        .map(|&input| file.main().value(input).unwrap().ty.to_string())
        .collect();
    assert_eq!(types, ["f32[5, ?, 3]", "f32[5, 1, 3]"]);
    let found = bench.run_on(&compiled.folder, "data");
    let (x, table) = (reals(SAMPLES * 15), reals(15));
    let real = |bytes: &[u8], at: usize| f32::from_le_bytes(bytes[at * 4..][..4].try_into().unwrap());
    let expected: Vec<f64> = (0..SAMPLES * 15)
        .map(|at| f64::from(real(&x, at) + real(&table, at % 15)).max(0.0))
        .collect();
    let worst = difference(&found, &expected);
    assert!(worst < 0.01, "{worst}");
    // Without the keys, nothing says which dimension is the batch.
    let told = bench.compile_on("generic-int8", "data", "").unwrap_err();
    assert!(told.contains("`batch`"), "{told}");
}

#[test]
fn a_mean_that_is_no_code_stays_an_operation_in_front_of_a_border() {
    let bench = bench(&model(1));
    let normalize = "{ normalize = { mean = [123.675, 116.28, 103.53], std = [58.395, 57.12, 57.375] } }";
    let compiled = compile(&bench, "generic-int8", &CAMERA.replace("NORMALIZE", normalize)).unwrap();
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
    let bench = bench(OF_BYTES);
    let factor = [1.0 / 58.0, 1.0 / 57.0, 1.0 / 56.0];
    for target in ["generic-int8", "sima", "ascend", "onnxruntime"] {
        let compiled = compile(&bench, target, "").unwrap();
        assert_eq!(compiled.report.summary.host, 0, "{target}");
        let worst = difference(&bench.run(&compiled.folder), &reference(1, [127.0; 3], factor, false));
        assert!(worst < 0.02, "{target}: {worst}");
    }
}

#[test]
fn what_a_device_cannot_hand_over_is_refused_with_the_key() {
    let bench = bench(&model(1));
    for (lines, parts) in [
        (
            "[input.x]\nembed = \"normalize\"",
            &["it is not said what the device hands over", "device = { type"][..],
        ),
        (
            "[input.x]\nembed = \"normalize\"\ndevice = { type = \"float32\" }",
            &["only numbers of the types uint8 and int8"],
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
        let told = compile(&bench, "generic-int8", lines).unwrap_err();
        for part in parts {
            assert!(told.contains(part), "{told}");
        }
    }
}
