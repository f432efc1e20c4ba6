//! Tests of `strait verify`: a compiled artifact is sound, and each change to it is found, with or without recomputed
//! digests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use crate::copy;

use std::fs;

use copy::{Copy, repository, strait};
use strait_container::Artifact;
use strait_core::{CertificateRecord, Module, text};

/// Print options that write every element of every tensor.
fn whole() -> text::PrintOptions<'static> {
    text::PrintOptions {
        inline_limit: usize::MAX,
        ..text::PrintOptions::default()
    }
}

/// Replaces a piece of a module's text form, with all tensors written out, and parses the result.
fn replaced(module: &Module, graph: &str, from: &str, to: &str) -> Module {
    let whole = text::print(module, &whole());
    let begin = whole.find(&format!("graph @{graph}")).unwrap();
    let at = begin + whole[begin..].find(from).unwrap();
    let changed = [&whole[..at], to, &whole[at + from.len()..]].concat();
    text::parse(&changed).unwrap()
}

#[test]
fn a_sound_artifact_is_said_to_be_sound_with_what_was_checked() {
    let copy = Copy::new();
    let data = repository("models/digits/eval_x.npy").to_string_lossy().into_owned();
    let (code, printed) = copy.verify(&["--data", &data, "--samples", "2", "--seed", "7"]);
    assert_eq!(code, 0, "{printed}");
    for said in [
        ": sound\n",
        "computed by the kernels that are registered for it",
        "7 exact, 0 bounded",
        "2 random and 640 given samples",
        "bit for bit",
    ] {
        assert!(printed.contains(said), "{said}: {printed}");
    }
    let (code, printed) = copy.verify(&["--json", "--threads", "1"]);
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        (code, &json["sound"], &json["findings"]),
        (0, &true.into(), &serde_json::json!([]))
    );
    let digest = copy.digest();
    assert_eq!(json["digest"], digest.to_string());
    assert_eq!(copy.verify(&["--expect", &digest.to_string()]).0, 0);
}

#[test]
fn a_bit_that_flips_in_any_file_is_found_by_the_name_of_the_file() {
    let copy = Copy::new();
    let names: Vec<String> = Artifact::open(&copy.folder())
        .unwrap()
        .manifest()
        .files
        .keys()
        .cloned()
        .collect();
    for name in names.iter().map(String::as_str).chain(["manifest.json"]) {
        let path = copy.folder().join(name);
        let whole = fs::read(&path).unwrap();
        for step in 0..8 {
            let mut bytes = whole.clone();
            bytes[step * (whole.len() - 1) / 7] ^= 1 << step;
            fs::write(&path, bytes).unwrap();
            let (code, printed) = copy.verify(&["--samples", "0"]);
            assert!(code == 4 && printed.contains(name), "{name}: {code}: {printed}");
        }
        fs::write(&path, whole).unwrap();
    }
    fs::write(copy.folder().join("more.txt"), "").unwrap();
    let (code, printed) = copy.verify(&[]);
    assert!(
        code == 4 && printed.contains("more.txt is not in the manifest"),
        "{printed}"
    );
    fs::remove_file(copy.folder().join("more.txt")).unwrap();
    assert_eq!(copy.verify(&[]).0, 0);
}

#[test]
fn what_is_no_artifact_and_what_is_no_digest_are_told_apart_from_what_is_not_sound() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_string_lossy().into_owned();
    assert_eq!(strait(&["verify", &folder]).status.code(), Some(1));
    assert_eq!(strait(&["verify", "/no/such/folder"]).status.code(), Some(1));
    assert_eq!(strait(&["verify"]).status.code(), Some(2));
    assert_eq!(strait(&["verify", &folder, "--expect", "abc"]).status.code(), Some(2));
    let copy = Copy::new();
    let (code, printed) = copy.verify(&["--data", "/no/such.npy"]);
    assert_eq!(code, 1, "{printed}");
}

