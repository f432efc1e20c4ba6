//! Compares forms. Every key that describes the integers of a form decides the bits of results.

use super::{Changes, Effect, appended, list};
use crate::spec::{FormRow, Integer, TargetSpec};
use std::collections::BTreeSet;

pub(super) fn compare(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    // The types of codes that the old table uses. No form of the old table was used with a type that is not among
    // these.
    let known: BTreeSet<Integer> = old
        .types
        .activations()
        .chain(old.op.values().flat_map(|row| row.results.iter().flatten().copied()))
        .chain([Integer::Int32])
        .collect();
    changes.rows(
        "form",
        [&old.form, &new.form],
        |row| row.kind.name(),
        |changes, row, rows| both(changes, row, rows, &known),
    );
}

fn both(changes: &mut Changes, row: &str, [old, new]: [&FormRow; 2], known: &BTreeSet<Integer>) {
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
