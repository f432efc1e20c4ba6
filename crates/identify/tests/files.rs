//! Tests of reading vectors from files: which files are read and which are refused. Each refusal says what would be
//! right.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common;

use common::{
    Numbers,
    arrays::{f32s, file, i8s, i32s, read, u64s},
    once, record, twice,
};
use strait_identify::{
    ChannelAxis, LayerScales, RecordedLayer, RecordedValue, RuntimeRule, Subject, Tolerance, Vectors, document,
    identify,
};
use strait_requantize::{
    IntType, Per, Requantization, Rounding,
    scales::{litert, onnx_runtime},
};
use strait_target::spec::Table;

/// The accumulators of each channel with their outputs.
fn pairs(layer: &RecordedLayer) -> Vec<Vec<(i64, i32)>> {
    let of = |values: &Vec<RecordedValue>| values.iter().map(|value| (value.accumulator, value.output)).collect();
    layer.channels.iter().map(of).collect()
}

#[test]
fn accumulators_are_taken_by_channel_and_outputs_give_the_type() {
    let layers = read(&[
        ("net/conv/accumulator", i32s(&[2, 2, 2], &[5, 1, 9, 7, 3, 5, -4, 9])),
        ("net/conv/output", i8s(&[2, 2, 2], &[5, 1, 9, 7, 3, 5, -4, 9])),
        ("net/conv/zero_point", i32s(&[], &[0])),
        ("net/conv/input_scale", f32s(&[], &[0.5])),
        ("net/conv/weight_scale", f32s(&[2], &[0.5, 0.25])),
        ("net/conv/output_scale", f32s(&[1], &[0.125])),
    ])
    .unwrap();
    let [layer] = layers.as_slice() else {
        panic!("{layers:?}")
    };
    assert_eq!(
        (layer.name.as_str(), layer.out, layer.outputs()),
        ("net/conv", IntType::I8, 8)
    );
    assert_eq!(layer.zero_point, Some(0));
    assert_eq!(
        pairs(layer),
        [vec![(1, 1), (3, 3), (5, 5)], vec![(-4, -4), (7, 7), (9, 9)]]
    );
    let scales = layer.scales.as_ref().unwrap();
    assert_eq!(scales.weight, [0.5, 0.25].into_iter().collect::<Per<f32>>());
}

#[test]
fn sums_of_a_dense_layer_are_made_of_its_integers() {
    // Computed by hand: (3 - 1)·1 + (5 - 1)·2 + 10 = 20, and so on.
    let layers = read(&[
        ("fc/input", i8s(&[2, 2], &[3, 5, 0, 1])),
        ("fc/weight", i8s(&[2, 2], &[1, 2, -3, 4])),
        ("fc/bias", i32s(&[2], &[10, 0])),
        ("fc/input_zero_point", i32s(&[], &[1])),
        ("fc/output", i8s(&[2, 2], &[2, 1, 1, 0])),
    ])
    .unwrap();
    assert_eq!(pairs(&layers[0]), [vec![(9, 1), (20, 2)], vec![(3, 0), (10, 1)]]);
}

#[test]
fn sums_of_a_convolution_are_made_of_its_integers() {
    // Two groups of one channel each, a 1 × 2 window with stride 2, and one column of padding on the left.
    let layers = read(&[
        ("c/input", i8s(&[1, 2, 1, 3], &[1, 2, 3, 4, 5, 6])),
        ("c/weight", i8s(&[2, 1, 1, 2], &[10, 1, 1, 10])),
        ("c/stride", i32s(&[2], &[1, 2])),
        ("c/padding", i32s(&[4], &[0, 1, 0, 0])),
        ("c/groups", i32s(&[1], &[2])),
        ("c/output", i8s(&[1, 2, 1, 2], &[1, 2, 3, 4])),
    ])
    .unwrap();
    // Computed by hand: 0·10 + 1 and 2·10 + 3; 0 + 4·10 and 5 + 6·10.
    assert_eq!(pairs(&layers[0]), [vec![(1, 1), (23, 2)], vec![(40, 3), (65, 4)]]);
}