/// All digests are recomputed after each change, so only the certificates and the comparison of the two graphs can find
/// it.
#[test]
fn a_shift_a_weight_or_a_form_that_is_changed_with_its_digests_is_found_at_its_layer() {
    let multiplier = |module: &Module| {
        let whole = text::print(module, &whole());
        let main = &whole[whole.find("graph @main").unwrap()..];
        let at = main.find("multiplier=[").unwrap() + "multiplier=[".len();
        let digits = main[at..].find([',', ']']).unwrap();
        main[at..at + digits].to_owned()
    };
    // Change the first convolution of the fused graph, or its bias, which both graphs share.
    type Change = Box<dyn FnOnce(Module) -> Module>;
    let changes: [(&str, Change); 3] = [
        (
            "a multiplier",
            Box::new(move |module| {
                let found = multiplier(&module);
                let other = (found.parse::<i64>().unwrap() - (1 << 24)).to_string();
                let list = |number: &str| format!("multiplier=[{number}");
                replaced(&module, "main", &list(&found), &list(&other))
            }),
        ),
        (
            "an exponent",
            Box::new(|module| {
                let whole = text::print(&module, &whole());
                let main = &whole[whole.find("graph @main").unwrap()..];
                let at = main.find("exponent=[").unwrap();
                let list = &main[at..at + main[at..].find(']').unwrap()];
                let other = list.replacen('-', "-1", 1);
                assert_ne!(list, other);
                replaced(&module, "main", list, &other)
            }),
        ),
        (
            "a weight",
            Box::new(|module| {
                let whole = text::print(&module, &whole());
                let weights = whole
                    .lines()
                    .find(|line| line.starts_with("data ") && line.contains("i8[16,1,3,3]"));
                let line = weights.unwrap();
                let at = line.find("inline [").unwrap() + "inline [".len();
                let end = at + line[at..].find(',').unwrap();
                let other = line[at..end].parse::<i32>().unwrap() ^ 1;
                let other = format!("{}{other}{}", &line[..at], &line[end..]);
                text::parse(&whole.replacen(line, &other, 1)).unwrap()
            }),
        ),
    ];
    for (what, change) in changes {
        let copy = Copy::new();
        copy.rewrite(|parts| parts.module = change(parts.module.clone()));
        let (code, printed) = copy.verify(&[]);
        assert_eq!(code, 4, "{what}: {printed}");
        assert!(
            printed.contains("certificate") && printed.contains("/Conv"),
            "{what}: {printed}"
        );
        assert!(printed.contains("0 not as it says"), "{what}: {printed}");
    }
}

#[test]
fn certificates_that_are_dropped_swapped_or_bolder_are_found_at_their_layers() {
    let copy = Copy::new();
    let mut dropped = String::new();
    copy.rewrite(|parts| dropped = parts.certificates.remove(0).node);
    let (code, printed) = copy.verify(&["--samples", "0"]);
    assert!(
        code == 4 && printed.contains(&dropped) && printed.contains("without a certificate"),
        "{printed}"
    );

    let copy = Copy::new();
    copy.rewrite(|parts| {
        let [a, b, ..] = &mut parts.certificates[..] else {
            panic!("two certificates")
        };
        std::mem::swap(&mut a.certificate, &mut b.certificate);
    });
    let (code, printed) = copy.verify(&["--samples", "0", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let findings = json["findings"].as_array().unwrap();
    let layers = findings.iter().filter(|f| f["subject"] == "layer").map(|f| &f["name"]);
    let swapped: std::collections::BTreeSet<String> = layers.map(ToString::to_string).collect();
    assert!(code == 4 && swapped.len() == 2, "{printed}");
    // The certificates also differ from those in the report.
    assert!(findings.iter().any(|f| f["name"] == "report.json"), "{printed}");
}

/// Recomputes the digest of what the certificate is derived from.
fn grounded(module: &Module, record: &mut CertificateRecord) {
    record.certificate.derived_from = strait_verify::derived_from(module, record).unwrap().unwrap();
}

/// The interval of the first convolution is changed in its first channel, or replaced by the interval of the second
/// convolution.
#[test]
fn an_interval_that_is_narrowed_or_another_channels_is_found_at_its_layer() {
    type Change = fn(&mut [(i64, i64)]);
    let changes: [Change; 3] = [|all| all[0].0 += 1, |all| all[0].1 -= 1, |all| all.swap(0, 1)];
    let copy = Copy::new();
    let mut whole = Vec::new();
    for change in changes {
        let mut layer = String::new();
        copy.rewrite(|parts| {
            if whole.is_empty() {
                whole = parts.certificates.clone();
            }
            parts.certificates = whole.clone();
            let record = &mut parts.certificates[0];
            let mut intervals = record.certificate.interval.values().to_vec();
            assert!(intervals.len() > 1, "{record:?}");
            change(&mut intervals);
            record.certificate.interval = intervals.into_iter().collect();
            grounded(&parts.module, record);
            layer = record.node.clone();
        });
        let (code, printed) = copy.verify(&["--samples", "0"]);
        assert!(
            code == 4 && printed.contains(&layer) && printed.contains("can occur"),
            "{printed}"
        );
    }
}

/// What a later version of the program writes is not damaged. The message says which version to use.
#[test]
fn an_artifact_of_a_later_version_is_newer_and_not_unsound() {
    for (file, edit, what) in [
        (
            "deployment.json",
            ["\"schema\": 1", "\"schema\": 2"],
            "is of schema 2, and schema 1 is read",
        ),
        (
            "deployment.json",
            ["\"schema\": 1", "\"schema\": 1, \"novel\": 1"],
            "unknown field `novel`",
        ),
        (
            "report.json",
            ["\"schema\": 2", "\"schema\": 3"],
            "is of schema 3, and schema 2 is read",
        ),
        (
            "quantization.json",
            ["\"schema\":1", "\"schema\":2"],
            "is of schema 2, and schema 1 is read",
        ),
    ] {
        let copy = Copy::new();
        copy.rewrite(|parts| {
            let bytes = parts.files.get_mut(file).unwrap();
            let text = String::from_utf8(bytes.clone()).unwrap();
            assert!(text.contains(edit[0]), "{file}");
            *bytes = text.replacen(edit[0], edit[1], 1).into_bytes();
            parts.provenance.tool.version = "41.0.2".to_owned();
        });
        let (code, printed) = copy.verify(&["--samples", "0"]);
        for part in [
            what,
            "newer than this program",
            "use strait 41.0.2, which made it, or a later one",
        ] {
            assert!(printed.contains(part), "{file}: {printed}");
        }
        assert!(code == 1 && !printed.contains("NOT SOUND"), "{file}: {code} {printed}");
        assert!(printed.contains(file), "{printed}");
    }
    // The manifest itself.
    let copy = Copy::new();
    let manifest = copy.folder().join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"schema\": 4", "\"schema\": 5")).unwrap();
    let (code, printed) = copy.verify(&[]);
    assert!(
        code == 1 && printed.contains("manifest.json is of schema 5"),
        "{printed}"
    );
}

