//! Compares rows of ops. For each op and each type of activations, the rows of both tables are compared, even if their
//! names differ.

use super::{Changes, Effect, appended, limits, list, maybe, one};
use crate::spec::{Activation, Integer, OpRow, Recipe, TargetSpec};
use std::collections::BTreeSet;
use strait_core::Term;

pub(super) fn compare(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    let activations =
        |spec: &TargetSpec| -> BTreeSet<Activation> { spec.types.pairs.iter().map(|pair| pair.activation).collect() };
    let all: BTreeSet<Activation> = activations(old).union(&activations(new)).copied().collect();
    // A difference of a row is reported once, even if the row is for several ops and types.
    let mut told = Changes::default();
    for term in Term::ALL.iter().copied() {
        host(&mut told, term, old, new);
        for activation in all.iter().copied() {
            of_type(&mut told, term, activation, old, new);
        }
    }
    for change in told.found {
        if !changes.found.contains(&change) {
            changes.found.push(change);
        }
    }
}

/// Compares the rows of an op for one activation type. If the op has several rows for this type, rows of the same name
/// are compared with each other. An additional row takes nodes away from the rows that are tried after it. If a row is
/// removed, the rows after it get its nodes.
fn of_type(told: &mut Changes, term: Term, activation: Activation, old: &TargetSpec, new: &TargetSpec) {
    let rows = |spec: &'_ TargetSpec| -> Vec<(String, OpRow)> {
        let rows = spec.rows_for(term, activation).filter(|(_, row)| !row.is_host());
        rows.map(|(name, row)| (name.to_owned(), row.clone())).collect()
    };
    let (before, after) = (rows(old), rows(new));
    if let ([(_, old_row)], [(name, new_row)]) = (before.as_slice(), after.as_slice()) {
        return both(told, &format!("op.{name}"), (old, old_row), (new, new_row), activation);
    }
    for (name, row) in &before {
        match after.iter().find(|(other, _)| other == name) {
            Some((_, new_row)) => both(told, &format!("op.{name}"), (old, row), (new, new_row), activation),
            None => {
                let effect = if after.is_empty() {
                    Effect::AcceptsLess
                } else {
                    Effect::OtherBits
                };
                told.row(&format!("op.{name}"), effect, said(term, activation, row), None);
            }
        }
    }
    let has = |rows: &[(String, OpRow)], name: &str| rows.iter().any(|(other, _)| other == name);
    for (at, (name, row)) in after.iter().enumerate().filter(|(_, (name, _))| !has(&before, name)) {
        // A row after all others gets only nodes that no other row accepts.
        let last = after.iter().skip(at).all(|(name, _)| !has(&before, name));
        let effect = if last { Effect::AcceptsMore } else { Effect::OtherBits };
        told.row(&format!("op.{name}"), effect, None, said(term, activation, row));
    }
}

/// A short description of a row that is in only one of the two tables.
fn said(term: Term, activation: Activation, row: &OpRow) -> Option<String> {
    let recipe = maybe(row.recipe).unwrap_or_default();
    Some(format!("{} on {} by {recipe}", term.name(), activation.name()))
}

/// Compares the sentence that says why an op runs on the host.
fn host(changes: &mut Changes, term: Term, old: &TargetSpec, new: &TargetSpec) {
    let why = |spec: &TargetSpec| {
        let (_, row) = spec.op_row(term).filter(|(_, row)| row.is_host())?;
        Some(row.why.clone().unwrap_or_default())
    };
    let name = [new, old]
        .iter()
        .find_map(|spec| spec.op_row(term))
        .map_or(term.name(), |(name, _)| name);
    changes.key(&format!("op.{name}"), "why", Effect::Text, [why(old), why(new)]);
}

