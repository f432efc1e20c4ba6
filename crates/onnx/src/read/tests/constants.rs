//! Tests the results of operators on constants.

use super::make::*;
use super::operators::survives_extremes;
use super::*;
use crate::proto::{AttributeProto, TensorProto};
use strait_core::TensorData;

/// The results of `call`, whose operands are all constants.
fn folded(opset: i64, call: &str, constants: Vec<TensorProto>, attributes: Vec<AttributeProto>) -> Vec<TensorData> {
    let outputs: Vec<&str> = call.split(" = ").next().unwrap().split(", ").collect();
    let model = model(opset, graph(&[], constants, vec![node(call, attributes)], &outputs));
    survives_extremes(&model);
    let module = read(&model).unwrap();
    let graph = module.main();
    assert_eq!(graph.nodes().count(), 0, "{call} is no constant");
    let constant = |&output| module.constant(graph, output).unwrap().clone();
    graph.outputs().iter().map(constant).collect()
}

fn floats_of(tensor: &TensorData) -> Vec<f32> {
    tensor.to_f32().unwrap().into_owned()
}

fn scalar(name: &str, value: i64) -> TensorProto {
    constant(name, &TensorData::scalar(value))
}

/// The planes are 3 by 2. Positions count from 0 in the first plane, and from 6 in the second.
#[test]
fn a_pool_tells_the_places_of_its_largest_elements() {
    let x = || {
        let values = [1f32, 5.0, 2.0, 5.0, 9.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0];
        vec![constant("x", &TensorData::from_values(&[1, 2, 3, 2], &values).unwrap())]
    };
    let of = |more: Vec<AttributeProto>| {
        let attributes = [vec![ints("kernel_shape", &[2, 2])], more].concat();
        let results = folded(12, "y, at = MaxPool(x)", x(), attributes);
        assert_eq!(results[0].shape(), results[1].shape());
        (floats_of(&results[0]), results[1].to_i64().unwrap())
    };
    assert_eq!(of(vec![]), (vec![5.0, 9.0, -1.0, -3.0], vec![1, 4, 6, 8]));
    // If columns come first, the element of row 0 and column 1 is the fourth.
    let columns = of(vec![int("storage_order", 1)]);
    assert_eq!(columns, (vec![5.0, 9.0, -1.0, -3.0], vec![3, 2, 6, 7]));
    // A padding element is never the largest, even if all other elements are negative.
    let padded = of(vec![ints("pads", &[1, 0, 0, 0])]);
    assert_eq!(padded, (vec![5.0, 5.0, 9.0, -1.0, -1.0, -3.0], vec![1, 1, 4, 6, 6, 8]));
    let apart = of(vec![ints("dilations", &[2, 1])]);
    assert_eq!(apart, (vec![9.0, -1.0], vec![4, 6]));
}

#[test]
fn a_batch_normalization_in_training_mode_is_folded_and_refused_elsewhere() {
    let constants = || {
        vec![
            numbers("s", &[2.0, 1.0]),
            numbers("b", &[0.0, 10.0]),
            numbers("m", &[0.0, 100.0]),
            numbers("v", &[1.0, 0.0]),
        ]
    };
    let attributes = || vec![int("training_mode", 1), float("momentum", 0.75), float("epsilon", 0.0)];
    // The channels are 1, 3, 1, 3 and 0, 4, 4, 0. Their means are 2 and 2, and their variances 1 and 4.
    let x = [1f32, 3.0, 0.0, 4.0, 1.0, 3.0, 4.0, 0.0];
    let x = constant("x", &TensorData::from_values(&[2, 2, 2], &x).unwrap());
    let call = "y, mean, variance = BatchNormalization(x, s, b, m, v)";
    let results = folded(15, call, [vec![x], constants()].concat(), attributes());
    assert_eq!(floats_of(&results[0]), [-2.0, 2.0, 9.0, 11.0, -2.0, 2.0, 11.0, 9.0]);
    assert_eq!(floats_of(&results[1]), [0.5, 75.5]);
    assert_eq!(floats_of(&results[2]), [1.0, 1.0]);
    let run = graph(&["x: f32[2,2,2]"], constants(), vec![node(call, attributes())], &["y"]);
    let error = read(&model(15, run)).unwrap_err().to_string();
    assert!(
        error.contains("`y` (ai.onnx.BatchNormalization, operator set 15): it is in training mode"),
        "{error}"
    );
}

