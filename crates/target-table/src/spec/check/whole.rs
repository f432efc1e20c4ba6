//! Checks the parts that a table has only once: its identity, types, accumulators, options and overlays.

use super::{Findings, instead};
use crate::spec::{CodeKind, Integer, Observed, OptionValue, WeightPer, WeightScheme};
use std::collections::BTreeSet;
use strait_core::Term;
use strait_document::{KeyPath, SourceLocation, Value, is_plain_line};
use strait_requantize::IntType;

pub(super) fn check(findings: &mut Findings<'_>) {
    texts(findings);
    types(findings);
    options(findings);
    let spec = findings.spec;
    if let Some(refusal) = spec
        .quantize
        .observer
        .refusal(Observed::Activations, CodeKind::Integers)
    {
        findings.add(&KeyPath::of(&["quantize", "observer"]), refusal);
    }
    recordings(findings);
    findings.once(&KeyPath::of(&["emit"]), &spec.emit);
    findings.once(&KeyPath::of(&["rules"]), &spec.rules);
}

/// Checks that the rows that recordings name exist in the table.
fn recordings(findings: &mut Findings<'_>) {
    let spec = findings.spec;
    let known: Vec<String> = spec.supports().map(|support| support.row.to_string()).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    for (index, recording) in spec.silicon.iter().flat_map(|silicon| &silicon.evidence).enumerate() {
        let path = KeyPath::of(&["silicon", "evidence"]).index(index).key("rows");
        findings.names("row that decides bits", &path, &recording.rows, &known);
        findings.once(&path, &recording.rows);
    }
}

/// Checks that names and texts consist of a single line without control characters, since reports and messages print
/// them.
fn texts(findings: &mut Findings<'_>) {
    let mut nodes = vec![findings.tree];
    while let Some(node) = nodes.pop() {
        match &node.value {
            Value::Text(text) => line(findings, text, &node.location),
            Value::List(items) => nodes.extend(items),
            Value::Table(entries) => {
                for (name, entry) in entries.iter() {
                    line(findings, name, &entry.key);
                    if name.is_empty() {
                        findings.at(&entry.key, "a name is empty");
                    }
                    nodes.push(&entry.node);
                }
            }
            _ => {}
        }
    }
}

fn line(findings: &mut Findings<'_>, text: &str, location: &SourceLocation) {
    if !is_plain_line(text) {
        findings.at(
            location,
            "a text of a table is one line, without control characters and without those that turn the direction of writing",
        );
    }
}

