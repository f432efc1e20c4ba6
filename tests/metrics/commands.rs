//! Tests metrics that a command computes.

use super::*;
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};
use strait_driver::session::Progress;
use strait_samples::read_arrays;

/// A metric that a shell command computes. `$1` is the path.
fn shell(line: &str, more: &str) -> String {
    format!("[[evaluation.metric]]\nname = 'own'\ncommand = ['sh', '-c', '''{line}''', 'own']\n{more}")
}

const SCORE: &str = "value = '/score'\nbetter = 'higher'\n";

impl Bench {
    fn allowing() -> Bench {
        let mut bench = Bench::new();
        bench.commands = true;
        bench
    }
}

#[test]
fn a_command_is_given_the_outputs_of_each_model_in_the_folder_of_the_configuration() {
    let bench = Bench::allowing();
    // The command runs for the float model first, then for the integer model.
    let line = r#"n=$(cat calls 2>/dev/null || echo 0); echo $((n + 1)) > calls; cp "$1" kept-$n.npz; echo "{\"score\": 0.$((9 - n)), \"each\": [1, 1, 1, 1, 1, 1, $((1 - n)).$((2 * n)), 0.2]}""#;
    let gate = "[gate.accuracy_drop]\nown = { points = 9 }\n";
    let compiled = bench
        .compile(&(shell(line, SCORE) + gate))
        .unwrap_or_else(|stop| panic!("{stop}"));
    let accuracy = compiled.report.accuracy.as_ref().unwrap();
    let own = accuracy.of("own").unwrap();
    assert_eq!(
        (own.float.unwrap().value, own.integer.unwrap().value, own.samples),
        (0.9, 0.8, 8)
    );
    let change = own.change.as_ref().unwrap();
    assert!(change.interval.is_none() && own.note.as_ref().is_some_and(|note| note.contains("no interval")));
    assert_eq!(compiled.report.gates[0].text, "10.00 points are lost, 9.00 are allowed");
    assert!(!compiled.report.gates[0].met);
    let [float, integer] = ["kept-0.npz", "kept-1.npz"].map(|file| read_arrays(&bench.at(file), 1 << 20).unwrap());
    assert_eq!(float.keys().collect::<Vec<_>>(), ["scores", "two"]);
    assert_eq!(
        (float["scores"].shape(), float["two"].shape()),
        (&[SAMPLES, 6, 2, 2][..], &[SAMPLES, 2, 1][..])
    );
    assert_eq!(float["scores"].reals(), numbers(SAMPLES * 24));
    let step = 1.0 / 255.0;
    let (rounded, exact) = (integer["scores"].reals(), float["scores"].reals());
    assert_ne!(rounded, exact);
    assert!(rounded.iter().zip(&exact).all(|(a, b)| (a - b).abs() < step));

    // With a number for each sample there is an interval, and a gate may require a confidence.
    fs::remove_file(bench.at("calls")).unwrap();
    let gate = "[gate.accuracy_drop]\nown = { points = 9, confidence = 0.95 }\n";
    let each = format!("{SCORE}each = '/each'\nunit = 'points'\n");
    let compiled = bench
        .compile(&(shell(line, &each) + gate))
        .unwrap_or_else(|stop| panic!("{stop}"));
    let own = compiled.report.accuracy.as_ref().unwrap().of("own").unwrap().clone();
    let [low, high] = own.change.as_ref().unwrap().interval.unwrap();
    assert!(low < -0.2 && high > 0.0 && own.note.is_none(), "{own:?}");
    assert!(compiled.report.gates[0].met, "{:?}", compiled.report.gates);
}