fn both(
    changes: &mut Changes,
    row: &str,
    (old_spec, old): (&TargetSpec, &OpRow),
    (new_spec, new): (&TargetSpec, &OpRow),
    activation: Activation,
) {
    const OTHERS: [&str; 10] = [
        "ops",
        "run",
        "why",
        "recipe",
        "accumulator",
        "symmetric",
        "pairs",
        "results",
        "limit",
        "limit_of",
    ];
    changes.keys(row, [old, new], &OTHERS);
    let both = [&resolved(old_spec, old), &resolved(new_spec, new)];
    changes.choice(row, "recipe", both, |parameter, values| match (parameter, values) {
        // These parameters decide which nodes run on the host. With `zero_code`, convolutions whose operand has another
        // zero point than 0 run there. Without `fraction`, linear resizes run there.
        ("pad", [Some("zero_code"), Some("zero_point")]) => Effect::AcceptsMore,
        ("pad", [Some("zero_point"), Some("zero_code")]) => Effect::AcceptsLess,
        ("fraction.bits" | "fraction.rounding", [None, _]) => Effect::AcceptsMore,
        ("fraction.bits" | "fraction.rounding", [_, None]) => Effect::AcceptsLess,
        _ => Effect::OtherBits,
    });
    let width = |spec: &TargetSpec, row: &OpRow| {
        let of_type = || spec.accumulator.get(&activation.codes()?).map(|sum| sum.bits);
        let sums = row.recipe.is_some_and(Recipe::accumulates);
        row.accumulator.or_else(of_type).filter(|_| sums)
    };
    // This is the row's own width. Widths in `[accumulator]` are compared elsewhere.
    if old.accumulator.is_some() || new.accumulator.is_some() {
        let [before, after] = [width(old_spec, old), width(new_spec, new)];
        changes.key(row, "accumulator", wider(before, after), [maybe(before), maybe(after)]);
    }
    let symmetric = |row: &OpRow| {
        let ranks = row.symmetric.as_ref()?.rank.as_ref();
        ranks.map_or_else(|| one("all"), list)
    };
    changes.key(row, "symmetric", Effect::OtherBits, [symmetric(old), symmetric(new)]);
    let known: BTreeSet<Integer> = old_spec.types.activations().collect();
    let [before, after] = [old, new].map(|row| -> Vec<Integer> {
        let own = || activation.codes().into_iter().collect();
        row.results.clone().unwrap_or_else(own)
    });
    let effect = appended(&before, &after, |ty| !known.contains(ty));
    changes.key(row, "results", effect, [list(&before), list(&after)]);
    if matches!(
        new.recipe,
        Some(Recipe::MultiplyAccumulate { .. } | Recipe::DequantizeWeights)
    ) {
        let [before, after] = [(old_spec, old), (new_spec, new)].map(|(spec, row)| -> Vec<Integer> {
            let pairs = spec.pairs(row).filter(|pair| pair.activation == activation);
            pairs.map(|pair| pair.weight).collect()
        });
        let effect = appended(&before, &after, |_| true);
        let key = format!("weights on {}", activation.name());
        changes.key(row, &key, effect, [list(&before), list(&after)]);
    }
    limits::compare(changes, row, old, new);
}

/// The recipe of a row. If the recipe states no rounding, the table's rounding is filled in.
fn resolved(spec: &TargetSpec, row: &OpRow) -> Option<Recipe> {
    let mut recipe = row.recipe;
    if let Some(Recipe::Lookup { rounding, .. }) = &mut recipe {
        rounding.get_or_insert(spec.quantize.rounding);
    }
    recipe
}

/// Returns the effect of a change of the accumulators' width. A node is accepted only if its sums are proved to fit. So
/// a wider accumulator accepts more nodes. It does not change the sums of the nodes that were accepted before, if the
/// sums are computed in i32 with both widths or in i64 with both widths.
pub(super) fn wider(old: Option<u8>, new: Option<u8>) -> Effect {
    match (old, new) {
        (Some(old), Some(new)) if (old > 32) != (new > 32) => Effect::OtherBits,
        (Some(old), Some(new)) if old <= new => Effect::AcceptsMore,
        (Some(_), Some(_)) => Effect::AcceptsLess,
        _ => Effect::OtherBits,
    }
}
