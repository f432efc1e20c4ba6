//! Existing files are kept, and no temporary file is left behind. This covers artifacts, inputs, and files that a
//! process was writing when it was killed.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::copy;

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use copy::{Copy, repository, said};

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn digits(file: &str) -> String {
    text(&repository("models/digits").join(file))
}

/// The sorted names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn nothing_is_written_into_an_artifact() {
    let artifact = Copy::new();
    let before = names(&artifact.folder());
    let inside = |name: &str| text(&artifact.folder().join(name));
    let config = text(&repository("configs/generic-int8.toml"));
    let elsewhere = text(&artifact.folder().with_file_name("other"));
    let cache = format!("calibration.cache='{}'", inside("cache"));
    let samples = digits("eval_x.npy");
    for (arguments, expected) in [
        (
            vec!["compile", &config, "--out", &inside("inner")],
            "lies inside the artifact",
        ),
        (
            vec!["compile", &config, "--out", &inside("deep/er/inner")],
            "lies inside the artifact",
        ),
        (
            vec!["compile", &config, "--out", &elsewhere, "--set", &cache],
            "statistics are not kept in the artifact",
        ),
        (
            vec![
                "run",
                &artifact.path(),
                "--input",
                &samples,
                "--output",
                &inside("new/y.npy"),
            ],
            "outputs are not written into the artifact",
        ),
    ] {
        let (code, message) = said(&arguments);
        assert!(code == 1 && message.contains(expected), "{code}: {message}");
    }
    // Writing outputs into the folder of any artifact is refused, also through a symbolic link.
    let link = artifact.folder().with_file_name("link");
    std::os::unix::fs::symlink(artifact.folder(), &link).unwrap();
    let through = text(&link.join("inner"));
    let (code, message) = said(&["compile", &config, "--out", &through]);
    assert!(code == 1 && message.contains("lies inside the artifact"), "{message}");
    let other = Copy::new();
    let (code, message) = said(&["run", &other.path(), "--input", &samples, "--output", &inside("y.npy")]);
    assert!(code == 1 && message.contains("into the artifact"), "{message}");
    assert_eq!(names(&artifact.folder()), before);
    assert_eq!(artifact.verify(&[]).0, 0);
}

#[test]
fn an_output_never_takes_the_place_of_an_input() {
    let artifact = Copy::new();
    let folder = artifact.folder().with_file_name("samples");
    fs::create_dir(&folder).unwrap();
    let (own, link, first) = (
        folder.join("x.npy"),
        folder.join("link.npy"),
        folder.join("000_logits.npy"),
    );
    fs::copy(digits("eval_x.npy"), &own).unwrap();
    fs::copy(digits("eval_x.npy"), &first).unwrap();
    std::os::unix::fs::symlink(&own, &link).unwrap();
    let before = fs::read(&own).unwrap();
    for (input, output) in [(&own, &own), (&own, &link), (&link, &own), (&first, &folder)] {
        let arguments = [
            "run",
            &artifact.path(),
            "--input",
            &text(input),
            "--output",
            &text(output),
        ];
        let (code, message) = said(&arguments);
        assert!(
            code == 1 && message.contains("is an input, and is not overwritten"),
            "{message}"
        );
        assert!(fs::read(&own).unwrap() == before && fs::read(&first).unwrap() == before);
    }
    let beside = text(&folder.join("y.npy"));
    assert_eq!(
        said(&["run", &artifact.path(), "--input", &text(&own), "--output", &beside]).0,
        0
    );
}

/// Starts a compilation that takes seconds and returns once it has begun to write.
fn begun(folder: &Path) -> Child {
    let count = 30_000;
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 8, 8, 1), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend((0..count * 64).flat_map(|i| ((i % 17) as f32).to_le_bytes()));
    let samples = folder.join("calib.npy");
    fs::write(&samples, bytes).unwrap();
    let cache = format!("calibration.cache='{}'", text(&folder.join("cache")));
    let mut command = Command::new(env!("CARGO_BIN_EXE_strait"));
    command.args([
        "compile",
        &text(&repository("configs/generic-int8.toml")),
        "--threads",
        "1",
    ]);
    command.args([
        "--calibration",
        &text(&samples),
        "--set",
        &cache,
        "--set",
        "calibration.samples=30000",
    ]);
    command.args(["--out", &text(&folder.join("out"))]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let since = Instant::now();
    while !names(folder).iter().any(|name| name.starts_with(".out.strait-")) {
        assert!(since.elapsed() < Duration::from_secs(60), "nothing was begun");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn send(signal: &str, to: &Child) {
    let sent = Command::new("kill").args([signal, &to.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn whatever_signal_ends_a_compilation_nothing_is_left() {
    for (signal, times) in [("-INT", 1), ("-TERM", 1), ("-HUP", 1), ("-TERM", 2)] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = begun(folder.path());
        (0..times).for_each(|_| send(signal, &child));
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        let left = names(folder.path());
        assert!(!left.iter().any(|name| name.contains("out")), "{signal}: {left:?}");
    }
}

#[test]
fn a_read_only_artifact_is_replaced_without_a_trace() {
    /// The id of a user without privileges. If the test runs as root, it runs the program as this user.
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let privileged = fs::metadata(folder.path()).unwrap().uid() == 0;
    let program = folder.path().join("strait");
    if privileged {
        // That user may not be allowed to enter the folder that the program was built in, so copy the program.
        fs::copy(env!("CARGO_BIN_EXE_strait"), &program).unwrap();
        chown(folder.path(), Some(NOBODY), None).unwrap();
    } else {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_strait"), &program).unwrap();
    }
    for file in ["digits.onnx", "calib_x.npy"] {
        fs::copy(digits(file), folder.path().join(file)).unwrap();
    }
    let calibration = "preprocess={ steps = [{ layout = 'NCHW' }], stored = { layout = 'NHWC' } }";
    let compile = || {
        let mut command = Command::new(&program);
        command.current_dir(folder.path());
        command.args([
            "compile",
            "--model",
            "digits.onnx",
            "--calibration",
            "calib_x.npy",
            "--out",
            "out",
        ]);
        command.args(["--target", "generic-int8", "--set", calibration]);
        if privileged {
            command.uid(NOBODY);
        }
        command.output().unwrap()
    };
    let first = compile();
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let before = names(folder.path());
    let empty = out.join("empty");
    fs::create_dir(&empty).unwrap();
    if privileged {
        chown(&empty, Some(NOBODY), None).unwrap();
    }
    for locked in [&empty, &out] {
        fs::set_permissions(locked, fs::Permissions::from_mode(0o555)).unwrap();
    }
    let second = compile();
    assert!(second.status.success(), "{}", String::from_utf8_lossy(&second.stderr));
    assert_eq!(names(folder.path()), before);
    assert!(!empty.exists(), "it was not replaced");

    // An artifact that belongs to another user could be moved aside but not deleted, so the program leaves it in place.
    if privileged {
        let manifest = fs::read(out.join("manifest.json")).unwrap();
        chown(&out, Some(0), Some(0)).unwrap();
        let third = compile();
        let message = String::from_utf8_lossy(&third.stderr).into_owned();
        assert_eq!(third.status.code(), Some(1), "{message}");
        assert!(message.contains("this user may not take away"), "{message}");
        assert_eq!(names(folder.path()), before);
        assert_eq!(fs::read(out.join("manifest.json")).unwrap(), manifest);
    }
}
