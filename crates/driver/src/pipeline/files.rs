//! Adds the files that a target writes to the artifact.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt::Display,
    io::{self, Write},
};

use strait_container::{ArtifactWriter, Unfinished};
use strait_core::{Module, Reason, ReasonCode};
use strait_onnx::{Encoded, WriteError};
use strait_target::{Sink, TargetError};

/// The name of the ONNX format for targets.
pub(super) const ONNX: &str = "onnx";

/// Receives a target's files. Graphs are added to the artifact at once. Other files are added when all of them are
/// finished.
pub(super) struct Files<'a> {
    writer: &'a ArtifactWriter,
    /// An ONNX file may have at most this many bytes. If it would be longer, its large tensors are written to a
    /// separate file.
    most: usize,
    /// Files that are not finished yet.
    begun: BTreeMap<String, Unfinished<'a>>,
    /// Names of the unfinished files that are open at the moment.
    open: BTreeSet<String>,
}

/// At most this many unfinished files are open at the same time.
const MOST_OPEN: usize = 32;

impl Files<'_> {
    pub(super) fn new(writer: &ArtifactWriter) -> Files<'_> {
        Files {
            writer,
            most: strait_onnx::MOST_BYTES,
            begun: BTreeMap::new(),
            open: BTreeSet::new(),
        }
    }

    /// Adds all finished files to the artifact. If this function is not called, the artifact contains only the graphs,
    /// and the other files are removed.
    pub(super) fn finish(&mut self) -> Result<(), TargetError> {
        self.open.clear();
        let mut begun = std::mem::take(&mut self.begun).into_iter();
        begun.try_for_each(|(path, file)| file.finish().map_err(|error| unwritten(&path, &error)))
    }

    /// Adds an ONNX file of quantized operators to the artifact.
    ///
    /// # Errors
    /// [`TargetError::Refused`] with the first node for which there is no such operator.
    pub(super) fn operators(&mut self, path: &str, module: &Module) -> Result<(), TargetError> {
        let encoded =
            strait_onnx::encode_operators(module, &data_file(path), self.most).map_err(|error| match error {
                WriteError::Unwritable { node, text } => {
                    TargetError::Refused(Reason::new(ReasonCode::Foreign, format!("in `{node}`, {text}")))
                }
                error => unwritten(path, &error),
            })?;
        self.onnx(path, &encoded)
    }

    fn onnx(&self, path: &str, encoded: &Encoded) -> Result<(), TargetError> {
        self.add(path, |out| encoded.write(out))?;
        match encoded.data() {
            Some(tensors) => self.add(&format!("{path}.data"), |out| tensors.write(out)),
            None => Ok(()),
        }
    }

    fn add(&self, path: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), TargetError> {
        (self.writer.add_with(path, write)).map_err(|error| unwritten(path, &error))
    }
}

impl Sink for Files<'_> {
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
        // The file is not added to the artifact yet. So if the target refuses the model later, the file is not left
        // behind.
        self.append(path, content).map(|_| ())
    }

    fn append(&mut self, path: &str, piece: &[u8]) -> Result<bool, TargetError> {
        let is_open = self.open.contains(path);
        if !is_open && self.open.len() >= MOST_OPEN {
            for open in std::mem::take(&mut self.open) {
                let rested = self.begun.get_mut(&open).map_or(Ok(()), Unfinished::rest);
                rested.map_err(|error| unwritten(&open, &error))?;
            }
        }
        let file = match self.begun.entry(path.to_owned()) {
            Entry::Occupied(file) => file.into_mut(),
            Entry::Vacant(place) => {
                let file = self.writer.begin(path).map_err(|error| unwritten(path, &error))?;
                place.insert(file)
            }
        };
        if !is_open {
            self.open.insert(path.to_owned());
        }
        file.write_all(piece).map_err(|error| unwritten(path, &error))?;
        Ok(true)
    }

    fn graph(&mut self, path: &str, format: &str, module: &Module) -> Result<(), TargetError> {
        if format != ONNX {
            return Err(TargetError::Unsupported(format!("the format `{format}`")));
        }
        let encoded = strait_onnx::encode(module, &data_file(path), self.most);
        self.onnx(path, &encoded.map_err(|error| unwritten(path, &error))?)
    }
}

/// The path of the separate file with the tensors, relative to the folder of the ONNX file.
fn data_file(path: &str) -> String {
    format!("{}.data", path.rsplit('/').next().unwrap_or(path))
}

