//! Tests frozen TensorFlow graphs, whose channels are the last axis: rules, records, settings and the files of Ascend's
//! package use the names of layers and tensors that the graph has.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::frozen;

use std::{collections::BTreeMap, fs};

use serde_json::json;

use frozen::{compiled, round_trip, two};

#[test]
fn a_record_of_two_convolutions_reads_back() {
    let (_folder, made) = round_trip(&two(false));
    let layers: Vec<String> = made.layers().into_keys().collect();
    assert_eq!(layers, ["Conv2D", "Conv2D_1"]);
}

#[test]
fn a_record_is_for_the_layer_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    for (layer, other) in [("Conv2D", "Conv2D_1"), ("Conv2D_1", "Conv2D")] {
        let record = format!(
            "record {{ key: \"{layer}\" value {{ scale_d: 0.0625 offset_d: 0 scale_w: 0.03125 offset_w: 0 }} }}\n"
        );
        fs::write(folder.path().join("one.txt"), record).unwrap();
        let made = compiled(folder.path(), layer, &two(false), "calibration.record = \"one.txt\"\n").unwrap();
        assert_eq!(made.layers(), BTreeMap::from([(layer.to_owned(), (0.0625, 1))]));
        assert_eq!(made.json("config.json")[other], json!({ "quant_enable": false }));
    }
    let record = "record { key: \"Conv2D:transpose\" value { scale_d: 0.5 offset_d: 0 } }";
    fs::write(folder.path().join("one.txt"), record).unwrap();
    let told = compiled(folder.path(), "none", &two(false), "calibration.record = \"one.txt\"\n");
    let told = told.err().unwrap();
    assert!(told.contains("the model has no such layer"), "{told}");
}

#[test]
fn rules_find_layers_and_tensors_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let scales = |name: &str, rule: &str| {
        let made = compiled(
            folder.path(),
            name,
            &two(false),
            &format!("[[quantize.rule]]\n{rule}\n"),
        )
        .unwrap();
        let layers = made.layers();
        [layers["Conv2D"].0, layers["Conv2D_1"].0]
    };
    let [first, second] = scales("none", "optional = true\nlayers = [\"nobody\"]\nrun = \"float\"");
    let step = |width: f32| width / 255.0;
    for (name, rule, expected) in [
        ("tensor", "tensors = [\"Relu6:0\"]\nrange = [0, 3]", [first, step(3.0)]),
        ("result", "layers = [\"Relu6\"]\nrange = [0, 3]", [first, step(3.0)]),
        (
            "results",
            "layers = [\"Relu6\"]\nresults = [0]\nrange = [0, 3]",
            [first, step(3.0)],
        ),
        (
            "operand",
            "layers = [\"Conv2D\"]\noperands = [0]\nrange = [-2, 2]",
            [step(4.0), second],
        ),
        (
            "other operand",
            "layers = [\"Conv2D_1\"]\noperands = [0]\nrange = [0, 3]",
            [first, step(3.0)],
        ),
        ("input", "tensors = [\"x:0\"]\nrange = [-2, 2]", [step(4.0), second]),
    ] {
        assert_eq!(scales(name, rule), expected, "{rule}");
    }
    // The result of the convolution was folded into what follows.
    let rule = "[[quantize.rule]]\nlayers = [\"Conv2D\"]\nrange = [0, 3]\n";
    let told = compiled(folder.path(), "gone", &two(false), rule).err().unwrap();
    assert!(
        told.contains("the result of `Conv2D` is not in the graph any more"),
        "{told}"
    );
}

#[test]
fn settings_name_the_observer_of_each_layer() {
    let folder = tempfile::tempdir().unwrap();
    let hfmg = "observer = \"hfmg\"\nobserver_options = { bins = 1024 }";
    let words = "[target.options.ascend]\noverride_layer_configs = [{ layer_name = \"Conv2D_1\", calibration_config = { hfmg_quantize = { \
                 num_of_bins = 1024 } } }]\n";
    for (name, lines) in [
        (
            "operand",
            format!("[[quantize.rule]]\nlayers = [\"Conv2D_1\"]\noperands = [0]\n{hfmg}\n"),
        ),
        (
            "tensor",
            format!("[[quantize.rule]]\ntensors = [\"Relu6:0\"]\n{hfmg}\n"),
        ),
        ("cfg", words.to_owned()),
    ] {
        let made = compiled(folder.path(), name, &two(false), &lines).unwrap();
        let config = made.json("config.json");
        let algorithm = |layer: &str| config[layer]["activation_quant_params"]["act_algo"].clone();
        assert_eq!(
            [algorithm("Conv2D"), algorithm("Conv2D_1")],
            [json!("ifmr"), json!("hfmg")],
            "{name}"
        );
    }
    // What is set for the operand also applies to its transposed form.
    let lines = format!("[[quantize.rule]]\ntensors = [\"x:0\"]\n{hfmg}\n");
    let config = compiled(folder.path(), "input", &two(false), &lines)
        .unwrap()
        .json("config.json");
    assert_eq!(config["Conv2D"]["activation_quant_params"]["act_algo"], json!("hfmg"));
}

#[test]
fn names_in_the_files_are_those_of_the_graph() {
    let folder = tempfile::tempdir().unwrap();
    let made = compiled(folder.path(), "made", &two(false), "").unwrap();
    let names = made.json("net_quant.json");
    let ops = names["graph"][0]["op"].as_array().unwrap();
    let of = |name: &str| ops.iter().find(|op| op["name"] == name).unwrap();
    let sources = |name: &str| of(name)["attr"][0]["value"]["list"]["s"].clone();
    assert_eq!(of("Conv2D")["type"], json!("Conv"));
    assert_eq!(sources("Conv2D"), json!(["Conv2D", "BiasAdd"]));
    assert_eq!(
        (&of("Conv2D_1")["type"], sources("Conv2D_1")),
        (&json!("Conv"), json!(["Conv2D_1"]))
    );
    // The image is transposed before the layer, so that node does not belong to the layer's results.
    let front = &ops[0];
    assert_eq!(
        (&front["type"], &front["name"]),
        (&json!("transpose"), &json!("Conv2D:transpose"))
    );
    assert_eq!(front["output_desc"], json!([]));
    let outputs = &of("Conv2D.dequant")["output_desc"][0]["attr"][0]["value"]["s"];
    assert_eq!(outputs, &json!("Conv2D"));
}
