//! Tests each lint with a constructed case: on which targets it is reported, and that nothing is lost where it is not.

use strait_driver::report::Report;
use strait_driver::shown::Shown;

use super::{compiled, numbers};

const TARGETS: [&str; 3] = ["generic-int8", "sima", "ascend"];

/// Boxes in hundreds and scores below 1, both computed from the same numbers, and a layer to which the scores matter
/// much more than the boxes.
const MADE: &str = "
    %boxes: f32[1,2,4,4] = conv(%x, @large) {CONV}
    %scores: f32[1,2,4,4] = conv(%x, @small) {CONV}";

const DATA: &str = "
    data @large: f32[2,2,1,1] = inline [900.0, -300.0, 100.0, 700.0]
    data @small: f32[2,2,1,1] = inline [0.5, 0.25, 0.1, 0.7]
    data @unlike: f32[4,2,1,1] = inline [900.0, -300.0, 100.0, 700.0, 0.5, 0.25, 0.1, 0.7]
    data @want: f32[1,4,1,1] = inline [0.0001, 0.0002, 1.0, -0.5]
    data @two: f32[1,2,1,1] = inline [1.0, -0.5]
    data @same: f32[2,2,1,1] = inline [1.0, 0.0, 0.0, 1.0]
    data @tiny: f32[2,2,1,1] = inline [0.0001, 0.0, 0.0, 0.5]
    data @bias: f32[2] = inline [100.0, 0.25]
    data @apart: f32[2,2,1,1] = inline [1000.0, -1000.0, 1000.0, -999.0]
    data @half: f32[1] = inline [0.5]";

const SHARE: &str = "[quantize]\nalignment.concat = 'share'\n";

/// A graph, what it returns, and a configuration. Then the lint, its tensor, and the targets on which it is reported.
struct Case {
    nodes: &'static str,
    outputs: &'static str,
    configured: &'static str,
    samples: fn() -> Vec<f32>,
    code: &'static str,
    tensor: &'static str,
    targets: &'static [&'static str],
}

const PLAIN: Case = Case {
    nodes: "",
    outputs: "%y",
    configured: "",
    samples: || numbers(8 * 32),
    code: "range-unlike",
    tensor: "scores",
    targets: &TARGETS,
};

