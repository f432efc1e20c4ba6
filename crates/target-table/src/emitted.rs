//! Checks the files that a target emits: their names, their number and their sizes. The checks are the same for a
//! target in this process and for a plugin in a process of its own.

use crate::target::{Sink, TargetError};
use std::collections::BTreeMap;
use strait_core::Module;
use strait_file_names::FileNames;

/// The largest number of bytes of a file that a target emits.
pub const MOST_FILE_BYTES: u64 = 4 << 30;

/// The largest number of bytes of all files together that a target emits for a model.
pub const MOST_EMITTED_BYTES: u64 = 8 << 30;

/// An error shows at most this many characters of a wrong file name.
const SHOWN: usize = 100;

/// A sink that checks the rules for a target's files: their names, their number and their sizes. A graph that is
/// written in one of Strait's own formats has no size limit, since its size depends on the model.
pub struct Emitted<'a> {
    sink: &'a mut dyn Sink,
    target: &'a str,
    names: FileNames,
    /// For each file that is written in pieces, the number of its bytes so far.
    begun: BTreeMap<String, u64>,
    /// The contents of files that are written in pieces. They are only kept if the inner sink accepts only whole files.
    kept: BTreeMap<String, Vec<u8>>,
    /// Number of bytes of all files together.
    all: u64,
    most: Most,
}

/// The size limits: for one file, and for all files together, in bytes.
struct Most {
    one: u64,
    all: u64,
}

impl<'a> Emitted<'a> {
    /// Makes the sink for the files of the target with the id `target`.
    pub fn new(sink: &'a mut dyn Sink, target: &'a str) -> Emitted<'a> {
        Emitted {
            sink,
            target,
            names: FileNames::default(),
            begun: BTreeMap::new(),
            kept: BTreeMap::new(),
            all: 0,
            most: Most {
                one: MOST_FILE_BYTES,
                all: MOST_EMITTED_BYTES,
            },
        }
    }

    /// Writes the files that are still in memory: those that the target wrote in pieces, if the inner sink accepts only
    /// whole files. Call this after the target has written everything.
    ///
    /// # Errors
    /// The errors of the inner sink.
    pub fn finish(self) -> Result<(), TargetError> {
        let mut kept = self.kept.iter();
        kept.try_for_each(|(path, content)| self.sink.bytes(path, content))
    }

    fn name(&mut self, path: &str) -> Result<(), TargetError> {
        self.names
            .add(path)
            .map_err(|fault| self.wrong(path, fault.to_string()))
    }

    /// Adds `more` bytes to the size of a file and checks the limits. Returns the new size.
    fn grow(&mut self, path: &str, size: u64, more: usize) -> Result<u64, TargetError> {
        let (one, all) = (size.saturating_add(more as u64), self.all.saturating_add(more as u64));
        if one > self.most.one {
            let most = self.most.one;
            return Err(self.wrong(
                path,
                format!("the file has more than the {most} bytes that one may have; split it"),
            ));
        }
        if all > self.most.all {
            let most = self.most.all;
            let fault = format!("with it, all files of the model have more than the {most} bytes that they may have");
            return Err(self.wrong(path, fault));
        }
        self.all = all;
        Ok(one)
    }

    fn wrong(&self, path: &str, fault: String) -> TargetError {
        let whole = path.escape_debug().to_string();
        let shown: String = whole.chars().take(SHOWN).collect();
        TargetError::Emitted {
            target: self.target.to_owned(),
            path: if shown == whole { shown } else { format!("{shown}…") },
            fault,
        }
    }
}

