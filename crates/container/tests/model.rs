//! Tests of the container file: reading returns what was written, and damaged files are refused.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support;

use bytes::Bytes;
use strait_container::format::{self, NewSection, Sections};
use strait_container::{Integrity, ModelError, model};
use strait_core::text::{PrintOptions, print};
use support::{certificates, module};

fn file() -> Bytes {
    let mut out = Vec::new();
    model::encode(&module(), &certificates())
        .unwrap()
        .write(&mut out)
        .unwrap();
    out.into()
}

#[test]
fn module_and_certificates_come_back() {
    let file = file();
    let read = model::read(&file, Integrity::Full).unwrap();
    // The two constants with equal bytes are now one tensor. Apart from that the texts are equal.
    let text = print(&read.module, &PrintOptions::default());
    let written = print(&module(), &PrintOptions::default());
    assert_eq!(
        text,
        written.replace("data @c: i32[3] = inline [1,-2,3]", "data @c: i32[3] = same @b")
    );
    assert_eq!(read.certificates, certificates());
    assert!(!read.certificates[1].certificate.worst().is_exact());
}

#[test]
fn the_same_module_gives_the_same_bytes() {
    let first = file();
    assert_eq!(first, file());
    // The bytes are also the same after reading and writing once more: ids do not depend on the module's history.
    let read = model::read(&first, Integrity::Full).unwrap();
    let mut again = Vec::new();
    model::encode(&read.module, &read.certificates)
        .unwrap()
        .write(&mut again)
        .unwrap();
    assert_eq!(first, again);
}

#[test]
fn tensors_are_slices_of_the_file_and_equal_ones_are_there_once() {
    let file = file();
    let read = model::read(&file, Integrity::Full).unwrap();
    let range = file.as_ptr_range();
    for tensor in read.module.pool() {
        assert!(range.contains(&tensor.bytes().as_ptr()));
        assert_eq!((tensor.bytes().as_ptr() as usize - range.start as usize) % 64, 0);
    }
    let tensors = Sections::parse(&file).unwrap().require("tensors").unwrap().len();
    assert_eq!(
        tensors,
        64 + 12,
        "54 bytes of weights, and 12 of biases at the next multiple of 64"
    );
}

#[test]
fn every_changed_byte_and_every_missing_one_is_noticed() {
    let file = file();
    for position in 0..file.len() {
        let mut damaged = file.to_vec();
        damaged[position] = damaged[position].wrapping_add(1);
        assert!(
            model::read(&damaged.into(), Integrity::Full).is_err(),
            "byte {position}"
        );
        let cut = file.slice(..position);
        assert!(model::read(&cut, Integrity::Full).is_err(), "cut at {position}");
        assert!(model::read(&cut, Integrity::SkipTensors).is_err(), "cut at {position}");
    }
}

#[test]
fn only_damaged_tensors_go_unnoticed_when_their_checksum_is_skipped() {
    let file = file();
    let tensors = Sections::parse(&file).unwrap().require("tensors").unwrap().clone();
    let start = tensors.as_ptr() as usize - file.as_ptr() as usize;
    for position in [start - 1, start, file.len() - 1] {
        let mut damaged = file.to_vec();
        damaged[position] ^= 1;
        assert_eq!(
            model::read(&damaged.into(), Integrity::SkipTensors).is_ok(),
            position >= start
        );
    }
}

/// Sections with wrong contents but correct checksums are refused.
#[test]
fn contents_with_right_checksums_are_not_believed() {
    let file = file();
    let sections = Sections::parse(&file).unwrap();
    let read = |name: &str, content: Option<&[u8]>| {
        let kept = sections.iter().filter(|s| s.name != name || content.is_some());
        let written: Vec<_> = kept
            .map(|s| NewSection {
                name: &s.name,
                critical: s.critical,
                parts: vec![content.filter(|_| s.name == name).unwrap_or(&s.bytes)],
            })
            .collect();
        let mut out = Vec::new();
        format::write(&written, &mut out).unwrap();
        model::read(&out.into(), Integrity::Full)
    };
    assert!(read("tensors", Some(sections.get("tensors").unwrap())).is_ok());
    for name in ["graphs", "tensor-table", "tensors"] {
        assert!(matches!(read(name, None), Err(ModelError::Format(_))), "without {name}");
        for content in [&b""[..], b"x", &[0xFF; 64]] {
            assert!(read(name, Some(content)).is_err(), "{content:?} as {name}");
        }
    }
    assert_eq!(read("certificates", None).unwrap().certificates, []);
    let deep = "[".repeat(100_000);
    for content in ["", "{}", "{\"certificates\":[{}]}", &deep] {
        let error = read("certificates", Some(content.as_bytes()));
        assert!(matches!(error, Err(ModelError::Certificates(_))), "{content:.40}");
    }
    let table = sections.get("tensor-table").unwrap();
    for position in 0..table.len() {
        for value in [0x01, 0x40, 0x80, 0xFF] {
            let mut changed = table.to_vec();
            changed[position] ^= value;
            // Some changes refer to another valid place and are accepted. None may panic.
            let _ = read("tensor-table", Some(&changed));
        }
    }
    let graphs = sections.get("graphs").unwrap();
    for position in 0..graphs.len() {
        let mut changed = graphs.to_vec();
        changed[position] ^= 0x81;
        let _ = read("graphs", Some(&changed));
    }
}

#[test]
fn a_section_of_a_later_version_is_skipped_unless_it_is_critical() {
    let file = file();
    let sections = Sections::parse(&file).unwrap();
    let with = |critical| {
        let known = sections.iter().map(|s| NewSection {
            name: &s.name,
            critical: s.critical,
            parts: vec![&s.bytes],
        });
        let later = NewSection {
            name: "later",
            critical,
            parts: vec![b"?"],
        };
        let mut out = Vec::new();
        format::write(&known.chain([later]).collect::<Vec<_>>(), &mut out).unwrap();
        model::read(&out.into(), Integrity::Full)
    };
    assert!(with(false).is_ok());
    assert!(with(true).unwrap_err().to_string().contains("`later`"));
}
