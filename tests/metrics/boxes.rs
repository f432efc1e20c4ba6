//! Tests the precision of boxes.

use super::*;

/// A model with three boxes, each with a score and a class. All inputs are passed on unchanged.
const BOXES: &str = "
    strait 1 float
    graph @main(%corners: f32[1,3,4], %likely: f32[1,3,1], %kinds: i64[1,3]) {
      %boxes: f32[1,3,4] = conv(%corners, @one) {stride=[1], pad=[0,0], dilation=[1], groups=3, pad_value=0}
      %scores: f32[1,3,1] = conv(%likely, @one) {stride=[1], pad=[0,0], dilation=[1], groups=3, pad_value=0}
      %classes: i64[1,3] = add(%kinds, @zero)
      return %boxes, %scores, %classes
    }
    data @one: f32[3,1,1] = splat 1
    data @zero: i64[] = inline [0]";

impl Bench {
    /// Two images of 8 by 4. The labels are the boxes of the first image, and quite different from those of the second.
    fn boxes() -> Bench {
        let bench = Bench::of(BOXES);
        let corners: [[f32; 4]; 6] = [
            [0., 0., 4., 2.],
            [4., 2., 8., 4.],
            [0., 0., 1., 1.],
            [0., 0., 4., 2.],
            [4., 0., 8., 4.],
            [0., 0., 1., 1.],
        ];
        bench.save("samples/corners.npy", NumberType::F32, &[2, 3, 4], &corners.concat());
        bench.save(
            "samples/likely.npy",
            NumberType::F32,
            &[2, 3, 1],
            &[0.9f32, 0.5, 0.0, 0.7, 0.6, 0.0],
        );
        bench.save("samples/kinds.npy", NumberType::I64, &[2, 3], &[0i64, 1, 9, 0, 1, 9]);
        fs::create_dir(bench.at("labels")).unwrap();
        fs::write(bench.at("labels/a.txt"), "0 0.25 0.25 0.5 0.5\n1 0.75 0.75 0.5 0.5\n").unwrap();
        fs::write(bench.at("labels/b.txt"), "1 0.75 0.5 0.5 1\n0 0.9 0.9 0.1 0.1").unwrap();
        bench
    }
}

fn table(lines: &str) -> String {
    format!("[[evaluation.metric]]\nname = 'map'\n{lines}")
}

const LABELS: &str = "labels = 'labels'\nsize = [8, 4]\n";

#[test]
fn boxes_of_the_model_are_held_against_those_of_the_labels() {
    let bench = Bench::boxes();
    let more = "[[evaluation.metric]]\nname = 'half'\nkind = 'map'\noverlap = 0.5\nlabels = 'labels.json'\n";
    let json = r#"[[{"class": 0, "box": [0, 0, 4, 2]}, {"class": 1, "box": [4, 2, 8, 4]}], [{"class": 1, "box": [4, 0, 8, 2]}]]"#;
    fs::write(bench.at("labels.json"), json).unwrap();
    let gate = "[gate.accuracy_drop]\nmap = { points = 60, confidence = 0.95 }\n";
    let compiled = bench
        .compile(&(table(LABELS) + more + gate))
        .unwrap_or_else(|stop| panic!("{stop}"));
    let accuracy = compiled.report.accuracy.as_ref().unwrap();
    let float = |name: &str| accuracy.of(name).unwrap().float.unwrap().value;
    // Class 0: one of two objects is found, with the largest score: 51 of 101 recalls. Class 1: both are found, one
    // after the other.
    assert!(
        near(float("map"), 100.0 * (51.0 / 101.0 + 1.0) / 2.0),
        "{}",
        float("map")
    );
    // Class 0: one of one is found, though a false box follows. Class 1: the box of the second image overlaps half of
    // its object.
    assert!(near(float("half"), 100.0), "{}", float("half"));
    let map = accuracy.of("map").unwrap();
    assert_eq!((map.output.as_deref(), map.samples), (None, 2));
    assert!(
        map.change.as_ref().is_some_and(|change| change.interval.is_some()),
        "{map:?}"
    );
    assert!(
        map.integer
            .is_some_and(|figure| (50.0..=75.0 + 1.0).contains(&figure.value)),
        "{map:?}"
    );
    assert!(
        compiled.report.gates[0].text.contains("with a confidence of 95 %"),
        "{:?}",
        compiled.report.gates
    );
}

