//! Checks `op.NAME.limit` and `op.NAME.limit_of`: the ops must have the quantities that are limited, and a limit may
//! only name values that the quantity can have.

use super::terms::{has_positions, quantity_words};
use super::{DERIVED, Findings, attribute_keys, factors_of, position};
use crate::spec::{Limit, OpRow};
use std::collections::BTreeMap;
use strait_core::MAX_RANK;
use strait_document::{KeyPath, Scalar, nearest};

/// The largest number of positions that a list can have. The longest list is the padding, which has two positions for
/// each axis.
const MAX_POSITIONS: usize = 2 * MAX_RANK;

/// Checks the limits of a row, including those for single types of weights.
pub(super) fn limits(findings: &mut Findings<'_>, name: &str, row: &OpRow, ops: &[&str], path: &KeyPath) {
    check(findings, &row.limit, ops, &path.clone().key("limit"));
    for (weight, limits) in &row.limit_of {
        let path = path.clone().key("limit_of").key(weight.name());
        let has = findings.spec.pairs(row).any(|pair| pair.weight == *weight);
        findings.ensure(has, &path, || format!("no pair of `op.{name}` has weights of {weight}"));
        check(findings, limits, ops, &path);
    }
}

fn check(findings: &mut Findings<'_>, limits: &BTreeMap<String, Limit>, ops: &[&str], path: &KeyPath) {
    for (limited, limit) in limits {
        let path = path.clone().key(limited);
        let several = factors_of(limited).nth(1).is_some();
        let known = factors_of(limited).all(|factor| of_quantity(findings, &path, factor, several, limit, ops));
        if !known {
            continue;
        }
        let quantity = limited;
        let step = limit.multiples_of.map_or(1, |step| i64::from(step.get()));
        let between = |(min, max): (i64, i64)| {
            let first = i128::from(min) + i128::from(min).wrapping_neg().rem_euclid(i128::from(step));
            first <= i128::from(max)
        };
        let sane = limit.min.zip(limit.max).is_none_or(between);
        findings.ensure(sane, &path, || {
            let multiple = limit
                .multiples_of
                .map_or(String::new(), |step| format!(" that is a multiple of {step}"));
            format!("`{quantity}` has no value between its `min` and its `max`{multiple}")
        });
        for (index, value) in limit.one_of.iter().flatten().enumerate() {
            let path = path.clone().key("one_of").index(index);
            let number = match value {
                Scalar::Bool(value) => Some(i64::from(*value)),
                Scalar::Integer(value) => Some(*value),
                Scalar::String(_) => None,
            };
            let below = limit.min.zip(number).is_some_and(|(min, number)| number < min);
            let above = limit.max.zip(number).is_some_and(|(max, number)| number > max);
            findings.ensure(!(sane && (below || above)), &path, || {
                format!("`{value}` is not between the `min` and the `max` of `{quantity}`")
            });
            let multiple = number.is_none_or(|number| number % step == 0);
            findings.ensure(multiple, &path, || {
                format!("`{value}` is no multiple of {step}, as `multiples_of` of `{quantity}` asks")
            });
        }
        findings.ensure(*limit != Limit::default(), &path, || {
            format!("`{quantity}` is limited by neither `min`, `max`, `multiples_of` nor `one_of`")
        });
        if limit.one_of.as_ref().is_some_and(Vec::is_empty) {
            let message = format!("`one_of` of `{quantity}` is empty, and allows nothing");
            let help = "name what is allowed; an op that never runs on the target says `run = \"host\"`";
            findings.add_with(&path, message, help);
        }
    }
}

/// Checks that the ops have a quantity, and that the quantity has several values if the limit is for one position. Also
/// checks that the limit names values that the quantity can have. Returns false if further checks of the limit make no
/// sense.
fn of_quantity(
    findings: &mut Findings<'_>,
    path: &KeyPath,
    factor: &str,
    several: bool,
    limit: &Limit,
    ops: &[&str],
) -> bool {
    let (quantity, position) = position(factor);
    if let Some(position) = position {
        let single = ops
            .iter()
            .find(|op| quantity_words(op, quantity).is_some() && !has_positions(op, quantity));
        if let Some(op) = single {
            findings.add(path, format!("`{quantity}` of `{op}` is one value, without positions"));
            return false;
        }
        findings.ensure(position < MAX_POSITIONS, path, || {
            format!("`{quantity}` never has a position {position}: they are counted from 0")
        });
    }
    for op in ops {
        let Some(words) = quantity_words(op, quantity) else {
            let derived = DERIVED.iter().map(|known| known.name);
            let known = attribute_keys(op).iter().copied().chain(derived);
            let message = format!("`{op}` has nothing called `{quantity}` to limit");
            findings.add_with(path, message, nearest::help(quantity, known));
            return true;
        };
        if several && !words.is_empty() {
            findings.add(path, format!("`{quantity}` is a word, and no factor of a product"));
            return false;
        }
        let before = findings.found.len();
        values(findings, path, quantity, limit, &words);
        if findings.found.len() > before {
            return true;
        }
    }
    true
}

/// Checks that the limit names values that the quantity can have: one of `words`, or numbers if there are no words.
fn values(findings: &mut Findings<'_>, path: &KeyPath, quantity: &str, limit: &Limit, words: &[&'static str]) {
    let what = match words.is_empty() {
        true => "a number".to_owned(),
        false => format!("one of {}", nearest::list(words.iter().copied())),
    };
    let numbers = limit.min.is_some() || limit.max.is_some() || limit.multiples_of.is_some();
    findings.ensure(words.is_empty() || !numbers, path, || {
        format!("`{quantity}` is {what}, and has neither `min`, `max` nor `multiples_of`")
    });
    for (index, value) in limit.one_of.iter().flatten().enumerate() {
        let path = path.clone().key("one_of").index(index);
        let possible = match value {
            Scalar::String(word) => words.contains(&word.as_str()),
            Scalar::Bool(_) | Scalar::Integer(_) => words.is_empty(),
        };
        findings.ensure(possible, &path, || {
            let value = match value {
                Scalar::String(word) => format!("\"{word}\""),
                number => number.to_string(),
            };
            format!("`{quantity}` is never `{value}`: it is {what}")
        });
    }
}
