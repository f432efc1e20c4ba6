//! Tests of `strait bench`.

use std::{io::Write as _, process::Stdio};

use super::{Bench, run, strait, text};

#[test]
fn a_bench_tells_the_latency_of_the_model_and_of_its_steps() {
    let bench = Bench::new();
    let artifact = bench.path("out");
    assert_eq!(bench.compile(&[]).status.code(), Some(0));
    let output = run(&[
        "bench",
        &artifact,
        "--threads",
        "1",
        "--seconds",
        "0",
        "--profile",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let speed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(speed["threads"], 1);
    assert!(speed["min_ms"].as_f64().unwrap() <= speed["median_ms"].as_f64().unwrap());
    let steps = speed["steps"].as_array().unwrap();
    let of = |step: &serde_json::Value| step["multiply_adds"].as_u64().unwrap();
    assert_eq!(speed["multiply_adds"], steps.iter().map(of).sum::<u64>());
    // The first layer has one input channel, nine taps, and 8 × 8 outputs for each of its channels.
    let stem = steps
        .iter()
        .find(|step| step["node"].as_str().unwrap().contains("stem"));
    assert_eq!(of(stem.unwrap()) % (9 * 64), 0);

    let output = run(&["bench", &artifact, "--threads", "1", "--seconds", "0", "--profile"]);
    let shown = text(&output.stdout);
    for expected in [
        "latency ",
        " ms at best, on 1 thread, ",
        " GMAC/s that products",
        "/stem/conv/Conv",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn each_line_of_standard_input_is_one_run() {
    let bench = Bench::new();
    assert_eq!(bench.compile(&[]).status.code(), Some(0));
    let mut command = strait();
    command.args(["bench", &bench.path("out"), "--stdin"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\n\n\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let times: Vec<f64> = text(&output.stdout).lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(times.len(), 3);
    assert!(times.iter().all(|&time| time > 0.0));
}