#[test]
fn sums_of_a_convolution_with_channels_last_are_the_same_in_the_order_of_the_file() {
    // The same convolution with the channels last: two channels, a 1 × 2 window with stride 2, padding on the left, and
    // two outputs.
    let last = |weight: (&'static str, Vec<u8>)| {
        read(&[
            ("c/input", i8s(&[1, 1, 3, 2], &[1, 4, 2, 5, 3, 6])),
            weight,
            ("c/stride", i32s(&[2], &[1, 2])),
            ("c/padding", i32s(&[4], &[0, 1, 0, 0])),
            ("c/groups", i32s(&[1], &[2])),
            ("c/output", i8s(&[1, 1, 2, 2], &[1, 3, 2, 4])),
        ])
        .unwrap()
        .remove(0)
    };
    // The two weight layouts: [outputs, height, width, inputs / groups] and [height, width, inputs / groups, outputs].
    for weight in [i8s(&[2, 1, 2, 1], &[10, 1, 1, 10]), i8s(&[1, 2, 1, 2], &[10, 1, 1, 10])] {
        let layer = last(("c/weight", weight));
        assert_eq!(layer.axis, ChannelAxis::Last);
        assert_eq!(pairs(&layer), [vec![(1, 1), (23, 2)], vec![(40, 3), (65, 4)]]);
        assert_eq!(layer.place(3), [0, 0, 1, 1]);
    }
}

#[test]
fn what_is_wrong_is_said_with_file_array_and_what_would_be_right() {
    let output = || ("a/output", i8s(&[2], &[0, 1]));
    let sums = || ("a/accumulator", i32s(&[2], &[10, 20]));
    let cases: Vec<(Vec<(&str, Vec<u8>)>, [&str; 2])> = vec![
        (
            vec![("output", i8s(&[1], &[0]))],
            ["output: it belongs to no layer", "LAYER/FIELD"],
        ),
        (vec![], ["it has 0 layers", "1 to 4096"]),
        (
            vec![sums()],
            ["a/output: it is missing", "the codes that the chip wrote"],
        ),
        (vec![output()], ["a/input: it is missing", "record `accumulator`"]),
        (
            vec![output(), ("a/accumulator", i32s(&[3], &[1, 2, 3]))],
            ["a/accumulator: its shape is [3]", "[2]"],
        ),
        (
            vec![sums(), ("a/output", f32s(&[2], &[0.0, 1.0]))],
            ["a/output: its numbers are float32", "int8, uint8"],
        ),
        (
            vec![output(), ("a/accumulator", f32s(&[2], &[1.0, 2.0]))],
            ["a/accumulator: its numbers are float32", "integers"],
        ),
        (
            vec![output(), ("a/accumulator", u64s(&[2], &[10, 1 << 63]))],
            ["a/accumulator: it has a number of more than 64 bits", "below 2^63"],
        ),
        (
            vec![output(), sums(), ("a/scale", f32s(&[], &[1.0]))],
            ["a/scale: no layer has such an array", "input_scale"],
        ),
        (
            vec![output(), sums(), ("a/zero_point", i32s(&[], &[300]))],
            ["a/zero_point: it is 300", "a code of i8"],
        ),
        (
            vec![output(), sums(), ("a/input_scale", f32s(&[], &[1.0]))],
            ["a/weight_scale: it is missing", "or none of them"],
        ),
        (
            vec![
                output(),
                sums(),
                ("a/input_scale", f32s(&[], &[0.0])),
                ("a/weight_scale", f32s(&[], &[1.0])),
                ("a/output_scale", f32s(&[], &[1.0])),
            ],
            [
                "a/input_scale: as float32 it has the scale 0",
                "one number, finite and above zero",
            ],
        ),
        (
            vec![
                output(),
                ("a/input", i8s(&[2, 3], &[0; 6])),
                ("a/weight", i8s(&[1, 2], &[0; 2])),
            ],
            [
                "a/weight: its shape is [1, 2] where that of the input is [2, 3]",
                "[outputs, k]",
            ],
        ),
        (
            vec![
                output(),
                ("a/input", i8s(&[1, 1, 1, 1], &[0])),
                ("a/weight", i8s(&[1, 1, 3, 3], &[0; 9])),
            ],
            ["a/weight: its window of 3 × 3", "inside of the padded input"],
        ),
    ];
    for (arrays, parts) in cases {
        let error = read(&arrays).unwrap_err();
        for part in parts {
            assert!(error.contains(part), "{part}\n{error}");
        }
    }
}

