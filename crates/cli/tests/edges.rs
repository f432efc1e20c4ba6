//! Commands with less memory or fewer threads than they ask for, and the messages for input that is almost right.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::copy;

use std::{fs, path::Path};

use copy::{Copy, repository, said};
use strait_samples::{Array, Pack, encode};

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn digits(file: &str) -> String {
    text(&repository("models/digits").join(file))
}

/// Runs a shell command line in which `strait` is this program; returns the exit code and everything printed.
#[cfg(unix)]
fn shell(command: &str) -> (i32, String) {
    let strait = format!("strait() {{ exec {} \"$@\"; }}", env!("CARGO_BIN_EXE_strait"));
    let output = std::process::Command::new("sh")
        .args(["-c", &format!("{strait}; {command}")])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    // There is no exit code if a signal ended the process.
    (output.status.code().unwrap_or(-1), printed)
}

#[cfg(unix)]
#[test]
fn threads_that_cannot_be_had_are_fewer_threads_and_that_is_said() {
    let artifact = Copy::new();
    let out = artifact.folder().with_file_name("y.npy");
    let run = format!(
        "strait run {} --input {} --output {}",
        artifact.path(),
        digits("eval_x.npy"),
        out.display()
    );
    let (code, printed) = shell(&run);
    assert_eq!(code, 0, "{printed}");
    let expected = fs::read(&out).unwrap();
    for (command, told) in [
        (format!("{run} --threads 20000"), "20000 threads are wanted, and "),
        // This much memory is enough for the stacks of only some of the threads.
        (
            format!("ulimit -v 400000; {run} --threads 200"),
            "200 threads are wanted, and ",
        ),
        (format!("RUST_MIN_STACK=1 {run} --threads 3"), ""),
    ] {
        fs::remove_file(&out).unwrap();
        let (code, printed) = shell(&command);
        assert!(code == 0 && printed.contains(told), "{command}: {code} {printed}");
        assert_eq!(fs::read(&out).unwrap(), expected, "{command}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_is_an_error_and_no_signal() {
    let artifact = Copy::new();
    let folder = artifact.folder().with_file_name("small");
    fs::create_dir(&folder).unwrap();
    let (code, printed) = shell(&format!(
        "ulimit -f 8; strait run {} --input {} --output {}",
        artifact.path(),
        digits("eval_x.npy"),
        folder.join("y.npy").display()
    ));
    assert!(code == 1 && printed.contains("cannot be written"), "{code}: {printed}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn an_archive_has_the_samples_of_an_input_that_is_named() {
    let artifact = Copy::new();
    let place = |name: &str| text(&artifact.folder().with_file_name(name));
    let samples = Array::open(Path::new(&digits("eval_x.npy"))).unwrap();
    let member = encode(samples.number_type(), samples.shape(), samples.bytes());
    let mut pack = Pack::default();
    pack.add("image.npy", &member).unwrap();
    fs::write(place("x.npz"), pack.finish().unwrap()).unwrap();
    let run =
        |input: &str, output: &str| said(&["run", &artifact.path(), "--input", input, "--output", &place(output)]);
    for (input, output) in [
        (digits("eval_x.npy"), "1.npy"),
        (place("x.npz"), "2.npy"),
        (format!("image={}", place("x.npz")), "3.npy"),
    ] {
        let (code, printed) = run(&input, output);
        assert_eq!(code, 0, "{input}: {printed}");
    }
    let written = ["1.npy", "2.npy", "3.npy"].map(|name| fs::read(place(name)).unwrap());
    assert!(written[0] == written[1] && written[1] == written[2]);
    // A file of unknown format is not reported as an image.
    fs::write(place("x.txt"), "a.bin\n").unwrap();
    fs::write(place("a.bin"), "x").unwrap();
    let (code, printed) = run(&place("x.txt"), "4.npy");
    assert!(code == 1 && printed.contains("neither an array"), "{printed}");
}

#[test]
fn a_long_name_of_an_output_is_one_like_any_other() {
    let artifact = Copy::new();
    let long = text(&artifact.folder().with_file_name("n".repeat(250)));
    let config = text(&repository("configs/generic-int8.toml"));
    let cache = format!(
        "calibration.cache='{}'",
        text(&artifact.folder().with_file_name("cache"))
    );
    for _ in 0..2 {
        let (code, printed) = said(&["compile", &config, "--out", &long, "--set", &cache]);
        assert_eq!(code, 0, "{printed}");
    }
    assert_eq!(said(&["verify", &long]).0, 0);
    let there = fs::read_dir(artifact.folder().parent().unwrap()).unwrap();
    let hidden = there.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_stays_one_whatever_is_written() {
    let artifact = Copy::new();
    let place = |name: &str| artifact.folder().with_file_name(name);
    fs::create_dir(place("real")).unwrap();
    for name in ["y.npy", "artifact"] {
        std::os::unix::fs::symlink(place("real").join(name), place(&format!("link-{name}"))).unwrap();
    }
    fs::write(place("real/y.npy"), "").unwrap();
    fs::create_dir(place("real/artifact")).unwrap();
    let samples = digits("eval_x.npy");
    let output = text(&place("link-y.npy"));
    let (code, printed) = said(&["run", &artifact.path(), "--input", &samples, "--output", &output]);
    assert_eq!(code, 0, "{printed}");
    let config = text(&repository("configs/generic-int8.toml"));
    let cache = format!("calibration.cache='{}'", text(&place("cache")));
    let out = text(&place("link-artifact"));
    let (code, printed) = said(&["compile", &config, "--out", &out, "--set", &cache]);
    assert_eq!(code, 0, "{printed}");
    for name in ["y.npy", "artifact"] {
        assert!(
            fs::symlink_metadata(place(&format!("link-{name}")))
                .unwrap()
                .is_symlink()
        );
    }
    assert!(fs::metadata(place("real/y.npy")).unwrap().len() > 100);
    assert!(place("real/artifact/manifest.json").is_file());
    // For both commands, a link whose target does not exist is an error.
    fs::remove_file(place("real/y.npy")).unwrap();
    fs::remove_dir_all(place("real/artifact")).unwrap();
    assert_eq!(
        said(&["run", &artifact.path(), "--input", &samples, "--output", &output]).0,
        1
    );
    assert_eq!(said(&["compile", &config, "--out", &out, "--set", &cache]).0, 1);
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_utf_8_is_named() {
    let (code, printed) = shell("strait compile --model $(printf 'a\\377.onnx') --target sima");
    assert!(
        code == 2 && printed.contains("the argument of --model is not UTF-8"),
        "{code}: {printed}"
    );
}

#[test]
fn a_metric_that_compares_needs_something_to_compare_with_and_counts_once() {
    let artifact = Copy::new();
    let (data, labels) = (digits("eval_x.npy"), digits("eval_y.npy"));
    let eval = |more: &[&str]| {
        let folder = artifact.path();
        said(&[&["eval", &folder, "--data", &data, "--labels", &labels][..], more].concat())
    };
    let (code, printed) = eval(&["--metric", "agreement"]);
    assert!(
        code == 1 && printed.contains("compares with another model"),
        "{printed}"
    );
    let (code, printed) = eval(&["--metric", "top1", "--metric", "top1"]);
    assert!(code == 0 && printed.matches("top1").count() == 1, "{printed}");
}

/// If a hundred thousand rules have the same mistake, only the first ones are reported one by one.
#[test]
fn a_hundred_thousand_rules_that_match_nothing_are_twenty_findings_and_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let config = fs::read_to_string(repository("configs/generic-int8.toml")).unwrap();
    let root = text(&repository(""));
    let mut config = config
        .replace("\"../.strait/cache\"", "\"cache\"")
        .replace("\"../", &format!("\"{root}/"));
    for rule in 0..100_000 {
        config += &format!("[[quantize.rule]]\nlayers = [\"/conv{rule}\"]\nrun = \"float\"\n");
    }
    let file = folder.path().join("deploy.toml");
    fs::write(&file, config).unwrap();
    let (code, printed) = said(&["compile", &text(&file)]);
    assert_eq!(code, 1);
    assert_eq!(printed.matches("error[").count(), 21, "{}", &printed[..2000]);
    assert!(
        printed.contains("and 99980 more of this kind"),
        "{}",
        &printed[printed.len() - 500..]
    );
    assert!(printed.contains("near it are"), "{}", &printed[..2000]);
}
