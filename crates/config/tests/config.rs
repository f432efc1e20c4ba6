//! Tests of configurations and of the messages about them. Each `config/bad/NAME.toml` has the expected messages in
//! `NAME.txt`, which `STRAIT_BLESS=1` rewrites. Lines `#: --set KEY=VALUE` at the top of a file are arguments of the
//! command line.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use strait_config::{self as config, KeyPath, Override, preprocess::plan, types::*};
use strait_document::Diagnostics;
use strait_samples::SampleSource;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/config");

/// The configurations of one folder, by name.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(FOLDER).join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(!files.is_empty());
    files
}

/// Parses a configuration as if it were in the folder `there`.
fn parse(file: &Path) -> Result<config::Loaded, Diagnostics> {
    let text = fs::read_to_string(file).unwrap().replace("\r\n", "\n");
    let overrides: Vec<Override> = text
        .lines()
        .map_while(|line| line.strip_prefix("#: --set "))
        .map(Override::set)
        .collect();
    config::parse("deploy.toml", text, Path::new("there"), &overrides)
}

#[test]
fn bad_configurations_are_told_what_is_wrong() {
    for file in files("bad") {
        let name = file.file_name().unwrap().to_string_lossy();
        let Err(findings) = parse(&file) else {
            panic!("{name} is accepted")
        };
        let found = format!("{findings}\n");
        assert!(!found.contains("C999"), "{name}: {found}");
        let expected = Path::new("crates/config/tests/config/bad")
            .join(&*name)
            .with_extension("txt");
        strait_testkit::is_current(&expected.to_string_lossy(), &found);
    }
}

#[test]
fn good_configurations_are_accepted() {
    for file in files("good") {
        if let Err(findings) = parse(&file) {
            panic!("{}: {findings}", file.display());
        }
    }
}

fn good(name: &str) -> config::Loaded {
    parse(&Path::new(FOLDER).join("good").join(name)).unwrap()
}

#[test]
fn nine_lines_are_complete_and_the_rest_has_defaults() {
    let config = good("smallest.toml").config;
    assert_eq!(config.target.ids, ["generic-int8"]);
    assert_eq!(config.model.file.as_ref(), Path::new("there/model.onnx"));
    assert_eq!(config.calibration.cache.as_ref(), Path::new("there/.strait/cache"));
    assert_eq!(config.output.dir.of_target("sima"), Path::new("there/build/sima"));
    assert_eq!(
        config.fusion,
        Fusion {
            accept: None,
            max_lsb: None,
            refused: Refused::Keep
        }
    );
    assert_eq!((config.calibration.observer, config.calibration.samples), (None, None));
    assert_eq!(config.evaluation, None);
}

#[test]
fn the_command_line_wins_and_its_paths_are_its_own() {
    let text = fs::read_to_string(Path::new(FOLDER).join("good/smallest.toml")).unwrap();
    let overrides = [
        Override::model("other/model.onnx"),
        Override::targets(vec!["sima".into(), "ascend".into()]),
        Override::calibration("calib.npz"),
        Override::output("out/{target}"),
        Override::set("calibration.samples = 32"),
        Override::set(r#"input."odd.name:0".range=[-1,1]"#),
        Override::set("calibration.samples=64"),
    ];
    let config = config::parse("deploy.toml", text, Path::new("there"), &overrides)
        .unwrap()
        .config;
    assert_eq!(config.model.file.as_ref(), Path::new("other/model.onnx"));
    assert_eq!(config.target.ids, ["sima", "ascend"]);
    let set = config
        .calibration
        .data
        .as_ref()
        .unwrap()
        .set(config.calibration.samples, config.calibration.unreadable);
    assert_eq!(set.source, SampleSource::Path("calib.npz".into()));
    assert_eq!(config.output.dir.of_target("sima"), Path::new("out/sima"));
    assert_eq!(config.calibration.samples.map(u32::from), Some(64));
    assert_eq!(config.input["odd.name:0"].range.unwrap().0, [-1.0, 1.0]);
}

#[test]
fn a_folder_for_several_targets_is_blamed_on_the_option_that_names_it() {
    let text = fs::read_to_string(Path::new(FOLDER).join("good/smallest.toml")).unwrap();
    let targets = Override::targets(vec!["sima".into(), "ascend".into()]);
    for (folder, help) in [
        (Override::output("out"), "--out \"DIR/{target}\""),
        (Override::set("output.dir='out'"), "it: \"build/{target}\""),
    ] {
        let overrides = [targets.clone(), folder];
        let findings = config::parse("deploy.toml", text.clone(), Path::new(""), &overrides).unwrap_err();
        assert!(findings.0[0].help[0].ends_with(help), "{:?}", findings.0[0].help);
    }
}

#[test]
fn every_key_can_be_used_at_once() {
    let loaded = good("everything.toml");
    let config = &loaded.config;
    assert_eq!(config.quantize.rule.len(), 4);
    assert_eq!(config.target.options["sima"]["mode"].0.as_str(), Some("tflite"));
    assert_eq!(config.gate.accuracy_drop["top1"].points, 1.0);
    assert!(loaded.has(&KeyPath::of(&["quantize", "rule"]).index(3).key("range")));
    assert!(!loaded.has(&KeyPath::of(&["quantize", "rule"]).index(1).key("range")));
}

/// Adds to `found` the keys of the schema that none of the values has. Tables whose keys the user chooses, and steps,
/// are searched like lists.
fn unused(schema: &Value, values: &[&toml::Value], path: &str, found: &mut Vec<String>) {
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        let values: Vec<&toml::Value> = values.iter().filter_map(|value| value.get(key)).collect();
        if values.is_empty() {
            found.push(path);
        } else {
            unused(inner, &values, &path, found);
        }
    }
    let tables = values
        .iter()
        .filter_map(|value| value.as_table())
        .flat_map(toml::Table::values);
    if schema["additionalProperties"].is_object() {
        unused(
            &schema["additionalProperties"],
            &tables.collect::<Vec<_>>(),
            path,
            found,
        );
    }
    let elements: Vec<&toml::Value> = values.iter().filter_map(|value| value.as_array()).flatten().collect();
    if schema["items"].is_object() {
        unused(&schema["items"], &elements, path, found);
    }
    let alternatives = ["oneOf", "anyOf"].map(|word| schema[word].as_array());
    for alternative in alternatives.into_iter().flatten().flatten() {
        unused(alternative, values, path, found);
    }
}