#[test]
fn an_extent_of_zero_is_one_where_the_model_says_so() {
    let empty = || {
        constant(
            "x",
            &TensorData::new(strait_core::Elem::F32, &[0, 3, 4], Bytes::new()).unwrap(),
        )
    };
    let of = |shape: &[i64], zero| {
        folded(
            14,
            "y = Reshape(x, s)",
            vec![empty(), list("s", shape)],
            vec![int("allowzero", zero)],
        )
    };
    assert_eq!(of(&[3, 4, 0], 1)[0].shape(), [3, 4, 0]);
    assert_eq!(of(&[0, 0, 4], 0)[0].shape(), [0, 3, 4]);
    let refused = |shape: &[i64], x: &str| {
        let nodes = vec![node("y = Reshape(x, s)", vec![int("allowzero", 1)])];
        read(&model(14, graph(&[x], vec![list("s", shape)], nodes, &["y"])))
            .unwrap_err()
            .to_string()
    };
    assert!(refused(&[2, 0], "x: f32[2,3]").contains("where a 0 is an extent"));
    assert!(refused(&[0, -1], "x: f32[2,3]").contains("where a 0 is an extent"));
}

/// The expected numbers are those of ONNX's node test. In that test, the sampling rate is only known at run time.
#[test]
fn weights_of_mel_bins_are_triangles_over_a_spectrum() {
    let constants = vec![
        scalar("bins", 8),
        scalar("length", 16),
        scalar("rate", 8192),
        constant("low", &TensorData::scalar(0f32)),
        constant("high", &TensorData::scalar(4096f32)),
    ];
    let weights = folded(
        17,
        "y = MelWeightMatrix(bins, length, rate, low, high)",
        constants,
        vec![],
    );
    let mut expected = [[0f32; 8]; 9];
    for (bin, mel) in [(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7)] {
        expected[bin][mel] = 1.0;
    }
    assert_eq!(weights[0].shape(), [9, 8]);
    assert_eq!(floats_of(&weights[0]), expected.concat());
}

/// The expected bits are those of the sums of cosines that `libm` computes on every machine.
#[test]
fn windows_have_the_same_bits_everywhere() {
    let of = |operator: &str| {
        let nodes = vec![
            node(&format!("w = {operator}(n)"), vec![int("output_datatype", 11)]),
            node("y = BitCast(w)", vec![int("to", 7)]),
        ];
        let module = read(&model(26, graph(&[], vec![scalar("n", 7)], nodes, &["y"]))).unwrap();
        let bits = module.constant(module.main(), module.main().outputs()[0]).unwrap();
        bits.to_i64()
            .unwrap()
            .iter()
            .map(|bits| format!("{bits:x}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        of("HannWindow"),
        "0 3fc818be3ae8245c 3fe38f721c6048b0 3fee6a5e54e5ae38 3fee6a5e54e5ae38 3fe38f721c6048b1 3fc818be3ae82460"
    );
    assert_eq!(
        of("HammingWindow"),
        "3fb642c8590b2164 3fd090dc68ce26dc 3fe4a45d0ec7373c 3fee8da40abb728c 3fee8da40abb728c 3fe4a45d0ec7373d 3fd090dc68ce26de"
    );
    assert_eq!(
        of("BlackmanWindow"),
        "bc70000000000000 3fb727f4a3698546 3fdd6340ea62970f 3fed739e67055ad7 3fed739e67055ad9 3fdd6340ea629714 3fb727f4a369854c"
    );
}
