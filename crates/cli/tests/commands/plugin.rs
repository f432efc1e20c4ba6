//! Tests of `strait plugin`.

use std::{fs, path::Path, process::Command};

use strait_samples::{NumberType, Pack, encode};

use super::{Bench, repository, run, text};

#[cfg(unix)]
#[test]
fn a_new_table_passes_the_kit_and_says_what_was_not_checked() {
    let bench = Bench::new();
    let folder = bench.path("my-npu");
    let done = run(&["plugin", "new", "my-npu", "--lang", "toml", "--folder", &folder]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for file in ["README.md", "check.sh", "my-npu.toml"] {
        assert!(fs::metadata(format!("{folder}/{file}")).is_ok(), "{file}");
    }
    // Run the command from the project's README in another folder.
    let done = Command::new(format!("{folder}/check.sh"))
        .env("STRAIT", env!("CARGO_BIN_EXE_strait"))
        .output()
        .unwrap();
    let shown = text(&done.stdout);
    assert!(done.status.success(), "{shown}{}", text(&done.stderr));
    assert!(
        shown.contains("my-npu 0.1.0") && shown.contains("the host computes its own definition"),
        "{shown}"
    );
    assert!(shown.contains(", 0 failed, "), "{shown}");
    // A model compiles for the new target.
    let table = format!("target.file=['{folder}/my-npu.toml']");
    let done = bench.compile(&["--set", &table, "--set", "target.use=['my-npu']"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
}

/// Whether a command is installed. If it is not, prints that the test is skipped.
fn is_there(command: &str) -> bool {
    let there = Command::new(command).arg("--version").output();
    let there = there.is_ok_and(|done| done.status.success());
    if !there {
        println!("skipped: no {command} on this machine");
    }
    there
}

#[cfg(unix)]
#[test]
fn a_new_library_in_c_builds_without_warnings_and_passes_its_test_and_the_kit() {
    let bench = Bench::new();
    let folder = bench.path("my-npu");
    let done = run(&["plugin", "new", "my-npu", "--lang", "c", "--folder", &folder]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for header in ["strait_plugin.h", "strait_ir.h"] {
        let ours = fs::read(repository("include").join(header)).unwrap();
        assert!(fs::read(format!("{folder}/{header}")).unwrap() == ours, "{header}");
    }
    if !is_there("cc") || !is_there("make") {
        return;
    }
    let built = Command::new("make")
        .args([
            "check",
            "CFLAGS=-O1 -Werror -pedantic -Wshadow -Wstrict-prototypes",
            &format!("STRAIT={}", env!("CARGO_BIN_EXE_strait")),
        ])
        .current_dir(&folder)
        .output()
        .unwrap();
    let shown = text(&built.stdout);
    assert!(built.status.success(), "{shown}{}", text(&built.stderr));
    // The only unchecked lines are those that need recordings and those for functions that this library does not have.
    let skipped: Vec<&str> = shown.lines().filter(|line| line.contains("not checked  ")).collect();
    assert!(
        shown.contains("my-npu 0.1.0")
            && skipped
                .iter()
                .all(|line| line.contains("record") || line.contains("the library has no")),
        "{shown}"
    );
}

#[test]
fn a_new_crate_has_its_table_its_code_its_program_and_its_test() {
    let bench = Bench::new();
    let folder = bench.path("my-npu");
    let mut arguments = vec!["plugin", "new", "my-npu", "--lang", "rust", "--folder", &folder];
    let done = run(&arguments);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("with --strait"), "{}", text(&done.stderr));
    let strait = repository("").to_string_lossy().into_owned();
    arguments.extend(["--strait", &strait]);
    assert!(run(&arguments).status.success());
    let read = |file: &str| fs::read_to_string(format!("{folder}/{file}")).unwrap();
    // Of Strait's crates, the project depends only on the SDK.
    for file in ["Cargo.toml", "library/Cargo.toml"] {
        let manifest = read(file);
        let ours: Vec<&str> = manifest.lines().filter(|line| line.starts_with("strait-")).collect();
        assert!(
            ours.len() == 1 && ours[0].starts_with("strait-plugin-sdk = { path = "),
            "{manifest}"
        );
    }
    for file in [
        "Cargo.toml",
        "target.toml",
        "README.md",
        "src/lib.rs",
        "library/Cargo.toml",
        "library/src/lib.rs",
        "program/Cargo.toml",
        "program/src/main.rs",
        "program/tests/kit.rs",
    ] {
        let text = read(file);
        assert!(
            !["NAME", "STRAIT_", "CRATE ", "CRATE_", "RUST_"]
                .iter()
                .any(|word| text.contains(word)),
            "{file}: {text}"
        );
    }
    // `--strait` also takes the address of a git repository.
    let other = bench.path("from-git");
    let address = "https://example.org/strait.git";
    let done = run(&[
        "plugin", "new", "my-npu", "--lang", "rust", "--folder", &other, "--strait", address,
    ]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let manifest = fs::read_to_string(format!("{other}/program/Cargo.toml")).unwrap();
    assert!(
        manifest.contains(&format!("strait-cli = {{ git = {address:?} }}")),
        "{manifest}"
    );
}

#[test]
fn a_folder_that_is_not_empty_is_left_alone_and_names_are_checked() {
    let bench = Bench::new();
    let folder = bench.path("there");
    fs::create_dir(&folder).unwrap();
    fs::write(format!("{folder}/mine"), "").unwrap();
    let done = run(&["plugin", "new", "my-npu", "--lang", "toml", "--folder", &folder]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("is not empty"), "{}", text(&done.stderr));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    for name in ["My-npu", "1st", "a--b", "a/b", "", "a-", "../up"] {
        assert_eq!(
            run(&["plugin", "new", name, "--lang", "toml"]).status.code(),
            Some(2),
            "{name}"
        );
    }
}

#[test]
fn names_that_could_not_be_built_or_told_from_others_are_refused() {
    let bench = Bench::new();
    let folder = bench.path("new");
    let strait = repository("").to_string_lossy().into_owned();
    for (name, language, why) in [
        ("fn", "rust", "no crate in Rust"),
        ("self", "rust", "no crate in Rust"),
        ("std", "rust", "no crate in Rust"),
        ("proc-macro", "rust", "no crate in Rust"),
        ("strait-cli", "rust", "the crates of Strait"),
        ("strait", "c", "the crates of Strait"),
        ("sima", "toml", "a target of this program"),
        ("generic-int8", "rust", "a target of this program"),
    ] {
        let done = run(&[
            "plugin", "new", name, "--lang", language, "--folder", &folder, "--strait", &strait,
        ]);
        assert_eq!(done.status.code(), Some(1), "{name}");
        assert!(text(&done.stderr).contains(why), "{name}: {}", text(&done.stderr));
        assert!(!Path::new(&folder).exists(), "{name}");
    }
    let done = run(&["plugin", "new", "fn", "--lang", "c", "--folder", &folder]);
    assert!(done.status.success(), "{}", text(&done.stderr));
}

#[test]
fn a_target_of_the_program_passes_and_what_is_wrong_is_said() {
    let done = run(&["plugin", "check", "generic-int8", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(json["ok"], true);
    let bench = Bench::new();
    let wrong = bench.path("wrong.toml");
    fs::write(&wrong, "schema = 1\nid = \"x\"\n").unwrap();
    for (subject, part) in [
        ("generic-in8", "did you mean"),
        (wrong.as_str(), "wrong.toml"),
        ("nowhere.toml", "cannot read nowhere.toml"),
        ("nowhere.so", "it cannot be read"),
    ] {
        let done = run(&["plugin", "check", subject]);
        assert_eq!(done.status.code(), Some(1), "{subject}");
        assert!(text(&done.stderr).contains(part), "{subject}: {}", text(&done.stderr));
    }
    let done = run(&["plugin", "check", "sima", "--option", "nothing=1"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("nothing"), "{}", text(&done.stderr));
}

/// Writes recorded vectors of a layer that computes x · 0x55555555 / 2^39, rounded half up, plus 3.
fn record(path: &str) {
    let sums: Vec<i32> = (-40_000..40_000).collect();
    let code = |&sum: &i32| ((((i128::from(sum) * 0x5555_5555) + (1 << 38)) >> 39) + 3) as i8;
    let codes: Vec<u8> = sums.iter().map(|sum| code(sum).cast_unsigned()).collect();
    let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
    let mut pack = Pack::default();
    for (name, ty, bytes) in [
        ("conv1/accumulator.npy", NumberType::I32, bytes),
        ("conv1/output.npy", NumberType::I8, codes),
    ] {
        pack.add(name, &encode(ty, &[sums.len()], &bytes)).unwrap();
    }
    fs::write(path, pack.finish().unwrap()).unwrap();
}

#[test]
fn what_a_table_was_measured_by_is_replayed_from_beside_it() {
    let bench = Bench::new();
    let (table, recorded) = (bench.path("vendor.toml"), bench.path("b0.npz"));
    record(&recorded);
    let digest = strait_plugin_host::sha256(Path::new(&recorded)).unwrap();
    let template = include_str!("../../templates/target.toml").replace("NAME", "vendor-npu");
    let write = |digest: &str| {
        let silicon = format!(
            "[silicon]\nfidelity = \"silicon\"\nevidence = [{{ file = \"b0.npz\", sha256 = \"{digest}\" }}]\n\n[types]"
        );
        fs::write(&table, template.replacen("[types]", &silicon, 1)).unwrap();
    };
    write(&digest);
    let shown = |more: &[&str]| {
        let done = run(&[&["plugin", "check", &table][..], more].concat());
        (done.status.code(), text(&done.stdout))
    };
    let (code, said) = shown(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("form scale31 gives all 80000 outputs") && said.contains("the fidelity is silicon; 1 files"),
        "{said}"
    );
    write(&digest.replace(|letter: char| letter.is_ascii_digit(), "a"));
    let (code, said) = shown(&[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("b0.npz: its SHA-256 is "), "{said}");
    // The recording may also be in another folder, given with `--vectors`.
    let elsewhere = bench.path("elsewhere.npz");
    fs::rename(&recorded, &elsewhere).unwrap();
    write(&digest);
    let (code, said) = shown(&[]);
    assert_eq!((code, said.contains("not given: b0.npz")), (Some(0), true), "{said}");
    let (code, said) = shown(&["--vectors", &elsewhere]);
    assert_eq!((code, said.contains("1 files")), (Some(0), true), "{said}");
}
