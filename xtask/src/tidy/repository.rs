//! The files of the repository, as the checks see them.

use super::source::Source;
use crate::process;
use std::path::Path;
use std::process::Command;

pub(crate) struct File {
    /// Path from the top of the repository, with forward slashes.
    pub(crate) path: String,
    pub(crate) bytes: usize,
    /// Text of the file; `None` if it is not UTF-8.
    pub(crate) text: Option<String>,
}

impl File {
    fn new(path: &str, content: Vec<u8>) -> File {
        File {
            path: path.to_owned(),
            bytes: content.len(),
            text: String::from_utf8(content).ok(),
        }
    }

    /// The lines of a text file, each with its number from 1 on.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .iter()
            .flat_map(|text| text.lines())
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }

    /// If the file belongs to a package in the folder `crates`, returns the package's folder and the path of the file
    /// inside that folder.
    pub(crate) fn in_crate(&self) -> Option<(&str, &str)> {
        let rest = self.path.strip_prefix("crates/")?;
        rest.split_once('/')
    }
}

pub(crate) struct Repository {
    pub(crate) files: Vec<File>,
}

impl Repository {
    /// Reads every file that git tracks or would add, with its contents in the working tree.
    pub(crate) fn read(root: &Path) -> Result<Repository, String> {
        let mut git = Command::new("git");
        git.current_dir(root)
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let mut files = Vec::new();
        for path in process::output(&mut git)?.split_terminator('\0') {
            match std::fs::read(root.join(path)) {
                Ok(content) => files.push(File::new(path, content)),
                // The file has been deleted, and the deletion is not committed yet.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{path}: {error}")),
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Repository { files })
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Repository {
        Repository {
            files: files
                .iter()
                .map(|(path, text)| File::new(path, text.as_bytes().to_vec()))
                .collect(),
        }
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files in the folders `src` of the packages in `crates`, each with the package's folder.
    pub(crate) fn sources_of_crates(&self) -> impl Iterator<Item = (&str, &File, Source)> {
        self.sources().filter_map(|(file, source)| {
            let (package, inside) = file.in_crate()?;
            inside.starts_with("src/").then_some((package, file, source))
        })
    }

    /// The Rust files, split into code, comments and strings.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&File, Source)> {
        let rust = self.files.iter().filter(|file| file.path.ends_with(".rs"));
        rust.filter_map(|file| Some((file, Source::new(file.text.as_deref()?))))
    }
}
