//! Tensors whose bytes are in another file.

use crate::proto::TensorProto;
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The data files beside a model, each mapped once.
#[derive(Debug)]
pub(crate) struct DataFiles {
    /// The model's folder, outside of which nothing is opened.
    folder: PathBuf,
    mapped: RefCell<BTreeMap<PathBuf, Bytes>>,
}

impl DataFiles {
    pub(crate) fn new(folder: &Path) -> DataFiles {
        DataFiles {
            folder: folder.into(),
            mapped: RefCell::default(),
        }
    }

    /// The bytes that the `external_data` entries of a tensor speak of: `length` bytes from `offset` of the file at
    /// `location`, by default all of it.
    pub(crate) fn bytes(&self, tensor: &TensorProto) -> Result<Bytes, String> {
        let entry = |key: &str| {
            tensor
                .external_data
                .iter()
                .find(|e| e.key == key)
                .map(|e| e.value.as_str())
        };
        let number = |key: &str| -> Result<Option<usize>, String> {
            let parse = |text: &str| text.parse().map_err(|_| format!("the {key} of its data is `{text}`"));
            entry(key).map(parse).transpose()
        };
        let location = entry("location").ok_or("its data is in another file, which is not named")?;
        let file = self.file(location)?;
        let offset = number("offset")?.unwrap_or(0);
        let end = match number("length")? {
            Some(length) => offset.checked_add(length),
            None => Some(file.len()),
        };
        match end.filter(|&end| offset <= end && end <= file.len()) {
            Some(end) => Ok(file.slice(offset..end)),
            None => Err(format!(
                "its data is outside of the {} bytes of `{location}`",
                file.len()
            )),
        }
    }

    /// The files that tensors were read from so far, by their place below the folder.
    pub(crate) fn opened(&self) -> Vec<(String, Bytes)> {
        let place = |path: &Path| {
            let parts = path.strip_prefix(&self.folder).unwrap_or(path).components();
            let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy()).collect();
            parts.join("/")
        };
        let mapped = self.mapped.borrow();
        let mut opened: Vec<_> = mapped
            .iter()
            .map(|(path, bytes)| (place(path), bytes.clone()))
            .collect();
        opened.sort_by(|(a, _), (b, _)| a.cmp(b));
        opened
    }

    fn file(&self, location: &str) -> Result<Bytes, String> {
        let path = self
            .resolve(Path::new(location))
            .map_err(|why| format!("its data file `{location}` {why}"))?;
        if let Some(bytes) = self.mapped.borrow().get(&path) {
            return Ok(bytes.clone());
        }
        let bytes = strait_mapped::map(&path, u64::MAX).map_err(|e| format!("its data file `{location}`: {e}"))?;
        self.mapped.borrow_mut().insert(path, bytes.clone());
        Ok(bytes)
    }

    /// A path below the model's folder. A model must not make us read what lies elsewhere, so absolute paths, `..` and
    /// symbolic links on the way are refused.
    fn resolve(&self, location: &Path) -> Result<PathBuf, String> {
        let mut path = self.folder.clone();
        for component in location.components() {
            match component {
                Component::Normal(name) => path.push(name),
                Component::CurDir => continue,
                _ => return Err("is outside of the model's folder".into()),
            }
            let link = path.symlink_metadata().map_err(|e| format!("cannot be opened: {e}"))?;
            if link.is_symlink() {
                return Err("is a symbolic link, or lies behind one".into());
            }
        }
        Ok(path)
    }
}