#[test]
fn no_file_and_bytes_that_are_no_archive_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npz");
    assert!(Vectors::read(&path).unwrap_err().wrong.contains("cannot be read"));
    std::fs::write(&path, b"PK\x03\x04 and no more").unwrap();
    let error = Vectors::read(&path).unwrap_err();
    assert!(error.wrong.contains("not an archive"));
    // The message names the file only once.
    assert_eq!(error.to_string().matches("v.npz").count(), 1, "{error}");
}

#[test]
fn a_file_that_is_cut_or_changed_anywhere_does_no_harm() {
    let (_folder, path) = file(&[
        ("a/accumulator", i32s(&[2], &[10, 20])),
        ("a/output", i8s(&[2], &[0, 1])),
    ]);
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        std::fs::write(&path, &whole[..at]).unwrap();
        assert!(Vectors::read(&path).is_err());
        let mut changed = whole.clone();
        changed[at] ^= 0xff;
        std::fs::write(&path, &changed).unwrap();
        // The file may be read or refused, as long as reading does not panic.
        let _ = Vectors::read(&path);
    }
}

/// Records a layer of a form, together with the scales from which the form was made.
fn with_scales(form: &Requantization, [input, weight, output]: [f32; 3], numbers: &mut Numbers) -> RecordedLayer {
    RecordedLayer {
        scales: Some(LayerScales {
            input,
            weight: weight.into(),
            output,
        }),
        ..record(form, 50_000, numbers)
    }
}

#[test]
fn of_recorded_outputs_of_litert_and_onnx_runtime_the_right_rules_are_found() {
    let explained = |layer: &RecordedLayer| -> Vec<RuntimeRule> {
        let answer = identify("a file", layer).unwrap();
        let rule = |subject: Subject| match subject {
            Subject::Rule(rule) => Some(rule),
            Subject::Hypothesis(_) => None,
        };
        answer
            .explained
            .iter()
            .filter_map(|explained| rule(explained.subject))
            .collect()
    };
    // These definitions were compared with the real programs: see docs/oracles.md.
    for seed in 0..6 {
        let numbers = &mut Numbers::new(seed + 900);
        let scales = [0; 3].map(|_| numbers.between(1000, 9000) as f32 / 131_072.0);
        let [input, weight, output] = scales;
        let weights = Per::Tensor(weight);
        let convolution = litert::convolution(input, &weights, output, -5, IntType::I8).unwrap();
        let found = explained(&with_scales(&convolution, scales, numbers));
        assert!(found.contains(&RuntimeRule::LitertConvolution), "{found:?}");
        let others = [
            RuntimeRule::LitertSingleRounding,
            RuntimeRule::LitertFullyConnected,
            RuntimeRule::OnnxRuntimeConvolution,
        ];
        assert!(others.iter().all(|other| !found.contains(other)), "{found:?}");
        let dense = litert::fully_connected_in_f64(input, &weights, output, -5, IntType::I8).unwrap();
        let found = explained(&with_scales(&dense, scales, numbers));
        assert!(
            found.contains(&RuntimeRule::LitertFullyConnected) && !found.contains(&RuntimeRule::LitertConvolution),
            "{found:?}"
        );
        let linear = onnx_runtime::convolution(input, &weights, output, -5, IntType::I8).unwrap();
        let found = explained(&with_scales(&linear, scales, numbers));
        assert!(
            found.contains(&RuntimeRule::OnnxRuntimeConvolution) && !found.contains(&RuntimeRule::LitertConvolution),
            "{found:?}"
        );
        let product = onnx_runtime::multiplication(input, weight, output, -5, IntType::I8).unwrap();
        let found = explained(&with_scales(&product, scales, numbers));
        assert!(found.contains(&RuntimeRule::OnnxRuntimeMultiplication), "{found:?}");
    }
}

