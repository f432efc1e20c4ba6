//! Tests that Ascend's package and records are as AMCT writes them: ReLU6 before quantizations, scales of transposed
//! convolutions and of convolutions that were made from such, and products of two activations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::frozen;

use std::fs;

use serde_json::json;

use frozen::{compiled, constant, conv, graph, ints, layer, placeholder, round_trip, two, weights};

#[test]
fn a_relu6_on_the_host_in_front_of_a_quantization_is_written_as_relu() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "[[quantize.rule]]\ntensors = [\"Relu6:0\"]\nrange = [0, 3]\n";
    let made = compiled(folder.path(), "saturates", &two(true), rule).unwrap();
    assert_eq!(made.deployed()["Relu6"], "relu");
    let count = json!({ "match_times": "1", "effect_times": "1" });
    let fusions = &made.json("fusion_result.json")["session_and_graph_id_0_0"]["graph_fusion"];
    assert_eq!(fusions["relu6-to-relu"], count);
    let report = made.json("report.json").to_string();
    assert!(report.contains("relu6-to-relu"), "{report}");
    let fake = made.bytes("net_fake_quant_model.onnx");
    let has = |op: &[u8]| fake.windows(op.len()).any(|bytes| bytes == op);
    // The Clips of the quantizations have names of their own, and no other Clip is left.
    assert!(has(b"\"\x04Relu") && !has(b"Relu6:max"), "the ReLU6 is there");
    // If its range goes beyond 6, the ReLU6 stays, and it is counted as looked at.
    let rule = "[[quantize.rule]]\ntensors = [\"Relu6:0\"]\nrange = [0, 12]\n";
    let made = compiled(folder.path(), "stays", &two(true), rule).unwrap();
    assert_eq!(made.deployed()["Relu6"], "clip");
    let fusions = &made.json("fusion_result.json")["session_and_graph_id_0_0"]["graph_fusion"];
    assert_eq!(
        fusions["relu6-to-relu"],
        json!({ "match_times": "1", "effect_times": "0" })
    );
}

#[test]
fn a_transposed_convolution_has_a_scale_for_each_output() {
    let nodes = [
        placeholder("x", &[1, 5, 5, 4]),
        weights("w", [4, 4, 3, 4], 0.7),
        frozen::list("shape", &[1, 10, 10, 3]),
        layer(
            "up",
            "Conv2DBackpropInput",
            &["shape", "w", "x"],
            &[("strides", ints(&[1, 2, 2, 1])), ("padding", frozen::text("SAME"))],
        ),
    ];
    let (_folder, made) = round_trip(&graph(&nodes));
    let layers = made.layers();
    assert_eq!((layers.len(), layers["up"].1), (1, 3));
    // A record that another program wrote, with the same number of scales.
    let folder = tempfile::tempdir().unwrap();
    let record =
        "record { key: \"up\" value { scale_d: 0.0625 offset_d: 0 scale_w: 0.5 scale_w: 0.25 scale_w: 0.125 } }";
    fs::write(folder.path().join("one.txt"), record).unwrap();
    let made = compiled(
        folder.path(),
        "given",
        &graph(&nodes),
        "calibration.record = \"one.txt\"\n",
    )
    .unwrap();
    let text = made.record();
    let scales: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("scale_w: "))
        .collect();
    assert_eq!(scales, ["0.5", "0.25", "0.125"]);
    let record = "record { key: \"up\" value { scale_d: 0.0625 offset_d: 0 scale_w: 0.5 scale_w: 0.25 } }";
    fs::write(folder.path().join("one.txt"), record).unwrap();
    let told = compiled(
        folder.path(),
        "wrong",
        &graph(&nodes),
        "calibration.record = \"one.txt\"\n",
    );
    let told = told.err().unwrap();
    assert!(
        told.contains("`up` has 3 outputs, and the record has 2 scales for them"),
        "{told}"
    );
}

