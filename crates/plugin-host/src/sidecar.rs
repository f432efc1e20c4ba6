//! The manifest beside a library: `NAME.toml` for the library `NAME`. It states the versions and the platform, so that
//! they can be read without running code of the library. If there is no manifest, the library states its versions
//! itself, in its worker.

use crate::LoadError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use strait_document::diagnostic::SourceText;
use strait_document::schemars::{self, JsonSchema};
use strait_document::{Document, Format, Shape, Source};
use strait_plugin_interface::{INTERFACE_MAJOR, TABLE_SCHEMA};

/// The largest size of a manifest in bytes. Larger manifests are refused.
const MOST_BYTES: u64 = 64 << 10;

/// Contents of the manifest beside a library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sidecar {
    /// Schema version of the manifest.
    #[schemars(range(min = 1, max = 1))]
    pub(crate) schema: u32,
    /// Major and minor version of the interface that the library is built for.
    pub(crate) interface: [u32; 2],
    /// The `schema` of the plugin's table.
    pub(crate) table_schema: u32,
    /// Platform that the library is built for, such as `x86_64-unknown-linux-gnu`. If it is absent, the platform is
    /// read from the library's header.
    pub(crate) platform: Option<String>,
}

impl Document for Sidecar {
    const NAME: &'static str = "the manifest";
    const SCHEMA: u32 = 1;
    const FORMATS: &'static [Format] = &[];

    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Sidecar>);
        &SHAPE
    }
}

/// Path of a library's manifest.
fn path(library: &Path) -> PathBuf {
    let mut path = library.as_os_str().to_owned();
    path.push(".toml");
    path.into()
}

/// Checks the manifest beside a library, if there is one.
pub(crate) fn check(library: &Path) -> Result<(), LoadError> {
    let path = path(library);
    let wrong = |message: String| LoadError::Manifest(format!("{}: {message}", path.display()));
    if !path.is_file() {
        return match path.exists() {
            true => Err(wrong("it is not a file".into())),
            false => Ok(()),
        };
    }
    let bytes = strait_mapped::read(&path, MOST_BYTES).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8 text".into()))?;
    let sidecar: Sidecar = read(&path, text).map_err(wrong)?;
    versions(sidecar.interface, sidecar.table_schema)?;
    let own = crate::triple();
    match sidecar.platform {
        Some(found) if found != own => Err(LoadError::Architecture { found, needed: own }),
        _ => Ok(()),
    }
}

/// Refuses versions that this program does not support.
pub(crate) fn versions([major, minor]: [u32; 2], table_schema: u32) -> Result<(), LoadError> {
    if major < INTERFACE_MAJOR {
        return Err(LoadError::TooOld(major, minor));
    }
    if major > INTERFACE_MAJOR {
        return Err(LoadError::TooNew(major, minor));
    }
    if table_schema != TABLE_SCHEMA {
        return Err(LoadError::Schema(table_schema));
    }
    Ok(())
}

fn read(path: &Path, text: String) -> Result<Sidecar, String> {
    let name = path.display().to_string();
    let source = Arc::new(Source {
        text: Arc::new(SourceText { name, text }),
        folder: PathBuf::new(),
        rank: 0,
    });
    let mut tree = strait_document::syntax(&source).map_err(|found| found.to_string())?;
    strait_document::read(&mut tree).map_err(|found| found.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_says_what_the_library_needs_before_anything_of_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("libacme.so");
        let checked = |text: &str| {
            std::fs::write(folder.path().join("libacme.so.toml"), text).unwrap();
            check(&library).map_err(|error| error.to_string())
        };
        assert_eq!(check(&library), Ok(()));
        assert_eq!(checked("schema = 1\ninterface = [1, 7]\ntable_schema = 2\n"), Ok(()));
        for (text, part) in [
            (
                "schema = 1\ninterface = [0, 3]\ntable_schema = 2\n",
                "version 0.3 of the interface, which is too old",
            ),
            (
                "schema = 1\ninterface = [2, 0]\ntable_schema = 2\n",
                "version 2.0 of the interface, which is too new",
            ),
            (
                "schema = 1\ninterface = [1, 0]\ntable_schema = 9\n",
                "its table is of schema 9",
            ),
            (
                "schema = 1\ninterface = [1, 0]\ntable_schema = 2\nplatform = \"vax\"\n",
                "a library for vax",
            ),
            ("schema = 1\ninterface = 1\ntable_schema = 2\n", "libacme.so.toml"),
            ("schema = 2\n", "newer"),
            ("schema = 1\ninterface = [1, 0]\ntable_schema = 2\nabi = 1\n", "abi"),
        ] {
            let error = checked(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
