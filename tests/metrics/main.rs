//! Tests the metrics on a model whose float outputs are its inputs, so that every figure is known beforehand. Also
//! tests what is refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod boxes;
#[cfg(unix)]
mod commands;
mod parts;
mod positions;

use std::{fs, num::NonZeroUsize, path::PathBuf};

use strait_builtin as _;
use strait_core::text;
use strait_driver::{
    config::{self, Loaded},
    pipeline::{self, Compiled},
    session::{Session, Silent},
    stop::Stop,
    targets,
};
use strait_kernels::Context;
use strait_samples::{NumberType, Pack, encode};

/// Scores of six classes at two by two pixels, and two numbers. The model multiplies each by 1.
const MODEL: &str = "
    strait 1 float
    graph @main(%pixels: f32[1,6,2,2], %pair: f32[1,2,1]) {
      %scores: f32[1,6,2,2] = conv(%pixels, @same) {stride=[1,1], pad=[0,0,0,0], dilation=[1,1], groups=6, pad_value=0}
      %two: f32[1,2,1] = conv(%pair, @both) {stride=[1], pad=[0,0], dilation=[1], groups=2, pad_value=0}
      return %scores, %two
    }
    data @same: f32[6,1,1,1] = splat 1
    data @both: f32[2,1,1] = splat 1";

const SAMPLES: usize = 8;

struct Bench {
    folder: tempfile::TempDir,
    commands: bool,
}

/// Numbers from 0 to 1 that look random.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|at| (at * at * 7919 % 1009) as f32 / 1009.0).collect()
}

impl Bench {
    fn of(model: &str) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench {
            folder,
            commands: false,
        };
        let mut bytes = Vec::new();
        strait_onnx::write(&text::parse(model).unwrap(), &mut bytes).unwrap();
        fs::write(bench.at("model.onnx"), bytes).unwrap();
        fs::create_dir(bench.at("samples")).unwrap();
        bench
    }

    fn new() -> Bench {
        let bench = Bench::of(MODEL);
        bench.save(
            "samples/pixels.npy",
            NumberType::F32,
            &[SAMPLES, 6, 2, 2],
            &numbers(SAMPLES * 24),
        );
        bench.save(
            "samples/pair.npy",
            NumberType::F32,
            &[SAMPLES, 2],
            &numbers(SAMPLES * 2),
        );
        bench.save("pixels.npy", NumberType::F32, &[SAMPLES, 24], &numbers(SAMPLES * 24));
        bench.save("classes.npy", NumberType::U8, &[SAMPLES], &[0u8, 1, 0, 1, 1, 0, 1, 0]);
        let masks: Vec<u8> = (0..SAMPLES * 4).map(|at| [0, 1, 2, 255, 3][at % 5]).collect();
        bench.save("masks.npy", NumberType::U8, &[SAMPLES, 2, 2], &masks);
        bench
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn save<T: bytemuck::NoUninit>(&self, name: &str, number_type: NumberType, shape: &[usize], numbers: &[T]) {
        fs::write(self.at(name), encode(number_type, shape, bytemuck::cast_slice(numbers))).unwrap();
    }

    /// A configuration with these lines in and after `[evaluation]`.
    fn loaded(&self, evaluation: &str) -> Result<Loaded, Stop> {
        let text = format!(
            "schema = 1\n[model]\nfile = 'model.onnx'\n[target]\nuse = ['generic-int8']\n[calibration]\ndata = 'samples'\n\
             [output]\ndir = 'artifact'\n[evaluation]\ndata = 'samples'\n{evaluation}"
        );
        Ok(config::parse("test.toml", text, self.folder.path(), &[])?)
    }

    fn compile(&self, evaluation: &str) -> Result<Compiled, Stop> {
        let loaded = self.loaded(evaluation)?;
        let session = Session::new(NonZeroUsize::new(2).unwrap(), Context::detect(), &Silent);
        let session = session.with_commands(self.commands);
        Ok(pipeline::compile(&loaded, targets::registry([]).unwrap(), &session)?.remove(0))
    }

    fn refused(&self, evaluation: &str) -> String {
        match self.compile(evaluation) {
            Ok(_) => panic!("{evaluation}\nis taken"),
            Err(stop) => stop.to_string(),
        }
    }
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-6 * expected.abs().max(1.0)
}

