//! Tests of a library's own model of the chip's arithmetic, run through the program.

use crate::build::{build, repository, workshop};
use crate::command::{CHIP, configuration, done, fails, strait, text};
use strait_container::{Artifact, Integrity};
use strait_plugin_host::sha256;

#[test]
fn a_model_of_the_chip_that_differs_in_one_code_stops_the_compilation_with_its_layer() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    build(folder, "wrong", CHIP, &["IN_REQUANTIZE=OFF_BY_ONE"]);
    let plugin = "[[plugin]]\npath = \"libwrong.so\"\n[trust]\nunpinned = \"allow\"\n";
    let said = fails(&["compile", text(&configuration(folder, "wrong", "", plugin))], 1);
    for part in [
        "layer `",
        "of the accumulator ",
        " in channel ",
        "the model of the target `acme-npu2` makes 8, and its form `scale31` says 7",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!folder.join("wrong/manifest.json").exists());
}

#[test]
fn a_model_of_the_chip_that_crashes_in_a_run_is_an_error_with_its_layer() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    build(folder, "crashing", CHIP, &["IN_REQUANTIZE=CRASH"]);
    let plugin = "[[plugin]]\npath = \"libcrashing.so\"\n[trust]\nunpinned = \"allow\"\n";
    let said = fails(&["compile", text(&configuration(folder, "crashing", "", plugin))], 1);
    assert!(
        said.contains("layer `") && said.contains("the plugin acme-npu 1.2.0: requantize crashed: signal 11"),
        "{said}"
    );
}

#[test]
fn the_chips_own_model_computes_an_artifact_where_it_is_asked_for() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let library = build(folder, "acme", CHIP, &[]);
    let plugin = "[[plugin]]\npath = \"libacme.so\"\n";
    let file = configuration(folder, "plugged", "", plugin);
    done(&["plugin", "lock", text(&file)]);
    done(&["compile", text(&file)]);
    let inputs = repository("models/digits/eval_x.npy");
    let labels = repository("models/digits/eval_y.npy");
    let (plugged, inputs, labels) = (folder.join("plugged"), text(&inputs), text(&labels));
    let own = ["--kernels", "target", "--plugin", text(&library)];
    let verify = ["verify", text(&plugged), "--data", inputs, "--samples", "2"];
    let sound = done(&[&verify[..], &own].concat());
    assert!(
        sound.contains("sound") && sound.contains("computed by its own model of its arithmetic"),
        "{sound}"
    );
    let eval = ["eval", text(&plugged), "--data", inputs, "--labels", labels];
    assert_eq!(done(&[&eval[..], &own].concat()), done(&eval));
    let outputs = [folder.join("own.npy"), folder.join("hosts.npy")];
    let run = |output| ["run", text(&plugged), "--input", inputs, "--output", text(output)];
    done(&[&run(&outputs[0])[..], &own].concat());
    done(&run(&outputs[1]));
    let [one, other] = outputs.each_ref().map(|path| std::fs::read(path).unwrap());
    assert!(one == other);

    let other = build(folder, "other", CHIP, &["PACKAGE=\"other 1\""]);
    let with = ["--kernels", "target", "--plugin", text(&other)];
    let refused = fails(&[&verify[..], &with].concat(), 1);
    assert!(refused.contains("is pinned"), "{refused}");
    let absent = fails(&[&verify[..], &["--kernels", "target"]].concat(), 1);
    assert!(absent.contains("no target `acme-npu2` is registered"), "{absent}");
}

#[test]
fn a_model_that_differs_or_goes_wrong_is_found_by_the_layer_in_a_run() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let plugin = "[[plugin]]\npath = \"libacme.so\"\n[trust]\nunpinned = \"allow\"\n";
    let library = build(folder, "acme", CHIP, &[]);
    done(&["compile", text(&configuration(folder, "plugged", "", plugin))]);
    let plugged = folder.join("plugged");
    let right = sha256(&library).unwrap();
    for (fault, parts) in [
        (
            "OFF_BY_ONE",
            [
                "(of /head/conv/Conv",
                "the plugin acme-npu 1.2.0 computes it otherwise: ",
                "is 8, and 7 in the lowered graph",
            ],
        ),
        (
            "CRASH",
            [
                "layer `/stem/conv/Conv",
                "the plugin acme-npu 1.2.0: requantize crashed: signal 11",
                "",
            ],
        ),
        (
            "LATER",
            [
                "/stem/conv/Conv",
                "the plugin acme-npu 1.2.0: requantize: it does not do this (STRAIT_UNSUPPORTED)",
                "this is the target's code",
            ],
        ),
    ] {
        // Make the artifact look as if it had been compiled with the wrong library. `compile` itself would have refused
        // it.
        let library = build(folder, "wrong", CHIP, &[&format!("IN_REQUANTIZE={fault}")]);
        let manifest = plugged.join("manifest.json");
        let text_before = std::fs::read_to_string(&manifest).unwrap();
        let wrong = text_before.replace(&right, &sha256(&library).unwrap());
        std::fs::write(&manifest, redigested(&wrong)).unwrap();
        let own = ["--kernels", "target", "--plugin", text(&library)];
        // The artifact is correct, so the exit code is 1. Exit code 4 would blame the artifact.
        let said = fails(&[&["verify", text(&plugged)][..], &own].concat(), 1);
        for part in parts {
            assert!(said.contains(part), "{fault}: {part}: {said}");
        }
        if fault == "OFF_BY_ONE" {
            let (inputs, output) = (repository("models/digits/eval_x.npy"), folder.join("wrong.npy"));
            let run = [
                "run",
                text(&plugged),
                "--input",
                text(&inputs),
                "--output",
                text(&output),
            ];
            let said = fails(&[&run[..], &own].concat(), 1);
            assert!(
                said.contains("(add): target's kernel: the plugin acme-npu 1.2.0: it makes 8 of the accumulator "),
                "{said}"
            );
            assert!(said.contains("says 7") && !output.exists(), "{said}");
        }
        std::fs::write(&manifest, text_before).unwrap();
    }
}

