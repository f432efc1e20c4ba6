//! Tests the sanity check of both models on the first calibration samples: what is warned about, which layers are
//! named, and the rule to paste.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod lints;

use std::{fs, num::NonZeroUsize, path::Path, sync::Mutex};

use strait_builtin as _;
use strait_core::text;
use strait_driver::{
    config,
    pipeline::{self, Compiled},
    report::Fault,
    session::{Progress, Session},
    shown::Shown,
    targets,
};
use strait_kernels::Context;
use strait_samples::{NumberType, encode};

/// The second channel of `a` is so large that nothing is left of the first. `second` only reads the first.
const DEAD: &str = "
    strait 1 float
    graph @main(%x: f32[1,1,4,4]) {
      %a: f32[1,2,4,4] = conv(%x, @one) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0} name=\"first\" sources=[\"first\"]
      %b: f32[1,2,4,4] = relu(%a) name=\"act\" sources=[\"act\"]
      %y: f32[1,1,4,4] = conv(%b, @two) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0} name=\"second\" sources=[\"second\"]
      return %y
    }
    data @one: f32[2,1,1,1] = inline [1.0, 4000.0]
    data @two: f32[1,2,1,1] = inline [1.0, 0.0]";

/// Three scores of different size that lie within one quantization step, and their softmax.
const SCORES: &str = "
    strait 1 float
    graph @main(%x: f32[1,3]) {
      %scores: f32[1,3] = gemm(%x, @same) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0} name=\"scores\" sources=[\"scores\"]
      %sure: f32[1,3] = softmax(%scores) {axis=1} name=\"sure\" sources=[\"sure\"]
      return %scores, %sure
    }
    data @same: f32[3,3] = inline [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]";

#[derive(Default)]
struct Watch {
    phases: Mutex<Vec<String>>,
    warnings: Mutex<Vec<String>>,
}

impl Progress for Watch {
    fn begin(&self, phase: &str, _: Option<usize>) {
        self.phases.lock().unwrap().push(phase.to_owned());
    }

    fn remark(&self, found: &strait_driver::diagnostic::Diagnostic) {
        self.warnings.lock().unwrap().push(found.to_string());
    }
}

/// Compiles a model for some targets, with samples of this shape and further lines of a configuration.
fn compiled(data: (&str, &[usize], &[f32]), targets: &str, configured: &str, threads: usize) -> (Vec<Compiled>, Watch) {
    let folder = tempfile::tempdir().unwrap();
    compiled_in(folder.path(), data, targets, configured, threads)
}

fn compiled_in(
    folder: &Path,
    (model, shape, samples): (&str, &[usize], &[f32]),
    targets: &str,
    configured: &str,
    threads: usize,
) -> (Vec<Compiled>, Watch) {
    let at = |name: &str| folder.join(name);
    let mut bytes = Vec::new();
    strait_onnx::write(&text::parse(model).unwrap(), &mut bytes).unwrap();
    fs::write(at("model.onnx"), bytes).unwrap();
    let bytes: Vec<u8> = samples.iter().flat_map(|number| number.to_le_bytes()).collect();
    fs::write(at("samples.npy"), encode(NumberType::F32, shape, &bytes)).unwrap();
    let text = format!(
        "schema = 1\n[model]\nfile = 'model.onnx'\n[target]\nuse = {targets}\n[calibration]\ndata = 'samples.npy'\n\
         [output]\ndir = 'artifact/{{target}}'\n{configured}"
    );
    let loaded = config::parse("test.toml", text, folder, &[]).unwrap_or_else(|found| panic!("{found}"));
    let watch = Watch::default();
    let session = Session::new(NonZeroUsize::new(threads).unwrap(), Context::detect(), &watch);
    let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
    drop(session);
    (compiled.unwrap_or_else(|stop| panic!("{stop}")), watch)
}

/// Numbers from 0 to 1 that look random.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at * at * 7919 % 1009) as f32 / 1009.0).collect()
}

