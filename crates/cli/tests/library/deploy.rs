//! Tests of plugins from the configuration to the artifact, run through the program.

use crate::build::{build, workshop};
use crate::command::{CHIP, configuration, done, fails, strait, text};
use strait_container::{Artifact, Integrity};
use strait_plugin_host::sha256;

#[test]
fn a_library_is_pinned_and_gives_the_bytes_of_its_table_alone() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let library = build(folder, "acme", CHIP, &[]);
    let plugin = "# Ours.\n[[plugin]]\npath = \"libacme.so\" # from the vendor\n";
    let file = configuration(folder, "plugged", "", plugin);
    let said = fails(&["compile", text(&file)], 1);
    let digest = sha256(&library).unwrap();
    assert!(
        said.contains("is not pinned") && said.contains(&digest) && said.contains("strait plugin lock"),
        "{said}"
    );
    let before = std::fs::read_to_string(&file).unwrap();
    assert!(done(&["plugin", "lock", text(&file)]).contains(&digest));
    let after = std::fs::read_to_string(&file).unwrap();
    let line = format!("sha256 = \"{digest}\"\n");
    assert_eq!(after.replace(&line, ""), before);
    done(&["compile", text(&file)]);

    std::fs::write(folder.join("chip.toml"), CHIP).unwrap();
    let alone = configuration(folder, "alone", "file = [{ path = \"chip.toml\" }]", "");
    done(&["plugin", "lock", text(&alone)]);
    done(&["compile", text(&alone)]);
    let of = |name: &str, file: &str| std::fs::read(folder.join(name).join(file)).unwrap();
    assert!(of("plugged", "model.strait") == of("alone", "model.strait"));
    let manifest = String::from_utf8(of("plugged", "manifest.json")).unwrap();
    for part in ["\"package\": \"acme-npu 1.2.0\"", digest.as_str(), "\"interface\""] {
        assert!(manifest.contains(part), "{manifest}");
    }
    let verified = done(&["verify", text(&folder.join("plugged"))]);
    assert!(
        verified.contains("acme-npu 1.2.0, a library with SHA-256"),
        "{verified}"
    );
    let chip = folder.join("chip.toml");
    let beside = ["verify", text(&folder.join("plugged")), "--file", text(&chip)].map(str::to_owned);
    let beside = || done(&beside.each_ref().map(String::as_str));
    let elsewhere = "the target that is registered here is a table in a file";
    assert!(beside().contains(elsewhere) && !verified.contains(elsewhere));

    // Replace the library by another one under the same name.
    let other = build(folder, "other", CHIP, &["PACKAGE=\"other 1\""]);
    std::fs::copy(&other, &library).unwrap();
    let changed = fails(&["compile", text(&file)], 1);
    assert!(
        changed.contains("its SHA-256 is ") && changed.contains(&digest),
        "{changed}"
    );
    std::fs::write(&chip, format!("{CHIP}\n")).unwrap();
    assert!(beside().contains("is registered with another table"));
    assert!(fails(&["compile", text(&alone)], 1).contains("chip.toml: its SHA-256 is "));
}

