use super::*;
use serde_json::json;
use strait_plugin_sdk::dialect::{KeyPath, Means};

fn read(fields: Value) -> Simple {
    Simple::deserialize(fields).unwrap_or_else(|error| panic!("{error}"))
}

/// The rules without their reasons, in the order in which they are applied.
fn rules(fields: Value) -> Vec<Value> {
    let settings = read(fields).settings().unwrap_or_else(|refused| panic!("{refused:?}"));
    let rules = settings.into_iter().filter_map(|setting| match setting.means {
        Means::Rule(mut keys) => {
            let reason = keys.remove("reason");
            assert_eq!(reason, Some(json!(format!("AMCT: {}", setting.from))));
            Some(Value::Object(keys))
        }
        _ => None,
    });
    rules.collect()
}

#[test]
fn what_is_said_of_fewer_layers_comes_later_and_wins() {
    let ifmr = |symmetric: bool, range: [f64; 2]| {
        json!({
            "observer": "ifmr",
            "observer_options": { "search_range": range, "search_step": 0.01, "percentile": 99.9999, "lower_percentile": 99.9999 },
            "activations": { "symmetric": symmetric },
        })
    };
    let with = |mut keys: Value, others: Value| {
        keys.as_object_mut()
            .unwrap()
            .extend(others.as_object().unwrap().clone());
        keys
    };
    let found = rules(json!({
        "skip_layers": ["last"],
        "skip_layer_types": ["AvgPool"],
        "override_layer_configs": [{ "layer_name": "a/b", "calibration_config": { "ifmr_quantize": { "search_range_start": 0.8 } } }],
        "override_layer_types": [{ "layer_type": "MatMul", "calibration_config": { "arq_quantize": { "channel_wise": false } } }],
        "common_config": { "hfmg_quantize": { "num_of_bins": 2048 }, "arq_quantize": { "channel_wise": true } },
        "tensor_quantize": [{ "layer_name": "pool", "input_index": 0 }],
        "activation_offset": false,
    }));
    let expected = vec![
        json!({ "optional": true, "layers": ["**"], "activations": { "symmetric": true } }),
        json!({ "optional": true, "layers": ["**"], "activations": { "symmetric": true } }),
        json!({ "optional": true, "tensors": ["**"], "observer": "hfmg", "observer_options": { "bins": 2048 } }),
        json!({ "optional": true, "layers": ["**"], "weights": { "observer": "arq" } }),
        json!({ "optional": true, "op": ["conv"], "weights": { "per": "channel" } }),
        json!({ "optional": true, "op": ["gemm", "matmul"], "weights": { "observer": "arq" } }),
        json!({ "optional": true, "op": ["gemm", "matmul"], "weights": { "per": "tensor" } }),
        with(json!({ "layers": ["a/b"], "operands": [0] }), ifmr(true, [0.8, 1.3])),
        with(json!({ "layers": ["pool"], "operands": [0] }), ifmr(true, [0.7, 1.3])),
        json!({ "optional": true, "op": ["average_pool"], "run": "float" }),
        json!({ "layers": ["last"], "run": "float" }),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_layer_says_for_itself_that_it_has_an_offset() {
    let found = rules(json!({
        "activation_offset": false,
        "override_layer_configs": [{ "layer_name": "a", "calibration_config": { "hfmg_quantize": { "asymmetric": true } } }],
    }));
    assert_eq!(found[1]["activations"], json!({ "symmetric": false }));
    assert_eq!(found[1]["observer_options"], json!({ "bins": 4096 }));
}

#[test]
fn what_is_not_of_layers_becomes_keys_and_options() {
    let settings = read(
        json!({ "batch_num": 4, "fakequant_precision_mode": "FORCE_FP16_QUANT", "joint_quant": true, "version": 1 }),
    );
    let found: Vec<Means> = settings
        .settings()
        .unwrap()
        .into_iter()
        .map(|setting| setting.means)
        .collect();
    let samples = Means::Key(vec!["calibration".into(), "samples".into()], json!(4));
    assert_eq!(found[..2], [samples, Means::Option("scale_bits".into(), json!(19))]);
    assert!(matches!(&found[2], Means::Rule(keys) if keys["alignment"] == "large" && keys["op"] == json!(["add"])));
    let fusions = read(json!({ "do_fusion": false, "skip_fusion_layers": ["a", "b/c"] })).settings();
    let fusions: Vec<Means> = fusions.unwrap().into_iter().map(|setting| setting.means).collect();
    let key = |name: &str, value| Means::Key(vec!["rewrite".into(), name.into()], value);
    let expected = [
        key("do_fusion", json!(false)),
        key("skip_fusion_layers", json!(["a", "b/c"])),
    ];
    assert_eq!(fusions, expected);
    let plain = read(json!({ "fakequant_precision_mode": "DEFAULT", "joint_quant": false }));
    assert_eq!(plain.settings(), Ok(Vec::new()));
}

#[test]
fn weight_only_layers_are_float_with_a_type_of_weights() {
    let found = rules(json!({ "common_config": { "weight_compress_only": true, "arq_quantize": {} } }));
    let alone = json!({ "optional": true, "op": ["conv", "gemm"], "run": "float", "weights": { "type": "int8" } });
    assert_eq!(found[0], alone);
}

#[test]
fn algorithms_for_all_layers_are_keys() {
    let ada = json!({ "num_iteration": 10, "beta_range": { "start": 20.0 }, "channel_wise": false });
    let common = json!({ "ada_quantize": ada, "dmq_balancer": { "migration_strength": 0.5 } });
    let found = read(json!({ "common_config": common })).settings().unwrap();
    let from = |key| KeyPath::of(&["common_config", key]);
    let sets = |key: &str| Means::Key(vec!["optimize".into(), key.into()], json!(true));
    assert_eq!(
        (&found[0].from, &found[0].means),
        (&from("ada_quantize"), &sets("round"))
    );
    assert_eq!(
        (&found[1].from, &found[1].means),
        (&from("dmq_balancer"), &sets("smooth"))
    );
    let single = json!({ "optional": true, "layers": ["**"], "weights": { "per": "tensor" } });
    assert_eq!(rules(json!({ "common_config": common }))[0], single);
}

#[test]
fn what_is_not_had_is_refused_with_its_field() {
    let of_layer =
        |config: Value| json!({ "override_layer_configs": [{ "layer_name": "a", "calibration_config": config }] });
    for (fields, from, words) in [
        (
            of_layer(json!({ "ada_quantize": { "num_iteration": 10 } })),
            "override_layer_configs[0].calibration_config.ada_quantize",
            "`round` of `[optimize]`, which is for all layers",
        ),
        (
            json!({ "conv_calibration_config": { "dmq_balancer": { "migration_strength": 0.5 } } }),
            "conv_calibration_config.dmq_balancer",
            "`smooth` of `[optimize]`, which is for all layers",
        ),
        (
            json!({ "common_config": { "arq_quantize": { "quant_bits": 7 } } }),
            "common_config.arq_quantize.quant_bits",
            "codes of 7 bits",
        ),
        (
            of_layer(json!({ "arq_quantize": { "num_bits": 6 } })),
            "override_layer_configs[0].calibration_config.arq_quantize.num_bits",
            "codes of 6 bits",
        ),
        (
            json!({ "common_config": { "hfmg_quantize": { "dst_type": "INT16" } } }),
            "common_config.hfmg_quantize.dst_type",
            "activations of 16 bits",
        ),
        (
            of_layer(json!({ "ifmr_quantize": { "dst_type": "INT16" } })),
            "override_layer_configs[0].calibration_config.ifmr_quantize.dst_type",
            "activations of 16 bits",
        ),
        (
            of_layer(json!({ "ifmr_quantize": { "search_range_start": 1.5 } })),
            "override_layer_configs[0].calibration_config.ifmr_quantize",
            "begins at 1.5 and ends at 1.3",
        ),
        (
            of_layer(json!({ "ifmr_quantize": {}, "hfmg_quantize": {} })),
            "override_layer_configs[0].calibration_config.hfmg_quantize",
            "not by both",
        ),
        (
            json!({ "common_config": { "hfmg_quantize": { "num_of_bins": 8192 } } }),
            "common_config.hfmg_quantize.num_of_bins",
            "8192 bins",
        ),
        (
            json!({ "common_config": { "arq_quantize": { "asymmetric": true } } }),
            "common_config.arq_quantize.asymmetric",
            "with an offset",
        ),
        (
            json!({ "skip_layer_types": ["Softmax"] }),
            "skip_layer_types[0]",
            "no layers of the type `Softmax`",
        ),
        (
            json!({ "nuq_config": { "mapping_file": "x" } }),
            "nuq_config",
            "given up",
        ),
        (
            json!({ "skip_approximation_layers": ["x"] }),
            "skip_approximation_layers",
            "nothing is approximated",
        ),
        (
            json!({ "common_config": {}, "fc_calibration_config": {} }),
            "fc_calibration_config",
            "is not read beside",
        ),
    ] {
        let refused = read(fields).settings().unwrap_err();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(
            refused[0].from.to_string() == from && refused[0].message.contains(words),
            "{refused:?}"
        );
    }
}

#[test]
fn no_word_is_an_option_of_the_table() {
    let table = include_str!("../../target.toml");
    let schema = schemars::schema_for!(Simple);
    let words = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|words| words.keys());
    for word in words.into_iter().flatten() {
        assert!(!table.contains(&format!("[options.{word}]")), "{word}");
    }
}
