//! Searches for the types of layers: what was planted in a model is found, and nothing else.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{fs, num::NonZeroUsize, path::Path, path::PathBuf, sync::Mutex};

use strait_core::text::{PrintOptions, parse, print};
use strait_driver::{
    artifact::Opened,
    config, pipeline,
    report::{MixedPrecision, Report},
    session::{Progress, Session},
    stop::Stop,
    targets,
};
use strait_kernels::Context;
use strait_samples::{NumberType, encode};

/// What is planted in the second layer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Planted {
    /// A channel of its operand is large, and is not used. On one grid with it, all other channels have few codes.
    Operand,
    /// A weight of each output is large, and meets a channel that is always zero.
    Weights,
}

/// Numbers from -1 to 1 that are the same in every run.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Three convolutions with a ReLU behind each of the first two.
fn model(planted: Planted) -> String {
    let (mut first, mut bias) = (numbers(8 * 4 * 9, 1), numbers(8, 2));
    let (mut second, third) = (numbers(8 * 8 * 9, 3), numbers(32 * 8 * 25, 4));
    let of_first_channel = |at: &usize| (at / 9).is_multiple_of(8);
    match planted {
        Planted::Operand => {
            first[..36].iter_mut().for_each(|weight| *weight *= 1000.0);
            (0..second.len())
                .filter(of_first_channel)
                .for_each(|at| second[at] = 0.0);
        }
        Planted::Weights => {
            bias[0] = -1000.0;
            (0..second.len())
                .filter(of_first_channel)
                .for_each(|at| second[at] *= 40.0);
        }
    }
    let data = |name: &str, shape: &str, numbers: &[f32]| {
        let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:?}")).collect();
        format!("data @{name}: f32[{shape}] = inline [{}]\n", numbers.join(", "))
    };
    let attributes = "{stride=[1,1], pad=[1,1,1,1], dilation=[1,1], groups=1, pad_value=0}";
    let wide = attributes.replace("pad=[1,1,1,1]", "pad=[2,2,2,2]");
    format!(
        "strait 1 float\ngraph @main(%x: f32[1,4,8,8]) {{\n\
         \x20 %a: f32[1,8,8,8] = conv(%x, @w1, @b1) {attributes} name=\"first\"\n\
         \x20 %b: f32[1,8,8,8] = relu(%a) name=\"first_relu\"\n\
         \x20 %c: f32[1,8,8,8] = conv(%b, @w2) {attributes} name=\"second\"\n\
         \x20 %d: f32[1,8,8,8] = relu(%c) name=\"second_relu\"\n\
         \x20 %e: f32[1,32,8,8] = conv(%d, @w3) {wide} name=\"third\"\n\
         \x20 return %e\n}}\n{}{}{}{}",
        data("w1", "8,4,3,3", &first),
        data("b1", "8", &bias),
        data("w2", "8,8,3,3", &second),
        data("w3", "32,8,5,5", &third),
    )
}

/// Collects what the user is told, and interrupts after a certain text.
#[derive(Default)]
struct Said {
    text: Mutex<String>,
    last: Option<&'static str>,
}

impl Progress for Said {
    fn say(&self, text: &str) {
        self.text.lock().unwrap().push_str(&format!("{text}\n"));
    }

    fn interrupted(&self) -> bool {
        self.last.is_some_and(|last| self.text.lock().unwrap().contains(last))
    }
}

/// A folder with the model and samples.
struct Bench {
    folder: tempfile::TempDir,
}

/// What a compilation has made.
struct Made {
    report: Report,
    /// The integer model as text.
    text: String,
    said: String,
}

impl Bench {
    fn new(planted: Planted) -> Bench {
        let bench = Bench {
            folder: tempfile::tempdir().unwrap(),
        };
        let mut bytes = Vec::new();
        strait_onnx::write(&parse(&model(planted)).unwrap(), &mut bytes).unwrap();
        fs::write(bench.at("model.onnx"), bytes).unwrap();
        for (name, seed) in [("x.npy", 7), ("other.npy", 9)] {
            let samples = numbers(8 * 4 * 64, seed);
            let samples: Vec<u8> = samples.iter().flat_map(|number| number.to_le_bytes()).collect();
            fs::write(bench.at(name), encode(NumberType::F32, &[8, 4, 8, 8], &samples)).unwrap();
        }
        bench
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compiled(&self, more: &str, threads: usize) -> Result<Made, Stop> {
        self.compiled_until(None, more, threads)
    }

    /// The same, but the user interrupts when this is said.
    fn compiled_until(&self, last: Option<&'static str>, more: &str, threads: usize) -> Result<Made, Stop> {
        let text = format!(
            "schema = 1\nmodel.file = 'model.onnx'\ntarget.use = ['generic-int8']\noutput = {{ dir = 'artifact', emit = [] }}\n\
             calibration = {{ cache = 'cache', data = 'x.npy' }}\n{more}"
        );
        let said = Said {
            last,
            ..Said::default()
        };
        let session = Session::new(NonZeroUsize::new(threads).unwrap(), Context::detect(), &said);
        let loaded = config::parse("test.toml", text, self.folder.path(), &[])?;
        let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session)?.remove(0);
        let opened = Opened::open(&compiled.folder, &targets::registry([]).unwrap())?;
        drop(session);
        Ok(Made {
            text: print(opened.module(), &PrintOptions::whole()),
            report: compiled.report,
            said: said.text.into_inner().unwrap(),
        })
    }

