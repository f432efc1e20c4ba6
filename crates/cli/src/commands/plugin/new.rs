//! Runs `strait plugin new`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use strait_driver::{
    diagnostic::Diagnostic,
    failure::{codes, unwritten},
    stop::Stop,
};

use super::names;
use crate::{
    arguments::{Language, New},
    console,
    exit::Exit,
};

/// The table that every new target starts with.
const TABLE: &str = include_str!("../../../templates/target.toml");

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../../templates/", $path))
    };
}

macro_rules! header {
    ($name:literal) => {
        include_str!(concat!("../../../../../include/", $name))
    };
}

pub(super) fn run(arguments: &New) -> Exit {
    match written(arguments) {
        Ok(folder) => {
            let folder = folder.display();
            let next = match arguments.lang {
                Language::Toml => format!("next: `strait plugin check {folder}/{}.toml`\n", arguments.name),
                Language::Rust | Language::C => String::new(),
            };
            console::print(&format!("{folder} is there; its README.md says how to go on\n{next}"))
        }
        Err(stop) => console::stopped(&stop, false),
    }
}

/// A file of a project: its path and its contents.
type File = (String, String);

fn written(arguments: &New) -> Result<PathBuf, Stop> {
    let name = &arguments.name;
    names::legal(name, arguments.lang)?;
    let folder = arguments.folder.clone().unwrap_or_else(|| name.into());
    let files = match arguments.lang {
        Language::Toml => toml(name),
        Language::Rust => rust(name, arguments.strait.as_deref())?,
        Language::C => c(name),
    };
    match fs::read_dir(&folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                let message = format!("{} is not empty", folder.display());
                return Err(Diagnostic::error(codes::OUTPUT, message)
                    .help("name another folder with --folder; nothing was written")
                    .into());
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unwritten(&folder, &error).into()),
    }
    put(&folder, &files).map_err(|(path, error)| unwritten(&path, &error))?;
    Ok(folder)
}

/// Writes all files of a project, or none: if a file cannot be written, the files that were already written are
/// removed. The folder must be empty or missing.
fn put(folder: &Path, files: &[File]) -> Result<(), (PathBuf, io::Error)> {
    let was_there = folder.exists();
    let all = || {
        for (path, content) in files {
            let path = folder.join(path);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(|error| (parent.to_owned(), error))?;
            let written = fs::write(&path, content).and_then(|()| executable(&path));
            written.map_err(|error| (path, error))?;
        }
        Ok(())
    };
    all().inspect_err(|_| {
        // Errors of this clean-up are ignored. The reported error is the one that says why the file could not be
        // written.
        let _ = fs::remove_dir_all(folder);
        if was_there {
            let _ = fs::create_dir(folder);
        }
    })
}

/// Makes a script executable.
fn executable(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if path.extension().is_some_and(|extension| extension == "sh") {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    }
    let _ = path;
    Ok(())
}

/// Makes files from templates: replaces `NAME` by the target's name, and `CRATE` by this name as a Rust identifier.
fn files(name: &str, templates: &[(&str, &str)]) -> Vec<File> {
    let word = name.replace('-', "_");
    let of = |template: &str| template.replace("CRATE", &word).replace("NAME", name);
    templates.iter().map(|(path, text)| (of(path), of(text))).collect()
}

fn toml(name: &str) -> Vec<File> {
    let templates = [
        ("NAME.toml", TABLE),
        ("README.md", template!("toml/README.md")),
        ("check.sh", template!("toml/check.sh")),
    ];
    files(name, &templates)
}

fn c(name: &str) -> Vec<File> {
    let templates = [
        ("target.toml", TABLE),
        ("plugin.c", template!("c/plugin.c")),
        ("test.c", template!("c/test.c")),
        ("Makefile", template!("c/Makefile")),
        ("README.md", template!("c/README.md")),
        (".gitignore", "*.so\ntable.inc\nrun-test\n"),
    ];
    let mut files = files(name, &templates);
    // These files are the same for every target.
    files.extend([
        ("strait_plugin.h".into(), header!("strait_plugin.h").into()),
        ("strait_ir.h".into(), header!("strait_ir.h").into()),
    ]);
    files
}

fn rust(name: &str, strait: Option<&str>) -> Result<Vec<File>, Stop> {
    let source = Source::of(strait)?;
    let templates = [
        ("Cargo.toml", template!("rust/Cargo.toml.in")),
        ("target.toml", TABLE),
        ("README.md", template!("rust/README.md")),
        (".gitignore", "target\n"),
        ("src/lib.rs", template!("rust/lib.rs.in")),
        ("library/Cargo.toml", template!("rust/library.toml.in")),
        ("library/src/lib.rs", template!("rust/library.rs.in")),
        ("program/Cargo.toml", template!("rust/program.toml.in")),
        ("program/src/main.rs", template!("rust/main.rs.in")),
        ("program/tests/kit.rs", template!("rust/kit.rs.in")),
    ];
    let mut files = files(name, &templates);
    for (_, text) in &mut files {
        *text = text.replace("STRAIT_SDK", &source.dependency("plugin-sdk"));
        *text = text.replace("STRAIT_CLI", &source.dependency("cli"));
        *text = text.replace("RUST_VERSION", env!("CARGO_PKG_RUST_VERSION"));
    }
    Ok(files)
}

/// Where a project finds the crates of Strait.
enum Source {
    /// The crates are in the folder `crates` of a checkout.
    Folder(PathBuf),
    /// The crates are in a Git repository at this address.
    Git(String),
}

impl Source {
    fn of(strait: Option<&str>) -> Result<Source, Stop> {
        let wrong = |message: String| {
            let help = "name a checkout of Strait, or the address of its Git repository, with --strait: its crates are in no \
                        registry yet";
            Stop::from(Diagnostic::error(codes::OUTPUT, message).help(help))
        };
        let strait = strait.ok_or_else(|| wrong("a target in Rust depends on strait-plugin-sdk".into()))?;
        if strait.contains("://") {
            return Ok(Source::Git(strait.into()));
        }
        // The path is made absolute, since the project may be in any folder.
        let sdk = fs::canonicalize(Path::new(strait).join("crates/plugin-sdk"))
            .map_err(|error| wrong(format!("{strait} is no checkout of Strait: {error}")))?;
        Ok(Source::Folder(sdk.parent().unwrap_or(&sdk).into()))
    }

    /// The line in the project's manifest for one of the crates.
    fn dependency(&self, folder: &str) -> String {
        let (key, value) = match self {
            Source::Folder(crates) => ("path", crates.join(folder).display().to_string()),
            Source::Git(address) => ("git", address.clone()),
        };
        // `{value:?}` writes the text with the quotes and escapes that TOML needs.
        format!("strait-{folder} = {{ {key} = {value:?} }}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_project_that_cannot_be_written_nothing_is_left() {
        let files = ["a/b", "c", "c/d"].map(|path| (path.to_owned(), String::new()));
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("new");
        assert!(put(&folder, &files).is_err());
        assert!(!folder.exists());
        fs::create_dir(&folder).unwrap();
        assert!(put(&folder, &files).is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        put(&folder, &files[..2]).unwrap();
        assert!(folder.join("a/b").exists());
    }
}