#[test]
fn each_metric_has_the_figures_of_its_definition_for_the_outputs_that_it_names() {
    let bench = Bench::new();
    let compiled = bench.compile(
        "metrics = ['agreement', 'cosine', 'snr']\n\
         [[evaluation.metric]]\nname = 'masks'\nkind = 'miou'\nlabels = 'masks.npy'\n\
         [[evaluation.metric]]\nname = 'psnr'\nlabels = 'pixels.npy'\n\
         [[evaluation.metric]]\nname = 'auc'\noutput = 'two'\nlabels = 'classes.npy'\n\
         [[evaluation.metric]]\nname = 'anomaly'\nkind = 'auc'\noutput = 'two'\nscore = 'reconstruction'\ngroup = 2\nlabels = 'groups.npz'\n\
         [[evaluation.metric]]\nname = 'second'\nkind = 'top1'\noutput = 'two'\nlabels = 'classes.npy'\n\
         [[evaluation.metric]]\nname = 'top5'\naxis = 1\nignore = 255\nlabels = 'masks.npy'\n",
    );
    assert!(compiled.is_err_and(|stop| stop.to_string().contains("groups.npz cannot be read")));
    let mut pack = Pack::default();
    let groups = encode(NumberType::U8, &[4], &[0, 1, 0, 1]);
    pack.add("two.npy", &groups).unwrap();
    pack.add("other.npy", &groups).unwrap();
    fs::write(bench.at("groups.npz"), pack.finish().unwrap()).unwrap();
    let compiled = bench
        .compile(
            "metrics = ['agreement', 'cosine', 'snr']\n\
             [[evaluation.metric]]\nname = 'masks'\nkind = 'miou'\nlabels = 'masks.npy'\n\
             [[evaluation.metric]]\nname = 'psnr'\nlabels = 'pixels.npy'\n\
             [[evaluation.metric]]\nname = 'auc'\noutput = 'two'\nlabels = 'classes.npy'\n\
             [[evaluation.metric]]\nname = 'anomaly'\nkind = 'auc'\noutput = 'two'\nscore = 'reconstruction'\ngroup = 2\nlabels = 'groups.npz'\n\
             [[evaluation.metric]]\nname = 'second'\nkind = 'top1'\noutput = 'two'\nlabels = 'classes.npy'\n\
             [[evaluation.metric]]\nname = 'top5'\naxis = 1\nignore = 255\nlabels = 'masks.npy'\n\
             [gate]\naccuracy_drop = { cosine = { points = 1 }, psnr = { points = 0 }, masks = { points = 99, confidence = 0.9 } }\n\
             least = { snr = 20, auc = 2 }\n",
        )
        .unwrap_or_else(|stop| panic!("{stop}"));
    let accuracy = compiled.report.accuracy.as_ref().unwrap();
    let named: Vec<(&str, &str)> = (accuracy.metrics.iter())
        .map(|metric| (metric.name.as_str(), metric.output.as_deref().unwrap_or_default()))
        .collect();
    let expected = [
        ("agreement", "scores"),
        ("agreement", "two"),
        ("cosine", "scores"),
        ("cosine", "two"),
        ("snr", "scores"),
        ("snr", "two"),
        ("masks", "scores"),
        ("psnr", "scores"),
        ("auc", "two"),
        ("anomaly", "two"),
        ("second", "two"),
        ("top5", "scores"),
    ];
    assert_eq!(named, expected);
    let float = |name: &str| accuracy.of(name).unwrap().float.unwrap().value;

    let (pixels, pairs) = (numbers(SAMPLES * 24), numbers(SAMPLES * 2));
    // The outputs equal the references and the inputs.
    assert_eq!(float("psnr"), 200.0);
    assert_eq!((accuracy.of("anomaly").unwrap().samples, float("anomaly")), (4, 0.5));
    // The expected figures come from counting pairs and pixels.
    let labels = [0, 1, 0, 1, 1, 0, 1, 0];
    let scores: Vec<f64> = pairs
        .chunks(2)
        .map(|pair| f64::from(pair[1]) - f64::from(pair[0]))
        .collect();
    let of = |class: usize| (0..SAMPLES).filter(move |&at| labels[at] == class);
    let both = of(1).flat_map(|one| of(0).map(move |zero| (one, zero)));
    let points =
        both.map(|(one, zero)| f64::from(scores[one] > scores[zero]) + 0.5 * f64::from(scores[one] == scores[zero]));
    assert!(near(float("auc"), points.sum::<f64>() / 16.0), "{}", float("auc"));
    let second = (0..SAMPLES)
        .filter(|&at| usize::from(scores[at] > 0.0) == labels[at])
        .count();
    let top5 = (0..SAMPLES * 4).filter(|&at| at % 5 != 3);
    let right = top5.clone().filter(|&at| {
        let of_class = |class: usize| pixels[at / 4 * 24 + class * 4 + at % 4];
        let label = [0, 1, 2, 255, 3][at % 5];
        (0..6).filter(|&class| of_class(class) > of_class(label)).count() < 5
    });
    assert!(near(float("top5"), 100.0 * right.count() as f64 / top5.count() as f64));
    assert!(near(float("second"), 100.0 * second as f64 / SAMPLES as f64));
    let (mut common, mut either) = ([0.0; 6], [0.0; 6]);
    for at in 0..SAMPLES * 4 {
        let of_class = |class: usize| pixels[at / 4 * 24 + class * 4 + at % 4];
        let class = (0..6).fold(
            0,
            |best, class| if of_class(class) > of_class(best) { class } else { best },
        );
        match [0, 1, 2, 255, 3][at % 5] {
            255 => {}
            label if label == class => (common[label] += 1.0, either[label] += 1.0).1,
            label => (either[label] += 1.0, either[class] += 1.0).1,
        }
    }
    let ratios: Vec<f64> = (0..6)
        .filter(|&class| either[class] > 0.0)
        .map(|class| common[class] / either[class])
        .collect();
    assert!(near(
        float("masks"),
        100.0 * ratios.iter().sum::<f64>() / ratios.len() as f64
    ));

    // The integer model rounds each number to one of 255 steps, by at most half a step. Its intervals contain its
    // figures.
    for metric in &accuracy.metrics {
        let figure = metric.integer.unwrap();
        assert!(
            figure
                .interval
                .is_some_and(|[low, high]| low <= figure.value && figure.value <= high),
            "{metric:?}"
        );
        match metric.name.as_str() {
            "snr" => assert!(
                figure.value > 45.0 && metric.change.is_none() && metric.float.is_none(),
                "{metric:?}"
            ),
            "psnr" => assert!((50.0..70.0).contains(&figure.value), "{metric:?}"),
            "cosine" => assert!((0.9999..1.0).contains(&figure.value), "{metric:?}"),
            _ => assert!(
                metric.change.as_ref().is_some_and(|change| change.interval.is_some()),
                "{metric:?}"
            ),
        }
    }
    let gates: Vec<(&str, bool)> = (compiled.report.gates.iter())
        .map(|gate| (gate.gate.as_str(), gate.met))
        .collect();
    let expected = [
        ("accuracy_drop.cosine", true),
        ("accuracy_drop.masks", true),
        ("accuracy_drop.psnr", false),
        ("least.auc", false),
        ("least.snr", true),
    ];
    assert_eq!(gates, expected);
}

