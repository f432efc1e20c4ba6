//! Tests of branches that are decided by constants, and of others.

use super::make::{error, floats, node, ops, placeholder, ports, read, truth};
use crate::proto::{NodeDef, Value};

/// Batch normalization as TensorFlow 1 writes it, with a condition of this name. One branch uses the statistics of the
/// batch, and the other branch the stored statistics.
fn normalization(condition: &str) -> Vec<NodeDef> {
    let mut nodes = vec![
        placeholder("x", Some(&[1, 2, 2, 3])),
        node("cond/Switch", "Switch", &[condition, condition]).with("T", Value::Type(10)),
        node("cond/switch_t", "Identity", &["cond/Switch:1"]).with("T", Value::Type(10)),
        node("cond/switch_f", "Identity", &["cond/Switch"]).with("T", Value::Type(10)),
        node("cond/pred_id", "Identity", &[condition]).with("T", Value::Type(10)),
    ];
    for (branch, result, training) in [("t", ":1", true), ("f", "", false)] {
        let passed = format!("x/{branch}");
        nodes.push(node(&passed, "Switch", &["x", "cond/pred_id"]).float());
        let mut operands = vec![format!("{passed}{result}")];
        for name in ["scale", "offset", "mean", "variance"] {
            let name = format!("{branch}/{name}");
            let mut constant = floats(&name, &[3], &[1.0; 3]);
            constant.input.push(format!("^cond/switch_{branch}"));
            nodes.push(constant);
            operands.push(name);
        }
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        let norm = node(&format!("bn/{branch}"), "FusedBatchNorm", &operands).float();
        nodes.push(norm.with("is_training", Value::Flag(training)));
    }
    nodes.push(
        node("merge", "Merge", &["bn/f", "bn/t"])
            .float()
            .with("N", Value::Int(2)),
    );
    nodes.push(node("y", "Relu", &["merge"]).float());
    nodes
}

#[test]
fn a_constant_decides_which_branch_is_read() {
    let mut nodes = vec![truth("is_training", false)];
    nodes.extend(normalization("is_training"));
    let module = read(nodes).unwrap();
    assert!(ops(&module).contains("batch_normalization"), "{}", ops(&module));
    assert_eq!(ports(&module), ["x:0 f32[1, 2, 2, 3]", "y:0 f32[1, 2, 2, 3]"]);
}

#[test]
fn what_is_made_of_constants_decides_too() {
    let mut nodes = vec![
        truth("default", true),
        node("phase", "PlaceholderWithDefault", &["default"]).with("dtype", Value::Type(10)),
        node("is_training", "LogicalNot", &["phase"]),
    ];
    nodes.extend(normalization("is_training"));
    assert!(ops(&read(nodes).unwrap()).contains("batch_normalization"));
}

#[test]
fn the_other_branch_is_the_one_that_is_refused() {
    let mut nodes = vec![truth("is_training", true)];
    nodes.extend(normalization("is_training"));
    let text = error(read(nodes));
    assert!(
        text.contains("`bn/t` (FusedBatchNorm): it is in training mode"),
        "{text}"
    );
}

#[test]
fn branches_that_a_run_decides_between_are_refused_by_name() {
    let mut nodes = vec![placeholder("is_training", Some(&[])).with("dtype", Value::Type(10))];
    nodes.extend(normalization("is_training"));
    let text = error(read(nodes));
    for name in ["`x/f` (Switch)", "`merge` (Merge)"] {
        assert!(text.contains(name), "{text}");
    }
    assert!(text.contains("inputs = [\"is_training:0\", \"merge:0\"]"), "{text}");
}

#[test]
fn loops_are_refused_by_name() {
    let nodes = vec![
        placeholder("x", Some(&[4])),
        truth("condition", true),
        node("enter", "Enter", &["x"]).float(),
        node("merge", "Merge", &["enter", "next"]).float(),
        node("switch", "Switch", &["merge", "condition"]).float(),
        node("body", "Relu", &["switch:1"]).float(),
        node("next", "NextIteration", &["body"]).float(),
        node("exit", "Exit", &["switch"]).float(),
        node("behind", "Relu", &["exit"]).float(),
    ];
    let text = error(read(nodes.clone()));
    assert!(
        text.contains("`enter` (Enter): branches and loops of TensorFlow 1"),
        "{text}"
    );
    for option in ["outputs = [\"x:0\"]", "inputs = [\"exit:0\"]"] {
        assert!(text.contains(option), "{text}");
    }
    let mut nodes = nodes;
    nodes.retain(|node| node.name != "merge");
    nodes.push(node("merge", "Merge", &["enter"]).float());
    let text = error(read(nodes));
    assert!(
        text.contains("`enter` (Enter): branches and loops of TensorFlow 1"),
        "{text}"
    );
}
