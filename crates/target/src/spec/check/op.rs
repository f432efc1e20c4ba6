//! `[op.NAME]`: terms that exist, recipes that lower them, forms and limits that make sense.

use super::terms::quantity_words;
use super::{DERIVED, Findings, attribute_keys, terms};
use crate::Located;
use crate::error::SpecError;
use crate::nearest;
use crate::spec::{Arithmetic, Limit, LimitValue, OpRow, RecipeName, ScaleSet};
use std::collections::BTreeMap;
use std::ops::Range;

pub(super) fn check(findings: &mut Findings<'_>) {
    let terms = terms();
    let mut rows_by_term: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, row) in &findings.spec.op {
        let place = findings.place(&["op", name]);
        let ops: Vec<(&str, Range<usize>)> = match &row.ops {
            Some(ops) => {
                findings.list("ops", ops);
                ops.iter().map(|op| (op.as_str(), op.span())).collect()
            }
            None => vec![(name, place.clone())],
        };
        for (op, span) in &ops {
            if !terms.contains(op) {
                let help = nearest::suggestion(op, terms.iter().copied())
                    .unwrap_or_else(|| "a row is named after its op, or lists its `ops`".into());
                findings.add(SpecError::at(span.clone(), format!("there is no op `{op}`")).help(help));
            } else if let Some(other) = rows_by_term.insert(op, name) {
                findings.add(SpecError::at(
                    span.clone(),
                    format!("`{op}` has a row already: `op.{other}`"),
                ));
            }
        }
        if row.is_host() {
            host(findings, name, row, &place);
        } else {
            accelerator(findings, name, row, &ops, &place);
        }
        limits(findings, name, row, &ops);
    }
}

fn host(findings: &mut Findings<'_>, name: &str, row: &OpRow, place: &Range<usize>) {
    let reason = row.why.as_ref().is_some_and(|why| !why.is_empty());
    findings.ensure(reason, place, || {
        format!("`op.{name}` runs on the host and does not say `why`")
    });
    let keys = [
        ("recipe", row.recipe.as_ref().map(Located::span)),
        ("requantize", row.requantize.first().map(Located::span)),
        ("inputs", row.inputs.first().map(Located::span)),
        ("weight_per", row.weight_per.as_ref().map(Located::span)),
    ];
    for (key, span) in keys {
        if let Some(span) = span {
            findings.add(SpecError::at(
                span,
                format!("`op.{name}` runs on the host, where it has no `{key}`"),
            ));
        }
    }
}

fn accelerator(
    findings: &mut Findings<'_>,
    name: &str,
    row: &OpRow,
    ops: &[(&str, Range<usize>)],
    place: &Range<usize>,
) {
    if let Some(why) = &row.why {
        findings.add(SpecError::at(
            why.span(),
            format!("`op.{name}` says `why`, which is for ops with `run = \"host\"`"),
        ));
    }
    let Some(recipe) = &row.recipe else {
        let fitting: Vec<&str> = RecipeName::ALL
            .iter()
            .filter(|recipe| ops.iter().all(|(op, _)| recipe.signature().ops.contains(op)))
            .map(|recipe| recipe.name())
            .collect();
        let message = format!("`op.{name}` needs a `recipe`, or `run = \"host\"` with `why`");
        let help = if fitting.is_empty() {
            "no recipe lowers it".to_owned()
        } else {
            format!("allowed: {}", nearest::list(fitting))
        };
        findings.add(SpecError::at(place.clone(), message).help(help));
        return;
    };
    let signature = recipe.signature();
    for (op, _) in ops {
        findings.ensure(signature.ops.contains(op), &recipe.span(), || {
            format!(
                "`{}` does not lower `{op}`; it lowers {}",
                **recipe,
                nearest::list(signature.ops.iter().copied())
            )
        });
    }
    for (key, forms, wanted) in [
        ("requantize", &row.requantize, signature.requantize),
        ("inputs", &row.inputs, signature.inputs),
    ] {
        match forms.first() {
            None if wanted => findings.add(SpecError::at(
                place.clone(),
                format!("`op.{name}` needs forms in `{key}`"),
            )),
            Some(first) if !wanted => {
                findings.add(SpecError::at(
                    first.span(),
                    format!("`{}` takes no forms in `{key}`", **recipe),
                ));
            }
            _ => findings.forms(forms),
        }
    }
    let parameters = [
        ("left_shift", row.left_shift.as_ref().map(Located::span)),
        ("weight_grid", row.weight_grid.as_ref().map(Located::span)),
        ("entries", row.entries.as_ref().map(Located::span)),
    ];
    for (key, given) in parameters {
        let known = signature.parameters.iter().find(|(parameter, _)| *parameter == key);
        match (given, known) {
            (Some(span), None) => findings.add(SpecError::at(span, format!("`{}` has no parameter `{key}`", **recipe))),
            (None, Some((_, true))) => {
                findings.add(SpecError::at(place.clone(), format!("`{}` needs `{key}`", **recipe)));
            }
            _ => {}
        }
    }
    if let Some(grid) = row.weight_grid.as_ref().filter(|grid| grid.leaves_a_shift()) {
        let spec = findings.spec;
        let mut forms = row.requantize.iter().filter_map(|form| spec.form.get(form.as_str()));
        findings.ensure(forms.any(|form| *form.kind == Arithmetic::Shift), &grid.span(), || {
            format!(
                "`{}` leaves a shift, and none of the forms in `requantize` is one",
                **grid
            )
        });
    }
    if let Some(grid) = row.weight_grid.as_ref().filter(|grid| grid.leaves_a_shift()) {
        let types = &findings.spec.types;
        let reached = types.weight.scale == ScaleSet::Any || types.activation.scale == ScaleSet::PowerOfTwo;
        findings.ensure(reached, &grid.span(), || {
            format!(
                "`{}` makes weight scales out of the activations', which are no powers of two as `types.weight.scale` asks",
                **grid
            )
        });
    }
    if let Some(entries) = &row.entries {
        let activation = findings.spec.types.activation_type();
        findings.ensure(activation == (**entries).into(), &entries.span(), || {
            format!(
                "tables of {} cannot be compiled yet: their entries have the activations' type",
                **entries
            )
        });
    }
    if let Some(left_shift) = &row.left_shift {
        findings.ensure(**left_shift <= 24, &left_shift.span(), || {
            "an int8 operand shifted by more than 24 bits leaves int32".into()
        });
    }
    if let Some(per) = &row.weight_per {
        let spec = findings.spec;
        findings.ensure(**recipe == RecipeName::MultiplyAccumulate, &per.span(), || {
            format!("`{}` has no weights", **recipe)
        });
        findings.ensure(spec.types.weight.per.contains(per), &per.span(), || {
            format!("`types.weight.per` does not have `{}`", **per)
        });
    }
}

