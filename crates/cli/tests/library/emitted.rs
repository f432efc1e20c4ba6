//! Tests of the files that plugins emit. A file that an artifact cannot contain is refused before it is written.

use crate::build::{TABLE, hostile, load, workshop};
use crate::command::{CHIP, configuration, fails, text};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use strait_core::{Module, text::parse};
use strait_plugin_host::{register, sha256};
use strait_target::{Options, Registry, Sink, TargetError};

/// A sink that counts the bytes and keeps nothing.
#[derive(Default)]
struct Count {
    bytes: usize,
    largest: usize,
}

impl Sink for Count {
    fn bytes(&mut self, path: &str, content: &[u8]) -> Result<(), TargetError> {
        self.append(path, content).map(|_| ())
    }

    fn append(&mut self, _: &str, piece: &[u8]) -> Result<bool, TargetError> {
        self.bytes += piece.len();
        self.largest = self.largest.max(piece.len());
        Ok(true)
    }

    fn graph(&mut self, _: &str, format: &str, _: &Module) -> Result<(), TargetError> {
        Err(TargetError::Unsupported(format.to_owned()))
    }
}

/// Runs a plugin whose `emit` executes this C code; returns the counted bytes and the result.
fn emitted(folder: &Path, name: &str, what: &str) -> (Count, Result<(), String>) {
    let id = "id      = \"every-form\"";
    let table = TABLE.replace(id, &format!("{id}\nemit = [\"package\"]"));
    let path = hostile(folder, name, &table, &[("IN_EMIT", what)]);
    let mut registry = Registry::default();
    let entry = register(&mut registry, Arc::new(load(&path, None).unwrap())).unwrap();
    let target = entry.target(&Options::new()).unwrap();
    let module = "strait 1 integer\ngraph @main(%x: i8[1] scale=1.0 zero=0) {\n  return %x\n}\n";
    let mut count = Count::default();
    let done = target.emit(&parse(module).unwrap(), &mut count);
    (count, done.map_err(|error| error.to_string()))
}

#[test]
fn a_name_that_no_artifact_can_have_is_refused_with_what_would_be_right() {
    let Some(folder) = workshop() else { return };
    for (name, what, part) in [
        (
            "absolute",
            "FILE_OF(\"/tmp/x\", \"1\")",
            "emits `/tmp/x`: the name is absolute",
        ),
        (
            "climbing",
            "FILE_OF(\"a/../../x\", \"1\")",
            "emits `a/../../x`: the name climbs",
        ),
        ("empty", "FILE_OF(\"\", \"1\")", "emits ``: a file needs a name"),
        (
            "letters",
            "FILE_OF(\"a\\033[2J\", \"1\")",
            "emits `a\\u{1b}[2J`: `a\\u{1b}[2J` is no part of a name",
        ),
        (
            "utf",
            "FILE_OF(\"a\\377\", \"1\")",
            "whose name is not UTF-8, `a\\xff`; names are ASCII",
        ),
        (
            "device",
            "FILE_OF(\"a/nul.bin\", \"1\")",
            "is the name of a device on Windows",
        ),
        (
            "capitals",
            "FILE_OF(\"a/weights\", \"1\"); FILE_OF(\"a/Weights\", \"1\")",
            "emits `a/Weights`: it differs from `a/weights`",
        ),
        (
            "folder",
            "FILE_OF(\"a\", \"1\"); FILE_OF(\"a/b\", \"1\")",
            "emits `a/b`: `a` would be a file and a folder",
        ),
        (
            "long",
            "char name[600]; memset(name, 'a', 600); (void)model->write(model->sink, name, 600, (const uint8_t *)name, 1)",
            "the name has 600 bytes, and 512 are the most",
        ),
        (
            "many",
            "char name[32]; for (int i = 0; i < 300000; i++) { (void)model->write(model->sink, name, \
             (uint64_t)snprintf(name, sizeof name, \"files/%d\", i), (const uint8_t *)name, 1); }",
            "emits `files/10000`: the artifact has 10000 files already, and more are not read back",
        ),
        (
            "nameless",
            "(void)model->write(model->sink, NULL, 5, (const uint8_t *)\"1\", 1)",
            "it wrote a file whose name is not there",
        ),
    ] {
        let (_, done) = emitted(folder.path(), name, what);
        let error = done.unwrap_err();
        assert!(error.contains(part), "{name}: {error}");
    }
}

