//! All of a table but its rows: names, types, sums, the border to real numbers, passes, options.

use super::rows::wider;
use super::{Changes, Effect, appended, forms, fusions, list, maybe, one, rows};
use crate::spec::{
    Accumulator, ActivationScheme, Alignments, Base, Host, Integer, OptionRow, Overflow, Passes, Quantize, Recording,
    Silicon, SumBlock, TargetSpec, Types, WeightScheme,
};
use std::collections::BTreeSet;
use strait_document::Scalar;

pub(super) fn compare(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    let TargetSpec {
        schema: _,
        id,
        // Whether it is right is what the rest decides.
        version: _,
        // Merged.
        extends: _,
        vendor,
        licence,
        docs,
        reference,
        silicon,
        types,
        accumulator: _,
        rules,
        quantize,
        form: _,
        op: _,
        passes,
        fusion: _,
        fusion_default: _,
        host,
        options: _,
        // Merged where it is on.
        overlay: _,
        emit,
        chosen: _,
        digest: _,
        bases,
        by_term: _,
    } = new;
    let (text, bits) = (Effect::Text, Effect::OtherBits);
    changes.key("table", "id", bits, [one(&old.id), one(id)]);
    let on = |bases: &[Base]| list(bases).filter(|text| !text.is_empty());
    changes.key("table", "extends", text, [on(&old.bases), on(bases)]);
    changes.key(
        "table",
        "vendor",
        text,
        [maybe(old.vendor.as_ref()), maybe(vendor.as_ref())],
    );
    changes.key(
        "table",
        "licence",
        text,
        [maybe(old.licence.as_ref()), maybe(licence.as_ref())],
    );
    changes.key("table", "docs", text, [maybe(old.docs.as_ref()), maybe(docs.as_ref())]);
    let oracle = [one(&old.reference.oracle), one(&reference.oracle)];
    changes.key("reference", "oracle", text, oracle);
    let evidence = [one(old.reference.evidence), one(reference.evidence)];
    changes.key("reference", "evidence", text, evidence);
    chip(changes, old.silicon.as_ref(), silicon.as_ref());
    codes(changes, &old.types, types);
    sums(changes, old, new);
    changes.key("table", "rules", bits, [list(&old.rules), list(rules)]);
    border(changes, &old.quantize, quantize);
    forms::compare(changes, old, new);
    rows::compare(changes, old, new);
    together(changes, &old.passes, passes);
    fusions::compare(changes, old, new);
    let Host {
        // There is one of each.
        default: _,
        boundary: _,
        islands,
    } = host;
    changes.key("host", "islands", bits, [one(old.host.islands), one(islands)]);
    settings(changes, old, new);
    let effect = appended(&old.emit, emit, |_| true);
    changes.key("table", "emit", effect, [list(&old.emit), list(emit)]);
}

fn chip(changes: &mut Changes, old: Option<&Silicon>, new: Option<&Silicon>) {
    let part = |silicon: Option<&Silicon>| {
        let Some(Silicon {
            name,
            firmware,
            fidelity,
            evidence,
        }) = silicon
        else {
            return [None, None, None, None];
        };
        let files = evidence.iter().map(|recording| {
            let Recording { file, sha256, rows } = recording;
            let of = if rows.is_empty() { "" } else { " for " };
            format!("{file} {sha256}{of}{}", rows.join(" and "))
        });
        [name.clone(), firmware.clone(), one(fidelity), list(files)]
    };
    let keys = ["name", "firmware", "fidelity", "evidence"];
    for ((key, old), new) in keys.into_iter().zip(part(old)).zip(part(new)) {
        changes.key("silicon", key, Effect::Text, [old, new]);
    }
}

