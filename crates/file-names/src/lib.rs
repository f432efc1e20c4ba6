//! Rules for the names of files in an artifact.
//!
//! An artifact may be copied, packed and unpacked on another system than the one that wrote it. So a file name must
//! mean the same on every system. Two names must not differ only in upper and lower case, since some systems would take
//! them for one file. There must also be no more files than a reader accepts. Both writers and readers of artifacts
//! check names with this crate.

use std::collections::BTreeMap;

/// The largest number of files that an artifact may have. The manifest lists all files. Its length is limited, and
/// leaves room for this many files.
pub const MOST_FILES: usize = 10_000;

/// Length of the longest name, in bytes.
pub const MOST_BYTES: usize = 512;

/// Length of the longest part of a name, in bytes. File systems do not allow more.
pub const MOST_PART_BYTES: usize = 255;

/// The largest number of parts of a name. The parts are the folders and the file itself.
pub const MOST_PARTS: usize = 16;

/// Why an artifact cannot have a file of this name. The code that chose the name is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A name must not be empty.
    #[error("a file needs a name, as `files/weights.bin`")]
    Empty,
    /// The name is an absolute path, which only makes sense on one machine.
    #[error("the name is absolute; names are relative to the artifact, as `files/weights.bin`")]
    Absolute,
    /// The name leads out of the artifact's folder.
    #[error("the name climbs by `..`; names stay in the artifact, as `files/weights.bin`")]
    Climbs,
    /// A part of the name contains characters, or begins or ends with characters, that not every system accepts.
    #[error(
        "`{0}` is no part of a name; parts are ASCII letters, digits and `._-+`, with `/` between them, and neither begin \
         nor end with a dot"
    )]
    Part(String),
    /// A part of the name is the name of a device on Windows.
    #[error("`{0}` is the name of a device on Windows, and no file there; give it another name")]
    Device(String),
    /// The name is too long.
    #[error("the name has {0} bytes, and {MOST_BYTES} are the most")]
    Long(usize),
    /// A part of the name is too long.
    #[error("a part of the name has {0} bytes, and {MOST_PART_BYTES} are the most")]
    LongPart(usize),
    /// The file is nested in too many folders.
    #[error("the name has {0} parts, and {MOST_PARTS} are the most")]
    Deep(usize),
    /// There is already a file of this name.
    #[error(
        "the artifact has a file of this name already, one of Strait's own or one that was written before; give it another \
         name"
    )]
    Twice,
    /// There is a file whose name differs only in upper and lower case.
    #[error(
        "it differs from `{0}`, which is there already, in nothing but capital letters, and systems that do not tell them \
         have one file for both; give it another name"
    )]
    Capitals(String),
    /// There is a folder with the name of the file, or a file with the name of one of its folders.
    #[error("`{0}` would be a file and a folder; give one of them another name")]
    FileAndFolder(String),
    /// There are already as many files as there may be.
    #[error("the artifact has {MOST_FILES} files already, and more are not read back; put several into one")]
    Many,
}

/// Names of devices on Windows. They are devices with any file extension, too.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Names of devices on Windows that consist of one of these words and a digit.
const NUMBERED: [&str; 2] = ["com", "lpt"];

/// Checks that a name stays inside the artifact and means the same on every system.
///
/// # Errors
/// [`NameError`] if it does not.
pub fn check(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.starts_with('/') {
        return Err(NameError::Absolute);
    }
    if name.len() > MOST_BYTES {
        return Err(NameError::Long(name.len()));
    }
    let parts = name.split('/').count();
    if parts > MOST_PARTS {
        return Err(NameError::Deep(parts));
    }
    name.split('/').try_for_each(check_part)
}

fn check_part(part: &str) -> Result<(), NameError> {
    if part == ".." {
        return Err(NameError::Climbs);
    }
    if part.len() > MOST_PART_BYTES {
        return Err(NameError::LongPart(part.len()));
    }
    let letters = part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+".contains(&b));
    if !letters || part.is_empty() || part.starts_with('.') || part.ends_with('.') {
        return Err(NameError::Part(part.escape_debug().to_string()));
    }
    let stem = part.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = |of: &str| {
        let digit = stem.strip_prefix(of).and_then(|digit| digit.parse::<u8>().ok());
        digit.is_some_and(|digit| (1..=9).contains(&digit))
    };
    if DEVICES.contains(&stem.as_str()) || NUMBERED.iter().any(|of| numbered(of)) {
        return Err(NameError::Device(part.to_owned()));
    }
    Ok(())
}