#[test]
fn pieces_come_as_they_are_written_in_turns_and_a_file_has_a_limit() {
    let Some(folder) = workshop() else { return };
    let piece = "static char piece[1 << 20]; (void)piece; ";
    let write = |file: &str| {
        format!("if (model->write(model->sink, \"{file}\", 1, (const uint8_t *)piece, 1 << 20) != 0) return STRAIT_IO")
    };
    let turns = format!(
        "{piece} for (int i = 0; i < 40; i++) {{ {}; {}; }}",
        write("a"),
        write("b")
    )
    .replace("STRAIT_IO", "STRAIT_RESOURCE");
    let (count, done) = emitted(folder.path(), "turns", &turns);
    assert_eq!((count.bytes, count.largest, done), (80 << 20, 1 << 20, Ok(())));
    let endless = format!("{piece} LOOP {{ {}; }}", write("a")).replace("STRAIT_IO", "STRAIT_RESOURCE");
    let (count, done) = emitted(folder.path(), "endless", &endless);
    let error = done.unwrap_err();
    assert!(
        error.contains("emits `a`: the file has more than the 4294967296 bytes"),
        "{error}"
    );
    assert_eq!(count.bytes as u64, 4 << 30);
}

fn configured(folder: &Path, name: &str, what: &str) -> std::path::PathBuf {
    let id = "id      = \"acme-npu2\"";
    let table = CHIP.replace(id, &format!("{id}\nemit = [\"package\"]"));
    let path = hostile(folder, name, &table, &[("IN_EMIT", what)]);
    let digest = sha256(&path).unwrap();
    let plugin = format!("[[plugin]]\npath = '{}'\nsha256 = '{digest}'\n", path.display());
    configuration(folder, name, "", &plugin)
}

#[test]
fn strait_s_own_files_are_not_a_plugins_and_nothing_is_left_of_an_artifact_that_failed() {
    let Some(folder) = workshop() else { return };
    let folder = folder.path();
    for own in [
        "manifest.json",
        "Model.strait",
        "report.json",
        "quantization.json",
        "params.toml",
        "deployment.json",
    ] {
        let what = format!("FILE_OF(\"good\", \"1\"); FILE_OF(\"{own}\", \"1\")");
        let configured = configured(folder, "own", &what);
        let said = fails(&["compile", text(&configured)], 1);
        assert!(
            said.contains(&format!("cannot write {own}: `{own}` is no file of an artifact: ")),
            "{said}"
        );
        assert!(!folder.join("own").exists());
        let left = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left
            .filter(|name| name.to_string_lossy().contains(".strait-"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_artifact_may_be_larger_than_the_memory_of_the_host_and_of_the_plugin() {
    let Some(folder) = workshop() else { return };
    let folder = folder.path();
    let what = "static char piece[1 << 20]; for (int i = 0; i < 600; i++) \
                if (model->write(model->sink, i % 3 ? \"a\" : \"b/c\", i % 3 ? 1 : 3, (const uint8_t *)piece, 1 << 20) != 0) \
                return STRAIT_RESOURCE";
    let configured = configured(folder, "large", what);
    let script = format!(
        "ulimit -d 300000; '{}' compile '{}' --memory 200M",
        env!("CARGO_BIN_EXE_strait"),
        configured.display()
    );
    let out = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let size = |file: &str| std::fs::metadata(folder.join("large").join(file)).unwrap().len();
    assert_eq!([size("a"), size("b/c")], [400 << 20, 200 << 20]);
}
