//! Tests of `strait identify`.

use std::fs;

use strait_samples::{NumberType, Pack, encode};

use super::{Bench, run, text};

/// Writes recorded vectors of a right shift by three that rounds up: accumulators and their outputs.
fn vectors(bench: &Bench) -> String {
    vectors_with(bench, &[])
}

/// Writes the same vectors as `vectors`, except that the outputs at the positions in `wrong` are replaced.
fn vectors_with(bench: &Bench, wrong: &[(usize, i8)]) -> String {
    let sums: Vec<i32> = (-2000..2000).collect();
    let numbers: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    let mut codes: Vec<u8> = sums.iter().map(|sum| (-(-sum >> 3)).clamp(-128, 127) as u8).collect();
    for &(at, code) in wrong {
        codes[at] = code.cast_unsigned();
    }
    let mut pack = Pack::default();
    let [sums, codes] = [
        encode(NumberType::I32, &[4000], &numbers),
        encode(NumberType::I8, &[4000], &codes),
    ];
    pack.add("conv/accumulator.npy", &sums).unwrap();
    pack.add("conv/output.npy", &codes).unwrap();
    let path = bench.path("recorded.npz");
    fs::write(&path, pack.finish().unwrap()).unwrap();
    path
}

#[test]
fn what_explains_a_layer_is_printed_as_rows_and_the_rest_with_a_witness() {
    let bench = Bench::new();
    let path = vectors(&bench);
    let done = run(&["identify", &path]);
    let shown = text(&done.stdout);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(
        shown.contains("[form.shift-ceil]") && shown.contains("min = 3, max = 3"),
        "{shown}"
    );
    assert!(
        shown.contains("a shift, floor") && shown.contains("expected "),
        "{shown}"
    );
    let json: serde_json::Value = serde_json::from_slice(&run(&["identify", &path, "--json"]).stdout).unwrap();
    let explained = json["layers"][0]["explained"].as_array().unwrap();
    assert!(explained.iter().any(|one| one["name"] == "shift-ceil"), "{explained:?}");
}

#[test]
fn wrong_values_are_counted_and_listed_and_tolerated_if_that_is_asked_for() {
    let bench = Bench::new();
    let path = vectors_with(&bench, &[(1000, 7), (3000, -7)]);
    let strict = run(&["identify", &path]);
    assert_eq!(strict.status.code(), Some(1));
    let shown = text(&strict.stdout);
    let first = shown.find("[form.").map(|at| &shown[at..]);
    assert!(
        first.is_some_and(|first| first.starts_with("[form.shift-ceil]")),
        "{shown}"
    );
    assert!(
        shown.contains("explains all but 2 of 4000 outputs of conv (0.050 %; it is not exact)"),
        "{shown}"
    );
    assert!(
        shown.contains("conv/output[3000]: -7 is recorded and 125 computed, of the accumulator 1000 of channel 0"),
        "{shown}"
    );
    assert!(run(&["identify", &path, "--tolerate", "0.1%"]).status.success());
    assert_eq!(run(&["identify", &path, "--tolerate", "0.04%"]).status.code(), Some(1));
    let json = run(&["identify", &path, "--json", "--tolerate", "0.1%"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let layer = &json["layers"][0];
    assert_eq!((&layer["exact"], &layer["answered"]), (&false.into(), &true.into()));
    assert_eq!(layer["explained"][0]["outliers"][0]["place"], serde_json::json!([1000]));
    let wrong = run(&["identify", &path, "--tolerate", "0.1"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        text(&wrong.stderr).contains("`0.1%` for instance"),
        "{}",
        text(&wrong.stderr)
    );
}

#[test]
fn a_layer_that_is_not_there_and_a_file_that_is_not_are_said_so() {
    let bench = Bench::new();
    let path = vectors(&bench);
    for (arguments, expected) in [
        (vec!["identify", &path, "--layer", "fc"], "error[D013]: "),
        (vec!["identify", &path, "--layer", "fc"], "it has conv"),
        (vec!["identify", "nowhere.npz"], "nowhere.npz: it cannot be read"),
    ] {
        let done = run(&arguments);
        assert_eq!(done.status.code(), Some(1));
        assert!(text(&done.stderr).contains(expected), "{}", text(&done.stderr));
    }
}
