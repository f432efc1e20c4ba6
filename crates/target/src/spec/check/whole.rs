//! The parts of which there is one: identity, types, accumulators, options, overlays.

use super::Findings;
use crate::error::SpecError;
use crate::nearest;
use crate::spec::{Integer, SCHEMA};
use strait_requantize::IntType;

pub(super) fn check(findings: &mut Findings<'_>) {
    let spec = findings.spec;
    findings.ensure(*spec.schema == SCHEMA, &spec.schema.span(), || {
        format!(
            "schema {} is not known; this version reads schema {SCHEMA}",
            *spec.schema
        )
    });
    findings.ensure(is_kebab_case(&spec.id), &spec.id.span(), || {
        format!(
            "`{}` is no id: small letters and digits with single hyphens between them, a letter first",
            *spec.id
        )
    });
    findings.ensure(is_semver(&spec.version), &spec.version.span(), || {
        format!(
            "`{}` is no version: three numbers with dots between them",
            *spec.version
        )
    });
    types(findings);
    options(findings);
    for (index, name) in spec.emit.iter().enumerate() {
        let twice = spec.emit[..index].contains(name);
        findings.ensure(!twice, &name.span(), || format!("`{}` stands here twice", **name));
    }
}

fn types(findings: &mut Findings<'_>) {
    let types = &findings.spec.types;
    let implemented = [[Integer::Int8, Integer::Int8]];
    findings.ensure(types.pairs.as_slice() == implemented, &types.pairs.span(), || {
        "pairs other than int8 activations with int8 weights cannot be compiled yet: `[[\"int8\", \"int8\"]]`".into()
    });
    findings.ensure(*types.weight.symmetric, &types.weight.symmetric.span(), || {
        "weights with a zero point cannot be compiled yet; their grids are symmetric".into()
    });
    findings.list("per", &types.weight.per);
    let ranges = [
        (
            types.activation.range.as_ref(),
            types.activation_type(),
            types.activation.symmetric,
        ),
        (types.weight.range.as_ref(), types.weight_type(), true),
    ];
    for (range, t, symmetric) in ranges {
        let Some(range) = range else { continue };
        if range.min >= range.max {
            let message = format!("{} is no range: its first number is not below its second", **range);
            let help = format!(
                "a range is `[min, max]`, both included, inside [{}, {}]",
                t.min(),
                t.max()
            );
            findings.add(SpecError::at(range.span(), message).help(help));
            continue;
        }
        let inside = i64::from(t.min()) <= range.min && range.max <= i64::from(t.max());
        findings.ensure(inside, &range.span(), || {
            format!("{} is not inside {t}, [{}, {}]", **range, t.min(), t.max())
        });
        findings.ensure(!symmetric || range.contains(0), &range.span(), || {
            format!("{} does not contain 0", **range)
        });
    }
    for pair in types.pairs.iter() {
        let accumulator = findings.spec.accumulator.get(&pair[0]);
        let place = findings.place(&["accumulator"]);
        findings.ensure(accumulator.is_some(), &place, || {
            format!("`accumulator.{}` is missing", pair[0])
        });
        if let Some(accumulator) = accumulator {
            findings.ensure(*accumulator.bits == 32, &accumulator.bits.span(), || {
                "accumulators of other widths than 32 bits cannot be compiled yet".into()
            });
        }
        let bias = types.bias.get(&pair[0]);
        let place = findings.place(&["types", "bias"]);
        findings.ensure(bias.map(|b| IntType::from(*b)) == Some(IntType::I32), &place, || {
            format!("`types.bias.{}` must be `int32`, the type of the accumulator", pair[0])
        });
    }
    let lines = findings
        .spec
        .accumulator
        .keys()
        .map(|activation| ("accumulator", activation));
    let biases = types.bias.keys().map(|activation| ("bias", activation));
    for (table, activation) in lines.chain(biases).collect::<Vec<_>>() {
        let path: &[&str] = match table {
            "bias" => &["types", "bias", activation.name()],
            _ => &["accumulator", activation.name()],
        };
        let place = findings.place(path);
        findings.ensure(types.pairs.iter().any(|pair| pair[0] == *activation), &place, || {
            format!(
                "`{}` is for activations that `types.pairs` does not have",
                path.join(".")
            )
        });
    }
}

fn options(findings: &mut Findings<'_>) {
    let spec = findings.spec;
    for (name, row) in &spec.options {
        let place = findings.place(&["options", name]);
        findings.ensure(is_snake_case(name), &place, || {
            format!("`{name}` is no name of an option: snake case is")
        });
        if let Some(values) = &row.one_of {
            findings.list("one_of", values);
            if values.is_empty() {
                continue;
            }
        }
        if let Some(refusal) = row.refuses(&row.default) {
            findings.add(SpecError::at(
                row.default.span(),
                format!("the default of `{name}`: {refusal}"),
            ));
        }
        let sane = row.min.zip(row.max).is_none_or(|(min, max)| min <= max);
        findings.ensure(sane, &place, || {
            format!("`{name}` has no value between its `min` and its `max`")
        });
        for value in row.one_of.iter().flat_map(|values| values.iter()) {
            findings.ensure(value.kind() == row.kind, &place, || {
                format!("`{value}` of `one_of` is not of type {}", row.kind)
            });
        }
    }
    for (option, values) in &spec.overlay {
        let place = findings.place(&["overlay", option]);
        let Some(row) = spec.options.get(option) else {
            let help = nearest::help(option, spec.options.keys().map(String::as_str));
            findings.add(SpecError::at(place, format!("an overlay for `{option}`, which is no option")).help(help));
            continue;
        };
        for value in values.keys() {
            let known = |v: &&crate::spec::OptionValue| v.to_string() == *value;
            let meant = row.one_of.as_ref().and_then(|values| values.iter().find(known));
            let possible = meant.is_some() || row.one_of.is_none();
            let place = findings.place(&["overlay", option, value]);
            findings.ensure(possible, &place, || format!("`{option}` is never `{value}`"));
            let nested = findings
                .tree
                .get("overlay")
                .and_then(|t| t.get_ref().get(option.as_str())?.get_ref().get(value.as_str()));
            let fixed = ["schema", "id", "options", "overlay"];
            let keys: Vec<_> = nested
                .and_then(|t| t.get_ref().as_table())
                .into_iter()
                .flat_map(|t| t.keys())
                .collect();
            for key in keys {
                findings.ensure(!fixed.contains(&key.get_ref().as_ref()), &key.span(), || {
                    format!("an overlay cannot change `{}`", key.get_ref())
                });
            }
        }
    }
}

/// Small letters and digits with single hyphens between them, a letter first.
fn is_kebab_case(text: &str) -> bool {
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
fn is_semver(text: &str) -> bool {
    let numbers: Vec<&str> = text.split('.').collect();
    let number = |n: &&str| {
        !n.is_empty() && n.len() <= 9 && n.bytes().all(|b| b.is_ascii_digit()) && (n.len() == 1 || !n.starts_with('0'))
    };
    numbers.len() == 3 && numbers.iter().all(number)
}
