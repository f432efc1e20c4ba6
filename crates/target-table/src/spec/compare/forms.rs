//! Compares forms. All keys that describe integers decide the bits of results.

use super::{Changes, Effect, appended, list, one};
use crate::spec::{FormRow, Integer, TargetSpec};
use std::collections::BTreeSet;

pub(super) fn compare(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    // A type that the old table does not have was not used with any form of the old table.
    let known: BTreeSet<Integer> = old
        .types
        .activations()
        .chain(old.op.values().flat_map(|row| row.results.iter().flatten().copied()))
        .chain([Integer::Int32])
        .collect();
    let names: BTreeSet<&String> = old.form.keys().chain(new.form.keys()).collect();
    for name in names {
        let row = format!("form.{name}");
        match (old.form.get(name), new.form.get(name)) {
            (Some(old), Some(new)) => both(changes, &row, old, new, &known),
            (Some(old), None) => changes.row(&row, Effect::AcceptsLess, one(old.kind.name()), None),
            (None, Some(new)) => changes.row(&row, Effect::AcceptsMore, None, one(new.kind.name())),
            (None, None) => {}
        }
    }
}

fn both(changes: &mut Changes, row: &str, old: &FormRow, new: &FormRow, known: &BTreeSet<Integer>) {
    changes.keys(row, [old, new], &["kind", "output", "per"]);
    changes.choice(row, "kind", [&old.kind, &new.kind], |_, _| Effect::OtherBits);
    // The order of the types has no meaning, so they are compared as sets.
    let [before, after] = [&old.output, &new.output].map(|types| types.iter().copied().collect::<BTreeSet<Integer>>());
    let effect = if after.difference(&before).any(|ty| known.contains(ty)) {
        Effect::OtherBits
    } else if before.is_subset(&after) {
        Effect::AcceptsMore
    } else {
        Effect::AcceptsLess
    };
    changes.key(row, "output", effect, [list(before), list(after)]);
    let effect = appended(&old.per, &new.per, |_| false);
    changes.key(row, "per", effect, [list(&old.per), list(&new.per)]);
}