#[test]
fn what_a_metric_lacks_or_cannot_judge_is_told_with_the_key() {
    let bench = Bench::new();
    bench.save("few.npy", NumberType::U8, &[3], &[0u8; 3]);
    bench.save("third.npy", NumberType::U8, &[SAMPLES], &[2u8; SAMPLES]);
    bench.save("same.npy", NumberType::U8, &[SAMPLES], &[1u8; SAMPLES]);
    bench.save("wide.npy", NumberType::U8, &[SAMPLES, 3, 2], &[0u8; SAMPLES * 6]);
    bench.save("high.npy", NumberType::U8, &[SAMPLES, 2, 2], &[6u8; SAMPLES * 4]);
    bench.save("half.npy", NumberType::F32, &[SAMPLES, 2, 2], &[0.5f32; SAMPLES * 4]);
    bench.save("short.npy", NumberType::F32, &[SAMPLES, 23], &[0.0f32; SAMPLES * 23]);
    bench.save("ones.npy", NumberType::F32, &[SAMPLES, 2], &[1.0f32; SAMPLES * 2]);
    let table = |lines: &str| format!("[[evaluation.metric]]\n{lines}");
    for (evaluation, parts) in [
        (
            "metrics = ['miou']".to_owned(),
            &["the metric \"miou\" needs labels: a mask", "test.toml:12:12"][..],
        ),
        (
            table("name = 'mine'"),
            &["does not say which metric \"mine\" is", "top1, top5"],
        ),
        (
            table("name = 'psnr'\nignore = 3\nlabels = 'pixels.npy'"),
            &["\"perplexity\", \"miou\", and this is \"psnr\"", "test.toml:14"],
        ),
        (
            "metrics = ['snr']\n[[evaluation.metric]]\nname = 'snr'".to_owned(),
            &["not the only metric of the name \"snr\""],
        ),
        (
            table("name = 'snr'\noutput = 'tow'"),
            &["no output \"tow\"", "did you mean `two`?", "test.toml:14"],
        ),
        (
            table("name = 'top1'\noutput = 'two'\nlabels = 'few.npy'"),
            &["3 labels for 8 samples", "test.toml:15"],
        ),
        (
            table("name = 'top5'\noutput = 'two'\nlabels = 'third.npy'"),
            &["more than 5 classes; \"two\" has 2"],
        ),
        (
            table("name = 'top1'\noutput = 'two'\nlabels = 'third.npy'"),
            &["label 0 is 2, and the model has 2 classes"],
        ),
        (
            table("name = 'miou'\nlabels = 'wide.npy'"),
            &["masks of [3, 2] do not fit the output \"scores\" of [1, 6, 2, 2]"],
        ),
        (
            table("name = 'miou'\nlabels = 'high.npy'"),
            &["mask 0 holds the class 6, and the model has 6 classes"],
        ),
        (table("name = 'miou'\nlabels = 'half.npy'"), &["mask 0 of", "not whole"]),
        (
            table("name = 'psnr'\nlabels = 'short.npy'"),
            &["references of [23] do not fit", "test.toml:14"],
        ),
        (
            table("name = 'auc'\nlabels = 'classes.npy'"),
            &["one number, or of two classes; \"scores\" has 24", "reconstruction"],
        ),
        (
            table("name = 'auc'\noutput = 'two'\nlabels = 'third.npy'"),
            &["label 0 is 2, and auc has the labels 0 and 1"],
        ),
        (
            table("name = 'auc'\noutput = 'two'\nlabels = 'same.npy'"),
            &["needs samples of both labels"],
        ),
        (
            table("name = 'auc'\noutput = 'two'\ngroup = 3\nlabels = 'classes.npy'"),
            &["8 samples are not groups of 3"],
        ),
        (
            table("name = 'top1'\noutput = 'two'\nlabels = 'classes.npy'\nexpect_float = { value = 99, within = 1 }"),
            &[
                "the float model has top1",
                "99.00 % within 1 is expected",
                "test.toml:16",
            ],
        ),
        (
            "[gate.accuracy_drop.top1]\npoints = 1".to_owned(),
            &["needs the metric \"top1\", which is not evaluated"],
        ),
        (
            "metrics = ['snr']\n[gate.accuracy_drop.snr]\npoints = 1".to_owned(),
            &["nothing to be held against", "`least`"],
        ),
    ] {
        let told = bench.refused(&evaluation);
        assert!(
            parts.iter().all(|part| told.contains(part)),
            "{evaluation}\n{told}\nlacks one of {parts:?}"
        );
    }
}

