//! Compares two artifacts file by file.

use crate::{Artifact, ArtifactError, MANIFEST_FILE};
use std::collections::BTreeSet;
use std::fmt;

/// One file in which two artifacts differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only the first artifact has the file.
    OnlyInFirst(String),
    /// Only the second artifact has the file.
    OnlyInSecond(String),
    /// Both artifacts have the file, with different bytes.
    Content {
        /// Name of the file.
        file: String,
        /// Position of the first byte that differs, or the length of the shorter file.
        offset: usize,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::OnlyInFirst(file) => write!(f, "{file} is only in the first artifact"),
            Difference::OnlyInSecond(file) => write!(f, "{file} is only in the second artifact"),
            Difference::Content { file, offset } => write!(f, "{file} differs from byte {offset} on"),
        }
    }
}

/// The files in which two artifacts differ, sorted by name. An empty list means that they are equal byte for byte.
///
/// This function reads the files themselves and does not rely on the manifests. A damaged artifact is refused.
pub fn compare(first: &Artifact, second: &Artifact) -> Result<Vec<Difference>, ArtifactError> {
    let mut differences = Vec::new();
    let both = [first, second].map(|artifact| &artifact.manifest().files);
    let names: BTreeSet<&String> = both.iter().flat_map(|files| files.keys()).collect();
    for name in names {
        differences.extend(match both.map(|files| files.contains_key(name)) {
            [true, false] => Some(Difference::OnlyInFirst(name.clone())),
            [false, _] => Some(Difference::OnlyInSecond(name.clone())),
            [true, true] => content(name, &first.file(name)?, &second.file(name)?),
        });
    }
    // A manifest is always encoded in the same way, so encoding it again gives the bytes of its file.
    let manifests = [first, second].map(|artifact| {
        let encoded = artifact.manifest().encode().map_err(std::io::Error::from);
        encoded.map_err(ArtifactError::io(&artifact.folder().join(MANIFEST_FILE)))
    });
    let [first, second] = manifests;
    differences.extend(content(MANIFEST_FILE, &first?, &second?));
    Ok(differences)
}

fn content(file: &str, first: &[u8], second: &[u8]) -> Option<Difference> {
    if first == second {
        return None;
    }
    let offset = first.iter().zip(second).position(|(a, b)| a != b);
    Some(Difference::Content {
        file: file.into(),
        offset: offset.unwrap_or(first.len().min(second.len())),
    })
}
