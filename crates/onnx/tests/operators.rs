//! `docs/operators.md` is made of the operators that are read, of what the node tests found them to become, and of the tables in
//! the box.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::Path;
use strait_builtin as _;
use strait_core::Term;
use strait_onnx::{OPSETS, Operator, operators};
use strait_target::{Options, Registry};

/// The operators and the ops of each way in which they are read.
const FORMS: &str = include_str!("../../../tests/onnx/operators.txt");

/// Operators that compare truth values, or with an infinite number, of which there are no codes.
const WITHOUT_CODES: [&str; 3] = ["IsInf", "IsNaN", "Not"];

const HEAD: &str = "\
# ONNX operators

<!-- Made from the reader's rows, tests/onnx/operators.txt and the tables in the box by `cargo xtask bless`; edits here are lost. -->

The operators that are read, with the operator sets in which they are, up to 28. An *op* is one of ours. What is *composed* becomes
several of ours under one source name, in one of the ways that stand here. What is *folded* is a constant, since it follows from shapes
and constants alone; so does any other operator where all that it takes is known. The last columns say which targets compute one of
these ways on the accelerator, for types and shapes that their tables allow; elsewhere the host does, with the reason. Functions that a
model defines itself are put in place of their calls. Names with a domain are those of ONNX Runtime's own operators, of which
`SimplifiedLayerNormalization`, and `LayerNormalization` before operator set 17, are written to the standard domain.

";

fn forms() -> BTreeMap<&'static str, Vec<Vec<Term>>> {
    let mut forms: BTreeMap<&str, Vec<Vec<Term>>> = BTreeMap::new();
    for line in FORMS.lines() {
        let mut words = line.split(' ');
        let operator = words.next().unwrap();
        let terms = words.map(|word| Term::parse(word).unwrap_or_else(|| panic!("`{word}` is no op")));
        forms.entry(operator).or_default().push(terms.collect());
    }
    forms
}

fn sets(operator: &Operator) -> String {
    let (since, until) = operator.sets.clone().into_inner();
    match until {
        until if until == *OPSETS.end() => format!("{since}–"),
        until if until == since => since.to_string(),
        until => format!("{since}–{until}"),
    }
}

fn kind(forms: &[Vec<Term>]) -> &'static str {
    match forms {
        forms if forms.iter().any(|form| form.len() == 1) => "op",
        forms if forms.iter().all(Vec::is_empty) => "folded",
        _ => "composed",
    }
}

fn page() -> String {
    let registry = Registry::builtin().unwrap();
    let targets: Vec<_> = registry
        .entries()
        .map(|(id, entry)| (id, entry.target(&Options::default()).unwrap()))
        .collect();
    let titles: Vec<&str> = targets.iter().map(|(id, _)| *id).collect();
    let mut page = HEAD.to_owned();
    page += &format!("| operator | sets | read as | ops | {} |\n", titles.join(" | "));
    page += &format!("|{}\n", "---|".repeat(4 + titles.len()));
    let forms = forms();
    for operator in operators() {
        let forms = &forms[&*operator.qualified()];
        let ops: Vec<String> = (forms.iter().filter(|form| !form.is_empty()))
            .map(|form| form.iter().map(|term| term.name()).collect::<Vec<_>>().join(" "))
            .collect();
        let computes = targets.iter().map(|(_, target)| {
            let has = |term: &Term| {
                // What is nothing is taken out, and grids are those of the layers around.
                matches!(term, Term::Identity | Term::Quantize | Term::Dequantize)
                    || target.spec().op_rows(*term).any(|(_, row)| !row.is_host())
            };
            let has_codes = !WITHOUT_CODES.contains(&&*operator.qualified());
            let computes = has_codes && forms.iter().any(|form| !form.is_empty() && form.iter().all(has));
            if computes { "yes" } else { "" }
        });
        page += &format!(
            "| {} | {} | {} | {} | {} |\n",
            operator.qualified(),
            sets(&operator),
            kind(forms),
            ops.join("; "),
            computes.collect::<Vec<_>>().join(" | ")
        );
    }
    page
}

#[test]
fn every_operator_that_is_read_says_what_it_becomes_and_no_other() {
    let read: Vec<String> = operators().iter().map(Operator::qualified).collect();
    let forms = forms();
    for name in &read {
        assert!(
            forms.contains_key(name.as_str()),
            "tests/onnx/operators.txt has no line of {name}"
        );
    }
    for name in forms.keys() {
        assert!(
            read.iter().any(|read| read == name),
            "tests/onnx/operators.txt has {name}, which is not read"
        );
    }
}

#[test]
fn the_page_of_operators_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operators.md");
    let page = page();
    if std::env::var_os("STRAIT_BLESS").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    // A checkout may have other line ends.
    let committed = std::fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
    assert!(
        committed == page,
        "docs/operators.md is not what is read: run `cargo xtask bless`"
    );
}
