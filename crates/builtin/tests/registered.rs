//! A program that links this crate has the built-in targets in its registry.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use strait_builtin as _;
use strait_target::{OptionValue, Options, Origin, Registry, TargetFactory, inventory};

#[test]
fn the_expected_targets_are_registered_and_say_where_they_are_from() {
    let registry = Registry::builtin().unwrap_or_else(|e| panic!("{e}"));
    let found: Vec<(&str, String)> = registry
        .entries()
        .map(|(id, entry)| (id, entry.origin().to_string()))
        .collect();
    let expect = [
        ("ascend", "ascend"),
        ("generic-int8", "generic-int8"),
        ("onnxruntime", "onnxruntime"),
        ("sima", "sima-mla"),
    ];
    let version = env!("CARGO_PKG_VERSION");
    let expect = expect.map(|(id, package)| (id, format!("strait-target-{package} {version} (built in)")));
    assert_eq!(found, expect);
}

#[test]
fn the_tables_in_the_box_are_right_with_each_overlay_and_are_read_the_same_without_being_checked() {
    let mut all = Registry::default();
    for factory in inventory::iter::<TargetFactory> {
        all.add(factory).unwrap_or_else(|e| panic!("{e}"));
    }
    let built_in = Registry::builtin().unwrap();
    for (id, entry) in all.entries() {
        let unchecked = built_in.entry(id).unwrap().table();
        assert_eq!(unchecked.default_spec(), entry.table().default_spec());
    }
    assert_eq!(all.entries().count(), 4);
}

#[test]
fn generic_int8_from_its_file_is_the_one_built_in() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../targets/generic-int8/target.toml");
    let mut files = Registry::default();
    let entry = files.add_file(&path).unwrap();
    assert!(matches!(entry.origin(), Origin::File(_)));
    let built_in = Registry::builtin().unwrap();
    let built_in = built_in.entry("generic-int8").unwrap();
    assert_eq!(entry.table().digest(), built_in.table().digest());
    let options = Options::new();
    assert_eq!(
        entry.target(&options).unwrap().spec(),
        built_in.target(&options).unwrap().spec()
    );
}

#[test]
fn a_file_with_the_id_of_a_built_in_target_is_refused_with_both_origins() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../targets/sima-mla/target.toml");
    let error = Registry::builtin().unwrap().add_file(&path).unwrap_err().to_string();
    assert!(
        error.contains("strait-target-sima-mla") && error.contains("target.toml"),
        "{error}"
    );
}

#[test]
fn options_switch_overlays_and_wrong_ones_are_refused() {
    let registry = Registry::builtin().unwrap();
    let with = |option: &str, value: OptionValue| registry.get("sima", &Options::from([(option.to_owned(), value)]));
    let forms = |mode: &str| {
        let target = with("requantization_mode", OptionValue::String(mode.into())).unwrap();
        target.spec().op["conv"]
            .requantize
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (forms("sima"), forms("tflite")),
        (vec!["arith-folded".to_owned()], vec!["tflite".to_owned()])
    );
    let error = |option, value| with(option, value).err().unwrap().to_string();
    assert_eq!(
        error("requantisation_mode", OptionValue::Bool(true)),
        "target `sima`: option `requantisation_mode`: no such option; did you mean `requantization_mode`?"
    );
    assert_eq!(
        error("requantization_mode", OptionValue::String("onnx".into())),
        "target `sima`: option `requantization_mode`: `onnx` is not one of `sima`, `tflite`"
    );
    assert_eq!(
        error("correction_bits", OptionValue::String("7".into())),
        "target `sima`: option `correction_bits`: `7` is not of type integer"
    );
    let unknown = registry.get("simma", &Options::new()).err().unwrap().to_string();
    assert_eq!(unknown, "target `simma` is not registered; did you mean `sima`?");
}
