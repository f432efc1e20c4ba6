//! Compares everything in a table except its rows of ops, forms and fusions: names, types, accumulators, the
//! quantization of inputs and outputs, passes and options.

use super::rows::wider;
use super::{Changes, Effect, Texts, appended, forms, fusions, json, list, maybe, one, rows};
use crate::spec::{Base, Integer, OptionRow, Overflow, Quantize, SumBlock, TargetSpec, Types};
use std::collections::BTreeSet;
use strait_document::Scalar;

pub(super) fn compare(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    changes.key("table", "id", Effect::OtherBits, [one(&old.id), one(&new.id)]);
    let on = |bases: &[Base]| list(bases).filter(|text| !text.is_empty());
    changes.key("table", "extends", Effect::Text, [on(&old.bases), on(&new.bases)]);
    for (key, before, after) in [
        ("vendor", &old.vendor, &new.vendor),
        ("licence", &old.licence, &new.licence),
        ("docs", &old.docs, &new.docs),
    ] {
        changes.key("table", key, Effect::Text, [before.clone(), after.clone()]);
    }
    changes.keys("reference", [&old.reference, &new.reference], &[]);
    let silicon = [old, new].map(|spec| Texts::of(&json(&spec.silicon)));
    for (key, values) in Texts::differing(silicon) {
        changes.key("silicon", &key, Effect::Text, values);
    }
    codes(changes, &old.types, &new.types);
    sums(changes, old, new);
    let rules = [list(&old.rules), list(&new.rules)];
    changes.key("table", "rules", Effect::OtherBits, rules);
    changes.keys("quantize", [&resolved(&old.quantize), &resolved(&new.quantize)], &[]);
    forms::compare(changes, old, new);
    rows::compare(changes, old, new);
    changes.keys("passes", [&old.passes, &new.passes], &[]);
    fusions::compare(changes, old, new);
    let islands = [one(old.host.islands), one(new.host.islands)];
    changes.key("host", "islands", Effect::OtherBits, islands);
    changes.rows("options", [&old.options, &new.options], |row| row.kind, option);
    let effect = appended(&old.emit, &new.emit, |_| true);
    changes.key("table", "emit", effect, [list(&old.emit), list(&new.emit)]);
}

/// The settings of `[quantize]`. If they do not state how weights or biases are rounded, the rounding of activations is
/// filled in.
fn resolved(quantize: &Quantize) -> Quantize {
    Quantize {
        weight_rounding: Some(quantize.weight_rounding()),
        bias_rounding: Some(quantize.bias_rounding()),
        ..quantize.clone()
    }
}

fn codes(changes: &mut Changes, old: &Types, new: &Types) {
    // The preferred pair comes first. A pair at the end is only used if a configuration asks for it.
    let effect = appended(&old.pairs, &new.pairs, |_| true);
    changes.key("types", "pairs", effect, [list(&old.pairs), list(&new.pairs)]);
    changes.key("types", "points", Effect::OtherBits, [one(old.points), one(new.points)]);
    let both = |types: fn(&Types) -> Vec<Integer>| -> BTreeSet<Integer> {
        let (old, new): (BTreeSet<_>, BTreeSet<_>) =
            (types(old).into_iter().collect(), types(new).into_iter().collect());
        old.intersection(&new).copied().collect()
    };
    for ty in both(|types| types.activations().collect()) {
        let grids = [old.activation(ty), new.activation(ty)];
        changes.keys(&format!("types.activation of {ty}"), grids, &[]);
        let bias = [maybe(old.bias.get(&ty)), maybe(new.bias.get(&ty))];
        changes.key("types", &format!("bias.{ty}"), Effect::OtherBits, bias);
    }
    for ty in both(|types| types.pairs.iter().map(|pair| pair.weight).collect()) {
        let (row, old, new) = (format!("types.weight of {ty}"), old.weight(ty), new.weight(ty));
        changes.keys(&row, [old, new], &["per", "block"]);
        let effect = appended(&old.per, &new.per, |_| true);
        changes.key(&row, "per", effect, [list(&old.per), list(&new.per)]);
        let effect = appended(&old.block, &new.block, |_| true);
        changes.key(&row, "block", effect, [list(&old.block), list(&new.block)]);
    }
}

fn sums(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    for (ty, new) in &new.accumulator {
        // If only one of the tables has an accumulator for a type, this is not reported here, but as a difference
        // between the types.
        let Some(old) = old.accumulator.get(ty) else { continue };
        let row = format!("accumulator.{ty}");
        let effect = wider(Some(old.bits), Some(new.bits));
        changes.key(&row, "bits", effect, [one(old.bits), one(new.bits)]);
        // If a sum wraps around on overflow, only the whole sum has to fit. Otherwise every partial sum has to fit,
        // too.
        let effect = match (old.overflow, new.overflow) {
            (_, Overflow::Wrap) => Effect::AcceptsMore,
            (Overflow::Wrap, _) => Effect::AcceptsLess,
            _ => Effect::Text,
        };
        changes.key(&row, "overflow", effect, [one(old.overflow), one(new.overflow)]);
        // A block of fewer channels is part of a larger block, so its sums fit if those of the larger block do.
        let wide = |new: &SumBlock, old: &SumBlock| new.channels <= old.channels && new.bits >= old.bits;
        let effect = match (&old.block, &new.block) {
            (_, None) => Effect::AcceptsMore,
            (Some(old), Some(new)) if wide(new, old) => Effect::AcceptsMore,
            _ => Effect::AcceptsLess,
        };
        let said =
            |block: &Option<SumBlock>| maybe(block.map(|b| format!("{} channels in {} bits", b.channels, b.bits)));
        changes.key(&row, "block", effect, [said(&old.block), said(&new.block)]);
        changes.keys(&row, [old, new], &["bits", "overflow", "block"]);
    }
}

fn option(changes: &mut Changes, row: &str, [old, new]: [&OptionRow; 2]) {
    changes.keys(row, [old, new], &["one_of", "min", "max"]);
    let more = |wider: bool| match wider {
        true => Effect::AcceptsMore,
        false => Effect::AcceptsLess,
    };
    let known = |row: &OptionRow| -> BTreeSet<String> { row.one_of.iter().flatten().map(Scalar::to_string).collect() };
    let wider = new.one_of.is_none() || old.one_of.is_some() && known(old).is_subset(&known(new));
    let values = [old, new].map(|row| row.one_of.as_ref().and_then(list));
    changes.key(row, "one_of", more(wider), values);
    let wider = new.min.is_none_or(|min| old.min.is_some_and(|old| min <= old));
    changes.key(row, "min", more(wider), [maybe(old.min), maybe(new.min)]);
    let wider = new.max.is_none_or(|max| old.max.is_some_and(|old| old <= max));
    changes.key(row, "max", more(wider), [maybe(old.max), maybe(new.max)]);
}