#[test]
fn boxes_that_do_not_fit_and_labels_that_are_none_are_told() {
    let bench = Bench::boxes();
    fs::create_dir(bench.at("empty")).unwrap();
    fs::create_dir(bench.at("broken")).unwrap();
    for name in ["broken/a.txt", "broken/b.txt"] {
        fs::write(bench.at(name), "0 0.5 0.5 0.1\n").unwrap();
    }
    for (lines, parts) in [
        (
            "size = [8, 4]".to_owned(),
            &["needs labels: the boxes of each sample", "test.toml:12"][..],
        ),
        (
            "labels = 'empty'".to_owned(),
            &["labels of 0 images for 2 samples", "has an empty file", "test.toml:14"],
        ),
        (
            "labels = 'absent'".to_owned(),
            &["neither a folder of .txt nor a .json"],
        ),
        (
            "labels = 'broken'".to_owned(),
            &["line 1 of ", "a.txt is \"0 0.5 0.5 0.1\"", "`class x y width height`"],
        ),
        (
            format!("{LABELS}boxes = 'boxe'"),
            &["the model has no output \"boxe\"", "did you mean `boxes`?"],
        ),
        (
            format!("{LABELS}boxes = 'scores'"),
            &["boxes have four numbers each", "[1, 3, 1]"],
        ),
        (
            format!("{LABELS}scores = 'boxes'"),
            &["12 numbers of boxes, 12 scores and 3 classes do not fit (sample 0)"],
        ),
        (
            "labels = 'labels'\nsize = [8, 0]".to_owned(),
            &["an image has no size of 8 by 0"],
        ),
        (
            format!("{LABELS}command = ['x']\nkind = 'map'\nbetter = 'higher'"),
            &["metric[0].better` is for a metric"],
        ),
        (
            format!("{LABELS}command = ['x']\nkind = 'map'"),
            &["starts the command `x`, and commands are not allowed"],
        ),
    ] {
        let told = bench.refused(&table(&lines));
        assert!(
            parts.iter().all(|part| told.contains(part)),
            "{lines}\n{told}\nlacks one of {parts:?}"
        );
    }
    let told = Bench::new().refused(&table("labels = 'empty'"));
    assert!(
        told.contains("needs an output of boxes, and the model has none of this name") && told.contains("scores, two")
    );
}

#[cfg(unix)]
#[test]
fn a_command_makes_boxes_of_outputs() {
    let mut bench = Bench::boxes();
    bench.commands = true;
    let printed = |text: &str| {
        fs::write(bench.at("boxes.json"), text).unwrap();
        let command = "kind = 'map'\ncommand = ['sh', '-c', 'test -s \"$1\" && cat boxes.json', 'boxes']\n";
        bench.compile(&table(&(LABELS.to_owned() + command)))
    };
    let compiled = printed("[[[0, 0.9, 0, 0, 4, 2], [1, 0.5, 4, 2, 8, 4]], [[1, 0.2, 4, 0, 8, 4]]]");
    let compiled = compiled.unwrap_or_else(|stop| panic!("{stop}"));
    let map = compiled.report.accuracy.as_ref().unwrap().of("map").unwrap().clone();
    assert!(
        near(map.float.unwrap().value, 100.0 * (51.0 / 101.0 + 1.0) / 2.0),
        "{map:?}"
    );
    assert_eq!(map.change.unwrap().value, 0.0);
    for (text, part) in [
        ("[[]]", "prints no list of 2 lists of boxes"),
        ("{\"boxes\": []}", "prints no list of 2 lists of boxes"),
        (
            "[[], [[1, 0.2, 4, 0, 8]]]",
            "something else than boxes [class, score, and four numbers] for sample 1",
        ),
        ("[[], [[0.5, 0.2, 4, 0, 8, 4]]]", "for sample 1"),
        ("[[[-1, 0.2, 4, 0, 8, 4]], []]", "for sample 0"),
        ("[[[\"cat\", 0.2, 4, 0, 8, 4]], []]", "for sample 0"),
    ] {
        let told = printed(text).err().map(|stop| stop.to_string()).unwrap_or_default();
        assert!(told.contains(part), "{text}: {told}");
    }
}
