//! Tests of processes that share the work of one command (`--share`): each has the result of a single process.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use super::{Bench, digits, repository, run, strait, text};

/// Settings with which most of the passes over samples are done: all algorithms, and a search for types.
const THOROUGH: [&str; 8] = [
    "--set",
    "calibration.samples=41",
    "--set",
    "evaluation.samples=101",
    "--set",
    "evaluation.metrics=['top1', 'agreement', 'cosine']",
    "--set",
    "optimize.preset='thorough'",
];

impl Bench {
    /// Begins to compile as one of several shares, each of which has a cache and an output of its own.
    fn share(&self, folder: &str, (part, parts): (usize, usize), more: &[&str]) -> Command {
        let own = |what: &str| self.path(&format!("{what}-{part}-of-{parts}"));
        let mut command = strait();
        command.arg("compile").arg(repository("configs/generic-int8.toml"));
        command.args(["--out", &own("out"), "--threads", "1", "--set"]);
        command.arg(format!("calibration.cache='{}'", own("cache")));
        command.args(["--share", &format!("{part}/{parts}"), "--exchange", &self.path(folder)]);
        command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The digest that one process gives.
    fn alone(&self, more: &[&str]) -> String {
        let done = self.compile(more);
        assert!(done.status.success(), "{}", text(&done.stderr));
        digest(&done)
    }
}

fn digest(done: &Output) -> String {
    let (out, error) = (text(&done.stdout), text(&done.stderr));
    let line = out.lines().find_map(|line| line.strip_prefix("digest: "));
    assert!(line.is_some(), "{out}{error}");
    line.unwrap_or_default().to_owned()
}

fn ended(share: Child) -> Output {
    share.wait_with_output().unwrap()
}

/// Waits until a file of the exchange is there.
fn wait_for(path: &Path) {
    let since = Instant::now();
    while !path.exists() {
        assert!(
            since.elapsed() < Duration::from_secs(300),
            "{} does not come",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn every_share_of_a_compilation_has_the_digest_of_one_process() {
    let bench = Bench::new();
    let expected = bench.alone(&THOROUGH);
    for parts in [2, 3] {
        let folder = format!("exchange-{parts}");
        let shares: Vec<Child> = (1..=parts)
            .map(|part| bench.share(&folder, (part, parts), &THOROUGH).spawn().unwrap())
            .collect();
        for share in shares {
            assert_eq!(digest(&ended(share)), expected, "{parts} shares");
        }
    }
    // Layers that are optimised are a step each, so the test would be empty if nothing was shared.
    let steps = fs::read_dir(bench.path("exchange-2")).unwrap().count();
    assert!(steps > 2 * 12, "{steps}");
}

#[test]
fn a_search_for_types_is_shared_too() {
    let bench = Bench::new();
    let search = "optimize.accuracy_drop={ metric='agreement', points=0.5 }";
    let more = [&THOROUGH[..6], &["--set", search]].concat();
    let expected = bench.alone(&more);
    let shares = [1, 2].map(|part| bench.share("exchange", (part, 2), &more).spawn().unwrap());
    for share in shares {
        assert_eq!(digest(&ended(share)), expected);
    }
}

#[test]
fn a_share_that_is_killed_in_the_middle_and_started_again_changes_nothing() {
    let bench = Bench::new();
    let expected = bench.alone(&THOROUGH);
    let first = bench.share("exchange", (1, 2), &THOROUGH).spawn().unwrap();
    let mut second = bench.share("exchange", (2, 2), &THOROUGH).spawn().unwrap();
    wait_for(Path::new(&bench.path("exchange/00009-2-of-2")));
    second.kill().unwrap();
    assert!(!ended(second).status.success());
    let second = bench.share("exchange", (2, 2), &THOROUGH).spawn().unwrap();
    for share in [first, second] {
        assert_eq!(digest(&ended(share)), expected);
    }
}

#[test]
fn shares_with_another_configuration_or_number_are_refused_by_name() {
    let bench = Bench::new();
    let first = bench.share("exchange", (1, 2), &["--wait", "60"]).spawn().unwrap();
    wait_for(Path::new(&bench.path("exchange/00000-1-of-2")));
    let other = ["--set", "quantize.weights.observer='mse'"];
    let refused = |part, more: &[&str], expected: &str| {
        let done = bench.share("exchange", part, more).output().unwrap();
        let message = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{message}");
        assert!(
            message.contains("error[S004]") && message.contains(expected),
            "{message}"
        );
    };
    let text_of_first = "share 1/2 has another configuration for generic-int8 than share 2/2";
    refused((2, 2), &other, text_of_first);
    refused((2, 3), &[], "00000-1-of-2 is of 1/2, and this process has 2/3");
    let done = ended(first);
    let message = text(&done.stderr);
    assert!(
        done.status.code() == Some(1) && message.contains("share 2/2 has another configuration for generic-int8"),
        "{message}"
    );
    fs::write(bench.path("exchange/00000-1-of-2"), b"damaged").unwrap();
    refused((2, 2), &other, "00000-1-of-2 is damaged");
    // A share that does not come is named.
    let alone = bench.share("empty", (1, 2), &["--wait", "0"]).output().unwrap();
    let message = text(&alone.stderr);
    assert!(message.contains("share 2/2 has delivered nothing"), "{message}");
    for (arguments, expected) in [
        (&["--share", "1/2"][..], "--exchange"),
        (&["--exchange", "x"], "--share"),
        (&["--share", "3/2", "--exchange", "x"], "there is no share 3 of 2"),
    ] {
        let done = bench.compile(arguments);
        let message = text(&done.stderr);
        assert!(done.status.code() == Some(2) && message.contains(expected), "{message}");
    }
}

/// Runs a command in two shares, and returns what each printed.
fn both(bench: &Bench, name: &str, arguments: &[&str], option: &str) -> [String; 2] {
    let exchange = bench.path(name);
    let share = |part: usize| {
        let mut command = strait();
        command.args(arguments);
        command.args([option, &format!("{part}/2"), "--exchange", &exchange]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    [share(1), share(2)].map(|share| {
        let done = ended(share);
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    })
}

#[test]
fn shares_of_an_evaluation_and_an_analysis_print_what_one_process_prints() {
    let bench = Bench::new();
    bench.alone(&["--set", "calibration.samples=20"]);
    let (artifact, model) = (bench.path("out"), digits("digits.onnx"));
    let (x, y, flips) = (digits("eval_x.npy"), digits("eval_y.npy"), bench.path("flips.csv"));
    let eval = [
        "eval", &artifact, "--data", &x, "--labels", &y, "--model", &model, "--flips", &flips,
    ];
    let alone = run(&eval);
    assert!(alone.status.success(), "{}", text(&alone.stderr));
    let flipped = fs::read(&flips).unwrap();
    for printed in both(&bench, "eval", &eval, "--share") {
        assert_eq!(printed, text(&alone.stdout));
    }
    assert!(fs::read(&flips).unwrap() == flipped && flipped.len() > 100);
    let config = repository("configs/generic-int8.toml").to_string_lossy().into_owned();
    let cache = format!("calibration.cache='{}'", bench.path("cache"));
    let analyze = ["analyze", &config, "--set", "calibration.samples=20", "--set", &cache];
    let alone = run(&analyze);
    assert!(alone.status.success(), "{}", text(&alone.stderr));
    for printed in both(&bench, "analyze", &analyze, "--share") {
        assert_eq!(printed, text(&alone.stdout));
    }
}

#[test]
fn shares_that_calibrate_together_write_the_statistics_of_all_samples() {
    let bench = Bench::new();
    let config = repository("configs/generic-int8.toml").to_string_lossy().into_owned();
    let [one, together] = ["one", "together"].map(|name| bench.path(name));
    let calibrate =
        |out: &str| ["calibrate", &config, "--set", "calibration.samples=11", "--out", out].map(str::to_owned);
    let alone = calibrate(&one);
    let alone: Vec<&str> = alone.iter().map(String::as_str).collect();
    assert!(run(&alone).status.success());
    let shared = calibrate(&together);
    let shared: Vec<&str> = shared.iter().map(String::as_str).collect();
    for printed in both(&bench, "exchange", &shared, "--shard") {
        assert!(printed.contains("samples: 11 of 11"), "{printed}");
    }
    assert!(fs::read(one).unwrap() == fs::read(together).unwrap());
}