/// A target table to which these forms are added. No row of the table uses them.
fn table(forms: &str) -> String {
    let text = include_str!("../../target-table/tests/tables/every-form.toml");
    let head = text.split("[form.").next().unwrap();
    format!("{head}\n{forms}")
}

#[test]
fn rows_are_rows_of_a_table_and_take_what_they_were_made_of() {
    let numbers = &mut Numbers::new(3);
    let scales = [0.02, 0.01, 0.1];
    let linear = onnx_runtime::convolution(0.02, &0.01.into(), 0.1, 3, IntType::I8).unwrap();
    let sixteen = litert::sixteen_by_eight(0.02, &0.01.into(), 0.1, 0, IntType::I16).unwrap();
    let forms = [
        with_scales(&linear, scales, numbers),
        with_scales(&sixteen, scales, numbers),
        record(&twice(numbers), 50_000, numbers),
        record(&once(1, Rounding::HalfAway, numbers), 50_000, numbers),
        record(&once(15, Rounding::HalfEven, numbers), 50_000, numbers),
    ];
    for layer in forms {
        let answer = identify("a file", &layer).unwrap();
        assert!(!answer.explained.is_empty());
        let text = document("a file", std::slice::from_ref(&answer), Tolerance::default());
        let table = Table::parse("answer.toml", table(&text)).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let spec = table.spec(&Default::default()).unwrap();
        for (name, row) in &spec.form {
            let taken = answer.explained.iter().any(|explained| {
                row.accepts(&explained.form, explained.clamps[0].then_some(answer.ends))
                    .is_ok()
            });
            assert!(taken, "{name}\n{text}");
        }
    }
}

#[test]
fn layers_of_one_arithmetic_share_its_rows_and_others_have_their_own() {
    let numbers = &mut Numbers::new(4);
    let mut answers = Vec::new();
    for (name, form) in [
        ("a", twice(numbers)),
        ("b", once(7, Rounding::Floor, numbers)),
        ("c", twice(numbers)),
    ] {
        let layer = RecordedLayer {
            name: name.into(),
            ..record(&form, 50_000, numbers)
        };
        answers.push(identify("v.npz", &layer).unwrap());
    }
    let text = document("v.npz", &answers, Tolerance::default());
    assert!(text.contains("# a, c: 100000 outputs"), "{text}");
    assert!(text.contains("# b: 50000 outputs"), "{text}");
    assert_eq!(text.matches("[form.two-roundings").count(), 1);
}

#[test]
fn factors_that_the_data_leave_are_shown_and_hold_the_one_that_was_recorded() {
    let mut numbers = Numbers::new(31);
    let form = once(31, Rounding::HalfUp, &mut numbers);
    let layer = record(&form, 20_000, &mut numbers);
    let answer = identify("v.npz", &layer).unwrap();
    let Requantization::TfLite(its) = &form else {
        panic!("{form:?}")
    };
    let shown = answer
        .explained
        .iter()
        .filter(|explained| !explained.factors.is_empty());
    let of_half_up = shown
        .clone()
        .find(|explained| explained.subject.to_string().contains("half_up"));
    let factors = &of_half_up.unwrap().factors;
    assert_eq!(factors.len(), layer.channels.len());
    for (channel, [low, high]) in factors.iter().enumerate() {
        let at = |values: &[i32]| f64::from(values[channel.min(values.len() - 1)]);
        let shift = its.narrowing.shift.values();
        let factor = at(its.sc.values()) / 2f64.powi(shift[channel.min(shift.len() - 1)].into());
        assert!(low <= &factor && &factor <= high, "{low} {factor} {high}");
        // The interval of possible factors is narrower than a thousandth of the factor, because thresholds lie hundreds
        // of accumulators away from zero.
        assert!((high - low) / factor < 1e-3, "{low} {high}");
    }
    // The factors are written for one of the arithmetics only.
    let text = document("v.npz", std::slice::from_ref(&answer), Tolerance::default());
    assert!(
        text.contains("# factors that ") && text.contains(" leaves, by "),
        "{text}"
    );
    assert_eq!(text.matches("#   channel 0: ").count(), 1, "{text}");
}
