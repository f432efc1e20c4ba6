//! Tests rules over the float graph that a target's table switches on: what they create is observed, and rules of the
//! configuration apply to it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{fs, num::NonZeroUsize, path::Path, sync::Mutex};

use strait_builtin as _;
use strait_core::text;
use strait_driver::{
    config, pipeline,
    report::Report,
    session::{Progress, Session},
    shown::Shown,
    stop::Stop,
    targets,
};
use strait_kernels::Context;
use strait_samples::{NumberType, encode};

const BOTH: &str = "rules = [\"batch-normalization-to-conv\", \"silu-to-sigmoid\"]";

const MODEL: &str = "
    strait 1 float
    graph @main(%x: f32[1,2,4,4]) {
      %c: f32[1,2,4,4] = conv(%x, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      %s: f32[1,2,4,4] = unary(%c) {function=silu}
      %n: f32[1,2,4,4] = batch_normalization(%s, @scale, @bias, @mean, @variance) {epsilon=0.0}
      %y: f32[1,2,6,6] = conv(%n, @w) {stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}
      return %y
    }
    data @w: f32[2,2,1,1] = inline [1.0,-2.0,0.5,1.5]
    data @scale: f32[2] = inline [2.0,4.0]
    data @bias: f32[2] = inline [1.0,2.0]
    data @mean: f32[2] = inline [3.0,1.0]
    data @variance: f32[2] = inline [4.0,4.0]";

/// Records the phases that have begun.
#[derive(Default)]
struct Phases(Mutex<Vec<String>>);

impl Progress for Phases {
    fn begin(&self, phase: &str, _: Option<usize>) {
        self.0.lock().unwrap().push(phase.to_owned());
    }
}

/// Compiles the model for `generic-int8` with these rules. Returns the report and the phases.
fn compiled(rules: &str, configured: &str) -> (Report, Vec<String>) {
    compiled_model(MODEL, rules, configured)
}

fn compiled_model(model: &str, rules: &str, configured: &str) -> (Report, Vec<String>) {
    compiled_in(tempfile::tempdir().unwrap().path(), model, rules, configured)
}

/// The same, with the artifact in this folder.
fn compiled_in(folder: &Path, model: &str, rules: &str, configured: &str) -> (Report, Vec<String>) {
    tried_in(folder, model, (rules, "with-rules"), configured).unwrap_or_else(|stop| panic!("{stop}"))
}

/// The same, for a target that may be another one than that of the rules.
fn tried_in(
    folder: &Path,
    model: &str,
    (rules, target): (&str, &str),
    configured: &str,
) -> Result<(Report, Vec<String>), Stop> {
    let module = text::parse(model).unwrap();
    let mut model = Vec::new();
    strait_onnx::write(&module, &mut model).unwrap();
    fs::write(folder.join("model.onnx"), model).unwrap();
    let samples: Vec<f32> = (0..4 * 32).map(|at| (at as f32 * 0.7).sin() * 3.0).collect();
    let samples: Vec<u8> = samples.iter().flat_map(|number| number.to_le_bytes()).collect();
    let samples = encode(NumberType::F32, &[4, 2, 4, 4], &samples);
    fs::write(folder.join("samples.npy"), samples).unwrap();
    let table = include_str!("../targets/generic-int8/target.toml");
    let own = "rules   = [\"average-pool-to-conv\", \"batch-normalization-to-conv\"]";
    assert!(table.contains(own));
    let table = table
        .replacen("\"generic-int8\"", "\"with-rules\"", 1)
        .replacen(own, rules, 1);
    fs::write(folder.join("table.toml"), table).unwrap();
    let text = format!(
        "schema = 1\n[model]\nfile = \"model.onnx\"\n[target]\nfile = [\"table.toml\"]\nuse = [\"{target}\"]\n\
         [calibration]\ndata = \"samples.npy\"\n[output]\ndir = \"artifact\"\n{configured}"
    );
    let loaded = config::parse("test.toml", text, folder, &[]).unwrap_or_else(|found| panic!("{found}"));
    let phases = Phases::default();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &phases);
    let report = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session)?
        .remove(0)
        .report;
    drop(session);
    Ok((report, phases.0.into_inner().unwrap()))
}

