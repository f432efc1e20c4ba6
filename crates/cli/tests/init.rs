//! `strait init`: a first configuration.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::copy;

use std::fs;

use copy::{repository, said};
use strait_samples::{Array, NumberType, encode};

fn digits(file: &str) -> String {
    repository("models/digits").join(file).to_string_lossy().into_owned()
}

/// Drafts a configuration of the digits model in a folder. Returns its path and what was printed.
fn drafted(folder: &tempfile::TempDir, data: &[&str]) -> (String, String) {
    let out = folder.path().join("deploy.toml").to_string_lossy().into_owned();
    let model = digits("digits.onnx");
    let (code, printed) = said(&[&["init", &model, "--out", &out], data].concat());
    assert_eq!(code, 0, "{printed}");
    (out, printed)
}

fn compiled(config: &str, folder: &tempfile::TempDir) -> String {
    let set = |key: &str, name: &str| format!("{key}='{}'", folder.path().join(name).display());
    let (out, cache) = (set("output.dir", "{target}"), set("calibration.cache", "cache"));
    let (code, printed) = said(&["compile", config, "--set", &out, "--set", &cache]);
    assert_eq!(code, 0, "{printed}");
    printed
}

#[test]
fn a_draft_without_samples_compiles_and_is_not_for_deployment() {
    let folder = tempfile::tempdir().unwrap();
    let (config, printed) = drafted(&folder, &[]);
    assert!(
        printed.contains("is the batch") && printed.contains("next: `strait check "),
        "{printed}"
    );
    let printed = compiled(&config, &folder);
    assert!(printed.contains("not for deployment"), "{printed}");
}

#[test]
fn levels_of_images_are_normalized_so_that_the_answers_tell_the_samples_apart() {
    // The samples of the model are stored as numbers from 0 to 16, and it takes numbers from 0 to 1.
    let array = Array::open(std::path::Path::new(&digits("calib_x.npy"))).unwrap();
    let levels: Vec<u8> = array.reals().iter().map(|x| (255.0 / 16.0 * x).round() as u8).collect();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("levels.npy");
    fs::write(&data, encode(NumberType::U8, array.shape(), &levels)).unwrap();
    let (config, printed) = drafted(&folder, &["--data", &data.to_string_lossy(), "--target", "sima"]);
    assert!(
        printed.contains("numbers from 0 to 1") && printed.contains("10 classes"),
        "{printed}"
    );
    let text = fs::read_to_string(&config).unwrap();
    for line in [
        "data = \"levels.npy\"",
        "use = [\"sima\"]",
        "stored = { layout = \"NHWC\" }",
        "steps  = [{ scale = 0.00392156862745098 }, { layout = \"NCHW\" }]",
    ] {
        assert!(text.lines().any(|own| own == line), "{line}:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    compiled(&config, &folder);
}

#[test]
fn a_file_that_exists_stays_and_what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (config, _) = drafted(&folder, &["--data", &digits("calib_x.npy")]);
    let before = fs::read(&config).unwrap();
    let model = digits("digits.onnx");
    for (arguments, words) in [
        (vec!["init", &model, "--out", &config], "exists already"),
        (
            vec!["init", &model, "--out", "-", "--target", "simma"],
            "did you mean `sima`?",
        ),
        (vec!["init", &model, "--out", "-", "--data", "absent.npy"], "absent.npy"),
        (vec!["init", &config, "--out", "-"], "deploy.toml"),
    ] {
        let (code, printed) = said(&arguments);
        assert!(code == 1 && printed.contains(words), "{code} {printed}");
    }
    assert_eq!(fs::read(&config).unwrap(), before);
}