#[test]
fn nothing_is_started_that_was_not_allowed() {
    let bench = Bench::new();
    let told = bench.refused(&shell("touch started", SCORE));
    for part in [
        "starts the command `sh -c touch started own`",
        "`--allow-commands`",
        "test.toml:14",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(!bench.at("started").exists());
}

#[test]
fn a_command_that_fails_or_says_nothing_of_use_is_told_with_what_it_complains_of() {
    let bench = Bench::allowing();
    for (line, more, parts) in [
        (
            "echo no labels here >&2; exit 3",
            SCORE,
            &["failed: exit status: 3", "no labels here", "it is `sh -c"][..],
        ),
        ("kill -9 $$", SCORE, &["failed: signal: 9"]),
        ("exit 0", SCORE, &["printed nothing"]),
        (
            "echo score 0.5",
            SCORE,
            &["printed what is no JSON", "it begins \"score 0.5"],
        ),
        (
            r#"echo "{\"points\": 3, \"b\": 1}""#,
            SCORE,
            &["printed JSON without \"/score\"; there are /b, /points"],
        ),
        (
            r#"echo "{\"score\": \"high\"}""#,
            SCORE,
            &["has no number at \"/score\", but the text \"high\""],
        ),
        (
            r#"echo "{\"score\": null}""#,
            SCORE,
            &["has no number at \"/score\", but null"],
        ),
        ("head -c 70000000 /dev/zero", SCORE, &["printed more than 64 MiB"]),
        (
            r#"echo "{\"score\": 1, \"each\": [1, 2]}""#,
            "value = '/score'\nbetter = 'higher'\neach = '/each'",
            &["has at \"/each\" no list of 8 numbers, one for each sample, but a list of 2"],
        ),
    ] {
        let told = bench.refused(&shell(line, more));
        assert!(
            parts.iter().all(|part| told.contains(part)),
            "{line}\n{told}\nlacks one of {parts:?}"
        );
        assert!(told.contains("test.toml:14"), "{told}");
    }
    let each = "value = '/score'\nbetter = 'higher'\neach = '/each'";
    let told = bench.refused(&shell(
        r#"echo "{\"score\": 1, \"each\": [1, 1, 1, 1, 1, 1, 1, 0]}""#,
        each,
    ));
    assert!(told.contains("whose mean is 0.875, and the figure is 1"), "{told}");
    let absent = "[[evaluation.metric]]\nname = 'own'\ncommand = ['tools/absent']\n";
    let told = bench.refused(&(absent.to_owned() + SCORE));
    assert!(told.contains("cannot be started"), "{told}");
}

#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_has_started() {
    let bench = Bench::allowing();
    for line in [
        "sleep 60",
        "sleep 60 & echo $! > child; wait",
        "sleep 60 & echo $! > child",
    ] {
        let begun = Instant::now();
        let told = bench.refused(&shell(line, &format!("{SCORE}seconds = 1")));
        assert!(
            told.contains("was ended after 1 s, which `seconds` allows"),
            "{line}: {told}"
        );
        assert!(begun.elapsed() < Duration::from_secs(20), "{line}");
    }
    let child = fs::read_to_string(bench.at("child")).unwrap();
    let alive = || fs::read_to_string(format!("/proc/{}/stat", child.trim())).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(!alive(), "what the command has started goes on");
}

/// Interrupts some time after a command has begun.
#[derive(Default)]
struct Impatient(AtomicUsize);

impl Progress for Impatient {
    fn begin(&self, phase: &str, _: Option<usize>) {
        if phase.starts_with("command") {
            self.0.store(1, Ordering::SeqCst);
        }
    }

    fn interrupted(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0 && self.0.fetch_add(1, Ordering::SeqCst) > 3
    }
}

#[test]
fn an_interruption_ends_a_command() {
    let bench = Bench::allowing();
    let impatient = Impatient::default();
    let loaded = bench.loaded(&shell("sleep 60", SCORE)).unwrap();
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &impatient).with_commands(true);
    let stopped = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
    assert!(matches!(stopped, Err(Stop::Interrupted)));
}

#[test]
fn a_metric_of_ones_own_has_what_a_command_needs_and_nothing_else() {
    let bench = Bench::allowing();
    let own = |more: &str| format!("[[evaluation.metric]]\nname = 'own'\n{more}");
    for (evaluation, part) in [
        (own("value = '/a'"), "has no `command`"),
        (own("command = ['x']"), "has no `value`"),
        (own("command = ['x']\nvalue = '/a'"), "has no `better`"),
        (
            own("command = ['x']\nvalue = 'a'\nbetter = 'higher'"),
            "a JSON pointer, such as /map",
        ),
        (
            shell("x", SCORE) + "peak = 2",
            "metric[0].peak` is not for a metric that a command computes",
        ),
        (
            shell("x", SCORE) + "kind = 'psnr'",
            "metric[0].kind` is not for a metric that a command computes",
        ),
        (
            shell("x", SCORE) + "[gate.accuracy_drop.own]\npoints = 1\nconfidence = 0.9",
            "needs an interval, and one number for all samples has none",
        ),
        (
            shell("x", "value = '/a'\nbetter = 'lower'\n") + "[gate]\nleast = { own = 1 }",
            "demands much of a metric of which less is better",
        ),
        (
            "[[evaluation.metric]]\nname = 'snr'\nbetter = 'lower'".to_owned(),
            "and this is \"snr\"",
        ),
    ] {
        let told = bench.refused(&evaluation);
        assert!(told.contains(part), "{evaluation}\n{told}");
    }
}
