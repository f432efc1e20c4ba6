//! Tests of `strait eval` with a simulation: an artifact is measured next to its simulation in float.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::copy;

use copy::{repository, said};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// Writes a copy of a repository configuration that keeps its statistics in `folder`; returns its path.
fn config(target: &str, folder: &TempDir) -> String {
    let text = fs::read_to_string(repository("configs").join(format!("{target}.toml"))).unwrap();
    let root = repository("").to_string_lossy().into_owned();
    let text = text
        .replace("\"../.strait/cache\"", "\"cache\"")
        .replace("\"../", &format!("\"{root}/"));
    let file = folder.path().join(format!("{target}.toml"));
    fs::write(&file, text).unwrap();
    file.to_string_lossy().into_owned()
}

/// Compiles the digits model for `sima`; returns the path of the artifact.
fn compiled(folder: &TempDir, set: &[&str]) -> String {
    let artifact = folder.path().join("artifact").to_string_lossy().into_owned();
    let config = config("sima", folder);
    let (code, printed) = said(&[&["compile", &config, "--out", &artifact][..], set].concat());
    assert_eq!(code, 0, "{printed}");
    artifact
}

fn eval(artifact: &str, more: &[&str]) -> (i32, String) {
    let digits = |file: &str| repository("models/digits").join(file).to_string_lossy().into_owned();
    let data = digits("eval_x.npy");
    said(&[&["eval", artifact, "--data", &data][..], more].concat())
}

#[test]
fn a_simulation_is_measured_beside_the_integers() {
    let folder = tempfile::tempdir().unwrap();
    let artifact = compiled(&folder, &[]);
    let labels = repository("models/digits/eval_y.npy").to_string_lossy().into_owned();
    let sima = config("sima", &folder);
    let (code, printed) = eval(&artifact, &["--simulated", &sima, "--labels", &labels, "--json"]);
    assert_eq!(code, 0, "{printed}");
    let start = printed.find('{').unwrap();
    let mut values = serde_json::Deserializer::from_str(&printed[start..]).into_iter::<Value>();
    let accuracy = &values.next().unwrap().unwrap()["accuracy"];
    let top1 = &accuracy["metrics"][0];
    assert_eq!(top1["name"], "top1");
    let [integer, simulated] = ["/integer/count", "/simulated/count"].map(|at| top1.pointer(at).unwrap());
    // The model classifies 96 of 100 images correctly. A simulation with a wiring mistake would be at chance level.
    let [integer, simulated] = [integer, simulated].map(|count| count.as_f64().unwrap());
    assert!((integer - simulated).abs() <= 0.02 * integer, "{printed}");
    // Without labels, the artifact can be compared with the simulation only.
    let (code, printed) = eval(&artifact, &["--simulated", &sima]);
    assert!(code == 0 && printed.contains("simulated"), "{printed}");
}

#[test]
fn what_the_artifact_was_not_made_with_is_not_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let artifact = compiled(&folder, &[]);
    let (code, printed) = eval(&artifact, &["--simulated", &config("ascend", &folder)]);
    assert!(code == 1 && printed.contains("it is for `sima`"), "{printed}");
    let artifact = compiled(&folder, &["--set", "calibration.samples=8"]);
    let (code, printed) = eval(&artifact, &["--simulated", &config("sima", &folder)]);
    assert!(code == 1 && printed.contains("its settings were others"), "{printed}");
    let (code, printed) = eval(&artifact, &[]);
    assert!(code == 2 && printed.contains("--simulated"), "{printed}");
}

#[test]
fn a_table_that_has_changed_is_not_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let table = fs::read_to_string(repository("targets/generic-int8/target.toml")).unwrap();
    let table = table.replacen("id      = \"generic-int8\"", "id      = \"mine\"", 1);
    let file = folder.path().join("mine-target.toml");
    fs::write(&file, &table).unwrap();
    let config = config("generic-int8", &folder);
    let text = fs::read_to_string(&config).unwrap();
    let text = text.replace(
        "use = [\"generic-int8\"]",
        "use = [\"mine\"]\nfile = [\"mine-target.toml\"]",
    );
    assert!(text.contains("mine-target"), "{text}");
    fs::write(&config, text).unwrap();
    let artifact = folder.path().join("artifact").to_string_lossy().into_owned();
    let (code, printed) = said(&["compile", &config, "--out", &artifact]);
    assert_eq!(code, 0, "{printed}");
    assert_eq!(eval(&artifact, &["--simulated", &config]).0, 0);
    fs::write(&file, table + "# other bytes\n").unwrap();
    let (code, printed) = eval(&artifact, &["--simulated", &config]);
    assert!(
        code == 1 && printed.contains("the table of `mine` was another"),
        "{printed}"
    );
}

