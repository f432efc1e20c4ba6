//! Tests of `strait inspect` on artifacts.

use super::{Bench, digits, run, text};

#[test]
fn every_row_of_the_fusion_table_says_where_it_fired_or_why_not() {
    let bench = Bench::new();
    let artifact = bench.path("out");
    for (target, expected) in [
        (
            "generic-int8",
            [
                "(measured): fired 7 times\n  /stem/conv/Conv:accumulate ",
                "lookup-requantize, into lookup (proved): nothing came by",
                "no row of the table fuses into shift_left [no-row]",
            ],
        ),
        (
            "sima",
            [
                "conv-arith-folded, into conv, gemm (documented): fired 5 times\n  /stem/conv/Conv:accumulate ",
                "matmul, into matmul (assumed): nothing came by",
                "the result of the producer is i8, not int32 [type]",
            ],
        ),
    ] {
        let output = bench.compile(&["--target", target]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        // Long lines go on in lines that are indented more.
        let joined = |text: String| text.replace("\n    ", " ");
        let shown = joined(text(&run(&["inspect", &artifact, "--fusions"]).stdout));
        for expected in expected
            .iter()
            .chain(&["  exact on [", " equal thresholds\n", "  not: "])
        {
            assert!(shown.contains(expected), "{expected}: {shown}");
        }
        // Each layer that the summary lists as not fused appears here with the same reason.
        let summary = joined(text(&output.stdout));
        let reasons = summary
            .lines()
            .skip_while(|line| !line.starts_with("not fused: "))
            .skip(1);
        let reasons = reasons.take_while(|line| line.starts_with("  "));
        let reasons: Vec<&str> = reasons.filter_map(|line| Some(line.rsplit_once(": ")?.1)).collect();
        assert!(!reasons.is_empty());
        for reason in reasons {
            assert!(shown.contains(reason), "{reason}: {shown}");
        }
    }

    let narrowed = run(&["inspect", &artifact, "--fusions", "--match", "/block/**", "--json"]);
    let narrowed: serde_json::Value = serde_json::from_slice(&narrowed.stdout).unwrap();
    let rows = narrowed["rows"].as_array().unwrap();
    let fired: Vec<&str> = rows
        .iter()
        .flat_map(|row| row["fired"].as_array().unwrap())
        .map(|fired| fired["layer"].as_str().unwrap())
        .collect();
    assert!(fired.contains(&"/block/Add:accumulate"), "{fired:?}");
    assert!(!fired.contains(&"/head/conv/Conv:accumulate"), "{fired:?}");

    for (subject, pattern, expected) in [
        (&artifact, "/blok/Add", "`/block/Add`"),
        (&digits("digits.onnx"), "**", "is a model"),
        (&bench.path("none"), "**", "none"),
    ] {
        let output = run(&["inspect", subject, "--fusions", "--match", pattern]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn the_quantization_of_each_operand_is_shown_with_where_its_grid_comes_from() {
    let bench = Bench::new();
    assert_eq!(bench.compile(&[]).status.code(), Some(0));
    let artifact = bench.path("out");
    let shown = run(&["inspect", &artifact, "--quant", "--match", "/stem/**", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let layer = &found["layers"][0];
    assert_eq!(layer["op"], "conv");
    let configs = layer["configs"].as_array().unwrap();
    let at = |port: &str| configs.iter().find(|config| config["port"] == port).unwrap();
    let scheme = |port: &str| &found["schemes"][at(port)["scheme"].as_u64().unwrap() as usize];
    assert_eq!(
        (&scheme("operand 0")["type"], &scheme("operand 2")["type"]),
        (&"i8".into(), &"i32".into())
    );
    assert_eq!(scheme("operand 1")["per"], "channel 0");
    let name = layer["name"].as_str().unwrap();
    let masters = [0, 1].map(|operand| format!("operand {operand} of {name}"));
    assert_eq!(at("operand 2")["of"], serde_json::json!(masters));
    assert_eq!(
        (&at("operand 1")["origin"], &at("operand 2")["origin"]),
        (&"observed".into(), &"derived".into())
    );
    // The weights have one scale for each of the sixteen channels. The scales of a bias are the products of the scales
    // of operand and weights, and are not stored.
    assert!(at("operand 1")["scale"].as_array().unwrap().len() > 1);
    assert!(at("operand 2").get("scale").is_none());
    let table = text(&run(&["inspect", &artifact, "--quant"]).stdout);
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let joined = table.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in ["passive", &masters.join(" × "), "observed"] {
        assert!(joined.contains(expected), "{expected}: {table}");
    }
    for (subject, expected) in [
        (&artifact, "no layer is called"),
        (&digits("digits.onnx"), "is a model"),
    ] {
        let output = run(&["inspect", subject, "--quant", "--match", "/none"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}

#[test]
fn a_model_is_inspected_as_a_configuration_would_read_it() {
    let model = digits("digits.onnx");
    let cut = run(&["inspect", &model, "--set", "model.outputs=['/block/Add']", "--json"]);
    let cut: serde_json::Value = serde_json::from_slice(&cut.stdout).unwrap();
    let layers = cut["layers"].as_array().unwrap();
    assert_eq!(layers.last().unwrap()["name"], "/block/Add");
    for (set, expected) in [
        ("model.outputs=['/blok/Add']", "near it are `/block/Add"),
        ("target.use=['sima']", "says nothing about how a model is read"),
        ("model.outputs", "model.outputs"),
    ] {
        let output = run(&["inspect", &model, "--set", set]);
        assert_eq!(output.status.code(), Some(1), "{set}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
    let drawing = text(&run(&["inspect", &model, "--graph", "svg"]).stdout);
    assert!(
        drawing.starts_with("<svg ") && drawing.contains("/block/Add"),
        "{drawing}"
    );
}
