//! The files of a target, on their way into the artifact.

use std::{fmt::Display, io};

use strait_container::ArtifactWriter;
use strait_core::Module;
use strait_target::{Sink, TargetError};

/// The ONNX format, as targets name it.
pub(super) const ONNX: &str = "onnx";

/// Files go into the artifact.
pub(super) struct Files<'a> {
    writer: &'a ArtifactWriter,
    /// The most bytes of a file of ONNX; large tensors of a longer one are in a file beside it.
    most: usize,
}

impl Files<'_> {
    pub(super) fn new(writer: &ArtifactWriter) -> Files<'_> {
        Files {
            writer,
            most: strait_onnx::MOST_BYTES,
        }
    }

    fn add(&self, path: &str, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<(), TargetError> {
        (self.writer.add_with(path, write)).map_err(|error| unwritten(path, &error))
    }
}

impl Sink for Files<'_> {
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
        self.add(path, |out| out.write_all(content))
    }

    fn graph(&mut self, path: &str, format: &str, module: &Module) -> Result<(), TargetError> {
        if format != ONNX {
            return Err(TargetError::Unsupported(format!("the format `{format}`")));
        }
        let data = format!("{path}.data");
        // The model names the file from its own folder.
        let name = data.rsplit('/').next().unwrap_or(&data);
        let encoded = strait_onnx::encode(module, name, self.most);
        let encoded = encoded.map_err(|error| unwritten(path, &error))?;
        self.add(path, |out| encoded.write(out))?;
        match encoded.data() {
            Some(tensors) => self.add(&data, |out| tensors.write(out)),
            None => Ok(()),
        }
    }
}

fn unwritten(path: &str, error: &dyn Display) -> TargetError {
    TargetError::Sink {
        path: path.to_owned(),
        message: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use strait_container::{Artifact, Provenance, Sources, TargetVersion, ToolVersion, sha256};
    use strait_core::text::{PrintOptions, parse, print};
    use strait_import::ReadOptions;

    /// Two products: the weights of the one are 12 KB, and those of the other less than a page.
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
        Provenance { sources, target, tool }
    }

    #[test]
    fn tensors_that_have_no_place_in_a_file_are_files_of_the_artifact_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let module = parse(MODEL).unwrap();
        let of = |most: usize| {
            let place = folder.path().join(most.to_string());
            let writer = ArtifactWriter::create(&place).unwrap();
            writer.add_model(&module, &[]).unwrap();
            let mut files = Files { writer: &writer, most };
            files.graph("onnx/deploy.onnx", ONNX, &module).unwrap();
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
        // A file that stays too long is refused, and so is the artifact.
        let writer = ArtifactWriter::create(&folder.path().join("none")).unwrap();
        let refused = Files {
            writer: &writer,
            most: 100,
        }
        .graph("deploy.onnx", ONNX, &module);
        let Err(TargetError::Sink { message, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(message.contains("and may have 100"), "{message}");
    }
}