#[test]
fn a_dead_model_is_warned_of_and_the_rule_that_is_named_mends_it() {
    let samples = numbers(12 * 16);
    let dead = |configured: &str, threads: usize| {
        let data = (DEAD, &[12, 1, 4, 4][..], &samples[..]);
        let (mut compiled, watch) = compiled(data, "['generic-int8']", configured, threads);
        (compiled.remove(0), watch)
    };
    let (one, watch) = dead("", 1);
    let sanity = &one.report.sanity;
    assert_eq!((sanity.samples, sanity.outputs.len()), (8, 1));
    assert_eq!(sanity.outputs[0].faults, [Fault::Noise, Fault::Constant]);
    let named: Vec<&str> = sanity.layers.iter().map(|jump| jump.layer.as_str()).collect();
    assert_eq!(named, ["second"]);
    assert!(sanity.layers[0].before > 30.0 && sanity.layers[0].after < 1.0);
    let rule = sanity.rule.as_ref().unwrap();
    assert!(rule.mends, "{rule:?}");
    assert_eq!(
        rule.toml,
        "[[quantize.rule]]\ntarget = [\"generic-int8\"]\nlayers = [\"second\"]\nactivations.type = \"int16\"\n"
    );
    let warnings = watch.warnings.into_inner().unwrap().join("\n");
    for part in ["[Q002]", "the error jumps at `second`", "[[quantize.rule]]"] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
    assert!(
        Shown(&one.report)
            .to_string()
            .contains("sanity on the first 8 samples: y 0.0 dB")
    );

    let (mended, watch) = dead(&rule.toml, 1);
    let output = &mended.report.sanity.outputs[0];
    assert!(output.faults.is_empty() && output.snr.unwrap() > 20.0, "{output:?}");
    assert!(mended.report.sanity.rule.is_none());
    assert!(!watch.warnings.into_inner().unwrap().join("\n").contains("[Q002]"));

    // With the gate it is an error. The number of threads changes nothing.
    let (gated, _) = dead("[gate]\nsanity = 'error'", 2);
    let failed: Vec<&str> = gated.report.failed_gates().map(|gate| gate.text.as_str()).collect();
    assert_eq!(failed, ["y 0.0 dB, constant where the float model's is not"]);
    assert_eq!(gated.report.sanity, one.report.sanity);
    let (gated, _) = dead(&format!("{}[gate]\nsanity = 'error'", rule.toml), 2);
    assert_eq!(gated.report.failed_gates().count(), 0);
}

/// The rule sets 16 bits if the target has them for the layer and they are enough; otherwise float.
#[test]
fn a_rule_gives_a_layer_bits_before_it_leaves_the_accelerator() {
    let samples = numbers(8 * 16);
    // Even with 16 bits nothing is left of the first channel.
    let deader = DEAD.replace("4000.0", "40000000.0");
    for (model, target, expected) in [
        (DEAD, "generic-int8", "activations.type = \"int16\""),
        (DEAD, "sima", "activations.type = \"int16\""),
        (DEAD, "ascend", "run = \"float\""),
        (&deader, "generic-int8", "run = \"float\""),
        (&deader, "sima", "run = \"float\""),
    ] {
        let data = (model, &[8, 1, 4, 4][..], &samples[..]);
        let of = |configured: &str| compiled(data, &format!("['{target}']"), configured, 1).0.remove(0);
        let report = of("").report;
        let rule = report
            .sanity
            .rule
            .as_ref()
            .unwrap_or_else(|| panic!("{target}: {}", Shown(&report)));
        assert!(rule.mends && rule.toml.contains(expected), "{target}: {rule:?}");
        let mended = of(&rule.toml).report;
        assert!(mended.sanity.faulty().next().is_none(), "{}", Shown(&mended));
    }
}

#[test]
fn answers_are_those_of_scores_that_a_softmax_alone_reads() {
    // One quantization step is ten times as large as the differences between the scores.
    let order = [[0.0, 1.0, 2.0], [2.0, 0.0, 1.0], [0.0, 2.0, 1.0]];
    let samples: Vec<f32> = order.iter().flatten().map(|score| 100.0 + 0.04 * score).collect();
    let scores = |model: &str| {
        let (mut compiled, _) = compiled((model, &[3, 1, 3], &samples), "['generic-int8']", "", 1);
        compiled.remove(0).report.sanity
    };
    let sanity = scores(SCORES);
    // The first score is the largest in only one of the samples.
    let [scores_, sure] = &sanity.outputs[..] else {
        panic!("{sanity:?}")
    };
    assert!(scores_.snr.unwrap() > 40.0 && sure.snr.is_some());
    assert_eq!((scores_.differ, sure.differ), (Some(2), Some(2)));
    assert!(scores_.faults.contains(&Fault::Answers));
    // An output that another layer reads is no answer.
    let read = SCORES.replace("softmax(%scores) {axis=1}", "unary(%scores) {function=sigmoid}");
    assert_eq!(scores(&read).outputs[0].differ, None);
}

