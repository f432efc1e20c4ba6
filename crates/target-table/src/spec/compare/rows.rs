//! Rows of ops: compared for each op and activation type that they serve, whatever the rows are called.

use super::{Changes, Effect, appended, limits, list, maybe, one};
use crate::spec::{
    Activation, Fraction, Integer, IntegerFunction, Lines, OpRow, Padding, Pair, RecipeName, Reciprocal, ShownOf,
    SymmetricOperands, TargetSpec, WeightGrid,
};
use std::collections::BTreeSet;
use strait_core::Term;

pub(super) fn compare(changes: &mut Changes, old: &TargetSpec, new: &TargetSpec) {
    let activations =
        |spec: &TargetSpec| -> BTreeSet<Activation> { spec.types.pairs.iter().map(|pair| pair.activation).collect() };
    let all: BTreeSet<Activation> = activations(old).union(&activations(new)).copied().collect();
    // One difference of a row is told once, however many ops and types the row serves.
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

/// The rows of an op for one activation type. Of a table with several those with the same name are compared; a row more takes
/// nodes from those that are tried behind it, and a row less leaves them to these.
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
        // Behind all that there were it takes but what none of them takes.
        let last = after.iter().skip(at).all(|(name, _)| !has(&before, name));
        let effect = if last { Effect::AcceptsMore } else { Effect::OtherBits };
        told.row(&format!("op.{name}"), effect, None, said(term, activation, row));
    }
}

/// A row that only one table has, in short.
fn said(term: Term, activation: Activation, row: &OpRow) -> Option<String> {
    let recipe = maybe(row.recipe).unwrap_or_default();
    Some(format!("{} on {} by {recipe}", term.name(), activation.name()))
}

