//! Writes TFLite files of the model in the repository. A file that is read back and compiled again computes the same
//! integers. `cargo xtask oracles --written` runs such files in LiteRT.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use strait_builtin as _;
use strait_core::{Elem, ValueId};
use strait_driver::{
    artifact::Opened,
    config::{self, Override},
    pipeline::{self, Compiled},
    session::{Session, Silent},
    stop::Stop,
    targets,
};
use strait_execute::{Plan, PlanOptions, TensorView, Threads, Workspace};
use strait_kernels::Context;
use strait_samples::Array;

fn digits(file: &str) -> String {
    format!("{}/../models/digits/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// Compiles a configuration for generic-int8 into a folder.
fn compiled(folder: &Path, model: &str, more: &str) -> Result<Compiled, Stop> {
    let text = format!(
        "schema = 1\nmodel.file = '{model}'\ntarget.use = ['generic-int8']\n\
         output.dir = '{}'\n{more}\n",
        folder.join("built").display()
    );
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let loaded = config::parse("strait.toml", text, folder, &[] as &[Override])?;
    Ok(pipeline::compile(&loaded, targets::registry([])?, &session)?.remove(0))
}

/// The configuration of the model in the repository.
fn with_samples() -> String {
    format!(
        "calibration.data = '{}'\n[preprocess]\nstored = {{ layout = 'NHWC' }}\nsteps = [{{ scale = 0.0625 }}, {{ layout = 'NCHW' }}]\n",
        digits("calib_x.npy")
    )
}

/// The outputs of an artifact for the stored samples of the model in the repository, as real numbers. Inputs and outputs
/// that are codes are converted as QUANTIZE and DEQUANTIZE convert them.
fn outputs(folder: &Path) -> Vec<Vec<f32>> {
    let stored = Array::open(Path::new(&digits("eval_x.npy"))).unwrap();
    let stored = stored.view::<u8>().unwrap().to_owned();
    let samples = stored.outer_iter().take(100);
    let samples = samples.map(|sample| sample.iter().map(|&pixel| f32::from(pixel) * 0.0625).collect());
    outputs_for(folder, &samples.collect::<Vec<_>>())
}

/// The first output of an artifact for each sample.
fn outputs_for(folder: &Path, samples: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let opened = Opened::open(folder, &targets::registry([]).unwrap()).unwrap();
    let (module, graph) = (opened.module(), opened.module().main());
    let plan = Plan::new(module, module.main, &PlanOptions::default()).unwrap();
    let mut workspace = Workspace::new(&plan, &Threads::one());
    let port = plan.inputs().next().unwrap().clone();
    let grid = |value: ValueId| {
        graph
            .value(value)
            .unwrap()
            .quant
            .as_ref()
            .and_then(|grid| grid.as_tensor())
    };
    let [from, to] = [graph.inputs()[0], graph.outputs()[0]].map(grid);
    let outputs = samples.iter().map(|reals| {
        let codes = |(scale, zero): (f32, i32)| reals.iter().map(move |real| (real / scale).round() as i32 + zero);
        let signed: Vec<i8> = from
            .map(|from| codes(from).map(|code| code as i8).collect())
            .unwrap_or_default();
        let unsigned: Vec<u8> = from
            .map(|from| codes(from).map(|code| code as u8).collect())
            .unwrap_or_default();
        let input = match port.elem {
            Elem::I8 => TensorView::of(&port.shape, &signed),
            Elem::U8 => TensorView::of(&port.shape, &unsigned),
            _ => TensorView::of(&port.shape, reals),
        };
        let made = plan.run(&mut workspace, &[input.unwrap()]).unwrap();
        let codes: Vec<i32> = match made[0].elem() {
            Elem::I8 => made[0]
                .values::<i8>()
                .unwrap()
                .iter()
                .map(|&code| code.into())
                .collect(),
            Elem::U8 => made[0]
                .values::<u8>()
                .unwrap()
                .iter()
                .map(|&code| code.into())
                .collect(),
            _ => return made[0].values::<f32>().unwrap().to_vec(),
        };
        let (scale, zero) = to.unwrap();
        codes.iter().map(|code| scale * (code - zero) as f32).collect()
    });
    outputs.collect()
}

#[test]
fn a_file_that_is_read_back_computes_the_same_integers() {
    let folder = tempfile::tempdir().unwrap();
    let places: Vec<PathBuf> = ["first", "second", "again"]
        .iter()
        .map(|name| folder.path().join(name))
        .collect();
    let emit = "output.emit = ['tflite']\n".to_owned() + &with_samples();
    let first = compiled(&places[0], &digits("digits.onnx"), &emit).unwrap();
    let second = compiled(&places[1], &digits("digits.onnx"), &emit).unwrap();
    let [file, other] = [&first, &second].map(|made| made.folder.join("model.tflite"));
    assert_eq!(fs::read(&file).unwrap(), fs::read(other).unwrap());
    let again = compiled(&places[2], &file.display().to_string(), "").unwrap();
    assert_eq!(outputs(&again.folder), outputs(&first.folder));
}

#[test]
fn an_option_that_rules_the_format_out_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let more = "output.emit = ['tflite']\ntarget.options.generic-int8.runtime = 'any'\n".to_owned() + &with_samples();
    let told = compiled(folder.path(), &digits("digits.onnx"), &more)
        .err()
        .unwrap()
        .to_string();
    for part in [
        "has no format `tflite`",
        "in line 6 has another value than `litert`",
        "or leave the option out",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_node_that_the_format_has_no_operator_for_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("acos.onnx");
    let text = "strait 1 float graph @main(%x: f32[1,4]) {
  %h: f32[1,3] = gemm(%x, @w) {transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0}
  %y: f32[1,3] = unary(%h) {function=acos}
  return %y
}
data @w: f32[4,3] = random 1
";
    let module = strait_core::text::parse(text).unwrap();
    strait_onnx::write(&module, &mut fs::File::create(&model).unwrap()).unwrap();
    let more = "output.emit = ['tflite']\ncalibration.data = 'random:4'\n";
    let told = compiled(&folder.path().join("built"), &model.display().to_string(), more);
    let told = told.err().unwrap().to_string();
    assert!(told.contains("TFLite has no operator for `acos`"), "{told}");
}

/// The `[output]` of a TFLite file with these keys for the target.
fn with_output(keys: &str) -> String {
    format!("output.emit = ['tflite']\noutput.target.generic-int8 = {{ {keys} }}\n") + &with_samples()
}

#[test]
fn inputs_and_outputs_are_codes_with_channels_last_where_the_configuration_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for (types, elem) in [("int8", "i8"), ("uint8", "u8")] {
        let keys = format!("layout = 'NHWC', inputs = '{types}', outputs = '{types}'");
        let [first, second] = ["first", "second"].map(|name| folder.path().join(types).join(name));
        let made = compiled(&first, &digits("digits.onnx"), &with_output(&keys)).unwrap();
        let file = made.folder.join("model.tflite");
        let module = strait_tflite::read(&file, &strait_tflite::ReadOptions::default()).unwrap();
        let shapes = module
            .main()
            .inputs()
            .iter()
            .map(|&input| &module.main().value(input).unwrap().ty);
        assert_eq!(
            shapes.map(ToString::to_string).collect::<Vec<_>>(),
            [format!("{elem}[?, 8, 8, 1]")]
        );
        // Strait reads inputs and outputs that are codes as real numbers.
        let again = compiled(&second, &file.display().to_string(), "").unwrap();
        assert_eq!(outputs(&again.folder), outputs(&made.folder), "{types}");
    }
}

