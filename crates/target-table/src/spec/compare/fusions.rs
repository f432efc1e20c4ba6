//! Fusions: rows are tried in order. Where only those are made that are proved equal, a row more changes no integer.

use super::{Changes, Effect, list, maybe, one};
use crate::spec::{Difference, FusionRow, TargetSpec, When, With};

pub(super) fn compare(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    let exact = old.fusion_default.accept == Difference::Exact;
    let added = if exact { Effect::AcceptsMore } else { Effect::OtherBits };
    let find = |spec: &'_ TargetSpec, name: &str| spec.fusion.iter().find(|row| row.name == name).cloned();
    for row in &old.fusion {
        let label = format!("fusion.{}", row.name);
        match find(new, &row.name) {
            Some(new) => both(changes, &label, row, &new),
            None => changes.row(&label, Effect::AcceptsLess, list(&row.ops), None),
        }
    }
    for row in new.fusion.iter().filter(|row| find(old, &row.name).is_none()) {
        changes.row(&format!("fusion.{}", row.name), added, None, list(&row.ops));
    }
    let order = |spec: &TargetSpec, other: &TargetSpec| {
        let names = spec.fusion.iter().map(|row| row.name.clone());
        list(names.filter(|name| find(other, name).is_some()))
    };
    let orders = [order(old, new), order(new, old)];
    changes.key("fusion", "order", Effect::OtherBits, orders);
    let (before, after) = (&old.fusion_default, &new.fusion_default);
    let accept = [one(before.accept), one(after.accept)];
    changes.key("fusion_default", "accept", Effect::OtherBits, accept);
    let bounds = [maybe(before.bound()), maybe(after.bound())];
    changes.key("fusion_default", "max_lsb", Effect::OtherBits, bounds);
}

fn both(changes: &mut Changes, row: &str, old: &FusionRow, new: &FusionRow) {
    let FusionRow {
        name: _,
        ops,
        with,
        when,
        accept,
        weaken_to,
        then,
        oracle,
        evidence,
        note,
    } = new;
    let bits = Effect::OtherBits;
    changes.key(row, "ops", bits, [list(&old.ops), list(ops)]);
    let second = |with: &Option<With>| {
        let With { op, other, same_shape } = with.as_ref()?;
        Some(format!("{op} {} {same_shape}", maybe(*other).unwrap_or_default()))
    };
    changes.key(row, "with", bits, [second(&old.with), second(with)]);
    conditions(changes, row, &old.when, when);
    let forms = |accept: &Option<Vec<String>>| accept.as_ref().and_then(list);
    changes.key(row, "accept", bits, [forms(&old.accept), forms(accept)]);
    changes.key(row, "weaken_to", bits, [list(&old.weaken_to), list(weaken_to)]);
    changes.key(row, "then", bits, [list(&old.then), list(then)]);
    let text = Effect::Text;
    changes.key(
        row,
        "oracle",
        text,
        [maybe(old.oracle.as_ref()), maybe(oracle.as_ref())],
    );
    changes.key(row, "evidence", text, [maybe(old.evidence), maybe(*evidence)]);
    changes.key(row, "note", text, [maybe(old.note.as_ref()), maybe(note.as_ref())]);
}

fn conditions(changes: &mut Changes, row: &str, old: &When, new: &When) {
    let When {
        // These two hold whether a row says so or not.
        requantize: _,
        consumers: _,
        output,
        input,
        to,
        concat_multiple,
        option,
    } = new;
    let bits = Effect::OtherBits;
    changes.key(row, "when.output", bits, [maybe(old.output), maybe(*output)]);
    changes.key(row, "when.input", bits, [maybe(old.input), maybe(*input)]);
    changes.key(row, "when.to", bits, [maybe(old.to), maybe(*to)]);
    let multiples = [maybe(old.concat_multiple), maybe(*concat_multiple)];
    changes.key(row, "when.concat_multiple", bits, multiples);
    let values = |when: &std::collections::BTreeMap<String, crate::spec::OptionValue>| {
        list(when.iter().map(|(name, value)| format!("{name} = {value}")))
    };
    changes.key(row, "when.option", bits, [values(&old.option), values(option)]);
}