fn types(findings: &mut Findings<'_>) {
    let types = &findings.spec.types;
    let at = |keys: &[&str]| KeyPath::of(&[&["types"], keys].concat());
    findings.list(&at(&["pairs"]), &types.pairs);
    for (index, pair) in types.pairs.iter().enumerate() {
        let (weight, path) = (pair.weight, at(&["pairs"]).index(index));
        findings.ensure(IntType::from(weight).bits() <= 16, &path, || {
            format!("weights of {weight} are too wide: they have 4, 8 or 16 bits")
        });
        let unsigned = IntType::from(weight).min() == 0;
        findings.ensure(!unsigned || !types.weight(weight).symmetric, &path, || {
            format!(
                "symmetric weights of {weight} hold no negative numbers: `types.weight_of.{weight}` needs `symmetric = false`"
            )
        });
    }
    let activations: BTreeSet<Integer> = types.activations().collect();
    let weights: BTreeSet<Integer> = types.pairs.iter().map(|pair| pair.weight).collect();
    findings.ensure(!activations.is_empty(), &at(&["pairs"]), || {
        "`types.pairs` has no activations of integers".into()
    });
    let of_activations = activations.iter().map(|&t| {
        let (scheme, own) = (types.activation(t), types.activation_of.contains_key(&t));
        ("activation", own, t, scheme.range, scheme.symmetric)
    });
    let of_weights = weights.iter().map(|&t| {
        let (scheme, own) = (types.weight(t), types.weight_of.contains_key(&t));
        ("weight", own, t, scheme.range, scheme.symmetric)
    });
    for (of, own, t, range, symmetric) in of_activations.chain(of_weights) {
        let path = match own {
            true => at(&[&format!("{of}_of"), t.name(), "range"]),
            false => at(&[of, "range"]),
        };
        let Some([least, most]) = range else { continue };
        let codes = IntType::from(t);
        let inside = i64::from(codes.min()) <= least && most <= i64::from(codes.max());
        findings.ensure(inside, &path, || {
            format!(
                "[{least}, {most}] is not inside {codes}, [{}, {}]",
                codes.min(),
                codes.max()
            )
        });
        findings.ensure(!symmetric || (least..=most).contains(&0), &path, || {
            format!("[{least}, {most}] does not contain 0")
        });
    }
    let own = types.weight_of.iter();
    let own = own.map(|(t, scheme)| (at(&["weight_of", t.name()]), scheme));
    for (path, scheme) in std::iter::once((at(&["weight"]), &types.weight)).chain(own) {
        let mut alone = types.pairs.iter().filter(|pair| pair.is_weight_only());
        let used = alone.any(|pair| std::ptr::eq(types.weight(pair.weight), scheme));
        blocks(findings, &path, scheme, used);
        findings.list(&path.key("per"), &scheme.per);
    }
    let unused = types.activation_of.keys().filter(|t| !activations.contains(t));
    let unused = unused.map(|t| at(&["activation_of", t.name()]));
    let others = types.weight_of.keys().filter(|t| !weights.contains(t));
    for path in unused.chain(others.map(|t| at(&["weight_of", t.name()]))) {
        findings.add(
            &path,
            format!("`{path}` is for a type that `types.pairs` does not have"),
        );
    }
    let several = activations.len() > 1;
    let requantizes = findings.spec.has_rows(Term::Requantize);
    findings.ensure(!several || requantizes, &at(&["pairs"]), || {
        "between activations of several types codes are requantized, and there is no row `op.requantize`".into()
    });
    let accumulators = &findings.spec.accumulator;
    for activation in &activations {
        let path = KeyPath::of(&["accumulator", activation.name()]);
        findings.ensure(accumulators.contains_key(activation), &path, || {
            format!("`{path}` is missing")
        });
        let row = accumulators.get(activation);
        let bias = types.bias.get(activation);
        let path = at(&["bias", activation.name()]);
        findings.ensure(bias.is_some(), &path, || format!("`{path}` is missing"));
        if let Some((row, block)) = row.and_then(|row| Some((row, row.block?))) {
            let path = KeyPath::of(&["accumulator", activation.name(), "block"]);
            findings.ensure(block.bits <= row.bits, &path, || {
                format!(
                    "a block of {} bits is wider than the sum that it is added to, of {} bits",
                    block.bits, row.bits
                )
            });
        }
        if let (Some(row), Some(bias)) = (row, bias) {
            findings.ensure(bias.bits() <= row.bits.max(32), &path, || {
                format!(
                    "a bias of {bias} is wider than the sum that it is added to, of {} bits",
                    row.bits
                )
            });
        }
    }
    let lines = accumulators
        .keys()
        .map(|of| (KeyPath::of(&["accumulator", of.name()]), of));
    let lines = lines.chain(types.bias.keys().map(|of| (at(&["bias", of.name()]), of)));
    for (path, activation) in lines {
        findings.ensure(activations.contains(activation), &path, || {
            format!("`{path}` is for activations that `types.pairs` does not have")
        });
    }
}