#[test]
fn a_softmax_over_many_classes_has_outputs_of_8_bits() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("classes.onnx");
    let text = "strait 1 float
graph @main(%x: f32[1,16]) {
  %l: f32[1,600] = gemm(%x, @w) {transpose_a=0, transpose_b=1, alpha=1.0, beta=1.0}
  %y: f32[1,600] = softmax(%l) {axis=-1}
  return %y
}
data @w: f32[600,16] = random 1
";
    let module = strait_core::text::parse(text).unwrap();
    strait_onnx::write(&module, &mut fs::File::create(&model).unwrap()).unwrap();
    for (ty, elem, operators) in [("int16", "i16", 0), ("int8", "i8", 1), ("uint8", "u8", 2)] {
        let more = format!(
            "output.emit = ['tflite']\noutput.target.generic-int8.outputs = '{ty}'\ncalibration.data = 'random:4'\n"
        );
        let made = compiled(&folder.path().join(ty), &model.display().to_string(), &more).unwrap();
        let file = made.folder.join("model.tflite");
        let module = strait_tflite::read(&file, &strait_tflite::ReadOptions::default()).unwrap();
        let graph = module.main();
        let output = graph.value(graph.outputs()[0]).unwrap();
        assert_eq!(output.ty.to_string(), format!("{elem}[1, 600]"));
        let verdicts = strait_tflite::accelerator::verdicts(
            &fs::read(&file).unwrap().into(),
            strait_tflite::accelerator::Accelerator::EthosU55,
        );
        let behind = verdicts.unwrap();
        let behind = behind.iter().skip_while(|one| one.operator != "SOFTMAX").skip(1);
        assert_eq!(
            behind.filter(|one| one.operator == "QUANTIZE").count(),
            operators,
            "{ty}"
        );
    }
}

