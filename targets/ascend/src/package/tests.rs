#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use strait_core::text::{PrintOptions, parse, print};
use strait_plugin_sdk::graph::Module;
use strait_plugin_sdk::{Balanced, Counts, Observing};

use crate::record::grids;

/// A sink that keeps the files in memory, graphs in their text form.
#[derive(Default)]
struct Files(BTreeMap<String, String>);

impl Sink for Files {
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
        self.0.insert(path.into(), String::from_utf8(content.into()).unwrap());
        Ok(())
    }

    fn graph(&mut self, path: &str, format: &str, module: &Module) -> Result<(), TargetError> {
        assert_eq!(format, "onnx");
        strait_core::verifier::verify(module).unwrap();
        self.0.insert(path.into(), print(module, &PrintOptions::whole()));
        Ok(())
    }
}

/// A convolution whose result goes through a max pool to two other convolutions, which share its grid, and to the host.
const TEXT: &str = r#"strait 1 integer
graph @lowered(%x: f32[1,1,2,2]) {
  %q: i8[1,1,2,2] scale=0.5 zero=3 = quantize(%x) {to=i8, rounding=half_even, reciprocal=1, zero_point=inside_rounding} name="x:quantize"
  %acc: i32[1,2,2,2] scale=[0.25,0.125] zero=0 axis=1 = conv(%q, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=3} name="a:accumulate" sources=["a:accumulate","a","bn"]
  %y: i8[1,2,2,2] scale=0.25 zero=-128 = requantize(%acc) {form={dequant_quant deq=[0.25,0.125] relu=1 scale=4.0 offset=-128 out=i8}, axis=1} name="a:requantize" sources=["a:requantize","a"]
  %m: i8[1,2,1,1] scale=0.25 zero=-128 = max_pool(%y) {size=[2,2], stride=[1,1], pad=[0,0,0,0], dilation=[1,1], ceil=0} name="m:codes" sources=["m:codes","m"]
  %s: i32[1,1,1,1] scale=[0.25] zero=0 axis=1 = conv(%m, @k, @c) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=-128} name="b:accumulate" sources=["b:accumulate","b"]
  %t: i32[1,1,1,1] scale=[0.25] zero=0 axis=1 = conv(%m, @k, @c) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=-128} name="c:accumulate" sources=["c:accumulate","c"]
  %u: f32[1,1,1,1] = dequantize(%s) name="b:dequantize" sources=["b:dequantize","b"]
  %v: f32[1,1,1,1] = dequantize(%t) name="c:dequantize" sources=["c:dequantize","c"]
  %h: f32[1,2,1,1] = dequantize(%m) name="m:dequantize" sources=["m:dequantize","m"]
  %z: f32[1,2,1,1] = add(%u, %h) host=["host","the vector unit computes it in float"]
  return %z, %v
}
data @w: i8[2,1,1,1] scale=[0.5,0.25] zero=0 axis=0 = inline [7,-8]
data @b: i32[2] = inline [-21,34]
data @k: i8[1,2,1,1] scale=[1.0] zero=0 axis=0 = inline [1,2]
data @c: i32[1] = inline [384]
"#;

fn files(text: &str) -> Result<BTreeMap<String, String>, TargetError> {
    let (module, mut files) = (parse(text).unwrap(), Files::default());
    let rules = [("fold", Counts { matched: 3, applied: 2 })];
    let mut ifmr = Observing {
        observer: "ifmr".to_owned(),
        ..Observing::default()
    };
    ifmr.options.percentile = Some(99.5);
    ifmr.options.search_range = Some([0.5, 1.0]);
    let range = Observing {
        observer: "range".to_owned(),
        ..Observing::default()
    };
    let observing = [("b".to_owned(), ifmr), ("c".to_owned(), range)];
    let emission = Emission::new(&module, "net/1").with_rules(&rules).with_observer("hfmg");
    let emission = emission.with_observing(&observing).with_fusions(true, &["c"]);
    write(&emission, &mut files)?;
    Ok(files.0)
}