fn applied(report: &Report) -> Vec<(&str, usize)> {
    let applied = report
        .rewrites
        .iter()
        .filter(|rewrite| rewrite.rule != "dead-node" && rewrite.applied > 0);
    applied
        .map(|rewrite| (rewrite.rule.as_str(), rewrite.applied))
        .collect()
}

/// The ops of the accelerator's layers that were made from this layer of the model.
fn made_from<'a>(report: &'a Report, source: &str) -> Vec<&'a str> {
    let made = report
        .layers
        .iter()
        .filter(|layer| layer.sources.iter().any(|name| name == source));
    made.filter(|layer| layer.host.is_none())
        .map(|layer| layer.op.as_str())
        .collect()
}

#[test]
fn a_lone_batch_normalization_is_a_convolution_only_where_the_table_wants_it() {
    let (report, _) = compiled("rules = [\"batch-normalization-to-conv\"]", "");
    assert_eq!(applied(&report), [("batch-normalization-to-conv", 1), ("function", 1)]);
    assert_eq!(made_from(&report, "n"), ["conv"]);
    let (report, phases) = compiled("", "");
    assert_eq!(applied(&report), [("function", 1)]);
    let layer = report.layers.iter().find(|layer| layer.name == "n").unwrap();
    assert_eq!(
        layer.host.as_ref().map(|reason| reason.code.as_str()),
        Some("target-host")
    );
    assert!(!phases.iter().any(|phase| phase.starts_with("rewrite")), "{phases:?}");
}

#[test]
fn only_what_a_rule_creates_is_observed_again() {
    let observed = |phases: &[String]| phases.iter().filter(|phase| *phase == "observe").count();
    let (report, phases) = compiled(BOTH, "");
    assert_eq!(
        applied(&report),
        [
            ("batch-normalization-to-conv", 1),
            ("function", 1),
            ("silu-to-sigmoid", 1)
        ]
    );
    assert_eq!(observed(&phases), 2, "{phases:?}");
    assert_eq!(made_from(&report, "s"), ["lookup", "mul"]);
    // Folding a batch normalization creates no new value: the result keeps its name.
    let (_, phases) = compiled("rules = [\"batch-normalization-to-conv\"]", "");
    assert_eq!(observed(&phases), 1, "{phases:?}");
}

#[test]
fn what_a_rule_makes_of_a_layer_is_found_by_the_name_and_the_operator_of_the_layer() {
    for selector in ["layers = [\"s\"]", "op = [\"silu\"]"] {
        let rule = format!("[[quantize.rule]]\n{selector}\nrun = \"float\"\nreason = \"as it was\"\n");
        let (report, _) = compiled(BOTH, &rule);
        assert_eq!(made_from(&report, "s"), [""; 0], "{selector}");
        assert_eq!(report.rules[0].layers.len(), 2, "{selector}");
    }
    // A range applies to the result that has the layer's name, and to no value in between.
    let (report, _) = compiled(BOTH, "[[quantize.rule]]\nlayers = [\"s_1\"]\nrange = [-0.3, 4]\n");
    assert_eq!(report.rules[0].tensors, ["s"]);
}

