//! Gives tests a copy of a compiled artifact of the digits model, which they can damage.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use strait_container::{Artifact, ArtifactWriter, Digest, Integrity, MODEL_FILE, Provenance};
use strait_core::{CertificateRecord, Module};
use tempfile::TempDir;

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub(crate) fn strait(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strait"));
    command.env_remove("STRAIT_ISA").stdin(Stdio::null());
    command.args(arguments).output().unwrap()
}

/// Runs the program with these arguments; returns its exit code and everything it printed.
pub(crate) fn said(arguments: &[&str]) -> (i32, String) {
    let output = strait(arguments);
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    (output.status.code().unwrap(), printed)
}

/// An artifact in a temporary folder of its own.
pub(crate) struct Copy(TempDir);

/// The parts of an artifact that a test may change before the artifact is written again.
pub(crate) struct Parts {
    pub(crate) module: Module,
    pub(crate) certificates: Vec<CertificateRecord>,
    /// All files except the model file, by name.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) provenance: Provenance,
}

impl Copy {
    pub(crate) fn new() -> Copy {
        let copy = Copy(tempfile::tempdir().unwrap());
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let cache = format!("calibration.cache='{}'", text(copy.0.path().join("cache")));
        let config = text(repository("configs/generic-int8.toml"));
        let (code, printed) = said(&["compile", &config, "--out", &copy.path(), "--set", &cache]);
        assert!(
            code == 0 && printed.contains(&format!("digest: {}\n", copy.digest())),
            "{printed}"
        );
        copy
    }

    pub(crate) fn digest(&self) -> Digest {
        Artifact::open(&self.folder()).unwrap().manifest().digest()
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.path().join("artifact")
    }

    /// The artifact's folder as a command-line argument.
    pub(crate) fn path(&self) -> String {
        self.folder().to_string_lossy().into_owned()
    }

    /// Changes the artifact and writes it again, with all digests recomputed.
    pub(crate) fn rewrite(&self, change: impl FnOnce(&mut Parts)) {
        let artifact = Artifact::open(&self.folder()).unwrap();
        let model = artifact.model(Integrity::Full).unwrap();
        let manifest = artifact.manifest().clone();
        let others = manifest.files.keys().filter(|name| *name != MODEL_FILE);
        let files = others.map(|name| (name.clone(), artifact.file(name).unwrap().to_vec()));
        let (ports, sources) = (manifest.ports, manifest.sources);
        let (target, tool) = (manifest.target, manifest.tool);
        let mut parts = Parts {
            module: model.module,
            certificates: model.certificates,
            files: files.collect(),
            provenance: Provenance {
                ports,
                sources,
                target,
                tool,
            },
        };
        change(&mut parts);
        let writer = ArtifactWriter::create(&self.folder()).unwrap();
        for (name, bytes) in &parts.files {
            writer.add_bytes(name, bytes).unwrap();
        }
        writer.add_model(&parts.module, &parts.certificates).unwrap();
        writer.commit(parts.provenance).unwrap();
    }

    /// Runs `strait verify`; returns its exit code and everything it printed.
    pub(crate) fn verify(&self, more: &[&str]) -> (i32, String) {
        said(&[&["verify", &self.path()], more].concat())
    }
}
