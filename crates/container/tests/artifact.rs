//! Tests of the artifact's folder: it is written next to the old one and swapped in, and readers check everything in
//! it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support;

use std::fs;
use std::path::Path;
use strait_container::{Artifact, ArtifactError, ArtifactWriter, FileFinding, Integrity};
use support::{fill, names, provenance, write};

fn open(folder: &Path) -> Artifact {
    Artifact::open(folder).unwrap()
}

#[test]
fn what_is_written_is_read() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("build/deep/out");
    let manifest = write(&out, "{}");
    let artifact = open(&out);
    assert_eq!(*artifact.manifest(), manifest);
    assert_eq!(artifact.check().unwrap(), []);
    assert_eq!(artifact.file("vendor/model.qdq.onnx").unwrap(), &[1, 2, 3][..]);
    assert_eq!(artifact.model(Integrity::Full).unwrap().module.graphs.len(), 2);
    assert!(matches!(artifact.file("../x"), Err(ArtifactError::NoSuchFile { .. })));
    assert_eq!(names(out.parent().unwrap()), ["out"], "nothing else is left");
}

#[test]
fn the_manifest_has_sorted_keys_and_the_same_bytes_every_time() {
    let root = tempfile::tempdir().unwrap();
    let texts = ["a", "b"].map(|name| {
        write(&root.path().join(name), "{}");
        fs::read_to_string(root.path().join(name).join("manifest.json")).unwrap()
    });
    assert_eq!(texts[0], texts[1]);
    // `serde_json` sorts the keys of its maps.
    let sorted: serde_json::Value = serde_json::from_str(&texts[0]).unwrap();
    assert_eq!(texts[0], format!("{sorted:#}\n"));
    let keys: Vec<_> = sorted.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "digest", "files", "format", "ports", "schema", "sources", "target", "tool"
        ]
    );
}

#[test]
fn a_previous_artifact_is_replaced_whole() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    let writer = ArtifactWriter::create(&out).unwrap();
    fill(&writer, "old");
    writer.add_bytes("only-in-old.txt", b"").unwrap();
    writer.commit(provenance()).unwrap();
    write(&out, "new");
    assert_eq!(open(&out).file("report.json").unwrap(), &b"new"[..]);
    assert_eq!(open(&out).check().unwrap(), []);
    assert!(!out.join("only-in-old.txt").exists());
    assert_eq!(names(root.path()), ["out"]);
}

#[test]
fn a_run_that_stops_leaves_the_previous_artifact_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "old");
    let writer = ArtifactWriter::create(&out).unwrap();
    fill(&writer, "new");
    assert_eq!(open(&out).file("report.json").unwrap(), &b"old"[..]);
    drop(writer);
    assert_eq!(open(&out).file("report.json").unwrap(), &b"old"[..]);
    assert_eq!(open(&out).check().unwrap(), []);
    assert_eq!(names(root.path()), ["out"]);
}

#[test]
fn what_dead_runs_left_is_taken_away_and_what_living_ones_use_is_not() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "old");
    for dead in [".out.strait-aaaaaa", ".out.strait-bbbbbb", ".out.strait-cccccc.old"] {
        fs::create_dir(root.path().join(dead)).unwrap();
        fs::write(root.path().join(dead).join("file"), b"x").unwrap();
    }
    for lock in [".out.strait-bbbbbb.lock", ".out.strait-dddddd.lock"] {
        fs::write(root.path().join(lock), b"").unwrap();
    }
    fs::create_dir(root.path().join(".outer.strait-aaaaaa")).unwrap();
    let living = ArtifactWriter::create(&out).unwrap();
    write(&out, "other");
    fill(&living, "living");
    living.commit(provenance()).unwrap();
    assert_eq!(names(root.path()), [".outer.strait-aaaaaa", "out"]);
    assert_eq!(open(&out).file("report.json").unwrap(), &b"living"[..]);
}

