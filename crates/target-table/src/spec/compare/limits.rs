//! Compares limits, to find out whether the new limit accepts everything that the old one accepts.

use super::{Changes, Effect, maybe};
use crate::spec::{Integer, Limit, OpRow};
use std::collections::{BTreeMap, BTreeSet};
use strait_document::Scalar;

pub(super) fn compare(changes: &mut Changes, row: &str, old: &OpRow, new: &OpRow) {
    limits(changes, (row, "limit"), &old.limit, &new.limit);
    let none = BTreeMap::new();
    let weights: BTreeSet<&Integer> = old.limit_of.keys().chain(new.limit_of.keys()).collect();
    for weight in weights {
        let [before, after] = [old, new].map(|row| row.limit_of.get(weight).unwrap_or(&none));
        limits(changes, (row, &format!("limit_of.{weight}")), before, after);
    }
}

type Limits = BTreeMap<String, Limit>;

fn limits(changes: &mut Changes, (row, key): (&str, &str), old: &Limits, new: &Limits) {
    let quantities: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for quantity in quantities {
        let [before, after] = [old, new].map(|limits| limits.get(quantity).cloned());
        let none = Limit::default();
        let [wide, narrow] = [after.as_ref().unwrap_or(&none), before.as_ref().unwrap_or(&none)];
        let effect = match wide.takes_all_of(narrow) {
            true => Effect::AcceptsMore,
            false => Effect::AcceptsLess,
        };
        let texts = [before, after].map(maybe);
        changes.key(row, &format!("{key}.{quantity}"), effect, texts);
    }
}

impl Limit {
    /// True if this limit accepts everything that `other` accepts. If the keys of the two limits do not show this, the
    /// result is false, too.
    fn takes_all_of(&self, other: &Limit) -> bool {
        if let Some(values) = &other.one_of {
            let number = |value: &Scalar| match value {
                Scalar::Bool(flag) => Scalar::Integer((*flag).into()),
                other => other.clone(),
            };
            let mut taken = values.iter().map(number).filter(|value| other.refuses(value).is_none());
            return taken.all(|value| self.refuses(&value).is_none());
        }
        let below = self.min.is_none_or(|own| other.min.is_some_and(|min| own <= min));
        let above = self.max.is_none_or(|own| other.max.is_some_and(|max| max <= own));
        let steps = self.multiples_of.is_none_or(|own| {
            let step = other.multiples_of;
            step.is_some_and(|step| step.get().is_multiple_of(own.get()))
        });
        self.one_of.is_none() && below && above && steps
    }
}
