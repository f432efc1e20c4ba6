//! Checks `[op.NAME]`: terms must exist, the recipe must be able to lower them, and forms and limits must make sense.

use super::{Findings, limits::limits, recipe, symmetric::symmetric, terms};
use crate::spec::recipe::computes;
use crate::spec::{Activation, Evidence, FormRow, Integer, OpRow, Pair, Per, Recipe, WeightPer};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::Term;
use strait_document::{KeyPath, Value, nearest};
use strait_requantize::{IntType, function::Definition};

pub(super) fn check(findings: &mut Findings<'_>) {
    let terms = terms();
    let mut rows_by_term: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, row) in &findings.spec.op {
        let path = KeyPath::of(&["op", name]);
        let ops: Vec<(&str, KeyPath)> = match &row.ops {
            Some(ops) => {
                let path = path.clone().key("ops");
                findings.list(&path, ops);
                let place = |(index, op)| (String::as_str(op), path.clone().index(index));
                ops.iter().enumerate().map(place).collect()
            }
            None => vec![(name, path.clone())],
        };
        for (op, path) in &ops {
            if !terms.contains(op) {
                let help = nearest::suggestion(op, terms.iter().copied())
                    .unwrap_or_else(|| "a row is named after its op, or lists its `ops`".into());
                findings.add_with(path, format!("there is no op `{op}`"), help);
            } else {
                let others = rows_by_term.entry(op).or_default();
                for other in others.iter() {
                    beside(findings, path, op, row, other);
                }
                others.push(name);
            }
        }
        let ops: Vec<&str> = ops.into_iter().map(|(op, _)| op).collect();
        if row.is_host() {
            host(findings, name, row, &path);
        } else {
            accelerator(findings, name, row, &ops, &path);
        }
        limits(findings, name, row, &ops, &path);
        symmetric(findings, name, row, &ops, &path.key("symmetric"));
    }
}

/// Checks that two rows for one op are for different activation types or different limits, and agree in everything that
/// may not depend on types and limits. The row `name` is tried first.
fn beside(findings: &mut Findings<'_>, path: &KeyPath, op: &str, row: &OpRow, name: &str) {
    let spec = findings.spec;
    let Some(other) = spec.op.get(name) else { return };
    let types = |row: &OpRow| -> BTreeSet<Activation> { spec.pairs(row).map(|pair| pair.activation).collect() };
    let apart = types(row).is_disjoint(&types(other));
    let limited = !(other.limit.is_empty() && other.limit_of.is_empty());
    if row.is_host() || other.is_host() || !(apart || limited) {
        return findings.add(path, format!("`{op}` has a row already: `op.{name}`"));
    }
    if !apart {
        if let Some(key) = differs(row, other) {
            let message = format!("`{op}` has the row `op.{name}` for the same types, with another `{key}`");
            let help = "rows of one op by limits differ in `limit`, `limit_of`, forms, roundings and evidence; average pools in \
                        `recipe`";
            findings.add_with(path, message, help);
        }
        return;
    }
    let structure = |row: &OpRow| {
        let recipe = row.recipe?;
        Some((recipe.keeps_grid(), recipe.narrows(), row.points))
    };
    let alike = row.is_weight_only() || other.is_weight_only() || structure(row) == structure(other);
    findings.ensure(alike, path, || {
        format!("`{op}` keeps its grid, narrows sums and has `points` as in its other row, `op.{name}`, or not at all")
    });
}

/// Compares two rows for one op and the same types. Returns the first key that must have the same value in both rows
/// but does not, or `None` if there is no such key. Not only lowering uses such keys, so they may not depend on limits.
fn differs(row: &OpRow, other: &OpRow) -> Option<&'static str> {
    let [own, others] = [row, other].map(|row| row.recipe.map(for_all_limits));
    [
        ("recipe", own == others),
        ("points", row.points == other.points),
        ("in_accumulator", row.in_accumulator == other.in_accumulator),
        ("pairs", row.pairs == other.pairs),
        ("results", row.results == other.results),
        ("weight_per", row.weight_per == other.weight_per),
        ("symmetric", row.symmetric == other.symmetric),
    ]
    .into_iter()
    .find_map(|(key, alike)| (!alike).then_some(key))
}