#[test]
fn targets_share_the_outputs_of_the_observed_float_model() {
    let model = DEAD.replace("4000.0", "-1.5");
    let data = (&model[..], &[3, 1, 4, 4][..], &numbers(3 * 16)[..]);
    let (compiled, watch) = compiled(data, "['generic-int8', 'sima']", "[gate]\nsanity = 'error'", 1);
    for one in &compiled {
        assert_eq!(one.report.sanity.samples, 3);
        assert_eq!(one.report.failed_gates().count(), 0, "{}", Shown(&one.report));
    }
    let phases = watch.phases.into_inner().unwrap();
    let of_sanity: Vec<&str> = (phases.iter().map(String::as_str))
        .filter(|phase| phase.starts_with("sanity") || phase.starts_with("search"))
        .collect();
    // The outputs of the float model are taken while it is observed.
    assert_eq!(of_sanity, ["sanity (generic-int8)", "sanity (sima)"]);
}

#[test]
fn the_float_model_is_not_run_again_if_its_statistics_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let model = DEAD.replace("4000.0", "-1.5");
    let compile = || {
        let data = (&model[..], &[3, 1, 4, 4][..], &numbers(3 * 16)[..]);
        let (mut compiled, watch) = compiled_in(folder.path(), data, "['generic-int8']", "", 1);
        let mut phases = watch.phases.into_inner().unwrap();
        phases.retain(|phase| phase == "observe" || phase.starts_with("sanity"));
        (compiled.remove(0).digest, phases)
    };
    let (digest, phases) = compile();
    assert_eq!(phases, ["observe", "sanity (generic-int8)"]);
    assert_eq!(compile(), (digest, vec!["sanity (generic-int8)".to_owned()]));
    // Statistics may have been measured on another machine, and copied without the outputs.
    for entry in fs::read_dir(folder.path().join(".strait/cache")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "outputs") {
            fs::remove_file(path).unwrap();
        }
    }
    let phases = ["sanity (float)", "sanity (generic-int8)"].map(str::to_owned);
    assert_eq!(compile(), (digest, phases.to_vec()));
}

#[test]
fn a_part_of_an_output_is_judged_by_itself() {
    let model = "
        strait 1 float
        graph @main(%x: f32[1,2,4,4]) {
          %boxes: f32[1,2,4,4] = conv(%x, @large) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0} name=\"boxes\" sources=[\"boxes\"]
          %scores: f32[1,1,4,4] = conv(%x, @small) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0} name=\"scores\" sources=[\"scores\"]
          %y: f32[1,3,4,4] = concat(%boxes, %scores) {axis=1} name=\"join\" sources=[\"join\"]
          return %y
        }
        data @large: f32[2,2,1,1] = inline [900.0, -300.0, 100.0, 700.0]
        data @small: f32[1,2,1,1] = inline [0.5, 0.25]";
    let samples = numbers(8 * 32);
    let data = (model, &[8, 2, 4, 4][..], &samples[..]);
    let shared = "[quantize]\nalignment.concat = 'share'\n";
    let (mut one, _) = compiled(data, "['generic-int8']", shared, 1);
    let sanity = one.remove(0).report.sanity;
    let [whole, boxes, scores] = &sanity.outputs[..] else {
        panic!("{sanity:?}")
    };
    assert_eq!(
        [&whole.part, &boxes.part, &scores.part],
        [&None, &Some("boxes".into()), &Some("scores".into())]
    );
    assert!(whole.faults.is_empty() && boxes.faults.is_empty(), "{sanity:?}");
    assert_eq!(scores.faults, [Fault::Noise, Fault::Constant]);
    // The convolution's result already has the scale of the concatenation.
    assert_eq!(sanity.layers[0].layer, "scores");
    let rule = sanity.rule.unwrap();
    assert!(rule.mends, "{rule:?}");
    let (mut mended, _) = compiled(data, "['generic-int8']", &format!("{shared}{}", rule.toml), 1);
    assert!(mended.remove(0).report.sanity.faulty().next().is_none());
}