/// On systems without an atomic exchange of folders, a run may be killed after it has moved the old artifact aside.
#[test]
fn an_artifact_that_a_dead_run_put_aside_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "old");
    fs::rename(&out, root.path().join(".out.strait-aaaaaa.old")).unwrap();
    fs::write(root.path().join(".out.strait-aaaaaa.lock"), b"").unwrap();
    drop(ArtifactWriter::create(&out).unwrap());
    assert_eq!(open(&out).file("report.json").unwrap(), &b"old"[..]);
    assert_eq!(names(root.path()), ["out"]);
}

#[test]
fn readers_and_writers_at_the_same_time_see_whole_artifacts() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "start");
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let out = &out;
                scope.spawn(move || {
                    for round in 0..5 {
                        write(out, &format!("{writer} {round}"));
                    }
                })
            })
            .collect();
        let mut reads = 0;
        while writers.iter().any(|w| !w.is_finished()) || reads == 0 {
            let artifact = open(&out);
            assert_eq!(artifact.check().unwrap(), []);
            assert_eq!(artifact.model(Integrity::Full).unwrap().module.graphs.len(), 2);
            reads += 1;
        }
    });
    assert_eq!(open(&out).check().unwrap(), []);
    assert_eq!(names(root.path()), ["out"]);
}

#[test]
fn a_folder_that_is_not_ours_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    let refused = |about: &str| {
        let error = ArtifactWriter::create(&out).unwrap_err().to_string();
        assert!(error.contains(about) && error.contains("out"), "{error}");
    };
    fs::write(&out, b"a file").unwrap();
    refused("not a folder");
    fs::remove_file(&out).unwrap();
    fs::create_dir(&out).unwrap();
    fs::write(out.join("thesis.tex"), b"").unwrap();
    refused("`thesis.tex`");
    fs::write(
        out.join("manifest.json"),
        br#"{"format":"something else","files":{"thesis.tex":{}}}"#,
    )
    .unwrap();
    refused("not an artifact");
    fs::remove_dir_all(&out).unwrap();
    write(&out, "old");
    fs::write(out.join("notes.txt"), b"mine").unwrap();
    refused("`notes.txt`");
    assert!(
        open(&out)
            .check()
            .unwrap()
            .contains(&FileFinding::Unlisted("notes.txt".into()))
    );
    assert_eq!(names(root.path()), ["out"]);
}

#[test]
fn an_empty_folder_and_an_artifact_of_a_later_schema_are_replaced() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    fs::create_dir(&out).unwrap();
    write(&out, "first");
    let manifest = fs::read_to_string(out.join("manifest.json")).unwrap();
    fs::write(
        out.join("manifest.json"),
        manifest.replace("\"schema\": 4", "\"schema\": 7"),
    )
    .unwrap();
    let error = Artifact::open(&out).unwrap_err();
    let told = error.to_string();
    for part in [
        "manifest.json is of schema 7, and schema 4 is read",
        "newer than this program",
        "use the strait that made it",
    ] {
        assert!(told.contains(part), "{told}");
    }
    // A later version is named, and an artifact of an older schema is not called damaged either.
    for (edit, part) in [
        ("\"schema\": 7", "use strait 41.0.2, which made it, or a later one"),
        ("\"schema\": 3", "compile it again, or use strait 41.0.2, which made it"),
    ] {
        let other = manifest.replace("\"schema\": 4", edit).replace(
            &format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION")),
            "\"version\": \"41.0.2\"",
        );
        fs::write(out.join("manifest.json"), other).unwrap();
        let told = Artifact::open(&out).unwrap_err().to_string();
        assert!(told.contains(part), "{told}");
    }
    write(&out, "second");
    assert_eq!(open(&out).file("report.json").unwrap(), &b"second"[..]);
}

#[test]
fn something_that_comes_between_is_not_taken_away() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    let writer = ArtifactWriter::create(&out).unwrap();
    fill(&writer, "new");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("thesis.tex"), b"mine").unwrap();
    assert!(matches!(
        writer.commit(provenance()),
        Err(ArtifactError::Occupied { .. })
    ));
    assert_eq!(fs::read(out.join("thesis.tex")).unwrap(), b"mine");
    assert_eq!(names(root.path()), ["out"]);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_stays_a_link_and_one_to_nowhere_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let (real, link) = (root.path().join("real"), root.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    write(&link, "first");
    write(&link, "second");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(open(&real).file("report.json").unwrap(), &b"second"[..]);
    assert_eq!(names(root.path()), ["link", "real"]);
    fs::remove_dir_all(&real).unwrap();
    assert!(matches!(ArtifactWriter::create(&link), Err(ArtifactError::Io { .. })));
}