/// The manifest, the report and the model have to describe the same artifact.
#[test]
fn a_target_or_a_report_of_something_else_is_found() {
    let with_report = |change: fn(&mut serde_json::Value)| {
        let copy = Copy::new();
        copy.rewrite(|parts| {
            let report = parts.files.get_mut("report.json").unwrap();
            let mut json = serde_json::from_slice(report).unwrap();
            change(&mut json);
            *report = json.to_string().into_bytes();
        });
        copy.verify(&["--samples", "0"])
    };
    let (code, printed) = with_report(|_| {});
    assert_eq!(code, 0, "another spelling of the same report: {printed}");
    type Change = fn(&mut serde_json::Value);
    let changes: [(Change, &str); 8] = [
        (|r| r["target"]["id"] = "sima".into(), "it is of target sima 0.1.0"),
        (|r| r["layers"][1]["form"] = "fixed".into(), "it says `form`: \"fixed\""),
        (|r| r["layers"][1]["results"][0]["name"] = "other".into(), "of layer `"),
        (
            |r| r["layers"][1]["fusion"] = serde_json::Value::Null,
            "it says `fusion`: null",
        ),
        (
            |r| drop(r["layers"].as_array_mut().unwrap().pop()),
            "layers, but the graph has",
        ),
        (
            |r| r["fusions"]["fired"][0]["claim"] = "exact".into(),
            "it says `claim`: \"exact\"",
        ),
        (
            |r| drop(r["fusions"]["fired"].as_array_mut().unwrap().pop()),
            "6 fusions, but there are 7 certificates",
        ),
        (|r| r["summary"]["exact"] = 8.into(), "it says `exact`: 8, but it is 7"),
    ];
    for (change, said) in changes {
        let (code, printed) = with_report(change);
        assert!(
            code == 4 && printed.contains("report.json") && printed.contains(said),
            "{said}: {printed}"
        );
    }
    let copy = Copy::new();
    copy.rewrite(|parts| drop(parts.files.remove("report.json")));
    let (code, printed) = copy.verify(&["--samples", "0"]);
    assert!(code == 4 && printed.contains("report.json"), "{printed}");

    // With the report's target changed as well, the stored table still belongs to the original target.
    let copy = Copy::new();
    copy.rewrite(|parts| {
        parts.provenance.target.id = "sima".into();
        let report = parts.files.get_mut("report.json").unwrap();
        let text = String::from_utf8(report.clone()).unwrap();
        *report = text
            .replace("\"id\": \"generic-int8\"", "\"id\": \"sima\"")
            .into_bytes();
    });
    let (code, printed) = copy.verify(&["--samples", "0"]);
    let said = "it names the target `sima`, but the table is that of `generic-int8`";
    assert!(
        code == 4 && printed.contains("manifest.json") && printed.contains(said),
        "{printed}"
    );
}