#[test]
fn codes_of_a_type_that_the_model_does_not_have_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (keys, part) in [
        (
            "inputs = 'int16'",
            "input `image`: its codes are i8, which cannot be stored as i16",
        ),
        ("outputs = 'int16'", "its codes are i8, which cannot be stored as i16"),
    ] {
        let told = compiled(folder.path(), &digits("digits.onnx"), &with_output(keys));
        let told = told.err().unwrap().to_string();
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn a_file_contains_the_names_of_the_classes() {
    let folder = tempfile::tempdir().unwrap();
    let labels = folder.path().join("digits.txt");
    let keys = format!("labels = '{}'", labels.display());
    fs::write(&labels, "zero\none\n").unwrap();
    let told = compiled(folder.path(), &digits("digits.onnx"), &with_output(&keys));
    let told = told.err().unwrap().to_string();
    assert!(
        told.contains("has 2 lines, and the last axis of the output 10 elements"),
        "{told}"
    );
    let names: String = (0..10).map(|digit| format!("{digit}\n")).collect();
    fs::write(&labels, &names).unwrap();
    let made = compiled(folder.path(), &digits("digits.onnx"), &with_output(&keys)).unwrap();
    let file = fs::read(made.folder.join("model.tflite")).unwrap();
    let holds = |part: &[u8]| file.windows(part.len()).any(|window| window == part);
    assert!(holds(b"TFLITE_METADATA") && holds(names.as_bytes()));
}

#[test]
fn keys_of_a_file_that_is_not_written_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let more = "output.target.generic-int8.inputs = 'int8'\n".to_owned() + &with_samples();
    let told = compiled(folder.path(), &digits("digits.onnx"), &more)
        .err()
        .unwrap()
        .to_string();
    assert!(told.contains("is for the TFLite file, which is not written"), "{told}");
}