/// Returns the recipe without the parameters that may differ between rows of one op with different limits. These are
/// the rounding of a lookup and the way in which the sum of a pool is divided.
fn for_all_limits(mut recipe: Recipe) -> Recipe {
    match &mut recipe {
        Recipe::Lookup { rounding, .. } => *rounding = None,
        Recipe::AveragePoolReciprocal(_) => recipe = Recipe::AveragePoolDivide,
        _ => {}
    }
    recipe
}

/// The only keys that a row may have if its ops run on the host.
const OF_HOST: [&str; 3] = ["ops", "run", "why"];

fn host(findings: &mut Findings<'_>, name: &str, row: &OpRow, path: &KeyPath) {
    findings.ensure(row.why.is_some(), path, || {
        format!("`op.{name}` runs on the host and does not say `why`")
    });
    let Some(Value::Table(entries)) = findings.tree.find(path).map(|node| &node.value) else {
        return;
    };
    let keys = entries.iter().map(|(key, _)| key);
    for key in keys.filter(|key| !OF_HOST.contains(&key.as_str())) {
        let message = format!("`op.{name}` runs on the host, where it has no `{key}`");
        findings.add(&path.clone().key(key), message);
    }
}

fn accelerator(findings: &mut Findings<'_>, name: &str, row: &OpRow, ops: &[&str], path: &KeyPath) {
    let spec = findings.spec;
    let at = |key: &str| path.clone().key(key);
    findings.ensure(row.why.is_none(), &at("why"), || {
        format!("`op.{name}` says `why`, which is for ops with `run = \"host\"`")
    });
    let Some(recipe) = row.recipe else {
        let lowers = |recipe: &&Recipe| {
            let lowered = recipe.lowers();
            ops.iter().all(|op| lowered.iter().any(|term| term.name() == *op))
        };
        let fitting: Vec<&str> = Recipe::ALL.iter().filter(lowers).map(|recipe| recipe.name()).collect();
        let message = format!("`op.{name}` needs a `recipe`, or `run = \"host\"` with `why`");
        let help = match fitting.is_empty() {
            true => "no recipe lowers it".to_owned(),
            false => format!("allowed: {}", nearest::list(fitting)),
        };
        findings.add_with(path, message, help);
        return;
    };
    if let Some(holds) = &row.holds {
        findings.ensure(!holds.rank.is_empty(), &at("holds").key("rank"), || {
            format!("`op.{name}`: equality was shown with operands of some rank, or there is no `holds`")
        });
        let evidence = row.evidence.unwrap_or(spec.reference.evidence);
        findings.ensure(evidence < Evidence::Documented, &at("holds"), || {
            format!("`op.{name}` is `{evidence}`, and so nothing was shown with any operand")
        });
    }
    let lowered: Vec<&str> = recipe.lowers().into_iter().map(Term::name).collect();
    for op in ops {
        findings.ensure(lowered.contains(op), &at("recipe"), || {
            let lowered = nearest::list(lowered.iter().copied());
            format!("`{recipe}` does not lower `{op}`; it lowers {lowered}")
        });
    }
    let inputs = recipe.requantizes_inputs();
    for (key, forms, wanted, known) in [
        ("requantize", &row.requantize, recipe.narrows(), recipe.may_narrow()),
        ("inputs", &row.inputs, inputs, inputs),
    ] {
        findings.ensure(!wanted || !forms.is_empty(), path, || {
            format!("`op.{name}` needs forms in `{key}`")
        });
        findings.ensure(known || forms.is_empty(), &at(key), || {
            format!("`{recipe}` takes no forms in `{key}`")
        });
        findings.forms(&at(key), forms);
        findings.once(&at(key), forms);
    }
    added(findings, row, recipe, ops, &at);
    recipe::check(findings, row, recipe, ops, &at);
    types(findings, row, recipe, &at);
    made(findings, row, recipe, &at);
    if let Some(function) = recipe.definition() {
        definition(findings, row, ops, function, &at("recipe"));
    }
    findings.ensure(
        row.accumulator.is_none() || recipe.accumulates(),
        &at("accumulator"),
        || format!("`{recipe}` has no sums"),
    );
    findings.ensure(row.points.is_none() || recipe.narrows(), &at("points"), || {
        format!("`{recipe}` narrows no sums")
    });
    if let Some(per) = row.weight_per {
        let weighs = matches!(recipe, Recipe::MultiplyAccumulate { .. }) || recipe.is_weight_only();
        findings.ensure(weighs, &at("weight_per"), || format!("`{recipe}` has no weights"));
        let alone = recipe.is_weight_only() || per != WeightPer::Block;
        findings.ensure(!weighs || alone, &at("weight_per"), || {
            format!("scales by block are for weight-only layers, not for `{recipe}`")
        });
        let schemes = spec.pairs(row).map(|pair| spec.types.weight(pair.weight));
        let known = schemes.into_iter().any(|scheme| scheme.per.contains(&per));
        findings.ensure(known, &at("weight_per"), || {
            format!("`types.weight.per` does not have `{per}`")
        });
    }
}

