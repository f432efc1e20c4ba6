//! Writes and reads recording files.

use std::path::PathBuf;
use strait_identify::{RecordedLayer, Vectors};
use strait_samples::{NumberType, Pack, encode};

/// Writes the arrays into an `.npz` file in a temporary folder. The folder is deleted when the returned `TempDir` is
/// dropped.
pub fn file(arrays: &[(&str, Vec<u8>)]) -> (tempfile::TempDir, PathBuf) {
    let mut pack = Pack::default();
    for (name, array) in arrays {
        pack.add(&format!("{name}.npy"), array).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.npz");
    std::fs::write(&path, pack.finish().unwrap()).unwrap();
    (folder, path)
}

pub fn i8s(shape: &[usize], numbers: &[i8]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().map(|n| n.cast_unsigned()).collect();
    encode(NumberType::I8, shape, &bytes)
}

pub fn i32s(shape: &[usize], numbers: &[i32]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    encode(NumberType::I32, shape, &bytes)
}

pub fn u64s(shape: &[usize], numbers: &[u64]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    encode(NumberType::U64, shape, &bytes)
}

pub fn f32s(shape: &[usize], numbers: &[f32]) -> Vec<u8> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    encode(NumberType::F32, shape, &bytes)
}

pub fn read(arrays: &[(&str, Vec<u8>)]) -> Result<Vec<RecordedLayer>, String> {
    let (_folder, path) = file(arrays);
    let vectors = Vectors::read(&path).map_err(|error| {
        assert!(error.to_string().contains("v.npz"), "{error}");
        error.to_string()
    })?;
    Ok(vectors.layers)
}
