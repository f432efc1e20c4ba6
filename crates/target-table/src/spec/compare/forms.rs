//! Forms: all that they say of integers decides bits.

use super::{Changes, Effect, appended, list, maybe, one};
use crate::spec::{FormRow, Integer, TargetSpec};
use std::collections::BTreeSet;

pub(super) fn compare(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    // What the old table has no codes of, none of its forms is asked for.
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
            (Some(old), None) => changes.row(&row, Effect::AcceptsLess, one(old.kind), None),
            (None, Some(new)) => changes.row(&row, Effect::AcceptsMore, None, one(new.kind)),
            (None, None) => {}
        }
    }
}

fn both(changes: &mut Changes, row: &str, old: &FormRow, new: &FormRow, known: &BTreeSet<Integer>) {
    let FormRow {
        kind,
        multiplier,
        shift,
        rounding: _,
        stages: _,
        zero_point,
        output,
        per,
        clamp,
        from,
        help,
        oracle,
        evidence,
        holds,
        note,
    } = new;
    let bits = Effect::OtherBits;
    changes.key(row, "kind", bits, [one(old.kind), one(kind)]);
    let width = |row: &FormRow| maybe(row.multiplier.is_some().then(|| row.multiplier_bits()));
    changes.key(row, "multiplier.bits", bits, [width(old), width(new)]);
    let normalized =
        |multiplier: &Option<crate::spec::Multiplier>| one(multiplier.as_ref().is_some_and(|m| m.normalized));
    let both = [normalized(&old.multiplier), normalized(multiplier)];
    changes.key(row, "multiplier.normalized", bits, both);
    let ends =
        |shift: Option<crate::spec::ShiftLimits>| maybe(shift.map(|shift| format!("{} to {}", shift.min, shift.max)));
    changes.key(row, "shift", bits, [ends(old.shift), ends(*shift)]);
    let rounding = [one(old.rounding().name()), one(new.rounding().name())];
    changes.key(row, "rounding", bits, rounding);
    let stages = |row: &FormRow| one(row.stages.unwrap_or(1));
    changes.key(row, "stages", bits, [stages(old), stages(new)]);
    changes.key(row, "zero_point", bits, [one(old.zero_point), one(zero_point)]);
    // The order of types says nothing.
    let gone = old.output.iter().any(|ty| !output.contains(ty));
    let asked = output.iter().any(|ty| !old.output.contains(ty) && known.contains(ty));
    let effect = match (gone, asked) {
        (_, true) => bits,
        (true, false) => Effect::AcceptsLess,
        (false, false) => Effect::AcceptsMore,
    };
    changes.key(row, "output", effect, [list(sorted(&old.output)), list(sorted(output))]);
    changes.key(
        row,
        "per",
        appended(&old.per, per, |_| false),
        [list(&old.per), list(per)],
    );
    changes.key(row, "clamp", bits, [one(old.clamp), one(clamp)]);
    changes.key(row, "from", bits, [one(old.from), one(from)]);
    changes.key(
        row,
        "help",
        Effect::Text,
        [maybe(old.help.as_ref()), maybe(help.as_ref())],
    );
    let text = Effect::Text;
    changes.key(
        row,
        "oracle",
        text,
        [maybe(old.oracle.as_ref()), maybe(oracle.as_ref())],
    );
    changes.key(row, "evidence", text, [maybe(old.evidence), maybe(*evidence)]);
    let ends =
        |row: &Option<crate::spec::Holds>| maybe(row.map(|h| format!("{} to {}", h.accumulator[0], h.accumulator[1])));
    changes.key(row, "holds.accumulator", text, [ends(&old.holds), ends(holds)]);
    changes.key(row, "note", text, [maybe(old.note.as_ref()), maybe(note.as_ref())]);
}

fn sorted(types: &[Integer]) -> BTreeSet<Integer> {
    types.iter().copied().collect()
}