/// The operators of a graph, one per line: results, name, operator, operands.
fn nodes(text: &str) -> Vec<String> {
    let module = parse(text).unwrap();
    let graph = module.main();
    let name = |value| {
        graph
            .value(value)
            .map(|value| module.name(value.name))
            .unwrap_or_default()
    };
    let one = |(_, node): (_, &strait_plugin_sdk::graph::Node)| {
        let operands: Vec<&str> = node.inputs.iter().flatten().map(|&value| name(value)).collect();
        let results: Vec<&str> = node.outputs.iter().map(|&value| name(value)).collect();
        let op = match node.op.attribute("name") {
            Some(strait_plugin_sdk::graph::Attribute::Text(op)) => op,
            _ => node.op.name().to_owned(),
        };
        format!(
            "{} = {} {op}({})",
            results.join(", "),
            module.name(node.name),
            operands.join(", ")
        )
    };
    graph.nodes().map(one).collect()
}

#[test]
fn quantizations_stand_where_codes_are_read_and_equal_ones_are_one() {
    let files = files(TEXT).unwrap();
    let expected = [
        "a.quant.output0 = a.quant AscendQuant(x)",
        "a.output0 = a Conv(a.quant.output0, a.weight, a.bias)",
        "a.dequant.output0 = a.dequant AscendDequant(a.output0, a.dequant.param)",
        "y = a.relu Relu(a.dequant.output0)",
        "m = m max_pool(y)",
        "b.quant.output0 = b.quant AscendQuant(m)",
        "b.output0 = b Conv(b.quant.output0, b.weight)",
        "c.output0 = c Conv(b.quant.output0, c.weight)",
        "u = b.dequant AscendDequant(b.output0, b.dequant.param)",
        "v = c.dequant AscendDequant(c.output0, c.dequant.param)",
        "h = m.anti_quant AscendAntiQuant(b.quant.output0)",
        "z = z add(u, h)",
    ];
    assert_eq!(nodes(&files["net_1_deploy_model.onnx"]), expected);
}

/// A pool with a zero point whose windows count different numbers of elements.
const COUNTS: &str = r#"strait 1 integer
graph @lowered(%x: f32[1,1,2,3]) {
  %q: i8[1,1,2,3] scale=0.5 zero=8 = quantize(%x) {to=i8, rounding=half_even, reciprocal=1, zero_point=inside_rounding} name="x:quantize"
  %s: i32[1,1,2,3] scale=0.5 zero=16 = sum_pool(%q) {size=[1,2], stride=[1,1], pad=[0,1,0,0], dilation=[1,1], ceil=0, pad_value=8} name="a:accumulate" sources=["a:accumulate","a"]
  %c: i32[1,1,2,3] scale=0.5 zero=0 = add(%s, @offset) name="a:centre" sources=["a:centre","a"]
  %a: i8[1,1,2,3] scale=0.25 zero=33 = requantize(%c, @divisors) {form={ascend_requant scale=[2.0,1.0] offset=33 relu=0 out=i8}, axis=0} name="a:requantize" sources=["a:requantize","a"]
  %y: f32[1,1,2,3] = dequantize(%a) name="a:dequantize" sources=["a:dequantize","a"]
  return %y
}
data @offset: i32[1] = inline [-16]
data @divisors: i32[1,1,2,3] = inline [0,1,1,0,1,1]
"#;

#[test]
fn a_pool_of_windows_of_several_counts_computes_on_real_numbers() {
    let deploy = &files(COUNTS).unwrap()["net_1_deploy_model.onnx"];
    let nodes = nodes(deploy);
    assert_eq!(
        nodes[..3],
        [
            "a.quant.output0 = a.quant AscendQuant(x)",
            "a.anti_quant.output0 = a.anti_quant AscendAntiQuant(a.quant.output0)",
            "a.output0 = a AveragePool(a.anti_quant.output0)",
        ]
    );
    assert!(nodes.iter().all(|node| !node.contains("AscendDequant")), "{nodes:?}");
    let pool = deploy.lines().find(|line| line.contains("AveragePool")).unwrap();
    assert!(pool.contains("count_include_pad=0"), "{pool}");
}