/// Checks that one of the forms of `in_accumulator` has 32-bit results, and that its integers can be per channel if
/// weights have a scale for each channel.
fn added(findings: &mut Findings<'_>, row: &OpRow, recipe: Recipe, ops: &[&str], at: &impl Fn(&str) -> KeyPath) {
    let (spec, path) = (findings.spec, at("in_accumulator"));
    if row.in_accumulator.is_empty() {
        return;
    }
    let adds = recipe.requantizes_inputs() && recipe != Recipe::AddShifted;
    findings.ensure(adds && ops.contains(&Term::Add.name()), &path, || {
        format!("`{recipe}` adds no codes, and `in_accumulator` is for sums of two operands")
    });
    findings.forms(&path, &row.in_accumulator);
    findings.once(&path, &row.in_accumulator);
    let mut forms = spec.forms_of(&row.in_accumulator);
    let mut schemes = spec.pairs(row).map(|pair| spec.types.weight(pair.weight));
    let channels = schemes.any(|scheme| scheme.per.contains(&WeightPer::Channel));
    let serves = |form: &FormRow| {
        let per = !channels || form.per.contains(&Per::Channel);
        per && form.output.contains(&Integer::Int32)
    };
    findings.ensure(forms.any(serves), &path, || {
        let channels = match channels {
            true => ", with integers by channel as the weights have scales by channel",
            false => "",
        };
        format!("a sum of products has 32 bits, and none of these forms makes int32{channels}")
    });
}

/// Checks that the table has the types that the row names, and that the row's forms can compute its results.
fn types(findings: &mut Findings<'_>, row: &OpRow, recipe: Recipe, at: &impl Fn(&str) -> KeyPath) {
    let spec = findings.spec;
    if let Some(pairs) = &row.pairs {
        findings.ensure(!matches!(recipe, Recipe::Requantize { .. }), &at("pairs"), || {
            "a requantization is between all activation types".into()
        });
        findings.list(&at("pairs"), pairs);
        for (index, pair) in pairs.iter().enumerate() {
            let path = at("pairs").index(index);
            findings.ensure(spec.types.pairs.contains(pair), &path, || {
                format!("`types.pairs` does not have {pair}")
            });
            let takes = match recipe.is_weight_only() {
                true => "float32",
                false => "codes",
            };
            findings.ensure(pair.is_weight_only() == recipe.is_weight_only(), &path, || {
                format!("`{recipe}` takes activations of {takes} alone")
            });
        }
    }
    let Some(results) = &row.results else { return };
    let own = matches!(recipe, Recipe::LayerNormalization { .. });
    let makes = own || recipe.may_narrow() && !matches!(recipe, Recipe::Requantize { .. });
    findings.ensure(makes, &at("results"), || {
        format!("what `{recipe}` makes has the type of what it reads")
    });
    findings.list(&at("results"), results);
    for (index, result) in results.iter().enumerate() {
        let path = at("results").index(index);
        let known = spec.types.activations().any(|activation| activation == *result);
        findings.ensure(known, &path, || format!("`types.pairs` has no activations of {result}"));
        let mut forms = spec.forms_of(&row.requantize);
        let made = own || !recipe.narrows() || forms.any(|form| form.output.contains(result));
        findings.ensure(made, &path, || {
            format!("none of the forms in `requantize` makes {result}")
        });
    }
}