impl Sink for Emitted<'_> {
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
        self.name(path)?;
        self.grow(path, 0, content.len())?;
        self.sink.bytes(path, content)
    }

    fn append(&mut self, path: &str, piece: &[u8]) -> Result<bool, TargetError> {
        let size = match self.begun.get(path) {
            Some(&size) => size,
            None => {
                self.name(path)?;
                0
            }
        };
        let size = self.grow(path, size, piece.len())?;
        self.begun.insert(path.to_owned(), size);
        if !self.sink.append(path, piece)? {
            self.kept.entry(path.to_owned()).or_default().extend(piece);
        }
        Ok(true)
    }

    fn graph(&mut self, path: &str, format: &str, module: &Module) -> Result<(), TargetError> {
        self.name(path)?;
        self.sink.graph(path, format, module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Files(BTreeMap<String, Vec<u8>>);

    impl Sink for Files {
        fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
            self.0.insert(path.to_owned(), content.to_vec());
            Ok(())
        }

        fn graph(&mut self, path: &str, _: &str, _: &Module) -> Result<(), TargetError> {
            self.bytes(path, b"graph")
        }
    }

    fn fault<T: std::fmt::Debug>(error: Result<T, TargetError>) -> String {
        match error {
            Err(TargetError::Emitted { target, path, fault }) => format!("{target} {path}: {fault}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_target_emits_only_what_an_artifact_can_have() {
        let module = strait_core::text::parse("strait 1 float\ngraph @main(%x: f32[1]) {\n  return %x\n}\n").unwrap();
        let mut files = Files::default();
        let mut sink = Emitted::new(&mut files, "acme");
        sink.bytes("a/b", b"one").unwrap();
        for (path, part) in [
            ("/tmp/x", "acme /tmp/x: the name is absolute"),
            ("../x", "acme ../x: the name climbs"),
            ("a/b", "a/b: the artifact has a file of this name already"),
            ("A/b", "it differs from `a`, which is there already"),
            ("\u{1b}[2J", "acme \\u{1b}[2J: `\\u{1b}[2J` is no part of a name"),
        ] {
            for said in [
                fault(sink.bytes(path, b"two")),
                fault(sink.graph(path, "onnx", &module)),
            ] {
                assert!(said.contains(part), "{said}");
            }
        }
        let long = fault(sink.bytes(&"x".repeat(5000), b""));
        assert!(
            long.contains("…: the name has 5000 bytes") && long.len() < 250,
            "{long}"
        );
        assert_eq!(files.0, BTreeMap::from([("a/b".to_owned(), b"one".to_vec())]));
    }

    #[test]
    fn files_have_a_limit_each_and_together() {
        let mut files = Files::default();
        let mut sink = Emitted::new(&mut files, "acme");
        sink.most = Most { one: 10, all: 25 };
        for name in ["a", "b"] {
            sink.bytes(name, &[0; 10]).unwrap();
        }
        // This file is written in short pieces.
        assert_eq!(sink.append("c", &[0; 3]), Ok(true));
        let all = fault(sink.append("c", &[0; 3]));
        assert!(
            all.contains("acme c: with it, all files of the model have more than the 25 bytes"),
            "{all}"
        );
        sink.most.all = 100;
        for one in [fault(sink.bytes("d", &[0; 11])), fault(sink.append("c", &[0; 8]))] {
            assert!(one.contains("the file has more than the 10 bytes"), "{one}");
        }
        assert_eq!(files.0.into_keys().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn files_in_pieces_are_written_in_turns_and_are_no_whole_files() {
        let mut files = Files::default();
        let mut sink = Emitted::new(&mut files, "acme");
        for (path, piece) in [("a", "1"), ("b", "2"), ("a", "3"), ("c", "")] {
            sink.append(path, piece.as_bytes()).unwrap();
        }
        sink.bytes("d", b"").unwrap();
        for twice in [fault(sink.bytes("a", b"")), fault(sink.append("d", b""))] {
            assert!(
                twice.contains("the artifact has a file of this name already"),
                "{twice}"
            );
        }
        sink.finish().unwrap();
        let expected = [("a", "13"), ("b", "2"), ("c", ""), ("d", "")];
        let expected = expected.map(|(path, content)| (path.to_owned(), content.as_bytes().to_vec()));
        assert_eq!(files.0, BTreeMap::from(expected));
    }
}