#[test]
fn a_model_that_computes_nothing_of_a_model_is_told_where_it_is_made_and_refused_where_it_is_run() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let library = build(folder, "nothing", CHIP, &["ONLY_BITS=16"]);
    let plugin = "[[plugin]]\npath = \"libnothing.so\"\n[trust]\nunpinned = \"allow\"\n";
    let out = strait(&["compile", text(&configuration(folder, "nothing", "", plugin))]);
    let said = String::from_utf8(out.stderr).unwrap();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        out.status.success() && said.contains("computes none of the ") && said.contains("nothing was held against it"),
        "{said}"
    );
    let made = folder.join("nothing");
    let own = ["--kernels", "target", "--plugin", text(&library)];
    let inputs = repository("models/digits/eval_x.npy");
    let output = folder.join("out.npy");
    let run = ["run", text(&made), "--input", text(&inputs), "--output", text(&output)];
    for command in [&["verify", text(&made)][..], &run] {
        let said = fails(&[command, &own].concat(), 1);
        assert!(
            said.contains("the plugin acme-npu 1.2.0 computes none of the "),
            "{said}"
        );
    }
    assert!(!output.exists());
}

#[test]
fn the_layers_that_a_model_computes_and_leaves_to_the_host_are_counted() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let library = build(folder, "some", CHIP, &["IN_REQUANTIZE=FIRST_ALONE"]);
    let plugin = "[[plugin]]\npath = \"libsome.so\"\n[trust]\nunpinned = \"allow\"\n";
    let said = done(&["compile", text(&configuration(folder, "some", "", plugin))]);
    let made = folder.join("some");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(made.join("report.json")).unwrap()).unwrap();
    let [own, host] = ["own", "host"].map(|key| report["own_model"][key].as_u64().unwrap());
    assert!(own > 0 && host > 0, "{own} {host}");
    // The library's table leaves layers with per-channel requantization to the host.
    let model = Artifact::open(&made).unwrap().model(Integrity::Full).unwrap();
    let nodes = model.module.main().nodes();
    let forms = nodes.filter_map(|(_, node)| Some(&node.fused.as_ref()?.requant));
    assert_eq!(forms.filter(|form| form.channels() > Some(1)).count() as u64, host);
    let counted = format!("{own} of {} layers, {host} left to the host", own + host);
    assert!(
        said.contains(&format!("own model of its arithmetic: {counted}")),
        "{said}"
    );
    let own = ["--kernels", "target", "--plugin", text(&library)];
    let verify = done(&[&["verify", text(&made)][..], &own].concat());
    assert!(
        verify.contains(&format!("computed by its own model of its arithmetic: {counted}")),
        "{verify}"
    );
    let json = done(&[&["verify", text(&made), "--json"][..], &own].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["own_model"], report["own_model"]);
    let inputs = repository("models/digits/eval_x.npy");
    let output = folder.join("out.npy");
    let run = ["run", text(&made), "--input", text(&inputs), "--output", text(&output)];
    let out = strait(&[&run[..], &own].concat());
    let said = String::from_utf8(out.stderr).unwrap();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(&format!("the plugin acme-npu 1.2.0 computes {counted}")),
        "{said}"
    );
}

/// The manifest with its own digest recomputed.
fn redigested(manifest: &str) -> String {
    let without: String = manifest
        .lines()
        .filter(|line| !line.starts_with("  \"digest\""))
        .map(|line| format!("{line}\n"))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("manifest");
    std::fs::write(&file, &without).unwrap();
    let digest = format!("  \"digest\": \"{}\",", sha256(&file).unwrap());
    let lines = manifest.lines().map(|line| {
        if line.starts_with("  \"digest\"") {
            digest.as_str()
        } else {
            line
        }
    });
    lines.map(|line| format!("{line}\n")).collect()
}