#[test]
fn the_files_of_every_key_have_every_key() {
    // No single observer uses all settings of observers, so there are several files.
    let files = ["everything", "observers", "images", "record"].map(|name| format!("good/{name}.toml"));
    let texts = files.map(|file| fs::read_to_string(Path::new(FOLDER).join(file)).unwrap());
    let values = texts.map(|text| toml::from_str(&text).unwrap());
    let mut found = Vec::new();
    unused(&config::json_schema(), &values.each_ref(), "", &mut found);
    assert!(found.is_empty(), "{found:?}");
}

/// The check is made from the schema, and serde reads the types. Every document that the check accepts must also be
/// readable.
#[test]
fn whatever_the_check_accepts_can_be_read() {
    let text = fs::read_to_string(Path::new(FOLDER).join("good/everything.toml")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let values = [
        "true",
        "0",
        "-1",
        "300",
        "1.5",
        "9223372036854775807",
        "\"\"",
        "\"N\"",
        "[]",
        "[1]",
        "[[]]",
        "{}",
        "1979-05-27",
    ];
    let mut accepted = 0;
    for (position, line) in lines.iter().enumerate() {
        let key = line.split('=').next().filter(|key| key.len() < line.len());
        let changed = key
            .into_iter()
            .flat_map(|key| values.iter().map(move |value| format!("{key}= {value}")));
        for changed in changed.chain(["".to_owned(), "x = 1".to_owned()]) {
            let mut lines = lines.clone();
            lines[position] = &changed;
            match config::parse("deploy.toml", lines.join("\n"), Path::new(""), &[]) {
                Ok(_) => accepted += 1,
                Err(findings) => assert!(findings.0.iter().all(|finding| finding.code != "C999"), "{findings}"),
            }
        }
    }
    assert!(accepted > 50, "{accepted}");
    for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
        if let Err(findings) = config::parse("deploy.toml", text[..end].to_owned(), Path::new(""), &[]) {
            assert!(findings.0.iter().all(|finding| finding.code != "C999"), "{findings}");
        }
    }
}

#[test]
fn later_checks_point_at_the_line() {
    let loaded = good("everything.toml");
    let path = KeyPath::of(&["target", "options", "sima", "mode"]);
    let found = loaded
        .error("T007", &path, "no such mode", "expected one of ...")
        .to_json();
    assert_eq!(
        (&found["text"], &found["code"]),
        (&"mode = \"tflite\"".into(), &"T007".into())
    );
    assert_eq!(found["file"], "deploy.toml");
    // An error about a missing key is reported at the table that would contain the key.
    let path = KeyPath::of(&["target", "options", "sima", "absent"]);
    assert_eq!(
        loaded.error("T008", &path, "needed", "").to_json()["text"],
        "[target.options.sima]"
    );
}

#[test]
fn settings_do_not_depend_on_the_machine_or_on_other_targets() {
    let everything = good("everything.toml");
    let settings = everything.settings_for("sima");
    assert_eq!(
        settings["target"],
        serde_json::json!({ "options": { "sima": { "mode": "tflite" } } })
    );
    // They do not depend on who vouches for a plugin either.
    assert_eq!((settings.get("plugin"), settings.get("trust")), (None, None));
    let text = settings.to_string();
    assert!(!text.contains("there") && !text.contains("model.onnx"), "{text}");
    assert_ne!(settings, everything.settings_for("generic-int8"));
}

