//! Compares fusion rows. Rows are tried in order. If `fusion_default.accept` is `exact`, fusions never change results,
//! so an additional row does not change any integer.

use super::{Changes, Effect, list, maybe, one};
use crate::spec::{Difference, TargetSpec};

pub(super) fn compare(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    let exact = old.fusion_default.accept == Difference::Exact;
    let added = if exact { Effect::AcceptsMore } else { Effect::OtherBits };
    let find = |spec: &'_ TargetSpec, name: &str| spec.fusion.iter().find(|row| row.name == name).cloned();
    for row in &old.fusion {
        let label = format!("fusion.{}", row.name);
        match find(new, &row.name) {
            // Every row has these two conditions, even if the row does not state them.
            Some(new) => changes.keys(&label, [row, &new], &["when.requantize", "when.consumers"]),
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
