//! Ascend's package as AMCT has it: ReLU6 in front of quantizations.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod frozen;

use serde_json::json;

use frozen::{compiled, two};

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
    // The quantizations' own Clips have names of their own, and no other is left.
    assert!(has(b"\"\x04Relu") && !has(b"Relu6:max"), "the ReLU6 is there");
    // On a grid that goes beyond 6 it stays, and is counted as looked at.
    let rule = "[[quantize.rule]]\ntensors = [\"Relu6:0\"]\nrange = [0, 12]\n";
    let made = compiled(folder.path(), "stays", &two(true), rule).unwrap();
    assert_eq!(made.deployed()["Relu6"], "clip");
    let fusions = &made.json("fusion_result.json")["session_and_graph_id_0_0"]["graph_fusion"];
    assert_eq!(
        fusions["relu6-to-relu"],
        json!({ "match_times": "1", "effect_times": "0" })
    );
}
