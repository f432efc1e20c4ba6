//! Tests of recorded vectors: the kit compares them with a table's forms and uses them as evidence for its rows.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::kit::{TABLE, examined, line};
use strait_conformance::Recording;
use strait_identify::{ChannelAxis, LayerScales, RecordedLayer, Vectors};
use strait_requantize::{IntType, Narrowing, Requantization, Rounding, form};
use strait_target::{Origin, Registry, Table};

/// A recorded layer that was computed with this form.
fn recorded(form: &Requantization, scales: Option<LayerScales>) -> Vec<Recording> {
    let pairs: Vec<(i64, i32)> = (-40_000..40_000).map(|x| (x, form.eval(0, x).unwrap())).collect();
    let shape = [pairs.len()];
    let layer = RecordedLayer {
        zero_point: Some(3),
        scales,
        ..RecordedLayer::new("conv1", IntType::I8, &shape, ChannelAxis::Second, pairs)
    };
    vec![Recording {
        file: "recorded/v.npz".into(),
        sha256: "01".repeat(32),
        vectors: Vectors { layers: vec![layer] },
    }]
}

fn scale31(rounding: Rounding) -> Requantization {
    form::TfLite {
        sc: 0x5555_5555.into(),
        zp: 3,
        narrowing: Narrowing {
            shift: 39.into(),
            rounding,
            out: IntType::I8,
        },
    }
    .into()
}

#[test]
fn recorded_vectors_are_held_against_the_forms_of_the_table() {
    let mut registry = Registry::default();
    let table = Table::parse("vendor.toml", TABLE.clone()).unwrap();
    let entry = registry.add_table(Origin::File("vendor.toml".into()), table).unwrap();
    let kit = examined(entry, &recorded(&scale31(Rounding::HalfUp), None));
    assert!(
        kit.is_ok() && line(&kit, "conv1").checked.contains("gives all 80000 outputs"),
        "{kit}"
    );
    let kit = examined(entry, &recorded(&scale31(Rounding::Floor), None));
    assert!(
        line(&kit, "conv1").findings[0].contains("no form of the table gives every recorded value"),
        "{kit}"
    );
    let scales = LayerScales {
        input: 0.02,
        weight: 0.01.into(),
        output: 0.1,
    };
    let kit = examined(entry, &recorded(&scale31(Rounding::HalfUp), Some(scales)));
    assert!(line(&kit, "conv1").findings[0].contains("was recorded"), "{kit}");
}

/// Returns the kit's line about the evidence for a row. The table claims that the row was measured, and the recordings
/// were computed with the forms `forms`.
fn evidence(row: &str, said: &str, forms: &[Requantization]) -> (String, String) {
    let silicon = format!(
        "\n[silicon]\nfidelity = \"silicon\"\nevidence = [{{ file = \"v.npz\", sha256 = \"{}\", rows = [\"{row}\"] }}]\n\n[types]",
        "01".repeat(32)
    );
    let text = TABLE.replacen("\n[types]", &silicon, 1);
    let header = "[form.scale31]";
    assert!(text.contains(header));
    let text = text.replacen(header, &format!("{header}\nevidence = \"measured\"\n{said}"), 1);
    let table = Table::parse("vendor.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let mut registry = Registry::default();
    let entry = registry.add_table(Origin::File("vendor.toml".into()), table).unwrap();
    let mut recordings: Vec<Recording> = forms.iter().flat_map(|form| recorded(form, None)).collect();
    let layers = recordings.drain(..).flat_map(|recording| recording.vectors.layers);
    let all = vec![Recording {
        file: "recorded/v.npz".into(),
        sha256: "01".repeat(32),
        vectors: Vectors {
            layers: layers.collect(),
        },
    }];
    let kit = examined(entry, &all);
    let line = line(&kit, &format!("evidence for {row}"));
    let words = line.findings.join("\n") + &line.checked;
    (line.outcome().to_owned(), words)
}

#[test]
fn recordings_that_leave_neighbours_open_are_told_so_and_those_that_do_not_are_evidence() {
    let holds = "holds = { accumulator = [-40000, 39999] }";
    let general = scale31(Rounding::HalfUp);
    let power_of_two = form::TfLite {
        sc: 0x4000_0000.into(),
        zp: 3,
        narrowing: Narrowing {
            shift: 39.into(),
            rounding: Rounding::HalfUp,
            out: IntType::I8,
        },
    }
    .into();
    let (outcome, said) = evidence("form scale31", holds, std::slice::from_ref(&general));
    assert_eq!(outcome, "failed");
    assert!(said.contains("leave open") && said.contains("half_away"), "{said}");
    assert!(said.contains("record a layer whose factor is a power of two"), "{said}");
    assert!(said.contains("the row is `documented`, and not `measured`"), "{said}");
    let both = [general, power_of_two];
    let (outcome, said) = evidence("form scale31", holds, &both);
    assert_eq!(outcome, "passed", "{said}");
    // The recordings are evidence for the recorded accumulators only, so the row has to state this range.
    let (outcome, said) = evidence("form scale31", "", &both);
    assert_eq!(outcome, "failed");
    assert!(said.contains(holds), "{said}");
    // Recorded accumulators say nothing about how an op computes them.
    for row in ["op conv", "accumulator int8", "quantize"] {
        let (outcome, said) = evidence(row, holds, &both);
        assert!(
            outcome == "failed" && said.contains("the row is `documented`"),
            "{row}: {said}"
        );
    }
    let other = scale31(Rounding::Floor);
    let (outcome, said) = evidence("form scale31", holds, std::slice::from_ref(&other));
    assert!(
        outcome == "failed" && said.contains("no layer of its recordings"),
        "{said}"
    );
}

#[test]
fn what_is_said_to_be_measured_names_its_recording_or_the_report_says_so() {
    const NAME: &str = "recordings that the table names";
    assert!(TABLE.contains("\n[types]"));
    let with = |lines: &str| TABLE.replace("\n[types]", &format!("\n[silicon]\n{lines}\n[types]"));
    let of = |text: &str, recordings: &[Recording]| {
        let mut registry = Registry::default();
        let table = Table::parse("vendor.toml", text.to_owned()).unwrap_or_else(|e| panic!("{e}"));
        let entry = registry.add_table(Origin::File("vendor.toml".into()), table).unwrap();
        let kit = examined(entry, recordings);
        let line = line(&kit, NAME);
        let said = line.skipped.as_ref().or(line.findings.first()).unwrap_or(&line.checked);
        (line.outcome(), said.clone())
    };
    let given = recorded(&scale31(Rounding::HalfUp), None);
    assert_eq!(
        of(&TABLE, &[]),
        ("not checked", "nothing is said to be measured".into())
    );
    assert_eq!(
        of(&with("fidelity = \"silicon\""), &given),
        (
            "not checked",
            "the fidelity is silicon, and the table names no recording with its digest".into()
        )
    );
    let named = |digest: &str| {
        with(&format!(
            "fidelity = \"silicon\"\nevidence = [{{ file = \"vectors/v.npz\", sha256 = \"{}\" }}]",
            digest.repeat(32)
        ))
    };
    assert_eq!(
        of(&named("01"), &[]),
        (
            "not checked",
            "the fidelity is silicon; not given: vectors/v.npz".into()
        )
    );
    assert_eq!(
        of(&named("01"), &given),
        ("passed", "the fidelity is silicon; 1 files".into())
    );
    let (outcome, said) = of(&named("02"), &given);
    assert_eq!(outcome, "failed");
    assert!(said.contains("recorded/v.npz: its SHA-256 is 0101"), "{said}");
}