#[cfg(unix)]
#[test]
fn a_file_of_the_artifact_is_no_link() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "report");
    let outside = root.path().join("outside");
    fs::write(&outside, "report").unwrap();
    fs::remove_file(out.join("report.json")).unwrap();
    std::os::unix::fs::symlink(&outside, out.join("report.json")).unwrap();
    assert!(open(&out).file("report.json").is_err());
}

#[test]
fn names_of_files_are_checked() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    let writer = ArtifactWriter::create(&out).unwrap();
    for name in [
        "../evil",
        "/evil",
        "a/../../evil",
        "",
        "manifest.json",
        "a\\b",
        ".hidden",
    ] {
        let error = writer.add_bytes(name, b"").unwrap_err();
        assert!(matches!(error, ArtifactError::FileName { .. }), "{name}: {error}");
    }
    writer.add_bytes("a", b"").unwrap();
    for name in ["a", "A", "a/b", "Model.strait"] {
        let error = writer.add_bytes(name, b"").unwrap_err();
        assert!(matches!(error, ArtifactError::FileName { .. }), "{name}: {error}");
    }
    assert!(
        writer
            .commit(provenance())
            .unwrap_err()
            .to_string()
            .contains("needs a model")
    );
    write(&out, "report");
    let manifest = fs::read_to_string(out.join("manifest.json")).unwrap();
    fs::write(
        out.join("manifest.json"),
        manifest.replace("\"report.json\"", "\"../report.json\""),
    )
    .unwrap();
    let error = Artifact::open(&out).unwrap_err();
    assert!(
        matches!(&error, ArtifactError::Damaged { reason, .. } if reason.contains("../report.json")),
        "{error}"
    );
}

#[test]
fn damage_is_found_by_the_name_of_the_file() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "report");
    fs::write(out.join("report.json"), "rep0rt").unwrap();
    fs::remove_file(out.join("vendor/model.qdq.onnx")).unwrap();
    let expected = [
        FileFinding::Changed("report.json".into()),
        FileFinding::Missing("vendor/model.qdq.onnx".into()),
    ];
    assert_eq!(open(&out).check().unwrap(), expected);
    assert!(matches!(
        open(&out).file("report.json"),
        Err(ArtifactError::Damaged { .. })
    ));
    let model = fs::read(out.join("model.strait")).unwrap();
    fs::write(out.join("model.strait"), &model[..100]).unwrap();
    assert!(matches!(Artifact::open(&out), Err(ArtifactError::Damaged { .. })));
    fs::remove_file(out.join("model.strait")).unwrap();
    let error = Artifact::open(&out).unwrap_err();
    assert!(
        matches!(&error, ArtifactError::Damaged { name, .. } if name == "model.strait"),
        "{error}"
    );
}

/// This includes the manifest: it has exactly one spelling and a digest of itself.
#[test]
fn any_bit_of_any_file_that_flips_is_found() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "report");
    let files = ["manifest.json", "model.strait", "report.json", "vendor/model.qdq.onnx"];
    for name in files {
        let path = out.join(name);
        let whole = fs::read(&path).unwrap();
        // The first 16 bytes are tested bit by bit. After that one bit of every fifth byte is flipped, a different bit
        // each time. Sections are aligned to 64 bytes.
        let bits = (0..whole.len() * 8).filter(|bit| bit / 8 < 16 || bit / 8 % 5 == 0 && bit % 8 == bit / 40 % 8);
        for bit in bits {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).unwrap();
            let found = match Artifact::open(&out) {
                Ok(artifact) => artifact.check().unwrap() == [FileFinding::Changed(name.into())],
                Err(ArtifactError::Damaged { name: found, .. }) => found == name,
                // A flip in the schema number turns it into an artifact of another version.
                Err(error) => {
                    let is_version = matches!(error, ArtifactError::Newer { .. } | ArtifactError::Older { .. });
                    is_version && name == "manifest.json"
                }
            };
            assert!(found, "{name}: bit {bit}");
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(open(&out).check().unwrap(), []);
}