/// The layer configs repeat the types and grids that the lowered graph has for its inputs and results. Both must agree.
#[test]
fn types_and_grids_of_something_else_are_found_at_their_layers() {
    let with_configs = |change: fn(&mut serde_json::Value)| {
        let copy = Copy::new();
        copy.rewrite(|parts| {
            let configs = parts.files.get_mut("quantization.json").unwrap();
            let mut json = serde_json::from_slice(configs).unwrap();
            change(&mut json);
            *configs = json.to_string().into_bytes();
        });
        copy.verify(&["--samples", "0"])
    };
    let (code, printed) = with_configs(|_| {});
    assert_eq!(code, 0, "another spelling of the same configs: {printed}");
    fn result<'a>(json: &'a mut serde_json::Value, layer: &str) -> &'a mut serde_json::Value {
        let layers = json["layers"].as_array_mut().unwrap();
        let layer = layers.iter_mut().find(|found| found["name"] == layer).unwrap();
        let configs = layer["configs"].as_array_mut().unwrap();
        configs.iter_mut().find(|config| config["port"] == "result 0").unwrap()
    }
    type Change = fn(&mut serde_json::Value);
    let changes: [(Change, &str); 6] = [
        (
            |q| result(q, "/pool/MaxPool")["scale"][0] = 0.5.into(),
            "it says that result 0 of layer `/pool/MaxPool` is i8 with scale 0.5 and zero point -128, but it is i8 with scale 0.0",
        ),
        (
            |q| result(q, "/classifier/Gemm")["zero_point"][0] = 2.into(),
            "result 0 of layer `/classifier/Gemm`",
        ),
        (
            |q| q["inputs"][0]["scale"][0] = 0.5.into(),
            "it says that input `image` is",
        ),
        (
            |q| {
                let schemes = q["schemes"].as_array_mut().unwrap();
                schemes.iter_mut().for_each(|scheme| scheme["type"] = "u8".into());
            },
            "is u8 with scale",
        ),
        (
            |q| result(q, "/block/Add")["scheme"] = 99.into(),
            "result 0 of layer `/block/Add` has the scheme 99",
        ),
        (|q| drop(q["layers"].take()), "it cannot be read"),
    ];
    for (change, said) in changes {
        let (code, printed) = with_configs(change);
        assert!(
            code == 4 && printed.contains("quantization.json") && printed.contains(said),
            "{said}: {printed}"
        );
    }
}

/// A weight is made smaller in both graphs, and the certificates are derived again. The result is a sound artifact, but
/// not the same artifact.
#[test]
fn what_is_changed_consistently_is_another_artifact() {
    let copy = Copy::new();
    let before = copy.digest();
    copy.rewrite(|parts| {
        let whole = text::print(&parts.module, &whole());
        let is_weight = |line: &&str| line.starts_with("data ") && line.contains("i8[16,1,3,3]");
        let line = whole.lines().find(is_weight).unwrap();
        let (head, weights) = line.split_once("inline [").unwrap();
        let (first, rest) = weights.split_once(',').unwrap();
        let first: i32 = first.parse().unwrap();
        let other = format!("{head}inline [{},{rest}", first - first.signum());
        assert_ne!(line, other);
        parts.module = text::parse(&whole.replacen(line, &other, 1)).unwrap();
        for record in &mut parts.certificates {
            grounded(&parts.module, record);
        }
    });
    let after = copy.digest();
    assert_ne!(before, after);
    let (code, printed) = copy.verify(&[]);
    assert_eq!(code, 0, "{printed}");
    assert_eq!(copy.verify(&["--expect", &after.to_string()]).0, 0);
    let (code, printed) = copy.verify(&["--expect", &before.to_string()]);
    assert!(
        code == 4 && printed.contains("another artifact") && printed.contains(&before.to_string()),
        "{printed}"
    );
}
