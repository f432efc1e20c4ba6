//! Makes `docs/operators.md` from the operators that are read, from what the oracles found them to become, and from the
//! built-in tables.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;

use strait_builtin as _;
use strait_core::Term;
use strait_target::{Options, Registry};

const HEAD: &str = "\
# Operators

<!-- Made from the readers' rows, tests/*/operators.txt and the tables in the box by `cargo xtask bless`; edits here are lost. -->

This page lists the operators that Strait reads, for each model format. The column *read as* says what an operator becomes:

- `op`: the operator becomes one op of Strait.
- `composed`: the operator becomes several ops of Strait, which all have the name of the operator's node as their source name. The
  column *ops* lists the possible combinations.
- `folded`: the operator becomes a constant, because its result depends only on shapes and constants. Any other operator is folded,
  too, if all its operands are constants.

Each of the last columns is for one target. It says *yes* if this target can compute the op, or at least one of the combinations in
the column *ops*, on the accelerator. The table of a target can limit the types and shapes for an op. A node outside these limits
falls back to the host, and the report gives the reason.

";

const ONNX: &str = "\
## ONNX

The column *sets* gives the versions of the operator set in which Strait reads an operator. The last version that Strait reads is 28.
Functions that a model defines itself are inlined. Operators with a domain in their name are ONNX Runtime's own operators. Two more of
ONNX Runtime's own operators are listed without a domain, because models use them in the standard domain:
`SimplifiedLayerNormalization`, and `LayerNormalization` before operator set 17.

";

const TENSORFLOW: &str = "\
## TensorFlow

Strait reads frozen graphs (`.pb`), with the channels last or first. `Const` and `Placeholder` are read, too, but are not listed. If an
operator supports both layouts, the table shows the ops for channels first. For channels last, there is also a transpose before these
ops and another one after them. Rewrite rules move such transposes until they meet, and cancel them.

";

const TFLITE: &str = "\
## TFLite

The table lists TFLite's builtin operators. The column *version* gives the last version of an operator that Strait reads. All earlier
versions are read, too. Images in TFLite have their channels last, so Strait puts a transpose before each operator with a window and
another one after it. Rewrite rules move such transposes until they meet, and cancel them. Quantized tensors with codes of 4, 8 and 16
bits are read with the grids in the file. Recurrent layers start every run with a state of 0, whereas LiteRT continues with the state
of the previous run.

";

/// The operators of a model format.
struct Format {
    head: &'static str,
    /// Heading for the versions that are read, if the format has versions.
    versions: Option<&'static str>,
    /// The file that has, for each form of an operator, the ops that it becomes.
    forms: &'static str,
    file: &'static str,
    /// Names of the operators, and their versions.
    operators: Vec<(String, Option<String>)>,
    /// Operators that compare truth values, dimensions or infinite numbers, for which there are no codes.
    without_codes: &'static [&'static str],
}

fn formats() -> [Format; 3] {
    let onnx = strait_onnx::operators();
    let tensorflow = strait_tensorflow::operators();
    let tflite = strait_tflite::operators();
    [
        Format {
            head: ONNX,
            versions: Some("sets"),
            forms: include_str!("onnx/operators.txt"),
            file: "tests/onnx/operators.txt",
            operators: onnx.iter().map(|op| (op.qualified(), Some(sets(op)))).collect(),
            without_codes: &["IsInf", "IsNaN", "Not"],
        },
        Format {
            head: TENSORFLOW,
            versions: None,
            forms: include_str!("tensorflow/operators.txt"),
            file: "tests/tensorflow/operators.txt",
            operators: tensorflow.iter().map(|&name| (name.to_owned(), None)).collect(),
            without_codes: &["IsFinite", "IsInf", "IsNan", "LogicalNot"],
        },
        Format {
            head: TFLITE,
            versions: Some("version"),
            forms: include_str!("tflite/operators.txt"),
            file: "tests/tflite/operators.txt",
            operators: tflite
                .iter()
                .map(|op| (op.name.to_owned(), Some(op.last.to_string())))
                .collect(),
            without_codes: &["BROADCAST_ARGS", "LOGICAL_NOT"],
        },
    ]
}

fn sets(operator: &strait_onnx::Operator) -> String {
    let (since, until) = operator.sets.clone().into_inner();
    match until {
        until if until == *strait_onnx::OPSETS.end() => format!("{since}–"),
        until if until == since => since.to_string(),
        until => format!("{since}–{until}"),
    }
}

impl Format {
    fn forms(&self) -> BTreeMap<&'static str, Vec<Vec<Term>>> {
        let mut forms: BTreeMap<&str, Vec<Vec<Term>>> = BTreeMap::new();
        for line in self.forms.lines() {
            let mut words = line.split(' ');
            let operator = words.next().unwrap();
            let terms = words.map(|word| Term::parse(word).unwrap_or_else(|| panic!("`{word}` is no op")));
            forms.entry(operator).or_default().push(terms.collect());
        }
        forms
    }

    fn table(&self) -> String {
        let registry = Registry::builtin().unwrap();
        let targets: Vec<_> = registry
            .entries()
            .map(|(id, entry)| (id, entry.target(&Options::default()).unwrap()))
            .collect();
        let mut titles = vec!["operator"];
        titles.extend(self.versions);
        titles.extend(["read as", "ops"]);
        titles.extend(targets.iter().map(|(id, _)| *id));
        let mut table = format!("| {} |\n|{}\n", titles.join(" | "), "---|".repeat(titles.len()));
        let forms = self.forms();
        for (name, sets) in &self.operators {
            let forms = &forms[name.as_str()];
            let ops: Vec<String> = (forms.iter().filter(|form| !form.is_empty()))
                .map(|form| form.iter().map(|term| term.name()).collect::<Vec<_>>().join(" "))
                .collect();
            let computes = targets.iter().map(|(_, target)| {
                let has = |term: &Term| {
                    // Nodes that do nothing are removed, and quantize nodes become the scales of the layers around
                    // them.
                    matches!(term, Term::Identity | Term::Quantize | Term::Dequantize)
                        || target.spec().op_rows(*term).any(|(_, row)| !row.is_host())
                };
                let has_codes = !self.without_codes.contains(&name.as_str());
                let computes = has_codes && forms.iter().any(|form| !form.is_empty() && form.iter().all(has));
                if computes { "yes" } else { "" }.to_owned()
            });
            let row: Vec<String> = std::iter::once(name.clone())
                .chain(sets.clone())
                .chain([kind(forms).to_owned(), ops.join("; ")])
                .chain(computes)
                .collect();
            table += &format!("| {} |\n", row.join(" | "));
        }
        table
    }
}

fn kind(forms: &[Vec<Term>]) -> &'static str {
    match forms {
        forms if forms.iter().any(|form| form.len() == 1) => "op",
        forms if forms.iter().all(Vec::is_empty) => "folded",
        _ => "composed",
    }
}

#[test]
fn every_operator_that_is_read_says_what_it_becomes_and_no_other() {
    for format in formats() {
        let forms = format.forms();
        for (name, _) in &format.operators {
            assert!(
                forms.contains_key(name.as_str()),
                "{} has no line of {name}",
                format.file
            );
        }
        for name in forms.keys() {
            assert!(
                format.operators.iter().any(|(read, _)| read == name),
                "{} has {name}, which is not read",
                format.file
            );
        }
    }
}

#[test]
fn the_page_of_operators_is_current() {
    let sections = formats().map(|format| format.head.to_owned() + &format.table());
    let page = HEAD.to_owned() + &sections.join("\n");
    strait_testkit::is_current("docs/operators.md", &page);
}