fn codes(changes: &mut Changes, old: &Types, new: &Types) {
    let Types {
        pairs,
        points,
        activation: _,
        weight: _,
        activation_of: _,
        weight_of: _,
        bias: _,
    } = new;
    // The preferred pair comes first: what stands behind all that was there is taken by what asks for it alone.
    let effect = appended(&old.pairs, pairs, |_| true);
    changes.key("types", "pairs", effect, [list(&old.pairs), list(pairs)]);
    changes.key("types", "points", Effect::OtherBits, [one(old.points), one(points)]);
    let both = |types: fn(&Types) -> Vec<Integer>| -> BTreeSet<Integer> {
        let (old, new): (BTreeSet<_>, BTreeSet<_>) =
            (types(old).into_iter().collect(), types(new).into_iter().collect());
        old.intersection(&new).copied().collect()
    };
    for ty in both(|types| types.activations().collect()) {
        grid(
            changes,
            &format!("types.activation of {ty}"),
            old.activation(ty),
            new.activation(ty),
        );
        let bias = [maybe(old.bias.get(&ty)), maybe(new.bias.get(&ty))];
        changes.key("types", &format!("bias.{ty}"), Effect::OtherBits, bias);
    }
    for ty in both(|types| types.pairs.iter().map(|pair| pair.weight).collect()) {
        weights(
            changes,
            &format!("types.weight of {ty}"),
            old.weight(ty),
            new.weight(ty),
        );
    }
}

fn grid(changes: &mut Changes, row: &str, old: &ActivationScheme, new: &ActivationScheme) {
    let ActivationScheme {
        symmetric,
        scale,
        range,
    } = new;
    let bits = Effect::OtherBits;
    changes.key(row, "symmetric", bits, [one(old.symmetric), one(symmetric)]);
    changes.key(row, "scale", bits, [one(old.scale), one(scale)]);
    let ends = |range: &Option<crate::spec::Interval>| maybe(range.as_ref().map(|r| format!("{} to {}", r.min, r.max)));
    changes.key(row, "range", bits, [ends(&old.range), ends(range)]);
}

fn weights(changes: &mut Changes, row: &str, old: &WeightScheme, new: &WeightScheme) {
    let WeightScheme {
        symmetric,
        per,
        block,
        scale,
        range,
    } = new;
    let bits = Effect::OtherBits;
    changes.key(row, "symmetric", bits, [one(old.symmetric), one(symmetric)]);
    changes.key(
        row,
        "per",
        appended(&old.per, per, |_| true),
        [list(&old.per), list(per)],
    );
    changes.key(
        row,
        "block",
        appended(&old.block, block, |_| true),
        [list(&old.block), list(block)],
    );
    changes.key(row, "scale", bits, [one(old.scale), one(scale)]);
    let ends = |range: &Option<crate::spec::Interval>| maybe(range.as_ref().map(|r| format!("{} to {}", r.min, r.max)));
    changes.key(row, "range", bits, [ends(&old.range), ends(range)]);
}

fn sums(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    for (ty, new) in &new.accumulator {
        // With the type that it is for.
        let Some(old) = old.accumulator.get(ty) else { continue };
        let Accumulator {
            bits,
            overflow,
            block,
            oracle,
            evidence,
            note,
        } = new;
        let row = format!("accumulator.{ty}");
        let effect = wider(Some(old.bits), Some(*bits));
        changes.key(&row, "bits", effect, [one(old.bits), one(bits)]);
        // A sum that keeps its lowest bits has to fit as a whole; any other in all its parts.
        let effect = match (old.overflow, overflow) {
            (_, Overflow::Wrap) => Effect::AcceptsMore,
            (Overflow::Wrap, _) => Effect::AcceptsLess,
            _ => Effect::Text,
        };
        changes.key(&row, "overflow", effect, [one(old.overflow), one(overflow)]);
        // Blocks of fewer channels are parts of larger ones, and not the other way round.
        let wide = |new: &SumBlock, old: &SumBlock| new.channels <= old.channels && new.bits >= old.bits;
        let effect = match (&old.block, block) {
            (_, None) => Effect::AcceptsMore,
            (Some(old), Some(new)) if wide(new, old) => Effect::AcceptsMore,
            _ => Effect::AcceptsLess,
        };
        let said =
            |block: &Option<SumBlock>| maybe(block.map(|b| format!("{} channels in {} bits", b.channels, b.bits)));
        changes.key(&row, "block", effect, [said(&old.block), said(block)]);
        let text = Effect::Text;
        changes.key(
            &row,
            "oracle",
            text,
            [maybe(old.oracle.as_ref()), maybe(oracle.as_ref())],
        );
        changes.key(&row, "evidence", text, [maybe(old.evidence), maybe(*evidence)]);
        changes.key(&row, "note", text, [maybe(old.note.as_ref()), maybe(note.as_ref())]);
    }
}

