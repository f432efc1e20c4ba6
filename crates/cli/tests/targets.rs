//! Tests of the targets in the binary, and of one target that is not linked in.
//!
//! This test does not use the command-line library, so no target crate is linked into it. It reads the target that it
//! compiles for from a file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{
    fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process::Command,
};

use strait_driver::{
    config, pipeline,
    session::{Session, Silent},
};
use strait_kernels::Context;
use strait_target::Registry;

fn strait(arguments: &[&str]) -> String {
    let done = Command::new(env!("CARGO_BIN_EXE_strait"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{arguments:?}: {}", text(&done.stderr));
    text(&done.stdout)
}

#[test]
fn the_expected_targets_are_registered_in_the_binary() {
    let listed: serde_json::Value = serde_json::from_str(&strait(&["targets", "--json"])).unwrap();
    let targets = listed["targets"].as_array().unwrap();
    let ids: Vec<&str> = targets.iter().filter_map(|target| target["id"].as_str()).collect();
    assert_eq!(ids, ["ascend", "generic-int8", "onnxruntime", "sima"]);
}

#[test]
fn the_version_names_the_packages_of_the_targets() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(strait(&["-V"]), format!("strait {version}\n"));
    let long = strait(&["--version"]);
    let expected = format!(
        "strait {version}\ntargets: strait-target-ascend {version}, strait-target-generic-int8 {version}, \
         strait-target-onnxruntime {version}, strait-target-sima-mla {version}\n"
    );
    assert!(
        long.starts_with(&expected) && long.contains("instruction sets: "),
        "{long}"
    );
}

#[test]
fn a_sheet_fits_its_lines_and_speaks_the_words_of_tables() {
    let tables = ["ascend", "generic-int8", "onnxruntime", "sima-mla"].map(|folder| {
        let file = repository().join("targets").join(folder).join("target.toml");
        fs::read_to_string(file).unwrap()
    });
    let tables = tables.concat();
    for id in ["ascend", "generic-int8", "onnxruntime", "sima"] {
        let shown = strait(&["targets", id]);
        assert!(shown.lines().all(|line| line.chars().count() <= 120), "{shown}");
        let listed: serde_json::Value = serde_json::from_str(&strait(&["targets", id, "--json"])).unwrap();
        for form in listed["forms"].as_array().unwrap() {
            let kind = form["kind"].as_str().unwrap();
            assert!(tables.contains(kind), "{kind}");
            assert!(shown.contains(kind), "{kind}: {shown}");
        }
        let notes = ["ops", "forms", "fusions"].map(|part| listed[part].as_array().unwrap().clone());
        for note in notes.concat().iter().filter_map(|line| line["note"].as_str()) {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words(&shown).contains(&words(note)), "{note}: {shown}");
        }
    }
}

#[test]
fn a_version_that_hides_a_difference_ends_with_3_and_one_that_tells_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let new = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/targets/acme-npu2.toml");
    let old = folder.path().join("old.toml");
    let compare = |changes: &[(&str, &str)], json: bool| {
        let text = changes
            .iter()
            .fold(fs::read_to_string(&new).unwrap(), |text, (now, then)| {
                assert!(text.contains(now), "{now}");
                text.replacen(now, then, 1)
            });
        fs::write(&old, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_strait"));
        command
            .args(["targets", "acme-npu2", "--file"])
            .arg(&new)
            .arg("--against")
            .arg(&old);
        let done = command.args(json.then_some("--json")).output().unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        (done.status.code(), text + &String::from_utf8_lossy(&done.stderr))
    };
    let (code, text) = compare(&[], false);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("The tables say the same."), "{text}");

    let rounding = ("rounding = \"half_up\"", "rounding = \"half_even\"");
    let (code, text) = compare(&[rounding], false);
    assert_eq!(code, Some(3), "{text}");
    for part in [
        "decides bits (major)",
        "form.scale31 kind.multiply_shift.rounding: half_even -> half_up",
        "stayed",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let version = fs::read_to_string(&new).unwrap();
    let version = version
        .lines()
        .find(|line| line.starts_with("version"))
        .unwrap()
        .to_owned();
    let (code, text) = compare(&[rounding, (&version, "version = \"1.9.0\"")], true);
    assert_eq!(code, Some(0), "{text}");
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["says"], "major");
    assert_eq!(found["agrees"], true);
    assert_eq!(found["changes"][0]["effect"], "other_bits");
    assert_eq!(found["changes"][0]["new"], "half_up");

    let (code, text) = compare(&[("id      = \"acme-npu2\"", "id      = \"acme-npu1\"")], false);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("is a table of `acme-npu1`"), "{text}");
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// A configuration that compiles the digits model for a target.
fn configuration(target: &str, table: &str, out: &str) -> String {
    let quoted = |path: &str| toml_string(&repository().join(path));
    format!(
        "schema = 1\n[model]\nfile = {}\nbind = {{ N = 1 }}\n[preprocess]\nstored = {{ layout = \"NHWC\" }}\n\
         steps = [{{ scale = 0.0625 }}, {{ layout = \"NCHW\" }}]\n[target]\nuse = [\"{target}\"]\n{table}\n\
         [calibration]\ndata = {}\nsamples = 16\n[output]\ndir = \"{out}\"\n",
        quoted("models/digits/digits.onnx"),
        quoted("models/digits/calib_x.npy"),
    )
}

