//! Where `unsafe` may stand: in the SIMD kernels, at the C interface, and in one wrapper around a memory map.

use super::source::words;
use super::{Findings, Repository};

/// Beginnings of paths.
const ALLOWED: &[&str] = &["crates/kernels/", "crates/plugin-"];

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    let mut maps: Vec<&str> = Vec::new();
    for (file, source) in repository.sources() {
        if ALLOWED.iter().any(|start| file.path.starts_with(start)) {
            continue;
        }
        for (number, line) in source.numbered() {
            let permits = line.code.contains("allow(unsafe_code)") || line.code.contains("expect(unsafe_code)");
            if !permits && words(&line.code).all(|word| word != "unsafe") {
                continue;
            }
            // The wrapper is a file of its own, so that its safety can be read in one sitting.
            if file.path.ends_with("/src/mapped.rs") || file.path.ends_with("/src/mmap.rs") {
                if maps.last() != Some(&file.path.as_str()) {
                    maps.push(&file.path);
                }
            } else {
                findings.add(
                    &file.path,
                    Some(number),
                    "unsafe code has no place here (see xtask/src/tidy/unsafe_code.rs)",
                );
            }
        }
    }
    if maps.len() > 1 {
        findings.add(
            maps[1],
            None,
            format!("there is one wrapper around memory maps already: {}", maps[0]),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::findings;

    #[test]
    fn unsafe_is_found_outside_its_places() {
        let code = "fn f() { unsafe { g() } }";
        assert_eq!(findings(check, &[("crates/core/src/a.rs", code)]).len(), 1);
        assert_eq!(
            findings(check, &[("crates/core/src/a.rs", "#![allow(unsafe_code)]")]).len(),
            1
        );
        assert_eq!(findings(check, &[("crates/kernels/src/a.rs", code)]), [""; 0]);
        assert_eq!(
            findings(check, &[("crates/core/src/a.rs", "// unsafe\nlet a = \"unsafe\";")]),
            [""; 0]
        );
    }

    #[test]
    fn a_second_memory_map_is_found() {
        let files = [
            ("crates/onnx/src/mmap.rs", "unsafe"),
            ("crates/container/src/mmap.rs", "unsafe"),
        ];
        assert_eq!(findings(check, &files[..1]), [""; 0]);
        assert_eq!(findings(check, &files).len(), 1);
    }
}