    fn made(&self, more: &str) -> Made {
        self.compiled(more, 1).unwrap_or_else(|stop| panic!("{stop}"))
    }

    fn refused(&self, more: &str) -> String {
        match self.compiled(more, 1) {
            Ok(_) => panic!("{more} is accepted"),
            Err(stop) => stop.to_string(),
        }
    }
}

/// The only search of a report.
fn only(report: &Report) -> &MixedPrecision {
    let [found] = &report.mixed_precision[..] else {
        panic!("{:?}", report.mixed_precision)
    };
    found
}

/// All layers that the rules of a search name.
fn layers(found: &MixedPrecision) -> Vec<String> {
    let rules: toml::Table = rules(found).parse().unwrap();
    let Some(rules) = rules.get("quantize").and_then(|table| table.get("rule")) else {
        return Vec::new();
    };
    let rules = rules.as_array().unwrap().iter();
    let names = rules.flat_map(|rule| rule["layers"].as_array().unwrap().clone());
    let mut names: Vec<String> = names.map(|name| name.as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// The rules as they are pasted into a configuration.
fn rules(found: &MixedPrecision) -> String {
    found.steps.iter().map(|step| step.toml.as_str()).collect()
}

const COSINE: &str = "[optimize.accuracy_drop]\nmetric = 'cosine'\npoints = 0.1\nmay_use = ['types']\n";

#[test]
fn the_layer_with_a_terrible_range_gets_16_bits_and_no_other() {
    let bench = Bench::new(Planted::Operand);
    let plain = bench.made("");
    for (goal, more) in [("accuracy_drop", COSINE), ("types", "optimize.types = true\n")] {
        let made = bench.made(more);
        let found = only(&made.report);
        assert_eq!(found.goal, goal);
        // Its operand is what the clamp makes, which is part of the layer before.
        assert_eq!(layers(found), ["first_relu", "second"], "{found:?}");
        let [before, after] = found.loss;
        assert!(after < before / 20.0, "{found:?}");
        let last = found.steps.last().unwrap();
        assert!(
            (last.macs_16 - 576.0 / 7264.0).abs() < 1e-9 && last.macs_float == 0.0,
            "{last:?}"
        );
        // The rules do the same when they are pasted.
        let pasted = bench.made(&rules(found));
        assert!(pasted.text == made.text && made.text != plain.text);
        assert!(pasted.report.mixed_precision.is_empty());
    }
}

#[test]
fn a_search_finds_the_same_with_any_number_of_threads_and_continues_where_it_ended() {
    let bench = Bench::new(Planted::Operand);
    let first = bench.made(COSINE);
    let again = bench.compiled(COSINE, 1).unwrap_or_else(|stop| panic!("{stop}"));
    let reused = |made: &Made| made.said.contains("measurements of the search are reused");
    assert!(!reused(&first) && reused(&again), "{} {}", first.said, again.said);
    fs::remove_dir_all(bench.at("cache")).unwrap();
    let threaded = bench.compiled(COSINE, 2).unwrap_or_else(|stop| panic!("{stop}"));
    assert!(!reused(&threaded));
    for other in [&again, &threaded] {
        assert_eq!(other.report.mixed_precision, first.report.mixed_precision);
        assert_eq!(other.text, first.text);
    }
}

#[test]
fn an_interrupted_search_ends_and_keeps_what_it_has_measured() {
    let bench = Bench::new(Planted::Operand);
    for last in ["as it is, the model loses", "units on 16 bits"] {
        let interrupted = bench.compiled_until(Some(last), COSINE, 1);
        assert!(matches!(interrupted, Err(Stop::Interrupted)), "{last}");
        assert!(!bench.at("artifact").exists());
    }
    let made = bench.made(COSINE);
    assert!(
        made.said.contains("measurements of the search are reused"),
        "{}",
        made.said
    );
    let other = Bench::new(Planted::Operand).made(COSINE);
    assert_eq!(
        (made.report.mixed_precision, made.text),
        (other.report.mixed_precision, other.text)
    );
}

#[test]
fn a_budget_that_is_not_enough_names_the_nearest_that_is() {
    let bench = Bench::new(Planted::Operand);
    let error = bench.refused(&format!("{COSINE}budget.macs_16 = 0.05\n"));
    for part in [
        "`optimize.accuracy_drop` cannot be held",
        "0.1 are allowed",
        "`budget.macs_16 = 0.08` is enough",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let found = bench.made(&format!("{COSINE}budget.macs_16 = 0.08\n"));
    assert_eq!(layers(only(&found.report)), ["first_relu", "second"]);
    // Rounding weights costs more than that, whatever types activations have.
    let impossible = COSINE.replace("0.1", "0.000001");
    let error = bench.refused(&impossible);
    let (_, nearest) = error
        .split_once("the nearest limit that can be held is `points = ")
        .unwrap();
    let nearest = nearest.split_once('`').unwrap().0;
    assert!(error.contains("may_use` has \"float\""), "{error}");
    bench.made(&COSINE.replace("0.1", nearest));
    // In float, everything can be held.
    let made = bench.made(&impossible.replace("['types']", "['round', 'types', 'float']"));
    assert!(only(&made.report).steps.last().unwrap().macs_float > 0.0);
}

#[test]
fn the_samples_of_the_evaluation_are_not_read_for_it() {
    let bench = Bench::new(Planted::Operand);
    let evaluated = |name: &str| bench.made(&format!("evaluation.data = '{name}'\n{COSINE}"));
    let (alone, one, other) = (bench.made(COSINE), evaluated("x.npy"), evaluated("other.npy"));
    assert_eq!(alone.report.mixed_precision, one.report.mixed_precision);
    assert_eq!(one.report.mixed_precision, other.report.mixed_precision);
    assert!(one.text == other.text && one.text == alone.text);
    // On the same samples, the search and the evaluation measure the same number.
    let lost = |made: &Made| made.report.accuracy.as_ref().unwrap().metrics[0].loss(None).unwrap();
    let found = only(&one.report).loss[1];
    let cosine = |name: &str, points: f64| {
        bench.made(&format!(
            "evaluation = {{ data = '{name}', metrics = ['cosine'] }}\ngate.accuracy_drop.cosine.points = {points:?}\n{COSINE}"
        ))
    };
    let (same, gated) = (cosine("x.npy", found), cosine("other.npy", found / 2.0));
    assert_eq!(lost(&same).to_bits(), found.to_bits());
    assert!(same.report.gates[0].met, "{:?}", same.report.gates);
    // On others, a gate that fails says what the search has measured.
    let gate = &gated.report.gates[0];
    assert!(lost(&gated) != found && !gate.met, "{gate:?}");
    assert!(
        gate.text.contains("on the 8 samples of `optimize.accuracy_drop`"),
        "{gate:?}"
    );
    // Its own samples are.
    let own = bench.made(&format!("optimize.data = 'other.npy'\n{COSINE}"));
    assert_ne!(only(&own.report).loss, only(&alone.report).loss);
    assert_eq!(layers(only(&own.report)), layers(only(&alone.report)));
}

#[test]
fn rules_of_the_configuration_stay() {
    let bench = Bench::new(Planted::Operand);
    let rule = "[[quantize.rule]]\nlayers = ['second']\nactivations.type = 'int8'\n";
    let error = bench.refused(&format!("{COSINE}{rule}"));
    assert!(error.contains("the nearest limit that can be held"), "{error}");
}

#[test]
fn weights_get_4_bits_where_it_does_least_harm() {
    let bench = Bench::new(Planted::Weights);
    let size = |bytes: u64| format!("optimize.size.weights_bytes = {bytes}\n");
    // The layers have 288, 576 and 6400 weights.
    let made = bench.made(&size(3920));
    let found = only(&made.report);
    assert_eq!(layers(found), ["first", "third"]);
    assert_eq!(found.weights_bytes, Some([7264, 3920]));
    assert!(found.loss[1] > found.loss[0], "{found:?}");
    assert_eq!(bench.made(&rules(found)).text, made.text);
    assert!(only(&bench.made(&size(7264)).report).steps.is_empty());
    let all = bench.made(&size(3632));
    assert_eq!(layers(only(&all.report)), ["first", "second", "third"]);
    let error = bench.refused(&size(3631));
    for part in ["the weights have 7264 bytes", "at least 3632", "`weights_bytes = 3632`"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_goal_that_holds_changes_nothing() {
    let bench = Bench::new(Planted::Weights);
    let made = bench.made(&COSINE.replace("0.1", "99"));
    assert!(only(&made.report).steps.is_empty() && !only(&made.report).thorough);
    assert_eq!(made.text, bench.made("").text);
    assert!(Path::new(&bench.at("cache")).exists());
}