fn unwritten(path: &str, error: &dyn Display) -> TargetError {
    TargetError::Sink {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

/// The error for a model that a format cannot express.
pub(super) fn refused(text: String) -> TargetError {
    TargetError::Refused(Reason::new(ReasonCode::Foreign, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_container::{Artifact, Provenance, Sources, TargetVersion, ToolVersion, sha256};
    use strait_core::text::{PrintOptions, parse, print};
    use strait_import::ReadOptions;

    /// A model with two matrix products. The weights of the first product take 12 KB, those of the second less than a
    /// page of memory.
    const MODEL: &str = "strait 1 float
graph @main(%x: f32[1,50]) {
  %h: f32[1,60] = gemm(%x, @w) {transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0}
  %y: f32[1,3] = gemm(%h, @v) {transpose_a=0, transpose_b=0, alpha=1.0, beta=1.0}
  return %y
}
data @w: f32[50,60] = random 1
data @v: f32[60,3] = random 2
";

    fn provenance() -> Provenance {
        let sources = Sources {
            config: sha256(b""),
            data: BTreeMap::new(),
            model: sha256(b""),
            not_for_deployment: None,
            readers: BTreeMap::new(),
        };
        let target = TargetVersion {
            id: "generic-int8".into(),
            origin: None,
            table: sha256(b""),
            version: "1.0.0".into(),
        };
        let tool = ToolVersion {
            name: "strait".into(),
            version: "1.0.0".into(),
        };
        Provenance {
            ports: Default::default(),
            sources,
            target,
            tool,
        }
    }

    #[test]
    fn files_in_pieces_are_of_the_artifact_once_they_are_finished_and_leave_nothing_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let module = parse(MODEL).unwrap();
        for finished in [true, false] {
            let place = folder.path().join(finished.to_string());
            let writer = ArtifactWriter::create(&place).unwrap();
            writer.add_model(&module, &[]).unwrap();
            let mut files = Files::new(&writer);
            // Write in turns to more files than may be open at once.
            for turn in ["one", "two"] {
                for index in 0..3 * MOST_OPEN {
                    assert_eq!(files.append(&format!("files/{index}"), turn.as_bytes()), Ok(true));
                }
            }
            if finished {
                files.finish().unwrap();
            }
            drop(files);
            let manifest = writer.commit(provenance()).unwrap();
            let artifact = Artifact::open(&place).unwrap();
            assert!(artifact.check().unwrap().is_empty());
            assert_eq!(manifest.files.len(), if finished { 3 * MOST_OPEN + 1 } else { 1 });
            if finished {
                assert_eq!(artifact.file("files/7").unwrap(), &b"onetwo"[..]);
            }
        }
    }

    #[test]
    fn tensors_that_have_no_place_in_a_file_are_files_of_the_artifact_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let module = parse(MODEL).unwrap();
        let of = |most: usize| {
            let place = folder.path().join(most.to_string());
            let writer = ArtifactWriter::create(&place).unwrap();
            writer.add_model(&module, &[]).unwrap();
            let mut files = Files {
                most,
                ..Files::new(&writer)
            };
            files.graph("onnx/deploy.onnx", ONNX, &module).unwrap();
            drop(files);
            let manifest = writer.commit(provenance()).unwrap();
            assert!(Artifact::open(&place).unwrap().check().unwrap().is_empty());
            let again = strait_onnx::read(&place.join("onnx/deploy.onnx"), &ReadOptions::default()).unwrap();
            assert_eq!(
                print(&again, &PrintOptions::whole()),
                print(&module, &PrintOptions::whole())
            );
            let names: Vec<String> = manifest.files.keys().cloned().collect();
            (names, place)
        };
        assert_eq!(of(1 << 20).0, ["model.strait", "onnx/deploy.onnx"]);
        let (names, place) = of(1 << 13);
        assert_eq!(names, ["model.strait", "onnx/deploy.onnx", "onnx/deploy.onnx.data"]);
        assert_eq!(
            std::fs::metadata(place.join("onnx/deploy.onnx.data")).unwrap().len(),
            12_000
        );
        assert!(std::fs::metadata(place.join("onnx/deploy.onnx")).unwrap().len() < 1 << 12);
        // A file that exceeds the size limit is refused, and so no artifact is written.
        let writer = ArtifactWriter::create(&folder.path().join("none")).unwrap();
        let refused = Files {
            most: 100,
            ..Files::new(&writer)
        }
        .graph("deploy.onnx", ONNX, &module);
        let Err(TargetError::Sink { message, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(message.contains("and may have 100"), "{message}");
    }
}
