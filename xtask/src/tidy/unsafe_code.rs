//! Check that `unsafe` only occurs where it may: in the SIMD kernels, on both sides of the C interface, in the wrapper
//! around a memory map, and in signal handlers.

use super::source::words;
use super::{Findings, Repository};

/// The beginnings of paths of files in which `unsafe` may occur. One entry is for the views of tables, which are
/// generated code: their functions contain no unsafe expression, but are declared unsafe because their trait requires
/// it. The wrapper around a memory map is a single file, so that a person can check its safety in one sitting.
const ALLOWED: &[&str] = &[
    "crates/kernels/",
    "crates/mapped/src/mmap.rs",
    "crates/plugin-interface/",
    "crates/plugin-host/src/worker/",
    "crates/plugin-sdk/src/library/",
    "crates/plugin-sdk/tests/library.rs",
    "crates/signals/",
    "crates/tflite/src/schema/views.rs",
];

pub(super) fn check(repository: &Repository, findings: &mut Findings) {
    for (file, source) in repository.sources() {
        if ALLOWED.iter().any(|start| file.path.starts_with(start)) {
            continue;
        }
        for (number, line) in source.numbered() {
            let permits = line.code.contains("allow(unsafe_code)") || line.code.contains("expect(unsafe_code)");
            if permits || words(&line.code).any(|word| word == "unsafe") {
                let text = "unsafe code has no place here (see xtask/src/tidy/unsafe_code.rs)";
                findings.at(&file.path, number, text);
            }
        }
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
        assert_eq!(findings(check, &[("crates/mapped/src/mmap.rs", code)]), [""; 0]);
        assert_eq!(findings(check, &[("crates/mapped/src/lib.rs", code)]).len(), 1);
        assert_eq!(
            findings(check, &[("crates/core/src/a.rs", "// unsafe\nlet a = \"unsafe\";")]),
            [""; 0]
        );
    }
}