#[test]
fn a_table_that_extends_another_is_one_target_whose_artifact_names_both() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let below = fs::read_to_string(repository().join("configs/targets/acme-npu2.toml")).unwrap();
    fs::write(path("below.toml"), &below).unwrap();
    let own = |digest: &str| {
        format!(
            "schema = 2\nid = \"acme-npu3\"\nversion = \"3.0.0\"\n\
             extends = {{ file = \"below.toml\", sha256 = \"{digest}\" }}\n[form.scale31.kind]\nmultiply_shift = {{ rounding = \"half_even\" }}\n"
        )
    };
    // The author of a configuration may not know the digest of the table yet. The error message contains it.
    fs::write(path("own.toml"), own(&"0".repeat(64))).unwrap();
    let shown = Command::new(env!("CARGO_BIN_EXE_strait"))
        .args(["targets", "acme-npu3", "--file", &path("own.toml")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&shown.stderr).into_owned();
    let digest = said
        .split("it is ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next());
    let digest = digest.unwrap_or_else(|| panic!("{said}")).to_owned();
    assert!(!shown.status.success() && digest.len() == 64, "{said}");
    fs::write(path("own.toml"), own(&digest)).unwrap();
    let sheet = strait(&["targets", "acme-npu3", "--file", &path("own.toml")]);
    assert!(
        sheet.contains(&format!("extends: acme-npu2 2.1.0 ({})", &digest[..12])),
        "{sheet}"
    );
    assert!(sheet.contains("vendor: Acme Semiconductor"), "{sheet}");

    // The comparison looks at the merged table.
    let flat = [("\"acme-npu2\"", "\"acme-npu3\""), ("\"2.1.0\"", "\"3.0.0\"")];
    let flat = flat
        .iter()
        .fold(below.clone(), |text, (from, to)| text.replacen(from, to, 1));
    let rounding = "shift = { min = 1, max = 46 }, rounding = \"half_up\"";
    assert!(flat.contains(rounding));
    let flat = flat.replacen(rounding, &rounding.replace("half_up", "half_even"), 1);
    fs::write(path("flat.toml"), flat).unwrap();
    let compared = [
        "targets",
        "acme-npu3",
        "--file",
        &path("own.toml"),
        "--against",
        &path("flat.toml"),
        "--json",
    ];
    let compared = Command::new(env!("CARGO_BIN_EXE_strait"))
        .args(compared)
        .output()
        .unwrap();
    let compared: serde_json::Value = serde_json::from_slice(&compared.stdout).unwrap();
    let changes = compared["changes"].as_array().unwrap();
    assert_eq!(
        (changes.len(), &changes[0]["key"]),
        (1, &"extends".into()),
        "{compared}"
    );

    let config = |file: &str, out: &str| {
        let table = format!("file = [{}]", toml_string(&folder.path().join(file)));
        fs::write(
            path(&format!("{out}-config.toml")),
            configuration("acme-npu3", &table, out),
        )
        .unwrap();
        strait(&["compile", &path(&format!("{out}-config.toml"))]);
    };
    config("own.toml", "own");
    config("flat.toml", "flat");
    let model = |out: &str| fs::read(folder.path().join(out).join("model.strait")).unwrap();
    assert!(!model("own").is_empty() && model("own") == model("flat"));
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("own/manifest.json")).unwrap()).unwrap();
    let base = serde_json::json!({ "id": "acme-npu2", "sha256": digest, "version": "2.1.0" });
    assert_eq!(
        manifest["target"]["origin"],
        serde_json::json!({ "table": { "extends": [base] } })
    );

    // Verifying an artifact does not need the files of the tables. If a file is given, the result says whether the
    // artifact was made with this table.
    let alone = strait(&["verify", &path("own")]);
    let made = format!("a table in a file on acme-npu2 2.1.0 with SHA-256 {digest}");
    assert!(alone.contains(&made) && !alone.contains("registered here"), "{alone}");
    let verified = |file: &str| strait(&["verify", &path("own"), "--file", &path(file)]);
    let same = verified("own.toml");
    assert!(
        same.contains("computed by the kernels that are registered") && !same.contains("registered here"),
        "{same}"
    );
    let other = verified("flat.toml");
    assert!(
        other.contains("the target that is registered here is a table in a file\n"),
        "{other}"
    );
    assert!(other.contains("is registered with another table"), "{other}");
}

#[test]
fn generic_int8_from_its_file_and_built_in_give_the_same_bytes() {
    assert_eq!(Registry::builtin().unwrap().entries().count(), 0);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let built_in = file("built-in.toml", configuration("generic-int8", "", "built-in"));
    strait(&["compile", built_in.to_str().unwrap()]);

    let table = toml_string(&repository().join("targets/generic-int8/target.toml"));
    let from_file = configuration("generic-int8", &format!("file = [{table}]"), "from-file");
    let from_file = file("from-file.toml", from_file);
    let loaded = config::load(&from_file, &[]).unwrap_or_else(|_| panic!("the configuration is refused"));
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let compiled = pipeline::compile(&loaded, Registry::default(), &session);
    let compiled = compiled.unwrap_or_else(|error| panic!("it does not compile: {error}"));
    assert_eq!(compiled.len(), 1);

    let bytes = |out: &str| fs::read(folder.path().join(out).join("model.strait")).unwrap();
    assert!(!bytes("built-in").is_empty() && bytes("built-in") == bytes("from-file"));
}

/// A path as a TOML string, with forward slashes on every system.
fn toml_string(path: &Path) -> String {
    let path = path.to_str().unwrap().trim_start_matches(r"\\?\").replace('\\', "/");
    format!("\"{path}\"")
}