/// The names of the files in an artifact that is being written.
#[derive(Clone, Debug, Default)]
pub struct FileNames {
    /// All files and folders. The keys are their names in lower case.
    taken: BTreeMap<String, Taken>,
    files: usize,
}

#[derive(Clone, Debug)]
struct Taken {
    name: String,
    is_folder: bool,
}

impl FileNames {
    /// Adds the name of a file, and the names of the folders that the file is in.
    ///
    /// # Errors
    /// [`NameError`] if the name is not allowed, or clashes with another name. Then nothing is added.
    pub fn add(&mut self, name: &str) -> Result<(), NameError> {
        check(name)?;
        let folders = name.match_indices('/').map(|(end, _)| (&name[..end], true));
        let places: Vec<(&str, bool)> = folders.chain([(name, false)]).collect();
        for &(place, is_folder) in &places {
            match self.taken.get(&place.to_ascii_lowercase()) {
                None => {}
                Some(taken) if taken.name != place => return Err(NameError::Capitals(taken.name.clone())),
                Some(taken) if taken.is_folder != is_folder => return Err(NameError::FileAndFolder(place.to_owned())),
                Some(_) if is_folder => {}
                Some(_) => return Err(NameError::Twice),
            }
        }
        if self.files == MOST_FILES {
            return Err(NameError::Many);
        }
        self.files += 1;
        for (place, is_folder) in places {
            let name = place.to_owned();
            self.taken.insert(place.to_ascii_lowercase(), Taken { name, is_folder });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_the_folder_and_mean_the_same_on_every_system() {
        let part = "a".repeat(MOST_PART_BYTES);
        let long = format!("{part}/{part}");
        assert_eq!(long.len(), MOST_BYTES - 1);
        let deep = vec!["a"; MOST_PARTS].join("/");
        for name in [
            "model.strait",
            "a/b-c/d_1.onnx",
            "x+y",
            "com0",
            "comb",
            "auxiliary",
            &long,
            &deep,
        ] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        let part = |part: &str| NameError::Part(part.to_owned());
        for (name, fault) in [
            ("", NameError::Empty),
            ("/etc/passwd", NameError::Absolute),
            ("..", NameError::Climbs),
            ("../x", NameError::Climbs),
            ("a/../b", NameError::Climbs),
            (".", part(".")),
            ("a//b", part("")),
            ("a/", part("")),
            ("C:x", part("C:x")),
            ("a\\b", part("a\\\\b")),
            (".hidden", part(".hidden")),
            ("a/.b", part(".b")),
            ("a.", part("a.")),
            ("a b", part("a b")),
            ("é", part("é")),
            ("a\0b", part("a\\0b")),
            ("a/NUL", NameError::Device("NUL".into())),
            ("Com7.bin/x", NameError::Device("Com7.bin".into())),
            (&format!("{long}aa"), NameError::Long(MOST_BYTES + 1)),
            (
                &"a".repeat(MOST_PART_BYTES + 1),
                NameError::LongPart(MOST_PART_BYTES + 1),
            ),
            (&format!("{deep}/a"), NameError::Deep(MOST_PARTS + 1)),
        ] {
            assert_eq!(check(name), Err(fault), "{name}");
        }
    }

    #[test]
    fn no_two_names_are_one_file_on_any_system() {
        let mut names = FileNames::default();
        for name in ["a/b", "a/c", "d"] {
            names.add(name).unwrap();
        }
        for (name, fault) in [
            ("a/b", NameError::Twice),
            ("a/B", NameError::Capitals("a/b".into())),
            // A listing of the artifact would show one folder under two names.
            ("A/new", NameError::Capitals("a".into())),
            ("a", NameError::FileAndFolder("a".into())),
            ("a/b/c", NameError::FileAndFolder("a/b".into())),
        ] {
            assert_eq!(names.add(name), Err(fault), "{name}");
        }
        // The refused names were not recorded.
        names.add("a/new").unwrap();
    }

    #[test]
    fn there_are_no_more_files_than_are_read_back() {
        let mut names = FileNames::default();
        for index in 0..MOST_FILES {
            names.add(&format!("files/{index}")).unwrap();
        }
        assert_eq!(names.add("files/one-more"), Err(NameError::Many));
    }
}
