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
        "emit    = []\nextends = { file = \"a.toml\", sha256 = \"599187f8359002009fd6afc021766ba623d8e00c882a5de099daa27a944866e7\" }",
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
                "599187f8359002009fd6afc021766ba623d8e00c882a5de099daa27a944866e7",
                "9af354695a9045ebb3f0aae86455df1d1821f1de6e93474d488807e14fb6c6cc",
            ),
        ],
    ),
    given(
        "extends.sha256",
        Error,
        ON_A,
        &[("sha256 = \"599187", "sha256 = \"9af354")],
    ),
];