#[test]
fn artifacts_of_the_same_bytes_have_the_same_digest_and_no_others() {
    let root = tempfile::tempdir().unwrap();
    let digests = ["report", "report", "repair"].map(|text| {
        let out = root.path().join(text);
        let manifest = write(&out, text);
        assert_eq!(open(&out).manifest().digest(), manifest.digest());
        manifest.digest()
    });
    assert_eq!(digests[0], digests[1]);
    assert_ne!(digests[0], digests[2]);
}

#[test]
fn a_damaged_manifest_is_refused_wherever_it_is_cut() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "report");
    let manifest = fs::read(out.join("manifest.json")).unwrap();
    for length in 0..manifest.len() {
        fs::write(out.join("manifest.json"), &manifest[..length]).unwrap();
        let error = Artifact::open(&out).unwrap_err();
        assert!(
            matches!(&error, ArtifactError::Damaged { name, .. } if name == "manifest.json"),
            "{length}: {error}"
        );
    }
    fs::remove_file(out.join("manifest.json")).unwrap();
    let error = Artifact::open(&out).unwrap_err();
    assert!(matches!(error, ArtifactError::Damaged { .. }), "{error}");
    // Without the model file, nothing shows that this is a Strait artifact.
    fs::write(out.join("manifest.json"), "{}").unwrap();
    fs::remove_file(out.join("model.strait")).unwrap();
    let error = Artifact::open(&out).unwrap_err();
    assert!(matches!(error, ArtifactError::NotAnArtifact { .. }), "{error}");
    for folder in [
        root.path().to_path_buf(),
        root.path().join("none"),
        out.join("report.json"),
    ] {
        assert!(Artifact::open(&folder).is_err(), "{}", folder.display());
    }
}

#[test]
fn an_artifact_that_is_open_stays_the_same_when_another_takes_its_place() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "old");
    let artifact = open(&out);
    write(&out, "new");
    assert_eq!(artifact.check().unwrap(), []);
    assert_eq!(artifact.file("report.json").unwrap(), &b"old"[..]);
    assert_eq!(artifact.model(Integrity::Full).unwrap().module.graphs.len(), 2);
    assert_eq!(open(&out).file("report.json").unwrap(), &b"new"[..]);
}

/// The other file has the same length. Only the digest of the whole file, which only `check` computes, differs.
#[test]
fn the_container_file_of_another_artifact_is_told_when_it_is_opened() {
    let root = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| root.path().join(name));
    write(&one, "report");
    let writer = ArtifactWriter::create(&other).unwrap();
    let text = support::TEXT.replace("random 7", "random 8");
    let module = strait_core::text::parse(&text).unwrap();
    writer.add_model(&module, &support::certificates()).unwrap();
    writer.commit(provenance()).unwrap();
    let [first, second] = [&one, &other].map(|folder| fs::read(folder.join("model.strait")).unwrap());
    assert!(first.len() == second.len() && first != second);
    fs::write(one.join("model.strait"), second).unwrap();
    let error = Artifact::open(&one).unwrap_err();
    assert!(
        matches!(&error, ArtifactError::Damaged { name, reason, .. } if name == "model.strait" && reason.contains("another artifact")),
        "{error}"
    );
}

/// If the file were memory-mapped, reading it now would end the process with SIGBUS.
#[test]
fn a_container_file_that_is_cut_while_it_is_open_is_damaged() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("out");
    write(&out, "report");
    let artifact = open(&out);
    let model = fs::OpenOptions::new()
        .write(true)
        .open(out.join("model.strait"))
        .unwrap();
    model.set_len(0).unwrap();
    for integrity in [Integrity::Full, Integrity::SkipTensors] {
        let error = artifact.model(integrity).unwrap_err();
        assert!(matches!(error, ArtifactError::Damaged { .. }), "{error}");
    }
}