/// Checks that a table with scales per block also has what they require: sizes of blocks, a weight-only pair of types,
/// and another granularity for weights that cannot be divided into whole blocks.
fn blocks(findings: &mut Findings<'_>, path: &KeyPath, scheme: &WeightScheme, used: bool) {
    let by_block = scheme.per.contains(&WeightPer::Block);
    findings.ensure(!by_block || used, &path.clone().key("per"), || {
        "scales by block are for weight-only layers, in a pair with \"float32\"".into()
    });
    let sized = path.clone().key("block");
    findings.ensure(by_block != scheme.block.is_empty(), &sized, || match by_block {
        true => format!("`{sized}` is missing: scales are by block, of so many inputs"),
        false => "sizes of blocks are for `per` with \"block\"".into(),
    });
    let others = scheme.per.iter().any(|&per| per != WeightPer::Block);
    findings.ensure(!by_block || others, &path.clone().key("per"), || {
        "weights that are no whole blocks need \"channel\" or \"tensor\" beside \"block\"".into()
    });
}

fn options(findings: &mut Findings<'_>) {
    let spec = findings.spec;
    for (name, row) in &spec.options {
        let path = KeyPath::of(&["options", name]);
        let at = |key: &str| path.clone().key(key);
        findings.ensure(is_snake_case(name), &path, || {
            format!("`{name}` is no name of an option: snake case is")
        });
        if let Some(values) = &row.one_of {
            findings.list(&at("one_of"), values);
            if values.is_empty() {
                continue;
            }
        }
        if let Some(refusal) = row.refuses(&row.default) {
            findings.add(&at("default"), format!("the default of `{name}`: {refusal}"));
        }
        let sane = row.min.zip(row.max).is_none_or(|(min, max)| min <= max);
        findings.ensure(sane, &path, || {
            format!("`{name}` has no value between its `min` and its `max`")
        });
        let ends = row.min.is_some() || row.max.is_some();
        let number = matches!(row.default, OptionValue::Integer(_));
        findings.ensure(number || !ends, &path, || {
            format!("`{name}` is no number, and has neither `min` nor `max`")
        });
        for (index, value) in row.one_of.iter().flatten().enumerate() {
            findings.ensure(row.kind.has(value), &at("one_of").index(index), || {
                format!("`{value}` of `one_of` is not of type {}", row.kind)
            });
        }
    }
    for (option, values) in &spec.overlay {
        let path = KeyPath::of(&["overlay", option]);
        let Some(row) = spec.options.get(option) else {
            let known: Vec<&str> = spec.options.keys().map(String::as_str).collect();
            let help = instead("option", option, &known);
            findings.add_with(&path, format!("an overlay for `{option}`, which is no option"), help);
            continue;
        };
        for value in values.keys() {
            let path = path.clone().key(value);
            if let Some(refusal) = row.refuses(&row.value_of(value)) {
                findings.add(&path, format!("an overlay that nothing switches on: {refusal}"));
            }
            let Some(Value::Table(entries)) = findings.tree.find(&path).map(|node| &node.value) else {
                continue;
            };
            for key in ["schema", "id", "extends", "options", "overlay"] {
                findings.ensure(!entries.contains_key(key), &path.clone().key(key), || {
                    format!("an overlay cannot change `{key}`")
                });
            }
        }
    }
}

/// True if the text consists of lower-case letters and digits with single hyphens between them, and begins with a
/// letter.
pub(in crate::spec) fn is_kebab_case(text: &str) -> bool {
    words(text, '-')
}

fn is_snake_case(text: &str) -> bool {
    words(text, '_')
}

fn words(text: &str, separator: char) -> bool {
    let plain = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.split(separator).all(plain)
}

/// True if the text is a SHA-256 digest as tables have it: 64 lower-case hexadecimal digits.
pub(in crate::spec) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// True if the text consists of three numbers with dots between them.
pub(in crate::spec) fn is_semver(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    let number = |n: &&str| {
        !n.is_empty() && n.len() <= 9 && n.bytes().all(|b| b.is_ascii_digit()) && (n.len() == 1 || !n.starts_with('0'))
    };
    numbers.len() == 3 && numbers.iter().all(number)
}