fn border(changes: &mut Changes, old: &Quantize, new: &Quantize) {
    let Quantize {
        rounding,
        divide,
        zero_point,
        weight_rounding: _,
        bias_rounding: _,
        observer,
        oracle,
        evidence,
        note,
    } = new;
    let (row, bits, text) = ("quantize", Effect::OtherBits, Effect::Text);
    changes.key(row, "rounding", bits, [one(old.rounding.name()), one(rounding.name())]);
    changes.key(row, "divide", bits, [one(old.divide), one(divide)]);
    changes.key(row, "zero_point", bits, [one(old.zero_point), one(zero_point)]);
    let both = [one(old.weight_rounding().name()), one(new.weight_rounding().name())];
    changes.key(row, "weight_rounding", bits, both);
    let both = [one(old.bias_rounding().name()), one(new.bias_rounding().name())];
    changes.key(row, "bias_rounding", bits, both);
    changes.key(row, "observer", bits, [one(old.observer), one(observer)]);
    changes.key(
        row,
        "oracle",
        text,
        [maybe(old.oracle.as_ref()), maybe(oracle.as_ref())],
    );
    changes.key(row, "evidence", text, [maybe(old.evidence), maybe(*evidence)]);
    changes.key(row, "note", text, [maybe(old.note.as_ref()), maybe(note.as_ref())]);
}

fn together(changes: &mut Changes, old: &Passes, new: &Passes) {
    let Passes {
        computing,
        passive,
        activation,
        alignment,
    } = new;
    let (row, bits) = ("passes", Effect::OtherBits);
    changes.key(row, "computing", bits, [list(&old.computing), list(computing)]);
    changes.key(row, "passive", bits, [list(&old.passive), list(passive)]);
    changes.key(row, "activation", bits, [list(&old.activation), list(activation)]);
    let Alignments {
        activation,
        elementwise,
        concat,
        pooling,
        resize,
        passive,
        simplify,
        force_overlap,
    } = alignment;
    let old = &old.alignment;
    for (key, old, new) in [
        ("activation", old.activation, activation),
        ("elementwise", old.elementwise, elementwise),
        ("concat", old.concat, concat),
        ("pooling", old.pooling, pooling),
        ("resize", old.resize, resize),
        ("passive", old.passive, passive),
    ] {
        changes.key("passes.alignment", key, bits, [one(old), one(new)]);
    }
    changes.key("passes.alignment", "simplify", bits, [one(old.simplify), one(simplify)]);
    let both = [one(old.force_overlap), one(force_overlap)];
    changes.key("passes.alignment", "force_overlap", bits, both);
}

fn settings(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    let names: BTreeSet<&String> = old.options.keys().chain(new.options.keys()).collect();
    for name in names {
        let row = format!("options.{name}");
        let (before, after) = match (old.options.get(name), new.options.get(name)) {
            (Some(before), Some(after)) => (before, after),
            (Some(before), None) => {
                changes.row(&row, Effect::AcceptsLess, one(before.kind), None);
                continue;
            }
            (None, after) => {
                changes.row(&row, Effect::AcceptsMore, None, maybe(after.map(|row| row.kind)));
                continue;
            }
        };
        let OptionRow {
            kind,
            one_of,
            min,
            max,
            default,
            help,
        } = after;
        changes.key(&row, "type", Effect::OtherBits, [one(before.kind), one(kind)]);
        let values = |values: &Option<Vec<Scalar>>| values.as_ref().and_then(list);
        let known =
            |one_of: &Option<Vec<Scalar>>| one_of.iter().flatten().map(Scalar::to_string).collect::<BTreeSet<_>>();
        let wider = one_of.is_none() || before.one_of.is_some() && known(&before.one_of).is_subset(&known(one_of));
        let more = |wider: bool| {
            if wider {
                Effect::AcceptsMore
            } else {
                Effect::AcceptsLess
            }
        };
        changes.key(&row, "one_of", more(wider), [values(&before.one_of), values(one_of)]);
        let wider = min.is_none_or(|min| before.min.is_some_and(|old| min <= old));
        changes.key(&row, "min", more(wider), [maybe(before.min), maybe(*min)]);
        let wider = max.is_none_or(|max| before.max.is_some_and(|old| old <= max));
        changes.key(&row, "max", more(wider), [maybe(before.max), maybe(*max)]);
        changes.key(&row, "default", Effect::OtherBits, [one(&before.default), one(default)]);
        changes.key(&row, "help", Effect::Text, [one(&before.help), one(help)]);
    }
}
