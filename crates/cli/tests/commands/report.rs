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
    for part in ["summary", "points", "graph", "layers", "inputs", "settings"] {
        assert!(page.contains(&format!("<section id=\"{part}\"")), "{part}");
    }
    for plot in ["waterfall", "errors", "histogram", "channels"] {
        assert!(page.contains(&format!("class=\"plot {plot}\"")), "{plot}");
    }
    assert!(
        page.matches("src=\"data:image/png;base64,").count() >= 12,
        "the first samples"
    );
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
    let pictures = ["seen", "changed", "set"].map(|key| report.get(key).is_none());
    assert_eq!(pictures, [true; 3], "pictures and overrides are left out");
    assert!(report["distributions"].is_array());
    let verified = run(&["verify", &artifact]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
    // The same page as from the artifact.
    let output = run(&["report", &artifact, "--redact", "--out", &bench.path("again.html")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(bench.path("again.html")).unwrap(), page);
}

/// The digest that a compilation prints.
fn digest(output: &std::process::Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let line = printed.lines().find_map(|line| line.strip_prefix("digest: "));
    line.unwrap_or_else(|| panic!("{printed}")).to_owned()
}

#[test]
fn the_command_of_the_page_makes_the_same_artifact_again() {
    let bench = Bench::new();
    let first = bench.compile(&[
        "--target",
        "generic-int8",
        "--set",
        "calibration.samples=16",
        "--set",
        "quantize.rule=[{ layers = ['/stem/**'], run = 'float', reason = \"it's $HOME\" }]",
    ]);
    let first = digest(&first);
    let output = run(&["report", &bench.path("out")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = fs::read_to_string(bench.path("out.html")).unwrap();
    let command = page.split("strait compile deploy.toml").nth(1).unwrap();
    let command = command.split("</code>").next().unwrap();
    let marks = [
        ("&#x27;", "'"),
        ("&quot;", "\""),
        ("&#x2f;", "/"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    let command = marks
        .iter()
        .fold(command.to_owned(), |text, (mark, letter)| text.replace(mark, letter));
    assert!(!command.contains("cache"), "paths are not recorded: {command}");
    // What the page leaves to the reader: where the configuration and the cache are.
    let config = repository("configs/generic-int8.toml");
    let shell = format!(
        "{} compile {}{command} --out {} --set \"calibration.cache='{}'\"",
        env!("CARGO_BIN_EXE_strait"),
        config.display(),
        bench.path("again"),
        bench.path("other-cache"),
    );
    let again = std::process::Command::new("sh").args(["-c", &shell]).output().unwrap();
    assert_eq!(digest(&again), first, "{shell}");
    // Without what the command line set, it is another artifact.
    assert_ne!(digest(&bench.compile(&["--target", "generic-int8"])), first);
}

#[test]
fn the_report_has_pictures_within_its_limit_and_the_answers_that_changed() {
    let bench = Bench::new();
    // Four bits change some answers.
    let coarse = "quantize.weights.type='int4'";
    let output = bench.compile(&["--target", "generic-int8", "--set", coarse]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let bytes = fs::read(format!("{}/report.json", bench.path("out"))).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let seen = report["seen"][0]["samples"].as_array().unwrap();
    assert_eq!(seen.len(), 12);
    let sizes = seen
        .iter()
        .map(|sample| sample["look"]["picture"]["png"].as_str().unwrap().len());
    assert!(sizes.sum::<usize>() <= (160 << 10) / 3 * 4 + 12 * 4);
    let changed = &report["changed"][0];
    let metric = &report["accuracy"]["metrics"][0];
    let count = |key: &str| changed[key].as_u64().unwrap();
    assert_eq!(count("compared"), metric["samples"].as_u64().unwrap());
    let [float, integer] = ["float", "integer"].map(|side| metric[side]["count"].as_u64().unwrap());
    assert_eq!(
        float + count("won"),
        integer + count("lost"),
        "the same samples as the metric counts"
    );
    assert!(
        count("changed") >= count("lost") + count("won") && count("lost") > 0,
        "{changed}"
    );
    for sample in changed["samples"].as_array().unwrap() {
        assert_ne!(sample["float"]["class"], sample["integer"]["class"]);
        assert!(sample["seen"]["look"]["picture"]["png"].is_string());
    }
}

#[test]
fn errors_of_layers_are_written_for_other_viewers() {
    let bench = Bench::new();
    assert_eq!(bench.compile(&["--target", "generic-int8"]).status.code(), Some(0));
    let artifact = bench.path("out");
    let analysis = analysis(&bench, "generic-int8");
    let (data, qdq) = (bench.path("errors.json"), bench.path("errors.onnx"));
    let written = ["--node-data", &data, "--graph", "net", "--qdq", &qdq];
    let refused = run(&[&["report", &artifact], &written[..]].concat());
    assert_eq!(
        refused.status.code(),
        Some(2),
        "without an analysis there are no errors of layers"
    );
    let output = run(&[&["report", &artifact, "--analysis", &analysis], &written[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let data: serde_json::Value = serde_json::from_slice(&fs::read(&data).unwrap()).unwrap();
    let graphs = data.as_object().unwrap();
    assert_eq!(graphs.len(), 1);
    let value = &graphs["net"]["results"]["/stem/conv/Conv"]["value"];
    assert!(value.as_f64().is_some_and(|snr| snr > 5.0), "{data}");
    // The file is the one of the artifact, with notes.
    let [plain, noted] = [format!("{artifact}/model.qdq.onnx"), qdq].map(|file| fs::read(file).unwrap());
    assert!(noted.len() > plain.len());
    let inspected = run(&["inspect", &bench.path("errors.onnx"), "--json"]);
    assert_eq!(inspected.status.code(), Some(0), "{}", text(&inspected.stderr));
    let has = |key: &str| noted.windows(key.len()).any(|part| part == key.as_bytes());
    assert!(has("strait.snr") && has("strait.single"));
    let verified = run(&["verify", &artifact]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stderr));
}
