//! The parts of which there is one: identity, types, accumulators, options, overlays.

use super::Findings;
use crate::spec::{Codes, Integer, Observed, OptionValue};
use strait_document::{KeyPath, Value, nearest};

pub(super) fn check(findings: &mut Findings<'_>) {
    types(findings);
    options(findings);
    let spec = findings.spec;
    if let Some(refusal) = spec.quantize.observer.refusal(Observed::Activations, Codes::Integers) {
        findings.add(&KeyPath::of(&["quantize", "observer"]), refusal);
    }
    for (index, name) in spec.emit.iter().enumerate() {
        let twice = spec.emit[..index].contains(name);
        let path = KeyPath::of(&["emit"]).index(index);
        findings.ensure(!twice, &path, || format!("`{name}` stands here twice"));
    }
}

fn types(findings: &mut Findings<'_>) {
    let types = &findings.spec.types;
    let at = |keys: &[&str]| KeyPath::of(&[&["types"], keys].concat());
    let implemented = [[Integer::Int8, Integer::Int8]];
    findings.ensure(types.pairs == implemented, &at(&["pairs"]), || {
        "pairs other than int8 activations with int8 weights cannot be compiled yet: `[[\"int8\", \"int8\"]]`".into()
    });
    findings.ensure(types.weight.symmetric, &at(&["weight", "symmetric"]), || {
        "weights with a zero point cannot be compiled yet; their grids are symmetric".into()
    });
    findings.list(&at(&["weight", "per"]), &types.weight.per);
    let ranges = [
        (
            "activation",
            types.activation.range,
            types.activation_type(),
            types.activation.symmetric,
        ),
        ("weight", types.weight.range, types.weight_type(), true),
    ];
    for (of, range, t, symmetric) in ranges {
        let Some(range) = range else { continue };
        let path = at(&[of, "range"]);
        let inside = i64::from(t.min()) <= range.min && range.max <= i64::from(t.max());
        findings.ensure(inside, &path, || {
            format!("{range} is not inside {t}, [{}, {}]", t.min(), t.max())
        });
        findings.ensure(!symmetric || range.contains(0), &path, || {
            format!("{range} does not contain 0")
        });
    }
    let accumulators = &findings.spec.accumulator;
    for [activation, _] in &types.pairs {
        let path = KeyPath::of(&["accumulator", activation.name()]);
        findings.ensure(accumulators.contains_key(activation), &path, || {
            format!("`{path}` is missing")
        });
        let bias = types.bias.get(activation);
        let path = at(&["bias", activation.name()]);
        findings.ensure(bias == Some(&Integer::Int32), &path, || {
            format!("`{path}` must be `int32`, the type of the accumulator")
        });
    }
    for (activation, row) in accumulators {
        let path = KeyPath::of(&["accumulator", activation.name()]);
        findings.ensure(row.bits == 32, &path.key("bits"), || {
            "accumulators of other widths than 32 bits cannot be compiled yet".into()
        });
    }
    let lines = accumulators
        .keys()
        .map(|of| (KeyPath::of(&["accumulator", of.name()]), of));
    let lines = lines.chain(types.bias.keys().map(|of| (at(&["bias", of.name()]), of)));
    for (path, activation) in lines {
        findings.ensure(types.pairs.iter().any(|pair| pair[0] == *activation), &path, || {
            format!("`{path}` is for activations that `types.pairs` does not have")
        });
    }
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
            let help = nearest::help(option, spec.options.keys().map(String::as_str));
            findings.add_with(&path, format!("an overlay for `{option}`, which is no option"), help);
            continue;
        };
        for value in values.keys() {
            let path = path.clone().key(value);
            let mut known = row.one_of.iter().flatten();
            let possible = row.one_of.is_none() || known.any(|known| known.to_string() == *value);
            findings.ensure(possible, &path, || format!("`{option}` is never `{value}`"));
            let Some(Value::Table(entries)) = findings.tree.find(&path).map(|node| &node.value) else {
                continue;
            };
            for key in ["schema", "id", "options", "overlay"] {
                findings.ensure(!entries.contains_key(key), &path.clone().key(key), || {
                    format!("an overlay cannot change `{key}`")
                });
            }
        }
    }
}

/// Small letters and digits with single hyphens between them, a letter first.
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

/// Three numbers with dots between them.
pub(in crate::spec) fn is_semver(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    let number = |n: &&str| {
        !n.is_empty() && n.len() <= 9 && n.bytes().all(|b| b.is_ascii_digit()) && (n.len() == 1 || !n.starts_with('0'))
    };
    numbers.len() == 3 && numbers.iter().all(number)
}
