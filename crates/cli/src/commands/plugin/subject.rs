//! Finds out what the argument of `strait plugin check` names.

use std::{fs::File, io::Read as _, path::Path};

use strait_target::Registry;

/// What the argument of `strait plugin check` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A file with a table.
    Table,
    /// A library.
    Library,
    /// A target of this program, by its id.
    Id,
}

/// The first bytes of shared libraries on Linux (ELF), macOS (64-bit Mach-O, and Mach-O for several processors) and
/// Windows (PE).
const OF_LIBRARIES: [&[u8]; 4] = [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ"];

impl Subject {
    /// Finds out what the argument names: by its file extension first, then by the ids that the program knows, then by
    /// the contents of the file. A version number may follow the extension of a library, as in `libx.so.1`.
    pub(super) fn of(subject: &str, builtin: &Registry) -> Subject {
        let path = Path::new(subject);
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Subject::Table,
            Some("so" | "dylib" | "dll") => Subject::Library,
            _ if builtin.entries().any(|(id, _)| id == subject) => Subject::Id,
            _ if is_library(path) || subject.contains(".so.") => Subject::Library,
            // An id contains none of these characters, so such an argument is meant as a file.
            _ if path.is_file() || subject.contains(['/', '\\', '.']) => Subject::Table,
            _ => Subject::Id,
        }
    }
}

fn is_library(path: &Path) -> bool {
    let mut begin = Vec::new();
    // Devices and pipes are not opened, since reading from them may block for ever.
    let file = path.is_file().then(|| File::open(path).ok()).flatten();
    file.is_some_and(|file| file.take(4).read_to_end(&mut begin).is_ok())
        && OF_LIBRARIES.iter().any(|magic| begin.starts_with(magic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_are_told_by_their_extension_or_their_content_and_ids_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str, content: Option<&[u8]>| {
            let path = folder.path().join(name);
            content
                .into_iter()
                .for_each(|content| fs::write(&path, content).unwrap());
            Subject::of(&path.to_string_lossy(), &Registry::default())
        };
        for name in ["libx.so", "libx.so.1", "libx.so.1.2.3", "x.dylib", "x.dll"] {
            assert_eq!(of(name, None), Subject::Library, "{name}");
        }
        for begin in OF_LIBRARIES {
            assert_eq!(of("plugin", Some(begin)), Subject::Library, "{begin:?}");
        }
        assert_eq!(of("x.toml", Some(b"\x7fELF")), Subject::Table);
        assert_eq!(of("table", Some(b"schema = 1")), Subject::Table);
        assert_eq!(of("not-there", None), Subject::Table);
        assert_eq!(Subject::of("my-npu", &Registry::default()), Subject::Id);
    }
}
