//! The library's own model of the chip's arithmetic, by the program.

use crate::build::{build, repository, workshop};
use crate::command::{CHIP, configuration, done, fails, strait, text};
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
    for (fault, layer, part) in [
        ("OFF_BY_ONE", "/head/conv/Conv", "is 8, and 7 in the lowered graph"),
        (
            "CRASH",
            "/stem/conv/Conv",
            "target's kernel: the plugin acme-npu 1.2.0: requantize crashed: signal 11",
        ),
    ] {
        // As if the artifact had been made with the wrong one: compile would have refused it.
        let library = build(folder, "wrong", CHIP, &[&format!("IN_REQUANTIZE={fault}")]);
        let manifest = plugged.join("manifest.json");
        let text_before = std::fs::read_to_string(&manifest).unwrap();
        let wrong = text_before.replace(&right, &sha256(&library).unwrap());
        std::fs::write(&manifest, redigested(&wrong)).unwrap();
        let own = ["--kernels", "target", "--plugin", text(&library)];
        let said = strait(&[&["verify", text(&plugged)][..], &own].concat());
        let text = String::from_utf8(said.stdout).unwrap();
        assert_eq!(said.status.code(), Some(4), "{text}");
        for part in ["NOT SOUND", layer, part] {
            assert!(text.contains(part), "{fault}: {part}: {text}");
        }
        std::fs::write(&manifest, text_before).unwrap();
    }
}

/// A manifest with its own digest made anew.
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