fn limits(findings: &mut Findings<'_>, name: &str, row: &OpRow, ops: &[(&str, Range<usize>)]) {
    for (quantity, limit) in &row.limit {
        let place = findings.place(&["op", name, "limit", quantity]);
        for (op, _) in ops {
            let Some(words) = quantity_words(op, quantity) else {
                let known = attribute_keys(op)
                    .iter()
                    .copied()
                    .chain(DERIVED.iter().map(|known| known.name));
                let message = format!("`{op}` has nothing called `{quantity}` to limit");
                findings.add(SpecError::at(place.clone(), message).help(nearest::help(quantity, known)));
                break;
            };
            if !values(findings, &place, quantity, limit, &words) {
                break;
            }
        }
        let sane = limit.min.zip(limit.max).is_none_or(|(min, max)| min <= max);
        findings.ensure(sane, &place, || {
            format!("`{quantity}` has no value between its `min` and its `max`")
        });
        let says = limit.min.is_some() || limit.max.is_some() || limit.one_of.is_some();
        findings.ensure(says, &place, || {
            format!("`{quantity}` is limited by neither `min`, `max` nor `one_of`")
        });
        if limit.one_of.as_ref().is_some_and(Vec::is_empty) {
            let message = format!("`one_of` of `{quantity}` is empty, and allows nothing");
            let help = "name what is allowed; an op that never runs on the target says `run = \"host\"`";
            findings.add(SpecError::at(place.clone(), message).help(help));
        }
    }
}

/// Whether the limit speaks of values that the quantity can have: one of `words`, or numbers where there are none.
fn values(
    findings: &mut Findings<'_>,
    place: &Range<usize>,
    quantity: &str,
    limit: &Limit,
    words: &[&'static str],
) -> bool {
    let before = findings.errors.len();
    let what = match words.is_empty() {
        true => "a number".to_owned(),
        false => format!("one of {}", nearest::list(words.iter().copied())),
    };
    let ends = limit.min.is_some() || limit.max.is_some();
    findings.ensure(words.is_empty() || !ends, place, || {
        format!("`{quantity}` is {what}, and has neither `min` nor `max`")
    });
    for value in limit.one_of.iter().flatten() {
        let (possible, help) = match value {
            LimitValue::Word(word) => (
                words.contains(&word.as_str()),
                nearest::suggestion(word, words.iter().copied()),
            ),
            LimitValue::Flag(_) | LimitValue::Number(_) => (words.is_empty(), None),
        };
        if !possible {
            let error = SpecError::at(place.clone(), format!("`{quantity}` is never `{value}`: it is {what}"));
            findings.add(match help {
                Some(help) => error.help(help),
                None => error,
            });
        }
    }
    findings.errors.len() == before
}
