use super::*;
use bytes::Bytes;

fn container(sections: &[NewSection<'_>]) -> Bytes {
    let mut out = Vec::new();
    write(sections, &mut out).unwrap();
    out.into()
}

fn section<'a>(name: &'a str, critical: bool, parts: &[&'a [u8]]) -> NewSection<'a> {
    NewSection {
        name,
        critical,
        parts: parts.to_vec(),
    }
}

fn three() -> Bytes {
    container(&[
        section("first", true, &[b"a", &[7; 100]]),
        section("empty", false, &[]),
        section("last", true, &[b"z"]),
    ])
}

fn read(file: &Bytes) -> Result<Sections, FormatError> {
    let sections = Sections::parse(file)?;
    sections.refuse_unknown(&["first", "last"])?;
    sections.check(&[])?;
    Ok(sections)
}

/// A changed container whose checksum was recomputed, as a skilled attacker would do.
fn forged(change: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut file = three().to_vec();
    change(&mut file);
    let table_end = header::SIZE + 3 * section::SIZE;
    let checksum = blake3::Hasher::new()
        .update(&file[..32])
        .update(&file[header::SIZE..table_end])
        .finalize();
    file[32..64].copy_from_slice(checksum.as_bytes());
    file.into()
}

#[test]
fn sections_come_back_and_parts_are_aligned() {
    let file = three();
    let sections = read(&file).unwrap();
    let names: Vec<_> = sections.iter().map(|s| (s.name.as_str(), s.critical)).collect();
    assert_eq!(names, [("first", true), ("empty", false), ("last", true)]);
    let first = sections.get("first").unwrap();
    assert_eq!(
        (first.len(), first[0], &first[1..64], &first[64..]),
        (164, b'a', &[0; 63][..], &[7; 100][..])
    );
    assert_eq!(sections.require("last").unwrap(), &b"z"[..]);
    for section in sections.iter().filter(|s| !s.bytes.is_empty()) {
        let offset = section.bytes.as_ptr() as usize - file.as_ptr() as usize;
        assert_eq!(offset % 64, 0, "{}", section.name);
    }
    assert!(matches!(
        sections.require("none"),
        Err(FormatError::MissingSection { name: "none" })
    ));
    assert_eq!(container(&[]).len(), header::SIZE);
}

#[test]
fn every_changed_bit_and_every_missing_byte_is_noticed() {
    let file = three();
    for position in 0..file.len() {
        for bit in 0..8 {
            let mut damaged = file.to_vec();
            damaged[position] ^= 1 << bit;
            // The minor version does not affect reading, but it is part of the checksum.
            assert!(read(&damaged.into()).is_err(), "bit {bit} of byte {position}");
        }
        assert!(read(&file.slice(..position)).is_err(), "cut at {position}");
    }
    assert!(read(&[&file[..], b"x"].concat().into()).is_err());
}

#[test]
fn another_kind_is_refused_by_its_name() {
    assert!(matches!(
        read(&Bytes::from_static(b"PK\x03\x04")),
        Err(FormatError::Signature)
    ));
    assert!(matches!(read(&Bytes::new()), Err(FormatError::Signature)));
    let newer = forged(|file| file[8] = 2);
    assert!(matches!(read(&newer), Err(FormatError::Major { found: 2 })));
    let unknown = container(&[section("first", true, &[]), section("novel", true, &[])]);
    let error = read(&unknown).unwrap_err().to_string();
    assert!(error.contains("`novel`"), "{error}");
}

#[test]
fn what_a_later_minor_version_adds_is_skipped() {
    let newer = forged(|file| file[10] = 9);
    assert_eq!(read(&newer).unwrap().iter().count(), 3);
}

#[test]
fn a_table_with_a_right_checksum_is_not_believed() {
    let entry = |index: usize, field: usize| header::SIZE + index * section::SIZE + field;
    let cases: [(usize, &[u8]); 8] = [
        (entry(0, 0), b"FIRST"),
        (entry(0, 0), b"\0"),
        (entry(1, 0), b"first"),
        (entry(0, 24), &[2]),
        (entry(1, 32), &[0; 8]),
        (entry(1, 32), &[0xFF; 8]),
        (entry(2, 40), &[0xFF; 8]),
        (entry(2, 40), &[0; 8]),
    ];
    for (offset, bytes) in cases {
        let file = forged(|file| file[offset..offset + bytes.len()].copy_from_slice(bytes));
        assert!(
            matches!(read(&file), Err(FormatError::Damaged(_))),
            "{bytes:?} at {offset}"
        );
    }
    let many = forged(|file| file[12..16].copy_from_slice(&[0xFF; 4]));
    assert!(matches!(read(&many), Err(FormatError::Damaged(_))));
}

#[test]
fn sections_have_names_of_their_own() {
    let twice = [section("a", false, &[]), section("a", false, &[])];
    let long = "a".repeat(25);
    for sections in [&twice[..], &[section("", false, &[])], &[section(&long, false, &[])]] {
        assert!(write(sections, &mut Vec::new()).is_err());
    }
}

#[test]
fn the_document_has_the_layout_of_the_code() {
    let document = include_str!("../../../../docs/container.md");
    let fields = header::FIELDS.iter().chain(&section::FIELDS);
    let mut rows: Vec<String> = fields
        .map(|(name, field)| format!("| {} | {} | {name} |", field.offset, field.size))
        .collect();
    rows.extend(crate::model::KNOWN.map(|name| format!("| `{name}` |")));
    rows.push(format!("version {MAJOR}.{MINOR}"));
    rows.push(MAGIC.map(|byte| format!("{byte:02X}")).join(" "));
    for row in rows {
        assert!(document.contains(&row), "docs/container.md lacks: {row}");
    }
}
