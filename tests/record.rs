//! Tests records of Ascend's toolkit that replace calibration.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{fs, num::NonZeroUsize, path::Path};

use strait_builtin as _;
use strait_driver::{
    config::{self, Override},
    pipeline,
    session::{Session, Silent},
    targets,
};
use strait_kernels::Context;

/// Compiles the digits model for `ascend`, from its samples or from a record, to `folder/NAME`.
fn compiled(folder: &Path, name: &str, record: Option<&str>) -> Result<(), String> {
    compiled_with(folder, name, record, &[])
}

fn compiled_with(folder: &Path, name: &str, record: Option<&str>, set: &[&str]) -> Result<(), String> {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    let text = fs::read_to_string(configs.join("ascend.toml")).unwrap();
    let lines = text.split_inclusive('\n').filter(|line| {
        let evaluates = line.starts_with("[evaluation]") || line.contains("eval_");
        !evaluates && (record.is_none() || !line.starts_with("data "))
    });
    let mut overrides = vec![
        Override::output(folder.join(name).to_string_lossy()),
        Override::set(format!("calibration.cache='{}'", folder.join("cache").display())),
    ];
    overrides.extend(set.iter().map(|&assignment| Override::set(assignment)));
    if let Some(record) = record {
        let path = folder.join("record.txt");
        fs::write(&path, record).unwrap();
        overrides.push(Override::set(format!("calibration.record='{}'", path.display())));
    }
    let loaded =
        config::parse("digits.toml", lines.collect(), &configs, &overrides).map_err(|found| found.to_string())?;
    let session = Session::new(NonZeroUsize::MIN, Context::detect(), &Silent);
    let compiled = pipeline::compile(&loaded, targets::registry([]).unwrap(), &session);
    compiled.map(|_| ()).map_err(|stop| stop.to_string())
}

#[test]
fn the_record_that_was_written_reads_back_to_the_same_integers() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), "first", None).unwrap();
    let record = fs::read_to_string(folder.path().join("first/record.txt")).unwrap();
    assert!(record.matches("record {").count() > 3, "{record}");
    compiled(folder.path(), "second", Some(&record)).unwrap();
    let read = |name: &str, file: &str| fs::read(folder.path().join(name).join(file)).unwrap();
    // Without samples nothing is run.
    let report = String::from_utf8(read("second", "report.json")).unwrap();
    assert!(report.contains("\"sanity\": {\n    \"samples\": 0\n  }"), "{report}");
    for file in [
        "model.strait",
        "record.txt",
        "digits_deploy_model.onnx",
        "digits_fake_quant_model.onnx",
    ] {
        assert!(read("first", file) == read("second", file), "{file}");
    }
}

#[test]
fn the_settings_that_are_written_are_those_of_rules() {
    let folder = tempfile::tempdir().unwrap();
    let set = [
        "target.options.ascend={ skip_fusion_layers=['/stem/conv/Conv'], override_layer_configs=[{ layer_name='/head/conv/Conv', \
         calibration_config={ ifmr_quantize={ search_range_start=0.8, max_percentile=0.99 } } }] }",
        "quantize.rule=[{ layers=['/block/pointwise/Conv'], operands=[0], observer='hfmg', observer_options={ bins=1024 } }]",
    ];
    compiled_with(folder.path(), "first", None, &set).unwrap();
    let config = fs::read_to_string(folder.path().join("first/config.json")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&config).unwrap();
    let of = |layer: &str| config[layer]["activation_quant_params"].clone();
    let head = of("/head/conv/Conv");
    assert_eq!(
        (&head["act_algo"], &head["search_range"]),
        (&"ifmr".into(), &vec![0.8, 1.3].into())
    );
    assert_eq!(
        (&head["max_percentile"], &head["min_percentile"]),
        (&0.99.into(), &0.999_999.into())
    );
    let block = of("/block/pointwise/Conv");
    assert_eq!(
        (&block["act_algo"], &block["num_of_bins"]),
        (&"hfmg".into(), &1024.into())
    );
    assert_eq!(config["skip_fusion_layers"], serde_json::json!(["/stem/conv/Conv"]));
    assert_ne!(of("/stem/conv/Conv"), head);
}

#[test]
fn a_layer_that_the_record_does_not_name_stays_in_float() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), "first", None).unwrap();
    let record = fs::read_to_string(folder.path().join("first/record.txt")).unwrap();
    let one = &record[..record[1..].find("record {").unwrap() + 1];
    compiled(folder.path(), "second", Some(one)).unwrap();
    let found = fs::read_to_string(folder.path().join("second/record.txt")).unwrap();
    assert_eq!(found, one);
}

#[test]
fn what_is_wrong_with_a_record_is_said_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), "first", None).unwrap();
    let record = fs::read_to_string(folder.path().join("first/record.txt")).unwrap();
    let first = record.lines().find(|line| line.contains("scale_w")).unwrap();
    let channels = format!("{first}\n{first}");
    let name = record.lines().find(|line| line.contains("key:")).unwrap();
    let scale = record.lines().find(|line| line.contains("scale_d")).unwrap();
    for (line, by, message) in [
        (
            scale,
            "    scale_d: 0",
            "`scale_d` lies between 0 and infinity, both excluded, and has a finite reciprocal",
        ),
        (scale, "    scale: 1", "there is no key `record[0].value.scale`"),
        (name, "  key: \"nobody\"", "the model has no such layer"),
        (first, &channels, "scales for them"),
    ] {
        // If there is one scale more, there is one offset more.
        let mut text = record.replacen(line, by, 1);
        if line == first {
            text = text.replacen("    offset_w: 0", "    offset_w: 0\n    offset_w: 0", 1);
        }
        let error = compiled(folder.path(), "wrong", Some(&text)).unwrap_err();
        assert!(error.contains(message) && error.contains("record.txt:"), "{error}");
    }
}