#[test]
fn an_accelerator_takes_a_file_whose_inputs_and_outputs_are_codes() {
    use strait_tflite::accelerator::{Accelerator, Verdict, verdicts};
    let folder = tempfile::tempdir().unwrap();
    for (name, keys, left) in [
        ("float", "", &["QUANTIZE", "DEQUANTIZE"][..]),
        ("int8", "layout = 'NHWC', inputs = 'int8', outputs = 'int8'", &[]),
    ] {
        // Accelerators take one sample at a time.
        let more = format!("model.bind.N = 1\n{}", with_output(keys));
        let made = compiled(&folder.path().join(name), &digits("digits.onnx"), &more).unwrap();
        let file = fs::read(made.folder.join("model.tflite")).unwrap().into();
        for accelerator in Accelerator::ALL {
            let verdicts = verdicts(&file, accelerator).unwrap();
            let on_cpu = verdicts.iter().filter(|verdict| verdict.why.is_some());
            let on_cpu: Vec<&str> = on_cpu.map(|verdict| verdict.operator.as_str()).collect();
            assert_eq!(on_cpu, left, "{name}, {}", accelerator.name());
            let cycles = |verdict: &&Verdict| verdict.cycles.is_some();
            let is_estimated = |verdict: &Verdict| accelerator.estimated().is_some() && verdict.why.is_none();
            assert!(verdicts.iter().all(|verdict| cycles(&verdict) == is_estimated(verdict)));
            if left.is_empty() && accelerator.estimated().is_some() {
                let sum: u64 = verdicts.iter().filter_map(|verdict| verdict.cycles).sum();
                // Vela 5.2 says 13,272 cycles of this file for ethos-u55-128.
                assert!((9_291..=17_253).contains(&sum), "{sum}");
            }
        }
    }
}

#[test]
fn the_report_says_which_operators_an_accelerator_leaves_to_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let more =
        "model.bind.N = 1\ntarget.options.generic-int8.accelerator = 'ethos-u55'\n".to_owned() + &with_output("");
    let made = compiled(folder.path(), &digits("digits.onnx"), &more).unwrap();
    let report = fs::read_to_string(made.folder.join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let of = &report["file_operators"];
    assert_eq!(of["accelerator"], "ethos-u55");
    let on_cpu = of["on_cpu"].as_array().unwrap().iter();
    assert!(
        on_cpu
            .clone()
            .all(|one| one["why"].as_str().is_some_and(|why| !why.is_empty()))
    );
    let names: Vec<&str> = on_cpu.filter_map(|one| one["operator"].as_str()).collect();
    assert_eq!(names, ["QUANTIZE", "DEQUANTIZE"]);
    let texts = report["remarks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["text"].as_str());
    let text = format!(
        "ethos-u55 leaves 2 of {} operators of model.tflite to the CPU",
        of["operators"]
    );
    assert_eq!(texts.filter(|one| **one == text).count(), 1);
}

#[test]
fn functions_without_an_operator_are_tables_that_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("functions.onnx");
    let text = "strait 1 float graph @main(%x: f32[1,8]) {
  %h: f32[1,8] = gemm(%x, @w) {transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0}
  %g: f32[1,8] = unary(%h) {function=gelu}
  %i: f32[1,8] = gemm(%g, @w) {transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0}
  %s: f32[1,8] = unary(%i) {function=silu}
  %y: f32[1,8] = gemm(%s, @w) {transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0}
  return %y
}
data @w: f32[8,8] = random 1
";
    let module = strait_core::text::parse(text).unwrap();
    strait_onnx::write(&module, &mut fs::File::create(&model).unwrap()).unwrap();
    let more = "output.emit = ['tflite']\ncalibration.data = 'random:8'\n";
    let first = compiled(&folder.path().join("first"), &model.display().to_string(), more).unwrap();
    let file = first.folder.join("model.tflite");
    let again = "target.options.generic-int8.runtime = 'litert'\n";
    let again = compiled(&folder.path().join("again"), &file.display().to_string(), again).unwrap();
    let samples: Vec<Vec<f32>> = (0..64)
        .map(|at| (0..8).map(|axis| ((at * 8 + axis) as f32 * 0.7).sin() * 2.0).collect())
        .collect();
    let made = outputs_for(&first.folder, &samples);
    assert!(made.iter().any(|sample| sample != &made[0]));
    assert_eq!(outputs_for(&again.folder, &samples), made);
}
