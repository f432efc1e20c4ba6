//! Tests of the comparison of two versions of a table: the differences, and whether the version was raised accordingly.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use strait_target::Table;
use strait_target::spec::{Comparison, Effect, Raise};

const ACME: &str = include_str!("../../../configs/targets/acme-npu2.toml");
const SIMA: &str = include_str!("../../../targets/sima-mla/target.toml");

fn table(text: String) -> Table {
    Table::parse("table.toml", text).unwrap_or_else(|findings| panic!("{findings}"))
}

fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from:?} is not in the table");
        text.replacen(from, to, 1)
    })
}

fn compared(text: &str, changes: &[(&str, &str)]) -> Comparison {
    Comparison::new(&table(text.to_owned()), &table(changed(text, changes))).unwrap()
}

/// The places of the differences, each with its effect.
fn places(comparison: &Comparison) -> Vec<(String, Effect)> {
    let place = |change: &strait_target::spec::Change| {
        let key = change.key.as_ref().map_or(String::new(), |key| format!(" {key}"));
        (format!("{}{key}", change.row), change.effect)
    };
    comparison.changes.iter().map(place).collect()
}

#[test]
fn each_kind_of_difference_raises_its_part_of_the_version() {
    for (changes, place, effect, needs, least) in [
        (
            &[("no reciprocal square root unit", "roots are for the host")][..],
            "op.layer_normalization why",
            Effect::Text,
            Raise::Patch,
            "2.1.1",
        ),
        (
            &[(
                "kernel            = { min = 1, max = 11 }",
                "kernel            = { min = 1, max = 13 }",
            )],
            "op.conv limit.kernel",
            Effect::AcceptsMore,
            Raise::Minor,
            "2.2.0",
        ),
        (
            &[(
                "kernel            = { min = 1, max = 11 }",
                "kernel            = { min = 1, max = 9 }",
            )],
            "op.conv limit.kernel",
            Effect::AcceptsLess,
            Raise::Major,
            "3.0.0",
        ),
        (
            &[(
                "run = \"host\"\nwhy = \"no reciprocal square root unit\"",
                "recipe = { layer_normalization = { definition = \"strait.layer_norm.v1\" } }\npairs = [[\"int16\", \"int8\"]]",
            )],
            "op.layer_normalization",
            Effect::AcceptsMore,
            Raise::Minor,
            "2.2.0",
        ),
        (
            &[("rounding = \"half_up\"", "rounding = \"half_even\"")],
            "form.scale31 kind.multiply_shift.rounding",
            Effect::OtherBits,
            Raise::Major,
            "3.0.0",
        ),
        (
            &[("range = [-127, 127]", "range = [-126, 126]")],
            "types.weight of int8 range",
            Effect::OtherBits,
            Raise::Major,
            "3.0.0",
        ),
    ] {
        let comparison = compared(ACME, changes);
        let found = places(&comparison);
        assert!(found.contains(&(place.to_owned(), effect)), "{place}: {found:?}");
        assert_eq!(found[0].1, effect, "{place}: {found:?}");
        assert_eq!((comparison.needs, comparison.least.as_str()), (needs, least), "{place}");
        assert!(!comparison.agrees, "{place}: the version stayed");
        let raised = format!("version = \"{least}\"");
        let again = compared(ACME, &[changes, &[("version = \"2.1.0\"", &raised)]].concat());
        assert!(again.agrees && again.says == needs, "{place}: {least} says it");
    }
}

#[test]
fn a_version_may_say_more_and_not_less() {
    let version = |to: &'static str| compared(ACME, &[("no reciprocal square root unit", "none"), ("\"2.1.0\"", to)]);
    for (to, says, agrees) in [
        ("\"2.1.0\"", Raise::None, false),
        ("\"2.1.7\"", Raise::Patch, true),
        ("\"2.2.0\"", Raise::Minor, true),
        ("\"10.0.0\"", Raise::Major, true),
        ("\"2.0.9\"", Raise::Lowered, false),
        ("\"1.9.9\"", Raise::Lowered, false),
    ] {
        let found = version(to);
        assert_eq!((found.says, found.agrees), (says, agrees), "{to}");
    }
    // Comments, the order of keys, and a default that is written out do not count as differences.
    let same = compared(
        ACME,
        &[
            (
                "divide   = \"multiply_by_reciprocal\"",
                "# a comment\ndivide   = \"multiply_by_reciprocal\"\nweight_rounding = \"half_even\"",
            ),
            (
                "recipe     = \"multiply_accumulate\"",
                "recipe     = { multiply_accumulate = { weight_grid = \"max_abs\" } }",
            ),
        ],
    );
    assert!(same.changes.is_empty() && same.agrees, "{:?}", same.changes);
}

#[test]
fn a_pair_more_with_its_types_accepts_more() {
    let [from, to] = ["[op.lines]", "[op.clip]"].map(|row| ACME.find(row).unwrap());
    let without = [
        (&ACME[from..to], ""),
        (
            "[[\"int8\", \"int8\"], [\"int16\", \"int8\"]]",
            "[[\"int8\", \"int8\"]]",
        ),
        (", int16 = \"int40\"", ""),
        ("results = [\"int8\", \"int16\"]", "results = [\"int8\"]"),
        ("int16 = { symmetric = true, scale = \"any\" }", ""),
        ("int16 = { bits = 40, overflow = \"saturate\" }", ""),
        (
            "output = [\"int8\", \"int16\", \"int32\"]",
            "output = [\"int32\", \"int8\"]",
        ),
    ];
    let [with, without] = [ACME.to_owned(), changed(ACME, &without)].map(table);
    let more = Comparison::new(&without, &with).unwrap();
    let less = Comparison::new(&with, &without).unwrap();
    for (comparison, effect) in [(more, Effect::AcceptsMore), (less, Effect::AcceptsLess)] {
        let found = places(&comparison);
        assert!(found.contains(&("types pairs".to_owned(), effect)), "{found:?}");
        assert!(found.iter().all(|(_, found)| *found == effect), "{found:?}");
    }
}

#[test]
fn overlays_take_part() {
    let folding = "[overlay.correction_folding.afterwards.op]\nconv = { recipe = { multiply_accumulate = { weight_grid = \"max_abs_then_shift\" } } }\n";
    let gone = compared(SIMA, &[(folding, "[overlay.correction_folding.afterwards.op]\n")]);
    let change = gone.changes.first().unwrap();
    assert_eq!(gone.changes.len(), 1, "{:?}", gone.changes);
    assert_eq!(change.option.as_deref(), Some("correction_folding = afterwards"));
    assert_eq!(
        (change.row.as_str(), change.key.as_deref()),
        ("op.conv", Some("recipe.multiply_accumulate.weight_grid"))
    );
    assert_eq!(change.effect, Effect::OtherBits);
    // A difference that also occurs without the overlay is reported only once.
    let both = compared(SIMA, &[("https://docs.sima.ai", "elsewhere")]);
    assert_eq!(places(&both), [("table docs".to_owned(), Effect::Text)]);
}
