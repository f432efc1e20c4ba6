//! Tensors whose bytes are in another file.

use crate::proto::TensorProto;
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use strait_import::{DataFault, ReadError};

/// The value of `data_location` for a tensor whose bytes are in another file.
pub(crate) const EXTERNAL: i32 = 1;

/// The bytes at the start of a Git LFS pointer. A repository has such a pointer in place of each large file.
pub const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The data files of a model. Each is mapped once.
#[derive(Debug)]
pub(crate) struct DataFiles {
    /// The model's folder. No file outside of it is opened. `None` if the model is only in memory.
    folder: Option<PathBuf>,
    mapped: RefCell<BTreeMap<PathBuf, Bytes>>,
}

impl DataFiles {
    pub(crate) fn new(folder: Option<&Path>) -> DataFiles {
        DataFiles {
            folder: folder.map(Path::to_owned),
            mapped: RefCell::default(),
        }
    }

    /// Returns the bytes that the `external_data` entries of a tensor describe: `length` bytes from `offset` in the
    /// file `location`. If the entries state no length, `own` bytes are taken, where `own` is the size of the tensor.
    pub(crate) fn bytes(&self, tensor: &TensorProto, own: Option<u64>) -> Result<Bytes, String> {
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
        let file = self.file(location).map_err(|fault| format!("its data file {fault}"))?;
        let offset = number("offset")?.unwrap_or(0);
        let own = own.and_then(|own| usize::try_from(own).ok());
        let end = number("length")?.or(own).and_then(|length| offset.checked_add(length));
        match end.filter(|&end| offset <= end && end <= file.len()) {
            Some(end) => Ok(file.slice(offset..end)),
            None => Err(format!(
                "its data is outside of the {} bytes of `{location}`",
                file.len()
            )),
        }
    }

    /// The files that tensors have been read from so far, by their paths relative to the folder.
    pub(crate) fn opened(&self) -> Vec<(String, Bytes)> {
        let place = |path: &Path| {
            let parts = path
                .strip_prefix(self.folder.as_deref().unwrap_or(Path::new("")))
                .unwrap_or(path)
                .components();
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

    /// Opens the data files of these tensors. The error lists all files that cannot be read, and why.
    pub(crate) fn check<'a>(&self, tensors: impl Iterator<Item = &'a TensorProto>) -> Result<(), ReadError> {
        let outside = tensors.filter(|tensor| tensor.data_location == EXTERNAL);
        let entries = outside.flat_map(|tensor| &tensor.external_data);
        let named: BTreeSet<&str> = entries
            .filter(|entry| entry.key == "location")
            .map(|entry| entry.value.as_str())
            .collect();
        let faults: Vec<DataFault> = named.into_iter().filter_map(|name| self.file(name).err()).collect();
        match faults.is_empty() {
            true => Ok(()),
            false => Err(ReadError::DataFiles(faults)),
        }
    }

    fn file(&self, location: &str) -> Result<Bytes, DataFault> {
        let fault = |reason: String, is_pointer: bool| DataFault {
            location: location.into(),
            reason,
            is_pointer,
        };
        let path = self.resolve(Path::new(location)).map_err(|why| fault(why, false))?;
        if let Some(bytes) = self.mapped.borrow().get(&path) {
            return Ok(bytes.clone());
        }
        let bytes =
            strait_mapped::map(&path, u64::MAX).map_err(|error| fault(format!("cannot be read: {error}"), false))?;
        if bytes.starts_with(LFS_POINTER) {
            return Err(fault("is a Git LFS pointer, which stands for the file".into(), true));
        }
        self.mapped.borrow_mut().insert(path, bytes.clone());
        Ok(bytes)
    }

    /// Returns the path of a data file. The path has to be below the model's folder. Absolute paths, `..` and symbolic
    /// links are refused, so that a model cannot make Strait read files elsewhere.
    fn resolve(&self, location: &Path) -> Result<PathBuf, String> {
        let folder = self.folder.as_ref();
        let mut path = folder.ok_or("has no folder: the model is in memory")?.clone();
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