#[test]
fn trust_may_be_given_by_name_and_a_plugin_may_be_absent_where_it_says_so() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    build(folder, "acme", CHIP, &[]);
    let plugin = "[[plugin]]\npath = \"libacme.so\"\n[trust]\nunpinned = \"warn\"\n";
    let warned = strait(&["compile", text(&configuration(folder, "warned", "", plugin))]);
    let said = String::from_utf8_lossy(&warned.stderr);
    assert!(warned.status.success() && said.contains("is not pinned"), "{said}");
    let two = format!("{plugin}[[plugin]]\npath = \"absent.so\"\nrequired = false\n");
    done(&["compile", text(&configuration(folder, "optional", "", &two))]);
    let required = fails(
        &[
            "compile",
            text(&configuration(folder, "two", "", &two.replace("false", "true"))),
        ],
        1,
    );
    assert!(required.contains("absent.so: it cannot be read"), "{required}");
    let elsewhere = plugin.replace(
        "[trust]",
        "sha256 = { vax = \"0000000000000000000000000000000000000000000000000000000000000000\" }\n[trust]",
    );
    let unpinned = elsewhere.replace("warn", "deny");
    let denied = fails(&["compile", text(&configuration(folder, "vax", "", &unpinned))], 1);
    assert!(denied.contains("is not pinned"), "{denied}");
    let file = configuration(folder, "locked", "", &unpinned);
    done(&["plugin", "lock", text(&file)]);
    let locked = std::fs::read_to_string(&file).unwrap();
    assert!(
        locked.contains("vax = ") && locked.contains(&strait_plugin_host::triple()),
        "{locked}"
    );
    done(&["compile", text(&file)]);
    let twice = format!("{plugin}[[plugin]]\npath = \"libacme.so\"\n");
    let twice = fails(&["compile", text(&configuration(folder, "twice", "", &twice))], 1);
    assert!(
        twice.contains("target `acme-npu2` comes from acme-npu 1.2.0 (") && twice.matches("libacme.so").count() >= 2,
        "{twice}"
    );
    let option = format!("[target.options.acme-npu2]\nbanks = 7\n{plugin}");
    let option = fails(&["compile", text(&configuration(folder, "option", "", &option))], 1);
    assert!(option.contains("option `banks` of the target `acme-npu2`"), "{option}");
}

#[test]
fn locking_leaves_the_rest_of_a_configuration_as_it_is() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    build(folder, "acme", CHIP, &[]);
    let file = configuration(folder, "lines", "", "[[plugin]]\npath = \"libacme.so\" # ours\n");
    let before = std::fs::read_to_string(&file).unwrap().replace('\n', "\r\n");
    std::fs::write(&file, &before).unwrap();
    let link = folder.join("link.toml");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    done(&["plugin", "lock", text(&link)]);
    let after = std::fs::read_to_string(&file).unwrap();
    let kept: String = after
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("sha256"))
        .collect();
    assert_eq!(
        (kept, after.lines().count()),
        (before.clone(), before.lines().count() + 1)
    );
    assert!(link.is_symlink());
}

#[test]
fn the_files_of_a_library_are_those_of_the_artifact() {
    let Some(workshop) = workshop() else { return };
    let folder = workshop.path();
    let chip = CHIP.replace("vendor  =", "emit = [\"package\"]\nvendor  =");
    build(folder, "acme", &chip, &[]);
    let plugin = "[[plugin]]\npath = \"libacme.so\"\n[trust]\nunpinned = \"allow\"\n";
    done(&["compile", text(&configuration(folder, "whole", "", plugin))]);
    // The plugin sums the sizes of the IR bytes and tensors that it is given. The artifact contains both, so the sum
    // can be compared.
    let of = |file: &str| std::fs::read(folder.join("whole").join(file)).unwrap();
    let total = u64::from_ne_bytes(of("files/total").try_into().unwrap());
    let artifact = Artifact::open(&folder.join("whole")).unwrap();
    let model = artifact.model(Integrity::Full).unwrap();
    let encoded = strait_core::bytes::encode(&model.module).unwrap();
    let tensors = encoded.tensors.iter().map(|tensor| tensor.bytes().len());
    assert_eq!(total, (encoded.ir.len() + tensors.sum::<usize>()) as u64);
    assert!(
        String::from_utf8(of("manifest.json"))
            .unwrap()
            .contains("\"files/total\"")
    );
    assert!(done(&["verify", text(&folder.join("whole"))]).contains("sound"));

    for (fault, part) in [
        ("FAILURE", "acme-npu 1.2.0: emit: `"),
        ("CRASH", "acme-npu 1.2.0: emit crashed: signal 11"),
    ] {
        build(folder, "acme", &chip, &[&format!("IN_EMIT={fault}")]);
        let said = fails(&["compile", text(&configuration(folder, fault, "", plugin))], 1);
        assert!(said.contains(part), "{said}");
        assert!(!folder.join(fault).join("manifest.json").exists());
    }
}