#[test]
fn a_fold_that_would_not_be_finite_is_skipped_with_a_warning_that_names_the_layer() {
    let model = "
    strait 1 float
    graph @main(%x: f32[1,2,4,4]) {
      %small: f32[1,2,4,4] = mul(%x, @small) {a_zero=0, b_zero=0}
      %r: f32[1,2,4,4] = relu(%small)
      %c: f32[1,2,4,4] = conv(%r, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      %large: f32[1,2,4,4] = mul(%c, @factors) {a_zero=0, b_zero=0}
      return %large
    }
    data @w: f32[2,2,1,1] = inline [4.0,5.0,6.0,7.0]
    data @small: f32[] = inline [1e-20]
    data @factors: f32[2,1,1] = inline [3e38,1e20]";
    let (report, _) = compiled_model(model, "", "");
    let warning = "the rule `factors-into-producer` is skipped at layer `large`: a folded weight or bias is not finite";
    let text = Shown(&report).to_string().replace("\n  ", " ");
    assert!(text.contains(warning), "{text}");
    assert!(
        !applied(&report)
            .iter()
            .any(|(rule, _)| *rule == "factors-into-producer")
    );
}

#[test]
fn what_is_written_for_ascend_has_a_relu_where_saturation_is_the_upper_end_of_a_relu6() {
    let table = include_str!("../targets/ascend/target.toml");
    assert!(table.contains("\"relu6-to-relu\""));
    let model = "
    strait 1 float
    graph @main(%x: f32[1,2,4,4]) {
      %c: f32[1,2,4,4] = conv(%x, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      %first: f32[1,2,4,4] = clip(%c) {min=0.0, max=6.0}
      %d: f32[1,2,4,4] = conv(%first, @w) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      return %d
    }
    data @w: f32[2,2,1,1] = inline [1.0,-2.0,0.5,1.5]";
    let (report, _) = compiled_model(model, "rules = [\"relu6-to-relu\"]", "");
    let remark = "1 of 1 ReLU6 are written as ReLU, among them `first`";
    assert!(Shown(&report).to_string().contains(remark), "{}", Shown(&report));
    let (report, _) = compiled_model(model, "", "");
    assert!(!Shown(&report).to_string().contains("ReLU6"), "{}", Shown(&report));
    // The rule can be switched off by its name, like every rule, and it is not a fusion.
    for (configured, is_off) in [("off = [\"relu6-to-relu\"]", true), ("do_fusion = false", false)] {
        let folder = tempfile::tempdir().unwrap();
        let configured = format!("[rewrite]\n{configured}");
        let (report, _) = compiled_in(folder.path(), model, "rules = [\"relu6-to-relu\"]", &configured);
        assert_eq!(
            Shown(&report).to_string().contains(remark),
            !is_off,
            "{}",
            Shown(&report)
        );
        let written = fs::read(folder.path().join("artifact/model.qdq.onnx")).unwrap();
        let has = |op: &[u8]| written.windows(op.len()).any(|bytes| bytes == op);
        assert_eq!((has(b"Clip"), has(b"Relu")), (is_off, !is_off), "{configured}");
    }
}

#[test]
fn a_bias_that_does_not_fit_fails_the_compilation_where_it_is_asked_to() {
    // One step of a sum is about 2^-11, so the second bias needs far more than 32 bits.
    let model = "
    strait 1 float
    graph @main(%x: f32[1,2,4,4]) {
      %c: f32[1,2,4,4] = conv(%x, @w, @b) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=1, pad_value=0}
      return %c
    }
    data @w: f32[2,2,1,1] = inline [1.0,-2.0,0.5,1.5]
    data @b: f32[2] = inline [1.0,1e9]";
    let tried = |configured: &str| {
        let folder = tempfile::tempdir().unwrap();
        tried_in(folder.path(), model, ("", "ascend"), configured).map(|(report, _)| Shown(&report).to_string())
    };
    let rule = "[[quantize.rule]]\nlayers = [\"c\"]\nweights = { unfit = \"error\" }";
    for (configured, line) in [
        ("[quantize.weights]\nunfit = \"error\"", "unfit"),
        (rule, "weights = { unfit"),
    ] {
        let told = tried(configured).unwrap_err().to_string();
        for part in [
            "`c` cannot have codes on the target `ascend`",
            "unfit = \"coarser\"",
            "test.toml:",
            line,
        ] {
            assert!(told.contains(part), "{told}");
        }
    }
    // By default the scale of the weights is raised. With "float" the layer runs in float, with a warning.
    assert!(tried("").is_ok());
    let report = tried("[quantize.weights]\nunfit = \"float\"").unwrap();
    assert!(report.contains("`c` stays in float on the target `ascend`"), "{report}");
}