#[test]
fn words_weights_and_biases_are_those_of_the_format() {
    let deploy = &files(TEXT).unwrap()["net_1_deploy_model.onnx"];
    let module = parse(deploy).unwrap();
    let graph = module.main();
    let tensor = |name: &str| {
        let (id, _) = graph
            .values()
            .find(|(_, value)| module.name(value.name) == name)
            .unwrap();
        module.constant(graph, id).unwrap()
    };
    let words = tensor("a.dequant.param");
    assert_eq!(words.values::<u64>().unwrap()[..], [0x3e80_0000, 0x3e00_0000]);
    assert_eq!(tensor("a.weight").to_i64().unwrap(), [7, -8]);
    // The corrected biases are −21 + 3·7 = 0 and 34 + 3·(−8) = 10. For the other layers it is 384 − 128·3 = 0.
    let without = |layer: &str| {
        graph
            .values()
            .all(|(_, value)| module.name(value.name) != format!("{layer}.bias"))
    };
    assert!(without("b") && without("c"));
    assert_eq!(tensor("a.bias").to_i64().unwrap(), [0, 10]);
    for attribute in ["scale=2.0", "offset=3.0", "dst_type=INT8", "dtype=0"] {
        assert!(deploy.contains(attribute), "{attribute}: {deploy}");
    }
}

#[test]
fn the_fake_quantized_model_rounds_in_front_of_the_offset() {
    let fake = &files(TEXT).unwrap()["net_1_fake_quant_model.onnx"];
    let operators: Vec<String> = nodes(fake)
        .iter()
        .take(8)
        .map(|node| node.split(' ').nth(3).unwrap().to_owned())
        .collect();
    let steps = ["Mul", "Round", "Add", "Clip", "Sub", "Conv", "Mul", "Relu"];
    let starts = operators
        .iter()
        .zip(steps)
        .all(|(operator, step)| operator.starts_with(step));
    assert!(starts, "{operators:?}");
}

#[test]
fn a_product_of_more_than_two_axes_has_its_bias_in_front_of_the_dequantization() {
    let text = r#"strait 1 integer
graph @lowered(%x: f32[2,3,2]) {
  %q: i8[2,3,2] scale=0.5 zero=0 = quantize(%x) {to=i8, rounding=half_even, reciprocal=1, zero_point=inside_rounding} name="x:quantize"
  %s: i32[2,3,3] scale=0.25 zero=0 = gemm(%q, @w, @b) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0} name="f:accumulate" sources=["f:accumulate","f"]
  %y: f32[2,3,3] = dequantize(%s) name="f:dequantize" sources=["f:dequantize","f"]
  return %y
}
data @w: i8[3,2] scale=0.5 zero=0 = inline [1,2,3,4,5,6]
data @b: i32[3] = inline [7,8,9]
"#;
    let deploy = &files(text).unwrap()["net_1_deploy_model.onnx"];
    let expected = [
        "f.quant.output0 = f.quant AscendQuant(x)",
        "f.output0 = f MatMul(f.quant.output0, f.weight)",
        "f.bias.output0 = f.bias Add(f.output0, f.bias)",
        "y = f.dequant AscendDequant(f.bias.output0, f.dequant.param)",
    ];
    assert_eq!(nodes(deploy), expected);
    assert!(deploy.contains("inline [1,3,5,2,4,6]"), "{deploy}");
}

#[test]
fn the_record_reads_back_as_the_same_grids() {
    let record = &files(TEXT).unwrap()["record.txt"];
    let grids = grids(record).unwrap();
    let told: Vec<_> = grids
        .iter()
        .map(|grid| (&*grid.layer, grid.operand, grid.params.scale.values().to_vec()))
        .collect();
    let expected = [
        ("a", 0, vec![0.5]),
        ("a", 1, vec![0.5, 0.25]),
        ("b", 0, vec![0.25]),
        ("b", 1, vec![1.0]),
        ("c", 0, vec![0.25]),
        ("c", 1, vec![1.0]),
    ];
    assert_eq!(told, expected);
    let fusion = |text: &str| record.matches(text).count();
    assert_eq!((fusion("skip_fusion: false"), fusion("skip_fusion: true")), (1, 2));
}

