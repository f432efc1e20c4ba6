//! Checks that the tables in the repository have no errors.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use strait_target::{
    Options, Table,
    spec::{Evidence, Row},
};

/// The evidence for a row of a table whose default is `measured` and which has the lines `silicon` about its chip.
fn evidence(silicon: &str, row: Row<'_>) -> Evidence {
    let text = include_str!("tables/every-form.toml");
    let (said, measured) = ("evidence = \"assumed\"", "evidence = \"measured\"");
    assert!(text.contains(said) && text.contains("[types]"));
    let text = text
        .replacen(said, measured, 1)
        .replacen("[types]", &format!("{silicon}\n[types]"), 1);
    let table = Table::parse("t.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let spec = table.spec(&Options::new()).unwrap();
    let open: Vec<String> = spec.unrecorded().map(|row| row.to_string()).collect();
    let support = spec.support(row).unwrap();
    assert_eq!(open.contains(&row.to_string()), support.evidence != Evidence::Measured);
    support.evidence
}

#[test]
fn of_a_chip_a_row_is_measured_where_a_recording_is_named_for_it() {
    let recording = |fidelity: &str, rows: &str| {
        let sha256 = "01".repeat(32);
        format!(
            "[silicon]\nfidelity = \"{fidelity}\"\nevidence = [{{ file = \"v.npz\", sha256 = \"{sha256}\", rows = [{rows}] }}]\n"
        )
    };
    let rows = "\"form scale32\", \"op conv\"";
    for (silicon, conv, gemm) in [
        (String::new(), Evidence::Measured, Evidence::Measured),
        (recording("runtime", ""), Evidence::Measured, Evidence::Measured),
        (recording("silicon", ""), Evidence::Documented, Evidence::Documented),
        (recording("silicon", rows), Evidence::Measured, Evidence::Documented),
    ] {
        assert_eq!(evidence(&silicon, Row::Op("conv")), conv, "{silicon}");
        assert_eq!(evidence(&silicon, Row::Op("gemm")), gemm, "{silicon}");
    }
}

#[test]
fn every_table_of_a_target_parses_with_every_overlay() {
    let targets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../targets");
    let mut found = 0;
    for entry in std::fs::read_dir(targets).unwrap() {
        let path = entry.unwrap().path().join("target.toml");
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let table = Table::parse(path.display().to_string(), text).unwrap_or_else(|e| panic!("{e}"));
        let spec = table.spec(&Options::new()).unwrap();
        assert!(
            spec.op_row(strait_core::Term::Conv)
                .is_some_and(|(_, row)| row.recipe.is_some())
        );
        found += 1;
    }
    assert!(found > 0);
}
