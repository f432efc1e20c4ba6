//! Tests outputs that concatenate parts with different ranges: boxes in pixels, and scores.

use super::{Bench, SAMPLES, numbers};
use strait_driver::report::Report;
use strait_driver::shown::Shown;
use strait_samples::NumberType;

/// Four large numbers for each pixel, and two below 1.
const MODEL: &str = "
    strait 1 float
    graph @main(%pixels: f32[1,6,2,2]) {
      %boxes: f32[1,4,2,2] = conv(%pixels, @wide) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      %logits: f32[1,2,2,2] = conv(%pixels, @narrow) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      %scores: f32[1,2,2,2] = unary(%logits) {function=sigmoid}
      %both: f32[1,6,2,2] = concat(%boxes, %scores) {axis=1}
      %rows: f32[1,6,4] = reshape(%both) {shape=[1,6,4]}
      %found: f32[1,4,6] = transpose(%rows) {permutation=[0,2,1]}
      return %found
    }
    data @wide: f32[4,6,1,1] = splat 100
    data @narrow: f32[2,6,1,1] = splat 0.25";

fn compiled(settings: &str) -> Report {
    let bench = Bench::of(MODEL);
    let pixels = numbers(SAMPLES * 24);
    bench.save("samples/pixels.npy", NumberType::F32, &[SAMPLES, 6, 2, 2], &pixels);
    let compiled = bench.compile(&format!("metrics = ['snr']\n{settings}"));
    compiled.unwrap_or_else(|stop| panic!("{stop}")).report
}

/// The SNR of the whole output, of the boxes and of the scores.
fn figures(report: &Report) -> [f64; 3] {
    let [snr] = &report.accuracy.as_ref().unwrap().metrics[..] else {
        panic!("one metric of one output")
    };
    let names: Vec<&str> = snr.parts.iter().map(|part| part.part.as_str()).collect();
    assert_eq!(names, ["boxes", "scores"]);
    let value = |figure: Option<strait_evaluate::Figure>| figure.unwrap().value;
    [
        value(snr.integer),
        value(snr.parts[0].integer),
        value(snr.parts[1].integer),
    ]
}

#[test]
fn each_part_leaves_on_a_grid_of_its_own_and_is_told_of() {
    let report = compiled("");
    let host = |name: &str| {
        let layer = report.layers.iter().find(|layer| layer.name == name).unwrap();
        layer.host.as_ref().map(|reason| reason.code.clone())
    };
    assert_eq!(host("both").as_deref(), Some("unlike-parts"));
    assert!(figures(&report).iter().all(|&snr| snr > 35.0), "{:?}", figures(&report));
    assert!(report.lints.is_empty(), "{:?}", report.lints);
    let text = Shown(&report).to_string();
    assert!(text.contains("\n  snr of found by part: boxes "), "{text}");
}

/// Boxes go beyond 500, so that one step is 2 or more, and a score below 1 is lost.
#[test]
fn on_a_grid_that_is_shared_the_small_part_is_lost_and_the_whole_looks_fine() {
    let report = compiled("[quantize]\nalignment.concat = 'share'");
    let [all, boxes, scores] = figures(&report);
    assert!(all > 30.0 && boxes > 35.0 && scores < 3.0, "{all} {boxes} {scores}");
    let [lint] = &report.lints[..] else {
        panic!("{:?}", report.lints)
    };
    assert_eq!(
        (&*lint.code, &*lint.layer, &*lint.tensor),
        ("range-unlike", "both", "scores")
    );
    let part = lint.part.as_ref().unwrap();
    assert!(part.steps < 0.6 && part.bits > 8.0, "{part:?}");
    assert!(Shown(&report).to_string().contains("[range-unlike]"));
}
