//! Tests with real models: they can be read, and if they are damaged, reading ends with an error or a module.

use bytes::Bytes;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use strait_core::verifier::verify;
use strait_import::{Decoded, ReadError, ReadOptions, free_dimensions};
use strait_onnx::{Model, read};

const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/models");

fn bound(name: &str) -> ReadOptions {
    ReadOptions {
        bind: BTreeMap::from([(name.into(), 1)]),
        ..ReadOptions::default()
    }
}

#[test]
fn the_digits_model_is_read_with_a_free_and_a_bound_batch() {
    let free = read(Path::new(DIGITS), &ReadOptions::default()).unwrap();
    verify(&free).unwrap();
    let dimensions = free_dimensions(&free);
    assert_eq!(dimensions.len(), 1);
    let found = (
        dimensions[0].input.as_str(),
        dimensions[0].axis,
        dimensions[0].name.as_str(),
    );
    assert_eq!(found, ("image", 0, "N"));
    let bound = read(Path::new(DIGITS), &bound("N")).unwrap();
    verify(&bound).unwrap();
    assert!(free_dimensions(&bound).is_empty());
    let output = bound.main().value(bound.main().outputs()[0]).unwrap();
    assert_eq!(output.ty.dims().unwrap()[..], [1, 10]);
}

#[test]
fn weights_stay_in_the_file() {
    let bytes = Bytes::from(std::fs::read(DIGITS).unwrap());
    let range = bytes.as_ptr_range();
    let module = Model::decode(bytes, Path::new("")).unwrap().read(&bound("N")).unwrap();
    assert!(!module.pool().is_empty());
    for tensor in module.pool() {
        assert!(range.contains(&tensor.bytes().as_ptr()), "a tensor was copied");
    }
}

#[test]
fn models_of_every_kind_are_read() {
    let Ok(folder) = std::fs::read_dir(SHARED) else {
        println!("skipped: there are no models in {SHARED}");
        return;
    };
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "onnx"));
    assert!(!paths.is_empty());
    for path in paths {
        let module = read(&path, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        verify(&module).unwrap();
    }
}

/// A small generator with a full period (Knuth's constants), so that the test sees the same damage every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Reads damaged bytes. Reading may succeed or fail, but must not panic.
fn survives(bytes: Vec<u8>) -> Result<(), ReadError> {
    let module = Model::decode(bytes.into(), Path::new(""))?.read(&ReadOptions::default())?;
    assert_eq!(verify(&module), Ok(()), "what is read holds the invariants");
    Ok(())
}

#[test]
fn truncated_models_are_refused() {
    let whole = std::fs::read(DIGITS).unwrap();
    let mut random = Random(1);
    for _ in 0..300 {
        let length = random.below(whole.len());
        assert!(survives(whole[..length].to_vec()).is_err(), "the first {length} bytes");
    }
}

#[test]
fn garbled_models_do_not_panic() {
    // Most of the file is weights, where a flipped bit only changes a weight. The structure is before and after them.
    let whole = std::fs::read(DIGITS).unwrap();
    let mut random = Random(2);
    let mut refused = 0;
    for round in 0..6000 {
        let mut bytes = whole.clone();
        for _ in 0..1 + random.below(3) {
            let at = match round % 3 {
                0 => random.below(bytes.len()),
                1 => random.below(3000),
                _ => bytes.len() - 1 - random.below(3000),
            };
            match random.below(3) {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => bytes[at] = random.below(256) as u8,
                _ => drop(bytes.drain(at..at + random.below(bytes.len() - at).min(8))),
            }
        }
        refused += usize::from(survives(bytes).is_err());
    }
    assert!(refused > 1000, "{refused} of 6000 were noticed");
}