#[test]
fn the_documents_name_layers_settings_and_fusions() {
    let files = files(TEXT).unwrap();
    let read = |name: &str| -> Value { serde_json::from_str(&files[name]).unwrap() };
    let config = read("config.json");
    assert_eq!(config["a"]["activation_quant_params"]["act_algo"], json!("hfmg"));
    // Layers for which a rule sets another observer or a range.
    let ifmr = |part: f64, range: [f64; 2]| {
        json!({
            "num_bits": 8, "act_algo": "ifmr", "max_percentile": part, "min_percentile": part, "search_range": range,
            "search_step": 0.01, "asymmetric": true,
        })
    };
    assert_eq!(config["b"]["activation_quant_params"], ifmr(0.995, [0.5, 1.0]));
    assert_eq!(config["c"]["activation_quant_params"], ifmr(1.0, [1.0, 1.0]));
    assert_eq!(
        (&config["do_fusion"], &config["skip_fusion_layers"]),
        (&json!(true), &json!(["c"]))
    );
    assert_eq!(config["b"]["weight_quant_params"]["channel_wise"], json!(true));
    let fused = json!({ "match_times": "3", "effect_times": "2" });
    assert_eq!(
        read("fusion_result.json")["session_and_graph_id_0_0"]["graph_fusion"]["fold"],
        fused
    );
    let names = read("net_1_quant.json");
    let ops = names["graph"][0]["op"].as_array().unwrap();
    let find = |name: &str| ops.iter().find(|op| op["name"] == name).unwrap();
    assert_eq!(find("a")["attr"][0]["value"]["list"]["s"], json!(["a", "bn"]));
    assert_eq!(find("a.dequant")["output_desc"][0]["attr"][0]["value"]["s"], json!("a"));
    assert_eq!(find("b.quant")["input"], json!(["m:0"]));
    assert_eq!(find("a")["output_desc"], json!([]));
}

#[test]
fn what_the_format_cannot_say_is_refused_before_anything_is_written() {
    let text = r#"strait 1 integer
graph @lowered(%x: f32[1,2]) {
  %q: i8[1,2] scale=0.5 zero=0 = quantize(%x) {to=i8, rounding=half_even, reciprocal=1, zero_point=inside_rounding}
  %s: i32[1,1] scale=0.25 zero=0 = gemm(%q, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %y: i16[1,1] scale=0.5 zero=0 = requantize(%s) {form={ascend_dequant_s16 shift=1 relu=0}, axis=1}
  return %y
}
data @w: i8[1,2] scale=0.5 zero=0 = inline [1,2]
"#;
    let (module, mut files) = (parse(text).unwrap(), Files::default());
    let refused = write(&Emission::new(&module, "net"), &mut files);
    let Err(TargetError::Refused(reason)) = refused else {
        panic!("{refused:?}");
    };
    assert!(reason.text.contains("ascend_dequant_s16"), "{reason:?}");
    assert!(files.0.is_empty());
}

#[test]
fn the_name_of_the_model_becomes_one_of_a_file() {
    for (model, expected) in [
        ("net", "net"),
        ("a b/c", "a_b_c"),
        ("..", "model"),
        ("", "model"),
        ("v1.0-x", "v1.0-x"),
    ] {
        assert_eq!(prefix(model), expected);
    }
}

#[test]
fn a_record_holds_the_factors_of_layers() {
    let (module, mut files) = (parse(TEXT).unwrap(), Files::default());
    let balanced = Balanced {
        input: vec![4.0],
        output: vec![2.0, 0.5],
    };
    let balance = [("a".to_owned(), balanced)];
    write(&Emission::new(&module, "net").with_balance(&balance), &mut files).unwrap();
    let record = &files.0["record.txt"];
    let a = record
        .split("record {")
        .find(|entry| entry.contains("key: \"a\""))
        .unwrap();
    assert!(a.contains("tensor_balance_factor: 4\n"), "{a}");
    // The layer of the source model has W = t · (W / t), with the scales 0.5 · 2 and 0.25 · 0.5.
    assert!(a.contains("scale_w: 1\n") && a.contains("scale_w: 0.125\n"), "{a}");
    assert_eq!(record.matches("tensor_balance_factor").count(), 1);
    // Strait does not divide by the factors of a record.
    let error = grids(record).err().unwrap().to_string();
    assert!(
        error.contains("weights and activations are not balanced here"),
        "{error}"
    );
}
