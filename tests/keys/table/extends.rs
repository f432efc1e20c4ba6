//! Cases for the keys of a table that extends another.

use super::super::Effect::{Bits, Error};
use super::{Case, Changes, given};
use std::{fs, path::Path};

/// Name and text of the tables beside the tested one.
const BESIDE: [(&str, &str); 2] = [
    (
        "a.toml",
        "schema = 2\nid = \"base-a\"\nversion = \"1.0.0\"\n\n[quantize]\nrounding = \"half_even\"\n",
    ),
    (
        "b.toml",
        "schema = 2\nid = \"base-b\"\nversion = \"1.0.0\"\n\n[quantize]\nrounding = \"floor\"\n",
    ),
];

/// Writes these tables into a folder.
pub(super) fn write_beside(folder: &Path) {
    for (file, text) in BESIDE {
        fs::write(folder.join(file), text).unwrap();
    }
}

/// The rounding of activations, which the extended table sets.
const ON_A: Changes = &[
    (
        "emit    = []",
        "emit    = []\nextends = { file = \"a.toml\", sha256 = \"7ca4647e2e492a51e6fc8b7296cde6a1995b409a673b48cb3e533e4dc027e4d4\" }",
    ),
    ("rounding        = \"half_even\"\ndivide", "divide"),
];

pub(super) const CASES: &[Case] = &[
    given(
        "extends.file",
        Bits,
        ON_A,
        &[
            ("\"a.toml\"", "\"b.toml\""),
            (
                "7ca4647e2e492a51e6fc8b7296cde6a1995b409a673b48cb3e533e4dc027e4d4",
                "adad2cbe761ca968daafca166f057f91754eae69e6466b9c4e9e9a58ab402d79",
            ),
        ],
    ),
    given(
        "extends.sha256",
        Error,
        ON_A,
        &[("sha256 = \"7ca464", "sha256 = \"adad2c")],
    ),
];