#[test]
fn convolutions_that_became_one_have_records_of_their_own() {
    let nodes = [
        placeholder("x", &[1, 4, 4, 4]),
        frozen::list("axis", &[3]),
        layer("split", "Split", &["axis", "x"], &[("num_split", frozen::int(2))]),
        weights("w", [1, 1, 2, 3], 0.5),
        weights("v", [1, 1, 2, 3], 4.0),
        conv("left", ["split", "w"]),
        conv("right", ["split:1", "v"]),
        layer(
            "concat",
            "ConcatV2",
            &["left", "right", "axis"],
            &[("N", frozen::int(2))],
        ),
    ];
    let (_folder, made) = round_trip(&graph(&nodes));
    let layers: Vec<(String, usize)> = made
        .layers()
        .into_iter()
        .map(|(name, (_, count))| (name, count))
        .collect();
    assert_eq!(layers, [("left".to_owned(), 3), ("right".to_owned(), 3)]);
    let config = made.json("config.json");
    assert_eq!(config["right"]["quant_enable"], json!(true));
    let folder = tempfile::tempdir().unwrap();
    let one = |name: &str, scale: &str| {
        format!(
            "record {{ key: \"{name}\" value {{ scale_d: {scale} offset_d: 0 scale_w: 0.5 scale_w: 0.25 scale_w: 0.125 }} }}\n"
        )
    };
    for (record, words) in [
        (one("left", "0.5"), "the record has no weights for `right`"),
        (
            one("left", "0.5") + &one("right", "0.25"),
            "the record has grids for them that differ",
        ),
    ] {
        fs::write(folder.path().join("one.txt"), record).unwrap();
        let told = compiled(
            folder.path(),
            "wrong",
            &graph(&nodes),
            "calibration.record = \"one.txt\"\n",
        );
        let told = told.err().unwrap();
        assert!(
            told.contains(words) && told.contains("branches-to-grouped-conv"),
            "{told}"
        );
    }
}

#[test]
fn a_product_of_two_activations_is_in_the_package() {
    let nodes = [
        placeholder("a", &[1, 2, 4, 8]),
        placeholder("b", &[1, 2, 8, 6]),
        constant("c", &[6], &[0.5, -0.5, 0.25, 0.0, 1.0, -1.0]),
        layer("product", "BatchMatMulV2", &["a", "b"], &[]),
        layer("sum", "AddV2", &["product", "c"], &[]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let words = "[target.options.ascend]\nbatch_matmul = \"int8\"\n";
    let made = compiled(folder.path(), "first", &graph(&nodes), words).unwrap();
    let deployed = made.deployed();
    assert_eq!(
        (&*deployed["product"], &*deployed["sum"], &*deployed["product.dequant"]),
        ("MatMul", "Add", "AscendDequant")
    );
    // The constant is added to the integer sums, and the dequantized sum is the layer's result.
    let names = made.json("net_quant.json");
    let ops = names["graph"][0]["op"].as_array().unwrap();
    let of = |name: &str| ops.iter().find(|op| op["name"] == name).unwrap();
    assert_eq!(of("sum")["input"], json!(["product:0", "sum.bias:0"]));
    assert_eq!(of("product.dequant")["input"][0], json!("sum:0"));
    let layers: Vec<String> = made.layers().into_keys().collect();
    assert_eq!(layers, ["product", "product:1"]);
    // The constant is rounded to a whole number of sums' steps in the artifact, as in the package.
    let record = ["product", "product:1"]
        .map(|layer| format!("record {{ key: \"{layer}\" value {{ scale_d: 0.75 offset_d: 0 }} }}\n"));
    fs::write(folder.path().join("record.txt"), record.concat()).unwrap();
    let coarse = format!("calibration.record = \"record.txt\"\n{words}");
    let coarse = compiled(folder.path(), "coarse", &graph(&nodes), &coarse).unwrap();
    assert_eq!(coarse.added("sum"), [0.5625, -0.5625, 0.0, 0.0, 1.125, -1.125]);
    fs::write(folder.path().join("record.txt"), made.record()).unwrap();
    let again = format!("calibration.record = \"record.txt\"\n{words}");
    let again = compiled(folder.path(), "second", &graph(&nodes), &again).unwrap();
    assert!(made.bytes("model.strait") == again.bytes("model.strait"));
}