/// The sentence with which an op stays on the host.
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
    let OpRow {
        ops: _,
        run: _,
        why: _,
        recipe,
        requantize,
        points,
        accumulator: _,
        inputs,
        in_accumulator,
        left_shift,
        interpolate,
        fraction,
        weight_grid,
        definition,
        rounding: _,
        reciprocal,
        pad: _,
        pairs: _,
        results,
        weight_per,
        symmetric,
        limit: _,
        limit_of: _,
        oracle,
        evidence,
        holds,
        note,
    } = new;
    let bits = Effect::OtherBits;
    changes.key(row, "recipe", bits, [maybe(old.recipe), maybe(*recipe)]);
    changes.key(row, "requantize", bits, [list(&old.requantize), list(requantize)]);
    changes.key(row, "inputs", bits, [list(&old.inputs), list(inputs)]);
    let inside = [list(&old.in_accumulator), list(in_accumulator)];
    changes.key(row, "in_accumulator", bits, inside);
    changes.key(row, "points", bits, [maybe(old.points), maybe(*points)]);
    let width = |spec: &TargetSpec, row: &OpRow| {
        let own = row.accumulator;
        let of_type = || {
            activation
                .codes()
                .and_then(|ty| spec.accumulator.get(&ty))
                .map(|sum| sum.bits)
        };
        let sums = row.recipe.is_some_and(RecipeName::accumulates);
        own.or_else(of_type).filter(|_| sums)
    };
    // Those of the types are told at their own rows.
    if old.accumulator.is_some() || new.accumulator.is_some() {
        let [before, after] = [width(old_spec, old), width(new_spec, new)];
        changes.key(row, "accumulator", wider(before, after), [maybe(before), maybe(after)]);
    }
    let symmetric_for = |symmetric: &Option<SymmetricOperands>| {
        let symmetric = symmetric.as_ref()?;
        Some(match &symmetric.rank {
            Some(ranks) => ranks.iter().map(u8::to_string).collect::<Vec<_>>().join(", "),
            None => "all".to_owned(),
        })
    };
    changes.key(
        row,
        "symmetric",
        bits,
        [symmetric_for(&old.symmetric), symmetric_for(symmetric)],
    );
    let bits_more = |shift: Option<u8>| one(shift.unwrap_or_default());
    changes.key(
        row,
        "left_shift",
        bits,
        [bits_more(old.left_shift), bits_more(*left_shift)],
    );
    let grid = |grid: Option<WeightGrid>| one(grid.unwrap_or(WeightGrid::MaxAbs));
    changes.key(row, "weight_grid", bits, [grid(old.weight_grid), grid(*weight_grid)]);
    let function = |definition: Option<IntegerFunction>| one(definition.unwrap_or(IntegerFunction::Nearest));
    changes.key(
        row,
        "definition",
        bits,
        [function(old.definition), function(*definition)],
    );
    let entries = |spec: &TargetSpec, row: &OpRow| {
        let looks_up = row.recipe == Some(RecipeName::Lookup);
        maybe(looks_up.then(|| row.rounding.unwrap_or(spec.quantize.rounding).name()))
    };
    changes.key(row, "rounding", bits, [entries(old_spec, old), entries(new_spec, new)]);
    let lines = |lines: Option<Lines>| {
        maybe(lines.map(|lines| format!("{} entries, {}", lines.entries, lines.rounding.name())))
    };
    changes.key(row, "interpolate", bits, [lines(old.interpolate), lines(*interpolate)]);
    let parts = |fraction: Option<Fraction>| {
        maybe(fraction.map(|fraction| format!("{} bits, {}", fraction.bits, fraction.rounding.name())))
    };
    changes.key(
        row,
        "fraction",
        resampled(old.fraction, *fraction),
        [parts(old.fraction), parts(*fraction)],
    );
    let numbers = |reciprocal: Option<Reciprocal>| {
        maybe(reciprocal.map(|numbers| format!("{} bits, {}", numbers.bits, numbers.rounding.name())))
    };
    changes.key(row, "reciprocal", bits, [numbers(old.reciprocal), numbers(*reciprocal)]);
    changes.key(
        row,
        "pad",
        padded(old, new),
        [maybe(old.padding()), maybe(new.padding())],
    );
    changes.key(row, "weight_per", bits, [maybe(old.weight_per), maybe(*weight_per)]);
    let known: BTreeSet<Integer> = old_spec.types.activations().collect();
    let made = |results: &Option<Vec<Integer>>| -> Vec<Integer> {
        let own = || activation.codes().into_iter().collect();
        results.clone().unwrap_or_else(own)
    };
    let [before, after] = [made(&old.results), made(results)];
    let effect = appended(&before, &after, |ty| !known.contains(ty));
    changes.key(row, "results", effect, [list(&before), list(&after)]);
    let weights = |spec: &TargetSpec, row: &OpRow| -> Vec<Integer> {
        let pairs = spec.pairs(row).filter(|pair: &Pair| pair.activation == activation);
        pairs.map(|pair| pair.weight).collect()
    };
    if new.recipe.is_some_and(weighs) {
        let [before, after] = [weights(old_spec, old), weights(new_spec, new)];
        let effect = appended(&before, &after, |_| true);
        changes.key(
            row,
            &format!("weights on {}", activation.name()),
            effect,
            [list(&before), list(&after)],
        );
    }
    limits::compare(changes, row, old, new);
    let text = Effect::Text;
    changes.key(
        row,
        "oracle",
        text,
        [maybe(old.oracle.as_ref()), maybe(oracle.as_ref())],
    );
    changes.key(row, "evidence", text, [maybe(old.evidence), maybe(*evidence)]);
    let ranks = |row: &Option<ShownOf>| maybe(row.as_ref().map(|holds| list(&holds.rank).unwrap_or_default()));
    changes.key(row, "holds.rank", text, [ranks(&old.holds), ranks(holds)]);
    changes.key(row, "note", text, [maybe(old.note.as_ref()), maybe(note.as_ref())]);
}

/// A convolution that pads with the code 0 leaves others to the host; a maximum has other bits with other padding.
fn padded(old: &OpRow, new: &OpRow) -> Effect {
    match (old.padding(), new.padding()) {
        (Some(Padding::ZeroCode), Some(Padding::ZeroPoint)) => Effect::AcceptsMore,
        (Some(Padding::ZeroPoint), Some(Padding::ZeroCode)) => Effect::AcceptsLess,
        _ => Effect::OtherBits,
    }
}

/// A linear resize without fraction bits is the host's.
fn resampled(old: Option<Fraction>, new: Option<Fraction>) -> Effect {
    match (old, new) {
        (None, Some(_)) => Effect::AcceptsMore,
        (Some(_), None) => Effect::AcceptsLess,
        _ => Effect::OtherBits,
    }
}

fn weighs(recipe: RecipeName) -> bool {
    matches!(recipe, RecipeName::MultiplyAccumulate | RecipeName::DequantizeWeights)
}

/// Sums are proved to fit: more room takes more of them and changes none, as long as they are carried alike.
pub(super) fn wider(old: Option<u8>, new: Option<u8>) -> Effect {
    match (old, new) {
        (Some(old), Some(new)) if (old > 32) != (new > 32) => Effect::OtherBits,
        (Some(old), Some(new)) if old <= new => Effect::AcceptsMore,
        (Some(_), Some(_)) => Effect::AcceptsLess,
        _ => Effect::OtherBits,
    }
}