#[cfg(unix)]
#[test]
fn the_metrics_of_a_configuration_are_measured_and_its_commands_started_where_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let artifact = compiled(&folder, &[]);
    let sima = config("sima", &folder);
    let own = "\n[[evaluation.metric]]\nname = 'own'\ncommand = ['printf', '{\"score\": 0.25}']\nvalue = '/score'\nbetter = 'higher'\n";
    let text = fs::read_to_string(&sima).unwrap();
    fs::write(&sima, text + own).unwrap();
    let root = repository("models/digits/digits.onnx").to_string_lossy().into_owned();
    let measured =
        |more: &[&str]| said(&[&["eval", &artifact, "--evaluation", &sima, "--model", &root][..], more].concat());
    let (code, printed) = measured(&[]);
    assert!(
        code == 1 && printed.contains("`--allow-commands`") && printed.contains("sima.toml:"),
        "{printed}"
    );
    let (code, printed) = measured(&["--allow-commands"]);
    assert!(
        code == 0 && printed.contains("own") && printed.contains("0.25000"),
        "{printed}"
    );
    let (code, printed) = eval(&artifact, &["--metric", "snr", "--metric", "cosine", "--model", &root]);
    assert!(
        code == 0 && printed.contains("snr") && !printed.contains("top1"),
        "{printed}"
    );
    let (code, printed) = eval(&artifact, &["--metric", "snr", "--simulated", &config("sima", &folder)]);
    assert!(code == 0 && printed.contains("simulated"), "{printed}");
    let (code, printed) = eval(&artifact, &["--metric", "psnr", "--model", &root]);
    assert!(
        code == 1 && printed.contains("needs labels: a reference for each sample"),
        "{printed}"
    );
    let (code, printed) = eval(&artifact, &["--metric", "f1", "--model", &root]);
    assert!(code == 2 && printed.contains("the metrics are top1, top5"), "{printed}");
}

#[test]
fn answers_that_changed_are_listed_with_margins() {
    let folder = tempfile::tempdir().unwrap();
    // Grids that are far too narrow, so that many answers change.
    let narrow = [
        "calibration.observer='percentile'",
        "calibration.observer_options.percentile=90",
    ];
    let artifact = compiled(&folder, &["--set", narrow[0], "--set", narrow[1]]);
    let [model, labels] = ["models/digits/digits.onnx", "models/digits/eval_y.npy"]
        .map(|file| repository(file).to_string_lossy().into_owned());
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let listed = |file: &str| {
        let more = ["--model", &model, "--labels", &labels, "--flips", file];
        eval(&artifact, &more)
    };
    let (code, printed) = listed(&at("flips.csv"));
    assert_eq!(code, 0, "{printed}");
    let rows = fs::read_to_string(at("flips.csv")).unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    assert!(
        rows.len() > 1 && rows[0].starts_with("sample,name,output,position,label"),
        "{rows:?}"
    );
    let told = format!("{} of 640 answers changed", rows.len() - 1);
    assert!(printed.contains(&told), "{printed}");
    for row in rows.iter().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let margins: Vec<f64> = cells[7..].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!(
            cells[5] != cells[6] && margins.iter().all(|&margin| margin >= 0.0),
            "{row}"
        );
    }
    let (code, printed) = listed(&at("flips.txt"));
    assert!(code == 1 && printed.contains(".csv or .json"), "{printed}");
    let (code, printed) = eval(&artifact, &["--labels", &labels, "--flips", &at("flips.csv")]);
    assert!(code == 2 && printed.contains("--model"), "{printed}");
}