/// Checks that the forms of a row compute what its recipe needs: codes of the result's type, 32-bit operands of an
/// addition, and integers per channel if the weights have a scale for each channel.
fn made(findings: &mut Findings<'_>, row: &OpRow, recipe: Recipe, at: &impl Fn(&str) -> KeyPath) {
    let spec = findings.spec;
    let any = |forms: &[String], serves: &dyn Fn(&FormRow) -> bool| {
        let mut forms = spec.forms_of(forms).peekable();
        forms.peek().is_none() || forms.any(serves)
    };
    if recipe.narrows() && row.results.is_none() {
        for activation in spec.pairs(row).filter_map(Pair::codes) {
            let made = any(&row.requantize, &|form| form.output.contains(&activation));
            findings.ensure(made, &at("requantize"), || {
                format!("the results of the row are {activation}, and none of these forms makes {activation}")
            });
        }
    }
    if recipe.requantizes_inputs() && recipe != Recipe::AddShifted {
        let made = any(&row.inputs, &|form| form.output.contains(&Integer::Int32));
        findings.ensure(made, &at("inputs"), || {
            format!("`{recipe}` adds operands of int32, and none of these forms makes int32")
        });
    }
    if matches!(recipe, Recipe::MultiplyAccumulate { .. }) {
        let mut schemes = spec.pairs(row).map(|pair| spec.types.weight(pair.weight).per.first());
        let channels = match row.weight_per {
            Some(per) => per == WeightPer::Channel,
            None => schemes.any(|per| per == Some(&WeightPer::Channel)),
        };
        let made = any(&row.requantize, &|form| form.per.contains(&Per::Channel));
        findings.ensure(!channels || made, &at("requantize"), || {
            "weights have scales by channel, and none of these forms has integers by channel".into()
        });
    }
}

/// Checks that an integer function computes the ops of the row, reads the row's types of activations, and fits their
/// scales and zero points.
fn definition(findings: &mut Findings<'_>, row: &OpRow, ops: &[&str], function: Definition, path: &KeyPath) {
    let spec = findings.spec;
    let computed: Vec<&str> = computes(function).into_iter().map(Term::name).collect();
    if let Some(other) = ops.iter().find(|op| !computed.contains(op)) {
        return findings.add(path, format!("`{function}` is no `{other}`"));
    }
    let (elements, symmetric, codes, output) = match (function.softmax(), function.pointwise()) {
        (Some(facts), _) => (
            vec![facts.elements],
            Some(facts.symmetric),
            Some(facts.range),
            Some(facts.output),
        ),
        (None, Some(facts)) => (
            facts.elements.to_vec(),
            facts.output.map(|(_, zero)| zero == 0),
            None,
            facts.output,
        ),
        (None, None) if function.normalizes() => return layer_normalization(findings, row, function, path),
        // This function accepts all types, scales and zero points, so there is nothing more to check.
        (None, None) => return,
    };
    findings.ensure(row.results.is_none(), path, || {
        format!("`{function}` makes codes of the type that it reads, and no other `results`")
    });
    let read: Vec<Integer> = elements.iter().copied().map(Integer::from).collect();
    let other = spec
        .pairs(row)
        .map(|pair| pair.activation)
        .find(|&a| read.iter().all(|&elements| a != elements.into()));
    if let Some(other) = other {
        let read = read.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        let message = format!("`{function}` reads {read}, and the row is for activations of {other}, too");
        return findings.add_with(path, message, "`pairs` says what a row is for");
    }
    for activation in spec.pairs(row).filter_map(Pair::codes) {
        let (scheme, range) = (
            spec.types.activation(activation),
            spec.types.activation_range(activation),
        );
        let ty = IntType::from(activation);
        // For 16-bit activations, LiteRT accepts only zero points of 0.
        let symmetric = symmetric.or((ty.bits() > 8).then_some(true));
        let [low, high] = codes.unwrap_or([ty.min(), ty.max()]);
        let alike = symmetric.is_none_or(|symmetric| scheme.symmetric == symmetric);
        findings.ensure(alike && range.contains(&low) && range.contains(&high), path, || {
            let symmetry = match symmetric {
                Some(true) => "symmetric, with",
                Some(false) => "not symmetric, with",
                None => "on",
            };
            let grid = output.map(|(scale, zero)| format!(" with the scale {scale} and the zero point {zero}"));
            format!(
                "`{function}` makes codes from {low} to {high}{}: activations of {activation} have to be {symmetry} all of \
                 these codes",
                grid.unwrap_or_default()
            )
        });
    }
}

/// Checks that the types of the results use all of their codes, since a layer normalization can have any code as its
/// result.
fn layer_normalization(findings: &mut Findings<'_>, row: &OpRow, function: Definition, path: &KeyPath) {
    let spec = findings.spec;
    let read = spec.pairs(row).filter_map(Pair::codes);
    for result in row.results.iter().flatten().copied().chain(read) {
        let (range, own) = (spec.types.activation_range(result), IntType::from(result));
        findings.ensure(range == own.range(), path, || {
            format!("`{function}` makes all codes of {result}, and `types` has but those in {range:?}")
        });
    }
}