#[test]
fn the_number_of_threads_changes_no_bit_of_a_figure() {
    let bench = Bench::new();
    let tables = "metrics = ['agreement', 'cosine', 'snr']\n\
                  [[evaluation.metric]]\nname = 'miou'\nlabels = 'masks.npy'\n\
                  [[evaluation.metric]]\nname = 'psnr'\nlabels = 'pixels.npy'\npeak = 3\n\
                  [[evaluation.metric]]\nname = 'auc'\noutput = 'two'\nlabels = 'classes.npy'\n";
    let report = |threads: usize| {
        let session = Session::new(NonZeroUsize::new(threads).unwrap(), Context::detect(), &Silent);
        let compiled = pipeline::compile(&bench.loaded(tables).unwrap(), targets::registry([]).unwrap(), &session);
        let compiled = compiled.unwrap_or_else(|stop| panic!("{stop}")).remove(0);
        (
            compiled.digest,
            serde_json::to_string(&compiled.report.accuracy).unwrap(),
        )
    };
    let one = report(1);
    assert!(one.1.contains("bootstrap"), "{}", one.1);
    assert_eq!(one, report(3));
}

#[test]
fn a_float_model_that_makes_nan_is_refused_with_output_and_sample() {
    let bench = Bench::new();
    let divided = MODEL.replace(
        "%two: f32[1,2,1] = conv(%pair, @both) {stride=[1], pad=[0,0], dilation=[1], groups=2, pad_value=0}",
        "%two: f32[1,2,1] = div(%pair, %pair)",
    );
    let mut bytes = Vec::new();
    strait_onnx::write(&text::parse(&divided).unwrap(), &mut bytes).unwrap();
    fs::write(bench.at("model.onnx"), bytes).unwrap();
    let told = bench.refused("[[evaluation.metric]]\nname = 'auc'\noutput = 'two'\nlabels = 'classes.npy'");
    assert!(told.contains("\"two\" holds NaN at 0: sample 0"), "{told}");
}
