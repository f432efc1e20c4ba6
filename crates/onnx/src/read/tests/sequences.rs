//! Tests sequences whose lengths and positions are known, and sequences that are refused.

use super::make::*;
use super::*;
use crate::proto::{NodeProto, TensorProto};
use strait_core::TensorData;

fn scalar(name: &str, value: i64) -> TensorProto {
    constant(name, &TensorData::scalar(value))
}

fn model_of(nodes: Vec<NodeProto>, outputs: &[&str]) -> ModelProto {
    let constants = vec![
        scalar("four", 4),
        scalar("first", 0),
        scalar("last", -1),
        scalar("third", 2),
        list("sizes", &[1, 2, 3]),
    ];
    model(13, graph(&["x: f32[2,6]"], constants, nodes, outputs))
}

fn summary_of(nodes: &[&str], outputs: &[&str]) -> String {
    let axis = |op: &&&str| op.contains("Split") || op.contains("Concat");
    let attributes = |op: &&str| if axis(&op) { vec![int("axis", 1)] } else { vec![] };
    let nodes = nodes.iter().map(|text| node(text, attributes(text))).collect();
    summary(&read(&model_of(nodes, outputs)).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn what_is_taken_out_of_a_split_is_its_piece() {
    assert_eq!(
        summary_of(&["s = SplitToSequence(x, four)", "y = SequenceAt(s, last)"], &["y"]),
        "split axis=1 sizes=[4,2]; identity -> f32[2,2]"
    );
    assert_eq!(
        summary_of(&["s = SplitToSequence(x, sizes)", "y = SequenceAt(s, third)"], &["y"]),
        "split axis=1 sizes=[1,2,3]; identity -> f32[2,3]"
    );
    let columns = summary_of(&["s = SplitToSequence(x)", "y = SequenceAt(s, third)"], &["y"]);
    assert_eq!(columns, "split axis=1 sizes=[1,1,1,1,1,1]; identity -> f32[2,1]");
    let split = node("s = SplitToSequence(x)", vec![int("axis", -1), int("keepdims", 0)]);
    let at = node("y = SequenceAt(s, third)", vec![]);
    let found = summary(&read(&model_of(vec![split, at], &["y"])).unwrap());
    assert!(found.ends_with("squeeze axes=[-1]; identity -> f32[2]"), "{found}");
}

#[test]
fn sequences_are_put_together_taken_apart_and_counted() {
    let nodes = [
        "e = SequenceEmpty()",
        "r = Relu(x)",
        "a = SequenceInsert(e, x)",
        "b = SequenceInsert(a, r, first)",
        "c = SequenceConstruct(r, x, x)",
        "d = SequenceErase(c, first)",
        "f = SequenceErase(c)",
        "n = SequenceLength(f)",
        "y = ConcatFromSequence(b)",
        "z = ConcatFromSequence(d)",
    ];
    assert_eq!(
        summary_of(&nodes, &["y", "z", "n"]),
        "relu; concat axis=1; concat axis=1 -> f32[2,12] f32[2,12] i64[]"
    );
    let module = read(&model_of(
        vec![
            node("c = SequenceConstruct(x, x)", vec![]),
            node("y = ConcatFromSequence(c)", vec![int("axis", 0), int("new_axis", 1)]),
        ],
        &["y"],
    ));
    let found = summary(&module.unwrap());
    assert_eq!(
        found,
        "unsqueeze axes=[0]; unsqueeze axes=[0]; concat axis=0 -> f32[2,2,6]"
    );
}

#[test]
fn what_no_tensor_is_left_of_is_refused_by_name() {
    let refusal = |nodes: &[&str], outputs: &[&str]| {
        let nodes = nodes.iter().map(|text| node(text, vec![])).collect();
        read(&model_of(nodes, outputs)).unwrap_err().to_string()
    };
    for (nodes, expect) in [
        (&["s = SequenceConstruct(x, x)", "y = Relu(s)"][..], "`s` is a sequence"),
        (&["y = SequenceConstruct(x, x)"], "`y` is a sequence"),
        (&["y = SequenceAt(x, first)"], "operand 0 is a tensor, and no sequence"),
        (
            &["s = SequenceConstruct(x)", "y = SequenceAt(s, four)"],
            "position [4] is none of the 1 that the sequence has",
        ),
        (
            &[
                "s = SequenceConstruct(x)",
                "t = SequenceConstruct(x, s)",
                "y = SequenceAt(t, first)",
            ],
            "`s` is a sequence",
        ),
        (
            &[
                "s = SequenceEmpty()",
                "t = SequenceErase(s)",
                "y = SequenceAt(t, first)",
            ],
            "the sequence is empty",
        ),
        (
            &["s = SequenceConstruct(x)", "p = ArgMax(x)", "y = SequenceAt(s, p)"],
            "its position is computed at run time",
        ),
    ] {
        let text = refusal(nodes, &["y"]);
        assert!(text.contains(expect), "{text}\nexpected {expect}");
    }
}