#[test]
fn preprocessing_is_resolved_to_axes() {
    for (name, expected) in [
        (
            "torch.toml",
            r#"{"stored":"NHWC","layout":"NCHW","operations":[{"scale":0.003921569},{"normalize_channels":{"axis":3,"mean":[0.485,0.456,0.406],"std":[0.229,0.224,0.225]}},{"permute":{"axes":[0,3,1,2]}}]}"#,
        ),
        (
            "tensorflow.toml",
            r#"{"stored":"NHWC","layout":"NCHW","operations":[{"normalize_all":{"mean":127.5,"std":127.5}},{"permute":{"axes":[0,3,1,2]}}]}"#,
        ),
        (
            "caffe.toml",
            r#"{"stored":"NHWC","layout":"NCHW","operations":[{"permute":{"axes":[0,3,1,2]}},{"swap_colors":{"axis":1}},{"normalize_channels":{"axis":1,"mean":[104.0,117.0,123.0],"std":[1.0,1.0,1.0]}}]}"#,
        ),
        (
            "keywords.toml",
            r#"{"stored":null,"layout":null,"operations":[{"offset":-83.0},{"scale":0.5847029}]}"#,
        ),
    ] {
        let plan = plan(&good(name).config.preprocess).unwrap();
        let expected: Value = serde_json::from_str(expected).unwrap();
        let found: Value = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(found, expected, "{name}");
    }
}

/// Writes the bytes to a file, loads the file, and returns the messages.
fn load(bytes: &[u8]) -> Result<config::Loaded, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deploy.toml");
    fs::write(&file, bytes).unwrap();
    config::load(&file, &[]).map_err(|findings| findings.0[0].message.clone())
}

#[test]
fn files_that_are_no_text_are_refused() {
    let smallest = fs::read(Path::new(FOLDER).join("good/smallest.toml")).unwrap();
    let with_mark: Vec<u8> = [&[0xef, 0xbb, 0xbf], smallest.as_slice()].concat();
    assert!(load(&with_mark).is_ok());
    let utf16: Vec<u8> = [0xff, 0xfe, b's', 0].into();
    assert_eq!(
        load(&utf16).unwrap_err(),
        "the configuration is UTF-16; save it as UTF-8"
    );
    let broken = [smallest.as_slice(), b"# \xff"].concat();
    assert_eq!(
        load(&broken).unwrap_err(),
        "the configuration is not UTF-8 from line 10 on (byte 138)"
    );
    let mut large = smallest;
    large.resize(10 << 20, b'\n');
    assert!(load(&large).is_ok());
    large.push(b'\n');
    assert!(load(&large).unwrap_err().ends_with("at most 10485760 are read"));
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("absent.toml")] {
        let findings = config::load(&path, &[]).unwrap_err();
        assert_eq!(findings.0[0].code, "C001");
        assert!(findings.to_string().contains(&path.display().to_string()));
    }
}

#[test]
fn garbage_does_no_harm() {
    let deep = format!("{} = 1", ["a"; 100_000].join("."));
    let nested = format!("a = {}", "[".repeat(100_000));
    let wide = format!("schema = 1\n{}", "x = {}\n".repeat(1_000));
    let long = format!("schema = 1\nkey = \"{}\"", "ä".repeat(5_000_000));
    let zeros = "\0".repeat(1_000);
    for text in [
        "",
        "\n",
        "=",
        "[",
        "[[",
        "\"",
        "schema",
        "schema = ",
        &deep,
        &nested,
        &wide,
        &long,
        &zeros,
    ] {
        let findings = config::parse("deploy.toml", text.to_owned(), Path::new(""), &[]).unwrap_err();
        assert!(!findings.0.is_empty() && findings.0.len() <= 50);
        let rendered = findings.to_string();
        assert!(!rendered.contains("C999"), "{rendered}");
        findings.to_json();
    }
    for argument in [
        "",
        "=",
        "a",
        "a=",
        "=1",
        "a.=1",
        "a=1\nb=2",
        "[a]\nb=1",
        "a=[",
        "a.b=ä",
        "schema.x=1",
        &deep,
    ] {
        let text = fs::read_to_string(Path::new(FOLDER).join("good/smallest.toml")).unwrap();
        let findings = config::parse("deploy.toml", text, Path::new(""), &[Override::set(argument)]).unwrap_err();
        assert_eq!(
            findings.0[0].excerpt.as_ref().unwrap().source.name,
            "--set",
            "{argument}"
        );
    }
}
