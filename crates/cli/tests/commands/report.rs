//! Tests of `strait report` and of the page that a compilation writes.

use std::fs;

use super::{Bench, repository, run, text};

/// Runs `strait analyze --json` for the digits model, and returns the path of its result.
fn analysis(bench: &Bench, target: &str) -> String {
    let config = repository("configs/generic-int8.toml");
    let cache = format!("calibration.cache='{}'", bench.path("cache"));
    let arguments = [
        "analyze",
        &config.to_string_lossy(),
        "--target",
        target,
        "--json",
        "--set",
        &cache,
        "--rules",
        "0",
    ];
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let file = bench.path(&format!("{target}.json"));
    fs::write(&file, &output.stdout).unwrap();
    file
}

#[test]
fn the_page_stands_beside_the_artifact_which_stays_as_it_is() {
    let bench = Bench::new();
    assert_eq!(bench.compile(&["--target", "generic-int8"]).status.code(), Some(0));
    let artifact = bench.path("out");
    let analysis = analysis(&bench, "generic-int8");
    let output = run(&["report", &artifact, "--analysis", &analysis]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = fs::read_to_string(bench.path("out.html")).unwrap();
    for part in ["summary", "points", "graph", "layers", "settings"] {
        assert!(page.contains(&format!("<section id=\"{part}\"")), "{part}");
    }
    for plot in ["waterfall", "errors", "histogram", "channels"] {
        assert!(page.contains(&format!("class=\"plot {plot}\"")), "{plot}");
    }
    let verified = run(&["verify", &artifact]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
}

#[test]
fn an_analysis_of_another_target_is_refused() {
    let bench = Bench::new();
    assert_eq!(bench.compile(&["--target", "sima"]).status.code(), Some(0));
    let output = run(&[
        "report",
        &bench.path("out"),
        "--analysis",
        &analysis(&bench, "generic-int8"),
    ]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(
        message.contains("compiled for `sima`, and the analysis is of `generic-int8`"),
        "{message}"
    );
}

#[test]
fn a_compilation_writes_the_page_if_it_is_asked_to() {
    let bench = Bench::new();
    let redacted = [
        "--target",
        "generic-int8",
        "--set",
        "output.report=[\"html\"]",
        "--set",
        "output.redact=true",
    ];
    assert_eq!(bench.compile(&redacted).status.code(), Some(0));
    let artifact = bench.path("out");
    let page = fs::read_to_string(format!("{artifact}/report.html")).unwrap();
    assert!(!page.contains("/stem/conv"), "names are left out");
    let report: serde_json::Value =
        serde_json::from_slice(&fs::read(format!("{artifact}/report.json")).unwrap()).unwrap();
    assert!(report.get("weights").is_none(), "statistics of weights are left out");
    assert!(report["distributions"].is_array());
    let verified = run(&["verify", &artifact]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
    // The same page as from the artifact.
    let output = run(&["report", &artifact, "--redact", "--out", &bench.path("again.html")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(bench.path("again.html")).unwrap(), page);
}
