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
        // The artifact takes the bytes.
        "[input.image]",
        "layout = \"NCHW\"",
        "device = { type = \"uint8\", layout = \"NHWC\" }",
        "embed  = \"normalize\"",
    ] {
        assert!(text.lines().any(|own| own == line), "{line}:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    compiled(&config, &folder);
    // Nothing is left in front of the first layer, on any target.
    for target in ["sima", "generic-int8", "ascend", "onnxruntime"] {
        let target = format!("target.use=['{target}']");
        let (code, printed) = said(&["check", &config, "--set", &target]);
        assert!(
            code == 0 && printed.contains("layers run on the accelerator"),
            "{printed}"
        );
    }
}

#[test]
fn what_cannot_be_told_of_a_camera_is_a_comment() {
    let folder = tempfile::tempdir().unwrap();
    let (config, _) = drafted(&folder, &[]);
    let text = fs::read_to_string(&config).unwrap();
    let lines = [
        "# [input.image]",
        "# layout = \"NCHW\"",
        "# device = { type = \"uint8\", layout = \"NHWC\" }",
        "# embed  = \"normalize\"",
    ];
    for line in lines {
        assert!(text.lines().any(|own| own == line), "{line}:\n{text}");
    }
    // The lines are right as they are.
    let uncommented: Vec<&str> = (text.lines())
        .map(|line| if lines.contains(&line) { &line[2..] } else { line })
        .collect();
    fs::write(&config, uncommented.join("\n")).unwrap();
    compiled(&config, &folder);
}

#[test]
fn any_letter_of_a_path_can_stand_in_a_draft() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("d\u{7f}i\u{1b}g\\i\"t\ns");
    fs::create_dir(&odd).unwrap();
    let at = |name: &str| odd.join(name).to_string_lossy().into_owned();
    for name in ["digits.onnx", "calib_x.npy"] {
        fs::copy(digits(name), at(name)).unwrap();
    }
    let out = folder.path().join("deploy.toml").to_string_lossy().into_owned();
    let (code, printed) = said(&["init", &at("digits.onnx"), "--data", &at("calib_x.npy"), "--out", &out]);
    assert_eq!(code, 0, "{printed}");
    let (code, printed) = said(&["check", &out]);
    assert_eq!(code, 0, "{printed}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStringExt as _;
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join(std::ffi::OsString::from_vec(b"m\xff.onnx".to_vec()));
    fs::copy(digits("digits.onnx"), &odd).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_strait"))
        .args(["init".as_ref(), odd.as_os_str(), "--out".as_ref(), "-".as_ref()])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1) && printed.contains("is not UTF-8"),
        "{printed}"
    );
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