/// On `ascend`, results leave as real numbers, so nothing is lost before an output. `sima` has no row for a choice, so
/// the host computes it.
const CASES: &[Case] = &[
    Case {
        nodes: "%y: f32[1,4,4,4] = concat(%boxes, %scores) {axis=1}",
        configured: SHARE,
        targets: &["generic-int8", "sima"],
        ..PLAIN
    },
    Case {
        nodes: "%a: f32[1,1,2,4,4] = reshape(%boxes) {shape=[1,1,2,4,4]}
                %b: f32[1,1,2,4,4] = reshape(%scores) {shape=[1,1,2,4,4]}
                %y: f32[1,2,2,4,4] = concat(%a, %b) {axis=1}",
        configured: SHARE,
        tensor: "b",
        targets: &["generic-int8", "sima"],
        ..PLAIN
    },
    Case {
        nodes: "%c: bool[1,2,4,4] = compare(%x, @half) {relation=less}
                %y: f32[1,2,4,4] = select(%c, %boxes, %scores)",
        targets: &["generic-int8"],
        ..PLAIN
    },
    Case {
        nodes: "%j: f32[1,4,4,4] = concat(%boxes, %scores) {axis=1}
                %s: f32[1,2,4,4] = slice(%j) {starts=[2], ends=[4], axes=[1], steps=[1]}
                %y: f32[1,1,4,4] = conv(%s, @two) {CONV}",
        ..PLAIN
    },
    Case {
        nodes: "%j: f32[1,4,4,4] = concat(%boxes, %scores) {axis=1}
                %y: f32[1,1,4,4] = conv(%j, @want) {CONV}",
        ..PLAIN
    },
    Case {
        nodes: "%j: f32[1,4,4,4] = concat(%boxes, %scores) {axis=1}
                %y: f32[1,4,2,2] = max_pool(%j) {size=[2,2], stride=[2,2], pad=[0,0,0,0], dilation=[1,1], ceil=0}",
        targets: &["generic-int8", "sima"],
        ..PLAIN
    },
    Case {
        nodes: "%y: f32[1,4,4,4] = conv(%x, @unlike) {CONV}",
        tensor: "y",
        targets: &["generic-int8", "sima"],
        ..PLAIN
    },
    Case {
        nodes: "%y: f32[1,2,4,4] = conv(%x, @same) {CONV}",
        samples: || {
            let mut samples = numbers(8 * 32);
            samples[3 * 32] = 1000.0;
            samples
        },
        code: "range-given-away",
        tensor: "x",
        ..PLAIN
    },
    Case {
        nodes: "%y: f32[1,2,4,4] = conv(%x, @tiny, @bias) {CONV}",
        configured: "[[quantize.rule]]\ntensors = ['y']\nrange = [-1, 1]\n",
        code: "scale-raised",
        tensor: "tiny",
        ..PLAIN
    },
    Case {
        // Both channels are equal, and so are the two numbers that the products compute from them, which nearly cancel.
        nodes: "%a: f32[1,2,4,4] = conv(%x, @apart) {CONV}
                %y: f32[1,2,4,4] = conv(%a, @same) {CONV}",
        samples: || numbers(8 * 16).chunks(16).flat_map(|one| [one, one].concat()).collect(),
        code: "grid-coarser",
        tensor: "a",
        targets: &["sima"],
        ..PLAIN
    },
    Case {
        nodes: "%j: f32[1,4,4,4] = concat(%boxes, %scores) {axis=1}
                %y: f32[1,1,4,4] = conv(%j, @want) {CONV}
                %z: f32[1,1,4,4] = conv(%scores, @two) {CONV}",
        outputs: "%y, %z",
        configured: "[quantize]\nalignment.concat = 'output'\nalignment.force_overlap = true\n",
        code: "grid-imposed",
        ..PLAIN
    },
    Case {
        nodes: "%y: f32[1,2,4,4] = conv(%x, @same) {CONV}",
        configured: "[[quantize.rule]]\ntensors = ['y']\nrange = [0, 0.5]\n",
        code: "range-clips",
        tensor: "y",
        targets: &["generic-int8", "sima"],
        ..PLAIN
    },
    Case {
        nodes: "%y: f32[1,2,4,4] = conv(%x, @same) {CONV}",
        configured: "[[quantize.rule]]\ntensors = ['y']\nrange = [0, 50]\n",
        code: "range-wide",
        tensor: "y",
        targets: &["generic-int8", "sima"],
        ..PLAIN
    },
    Case {
        nodes: "%y: f32[1,4,4,4] = concat(%boxes, %scores) {axis=1}",
        configured: "[quantize]\nalignment.concat = 'share'\n[[quantize.rule]]\ntensors = ['scores']\nrange = [0, 1]\n",
        code: "range-overruled",
        targets: &["generic-int8", "sima"],
        ..PLAIN
    },
];

fn report(case: &Case, target: &str) -> Report {
    let conv = "stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0";
    let (nodes, outputs) = (case.nodes, case.outputs);
    let made = if nodes.contains("%boxes") { MADE } else { "" };
    let used = DATA.lines().filter(|line| {
        let name = line.trim().trim_start_matches("data ").split(':').next();
        name.is_some_and(|name| format!("{made}{nodes}").replace(')', ",").contains(&format!("{name},")))
    });
    let data: Vec<&str> = used.collect();
    let model = format!(
        "strait 1 float graph @main(%x: f32[1,2,4,4]) {{ {made}\n{nodes}\nreturn {outputs} }}\n{}",
        data.join("\n")
    );
    let samples = (case.samples)();
    let data = (&model.replace("CONV", conv)[..], &[8, 2, 4, 4][..], &samples[..]);
    let (mut compiled, _) = compiled(data, &format!("['{target}']"), case.configured, 1);
    compiled.remove(0).report
}

#[test]
fn a_planted_case_of_each_lint_is_told_where_something_is_lost() {
    let mut failed = Vec::new();
    for case in CASES {
        for target in TARGETS {
            let report = report(case, target);
            let told = |lint: &&strait_driver::report::Lint| lint.code == case.code && lint.tensor == case.tensor;
            let is_told = report.lints.iter().any(|lint| told(&lint));
            if is_told != case.targets.contains(&target) {
                failed.push(format!(
                    "{} of {} on {target}: {is_told}\n{}\n{}",
                    case.code,
                    case.tensor,
                    case.nodes,
                    Shown(&report)
                ));
            }
            let lost = report.sanity.outputs.iter().filter(|output| output.snr < Some(25.0));
            if case.code == "range-unlike" && !is_told && lost.count() > 0 {
                failed.push(format!(
                    "{} is lost on {target} without a word\n{}",
                    case.tensor,
                    Shown(&report)
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
