//! `strait verify` on a compiled artifact: sound as it is, and what becomes of it when something in it changes, with and
//! without its digests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use strait_container::{Artifact, ArtifactWriter, CertificateRecord, Digest, Integrity, MODEL_FILE, Provenance};
use strait_core::{Module, text};
use tempfile::TempDir;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn strait(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strait"));
    command.env_remove("STRAIT_ISA").stdin(Stdio::null());
    command.args(arguments).output().unwrap()
}

/// The model in the repository, compiled, to be damaged.
struct Copy(TempDir);

impl Copy {
    fn new() -> Copy {
        let copy = Copy(tempfile::tempdir().unwrap());
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let cache = format!("calibration.cache='{}'", text(copy.0.path().join("cache")));
        let (config, out) = (text(repository("configs/generic-int8.toml")), text(copy.folder()));
        let done = strait(&["compile", &config, "--out", &out, "--set", &cache]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(printed.ends_with(&format!("digest: {}\n", copy.digest())), "{printed}");
        copy
    }

    fn digest(&self) -> Digest {
        Artifact::open(&self.folder()).unwrap().manifest().digest()
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("artifact")
    }

    /// Writes the artifact again, changed, with all its digests.
    fn rewrite(&self, change: impl FnOnce(Module, Vec<CertificateRecord>) -> (Module, Vec<CertificateRecord>)) {
        let artifact = Artifact::open(&self.folder()).unwrap();
        let model = artifact.model(Integrity::Full).unwrap();
        let (module, certificates) = change(model.module, model.certificates);
        let manifest = artifact.manifest().clone();
        let mut writer = ArtifactWriter::create(&self.folder()).unwrap();
        for name in manifest.files.keys().filter(|name| *name != MODEL_FILE) {
            writer.add_bytes(name, &artifact.file(name).unwrap()).unwrap();
        }
        writer.add_model(&module, &certificates).unwrap();
        let (sources, target, tool) = (manifest.sources, manifest.target, manifest.tool);
        writer.commit(Provenance { sources, target, tool }).unwrap();
    }

    /// The exit code and what was printed.
    fn verify(&self, more: &[&str]) -> (i32, String) {
        let folder = self.folder().to_string_lossy().into_owned();
        let output = strait(&[&["verify", &folder], more].concat());
        let printed = [output.stdout, output.stderr].concat();
        (
            output.status.code().unwrap(),
            String::from_utf8_lossy(&printed).into_owned(),
        )
    }
}

/// The text form with every element of every tensor.
fn whole() -> text::PrintOptions<'static> {
    text::PrintOptions {
        inline_limit: usize::MAX,
        ..text::PrintOptions::default()
    }
}

/// The module after a replacement in its text; tensors are written out.
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
        "computed by its own loops",
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

/// Each with all digests made anew, so that nothing but the certificates and the two graphs can tell.
#[test]
fn a_shift_a_weight_or_a_form_that_is_changed_with_its_digests_is_found_at_its_layer() {
    let multiplier = |module: &Module| {
        let whole = text::print(module, &whole());
        let main = &whole[whole.find("graph @main").unwrap()..];
        let at = main.find("multiplier=[").unwrap() + "multiplier=[".len();
        let digits = main[at..].find([',', ']']).unwrap();
        main[at..at + digits].to_owned()
    };
    // The first convolution of the fused graph, and its bias, which both graphs share.
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
        copy.rewrite(|module, certificates| (change(module), certificates));
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
    copy.rewrite(|module, mut certificates| {
        dropped = certificates.remove(0).node;
        (module, certificates)
    });
    let (code, printed) = copy.verify(&["--samples", "0"]);
    assert!(
        code == 4 && printed.contains(&dropped) && printed.contains("without a certificate"),
        "{printed}"
    );

    let copy = Copy::new();
    copy.rewrite(|module, mut certificates| {
        let (a, b) = (certificates[0].certificate.clone(), certificates[1].certificate.clone());
        (certificates[0].certificate, certificates[1].certificate) = (b, a);
        (module, certificates)
    });
    let (code, printed) = copy.verify(&["--samples", "0", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let subjects: Vec<&str> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["subject"].as_str().unwrap())
        .collect();
    assert!(
        code == 4 && subjects.len() >= 2 && subjects.iter().all(|s| *s == "layer"),
        "{printed}"
    );
}

/// Both graphs with another shift, and certificates that are right about it: nothing is wrong with this artifact, but that
/// it is another one.
#[test]
fn what_is_changed_consistently_is_another_artifact() {
    let copy = Copy::new();
    let before = copy.digest();
    // Without fusions there is nothing to certify.
    copy.rewrite(|module, _| {
        let whole = text::print(&module, &whole());
        let begin = whole.find("graph @lowered").unwrap();
        let end = begin + whole[begin..].find("\n}").unwrap() + 2;
        let lowered = &whole[begin..end];
        let main = lowered.replacen("@lowered", "@main", 1);
        let old = whole.find("graph @main").unwrap();
        let old_end = old + whole[old..].find("\n}").unwrap() + 2;
        (
            text::parse(&whole.replacen(&whole[old..old_end], &main, 1)).unwrap(),
            Vec::new(),
        )
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
