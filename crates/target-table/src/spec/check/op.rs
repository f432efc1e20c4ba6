//! `[op.NAME]`: terms that exist, recipes that lower them, forms and limits that make sense.

use super::{Findings, limits::limits, recipe, symmetric::symmetric, terms};
use crate::spec::{
    Activation, Arithmetic, Evidence, FormRow, Integer, IntegerFunction, OpRow, Pair, Per, RecipeName, ScaleSet,
    WeightGrid, WeightPer,
};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::Term;
use strait_document::{KeyPath, nearest};
use strait_requantize::IntType;

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

/// That two rows for one op, the other one of which is tried first, are for other activation types or for other limits, and
/// differ in nothing that does not depend on them.
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
        Some((recipe.keeps_grid(), recipe.signature().requantize, row.points))
    };
    let alike = row.is_weight_only() || other.is_weight_only() || structure(row) == structure(other);
    findings.ensure(alike, path, || {
        format!("`{op}` keeps its grid, narrows sums and has `points` as in its other row, `op.{name}`, or not at all")
    });
}

/// The first key in which rows for one op and the same types differ, although more than lowering looks at it.
fn differs(row: &OpRow, other: &OpRow) -> Option<&'static str> {
    let keeps = |row: &OpRow| row.recipe.is_some_and(RecipeName::keeps_grid);
    [
        ("recipe", row.recipe == other.recipe || keeps(row) && keeps(other)),
        ("points", row.points == other.points),
        ("in_accumulator", row.in_accumulator == other.in_accumulator),
        ("left_shift", row.left_shift == other.left_shift),
        ("interpolate", row.interpolate == other.interpolate),
        ("fraction", row.fraction == other.fraction),
        ("weight_grid", row.weight_grid == other.weight_grid),
        ("definition", row.definition == other.definition),
        ("pad", row.pad == other.pad),
        ("pairs", row.pairs == other.pairs),
        ("results", row.results == other.results),
        ("weight_per", row.weight_per == other.weight_per),
        ("symmetric", row.symmetric == other.symmetric),
    ]
    .into_iter()
    .find_map(|(key, alike)| (!alike).then_some(key))
}

fn host(findings: &mut Findings<'_>, name: &str, row: &OpRow, path: &KeyPath) {
    findings.ensure(row.why.is_some(), path, || {
        format!("`op.{name}` runs on the host and does not say `why`")
    });
    let keys = [
        ("recipe", row.recipe.is_some()),
        ("requantize", !row.requantize.is_empty()),
        ("inputs", !row.inputs.is_empty()),
        ("in_accumulator", !row.in_accumulator.is_empty()),
        ("left_shift", row.left_shift.is_some()),
        ("weight_grid", row.weight_grid.is_some()),
        ("definition", row.definition.is_some()),
        ("rounding", row.rounding.is_some()),
        ("reciprocal", row.reciprocal.is_some()),
        ("pad", row.pad.is_some()),
        ("interpolate", row.interpolate.is_some()),
        ("fraction", row.fraction.is_some()),
        ("pairs", row.pairs.is_some()),
        ("points", row.points.is_some()),
        ("accumulator", row.accumulator.is_some()),
        ("results", row.results.is_some()),
        ("weight_per", row.weight_per.is_some()),
        ("limit", !row.limit.is_empty()),
        ("limit_of", !row.limit_of.is_empty()),
        ("oracle", row.oracle.is_some()),
        ("evidence", row.evidence.is_some()),
        ("holds", row.holds.is_some()),
        ("note", row.note.is_some()),
    ];
    for (key, given) in keys {
        findings.ensure(!given, &path.clone().key(key), || {
            format!("`op.{name}` runs on the host, where it has no `{key}`")
        });
    }
}

fn accelerator(findings: &mut Findings<'_>, name: &str, row: &OpRow, ops: &[&str], path: &KeyPath) {
    let spec = findings.spec;
    let at = |key: &str| path.clone().key(key);
    findings.ensure(row.why.is_none(), &at("why"), || {
        format!("`op.{name}` says `why`, which is for ops with `run = \"host\"`")
    });
    let Some(recipe) = row.recipe else {
        let lowers = |recipe: &&RecipeName| {
            let lowered = recipe.lowers();
            ops.iter().all(|op| lowered.iter().any(|term| term.name() == *op))
        };
        let fitting: Vec<&str> = RecipeName::ALL.iter().filter(lowers).map(|r| r.name()).collect();
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
    let signature = recipe.signature();
    let lowered: Vec<&str> = recipe.lowers().into_iter().map(Term::name).collect();
    for op in ops {
        findings.ensure(lowered.contains(op), &at("recipe"), || {
            let lowered = nearest::list(lowered.iter().copied());
            format!("`{recipe}` does not lower `{op}`; it lowers {lowered}")
        });
    }
    for (key, forms, wanted, known) in [
        (
            "requantize",
            &row.requantize,
            signature.requantize,
            signature.may_requantize,
        ),
        ("inputs", &row.inputs, signature.inputs, signature.inputs),
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
    let parameters = [
        ("left_shift", row.left_shift.is_some()),
        ("weight_grid", row.weight_grid.is_some()),
        ("definition", row.definition.is_some()),
        ("rounding", row.rounding.is_some()),
        ("reciprocal", row.reciprocal.is_some()),
        ("pad", row.pad.is_some()),
        ("interpolate", row.interpolate.is_some()),
        ("fraction", row.fraction.is_some()),
    ];
    for (key, given) in parameters {
        let known = signature.parameters.iter().find(|(parameter, _)| *parameter == key);
        findings.ensure(!given || known.is_some(), &at(key), || {
            format!("`{recipe}` has no parameter `{key}`")
        });
        findings.ensure(given || !known.is_some_and(|(_, needed)| *needed), path, || {
            format!("`{recipe}` needs `{key}`")
        });
    }
    let mut forms = row.requantize.iter().filter_map(|form| spec.form.get(form));
    let shifts = forms.any(|form| form.kind == Arithmetic::Shift);
    if recipe == RecipeName::Lookup {
        findings.ensure(shifts == row.left_shift.is_some(), path, || {
            format!("the bits of `left_shift` of a `{recipe}` are what a shift of `requantize` takes off")
        });
        let bits = row.left_shift.is_none_or(|bits| (1..=23).contains(&bits));
        findings.ensure(bits, &at("left_shift"), || {
            "1 to 23 bits beside 8 fit into an entry of 32 bits".into()
        });
    }
    if recipe == RecipeName::Requantize {
        let bits = row.left_shift.is_none_or(|bits| (1..=22).contains(&bits));
        findings.ensure(bits, &at("left_shift"), || {
            "1 to 22 bits beside a code of 8 and its zero point fit into 32 bits".into()
        });
    }
    // Weight scales that are made out of the activations' have to be powers of two where `types.weight.scale` asks for these.
    let powers = || {
        spec.pairs(row).all(|pair| {
            let from = pair.codes().map(|activation| spec.types.activation(activation).scale);
            spec.types.weight(pair.weight).scale == ScaleSet::Any || from == Some(ScaleSet::PowerOfTwo)
        })
    };
    if let Some(grid) = row.weight_grid.filter(|grid| grid.leaves_a_shift()) {
        findings.ensure(shifts, &at("weight_grid"), || {
            format!("`{grid}` leaves a shift, and none of the forms in `requantize` is one")
        });
        findings.ensure(powers(), &at("weight_grid"), || {
            format!(
                "`{grid}` makes weight scales out of the activations', which are no powers of two as `types.weight.scale` asks"
            )
        });
    }
    if row.weight_grid == Some(WeightGrid::MaxAbsThenShift) {
        let symmetric = spec.pairs(row).all(|pair| spec.types.weight(pair.weight).symmetric);
        findings.ensure(symmetric, &at("weight_grid"), || {
            "weights that are rounded to their largest magnitude first have no zero point".into()
        });
    }
    if recipe == RecipeName::AddShifted {
        let kinds = |forms: &[String], kind| {
            let mut rows = forms.iter().filter_map(|form| spec.form.get(form));
            rows.any(|row| row.kind == kind)
        };
        findings.ensure(kinds(&row.inputs, Arithmetic::DequantS16), &at("inputs"), || {
            format!("`{recipe}` needs a form of the kind `dequant_s16`")
        });
        findings.ensure(
            kinds(&row.requantize, Arithmetic::RequantS16),
            &at("requantize"),
            || format!("`{recipe}` needs a form of the kind `requant_s16`"),
        );
        let symmetric = spec.pairs(row).all(|pair| spec.types.weight(pair.weight).symmetric);
        findings.ensure(symmetric, &at("recipe"), || {
            format!("`{recipe}` adds sums of weights without zero points, and those of `types.weight` have them")
        });
        findings.ensure(powers(), &at("recipe"), || {
            format!(
                "`{recipe}` makes the scales of both weights so that their sums are on one grid: no powers of two, as \
                 `types.weight.scale` asks"
            )
        });
    }
    recipe::check(findings, row, recipe, ops, path);
    if recipe == RecipeName::MaxPool {
        narrowed(findings, row, ops, shifts, &at);
    }
    types(findings, row, recipe, &at);
    made(findings, row, recipe, &at);
    let defined = matches!(
        recipe,
        RecipeName::Softmax | RecipeName::LayerNormalization | RecipeName::Lookup
    );
    if let Some(function) = row.definition.filter(|_| defined) {
        definition(findings, row, ops, function, &at("definition"));
    }
    findings.ensure(
        row.accumulator.is_none() || recipe.accumulates(),
        &at("accumulator"),
        || format!("`{recipe}` has no sums"),
    );
    findings.ensure(row.points.is_none() || signature.requantize, &at("points"), || {
        format!("`{recipe}` narrows no sums")
    });
    if let Some(per) = row.weight_per {
        let weighs = recipe == RecipeName::MultiplyAccumulate || recipe.is_weight_only();
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

/// That what is added inside an accumulator of products comes onto its grid: in 32 bits, and by channel where weights have
/// scales by channel.
fn added(findings: &mut Findings<'_>, row: &OpRow, recipe: RecipeName, ops: &[&str], at: &impl Fn(&str) -> KeyPath) {
    let (spec, path) = (findings.spec, at("in_accumulator"));
    if row.in_accumulator.is_empty() {
        return;
    }
    let adds = recipe.signature().inputs && recipe != RecipeName::AddShifted;
    findings.ensure(adds && ops.contains(&Term::Add.name()), &path, || {
        format!("`{recipe}` adds no codes, and `in_accumulator` is for sums of two operands")
    });
    findings.forms(&path, &row.in_accumulator);
    findings.once(&path, &row.in_accumulator);
    let mut forms = row.in_accumulator.iter().filter_map(|form| spec.form.get(form));
    let mut schemes = spec.pairs(row).map(|pair| spec.types.weight(pair.weight));
    let channels = schemes.any(|scheme| scheme.per.contains(&WeightPer::Channel));
    let serves = |form: &FormRow| {
        let per = !channels || form.per.contains(&Per::Channel);
        per && form.output.contains(&Integer::Int32)
    };
    findings.ensure(forms.any(serves), &path, || {
        let channels = if channels {
            ", with integers by channel as the weights have scales by channel"
        } else {
            ""
        };
        format!("a sum of products has 32 bits, and none of these forms makes int32{channels}")
    });
}

/// That a pool which takes bits off does so by a shift, from codes whose zero point it does not move.
fn narrowed(findings: &mut Findings<'_>, row: &OpRow, ops: &[&str], shifts: bool, at: &impl Fn(&str) -> KeyPath) {
    let results = row.results.iter().flatten();
    findings.ensure(shifts || row.requantize.is_empty(), &at("requantize"), || {
        "`max_pool` compares codes; of `requantize` it takes a shift alone, in front of `results` of fewer bits".into()
    });
    findings.ensure(shifts == row.results.is_some(), &at("results"), || {
        "`max_pool` leaves its operand's type, or one of `results` with fewer bits, behind a shift of `requantize`"
            .into()
    });
    findings.ensure(row.results.is_none() || ops == ["max_pool"], &at("results"), || {
        "`max_pool` alone takes bits off its codes".into()
    });
    let (spec, narrowest) = (findings.spec, results.map(|t| IntType::from(*t).bits()).min());
    for activation in spec.pairs(row).filter_map(Pair::codes) {
        let wide = narrowest.is_some_and(|bits| bits < IntType::from(activation).bits());
        findings.ensure(
            !wide || spec.types.activation(activation).symmetric,
            &at("results"),
            || format!("a shift keeps a zero point of 0 alone, and that of {activation} may be another"),
        );
    }
}

/// That a row has types that the table has, and that its forms lead to its results.
fn types(findings: &mut Findings<'_>, row: &OpRow, recipe: RecipeName, at: &impl Fn(&str) -> KeyPath) {
    let spec = findings.spec;
    if let Some(pairs) = &row.pairs {
        findings.ensure(recipe != RecipeName::Requantize, &at("pairs"), || {
            "a requantization is between all activation types".into()
        });
        findings.list(&at("pairs"), pairs);
        for (index, pair) in pairs.iter().enumerate() {
            findings.ensure(spec.types.pairs.contains(pair), &at("pairs").index(index), || {
                format!("`types.pairs` does not have {pair}")
            });
            findings.ensure(
                pair.is_weight_only() == recipe.is_weight_only(),
                &at("pairs").index(index),
                || {
                    let takes = if recipe.is_weight_only() {
                        "float32 alone"
                    } else {
                        "codes alone"
                    };
                    format!("`{recipe}` takes activations of {takes}")
                },
            );
        }
    }
    let Some(results) = &row.results else { return };
    let makes = recipe.signature().may_requantize || recipe == RecipeName::LayerNormalization;
    findings.ensure(makes && recipe != RecipeName::Requantize, &at("results"), || {
        format!("what `{recipe}` makes has the type of what it reads")
    });
    findings.list(&at("results"), results);
    for (index, result) in results.iter().enumerate() {
        let path = at("results").index(index);
        let known = spec.types.activations().any(|activation| activation == *result);
        findings.ensure(known, &path, || format!("`types.pairs` has no activations of {result}"));
        let mut forms = row.requantize.iter().filter_map(|form| spec.form.get(form));
        let formless = matches!(
            recipe,
            RecipeName::Lookup | RecipeName::MaxPool | RecipeName::LayerNormalization
        );
        let made = formless || forms.any(|form| form.output.contains(result));
        findings.ensure(made, &path, || {
            format!("none of the forms in `requantize` makes {result}")
        });
    }
}

/// That the forms of a row make what its recipe asks them for: codes of the type that a result has, sums in front of which
/// operands are brought to one grid, and integers by channel where the weights have scales by channel.
fn made(findings: &mut Findings<'_>, row: &OpRow, recipe: RecipeName, at: &impl Fn(&str) -> KeyPath) {
    let spec = findings.spec;
    let signature = recipe.signature();
    let any = |forms: &[String], serves: &dyn Fn(&FormRow) -> bool| {
        let mut forms = forms.iter().filter_map(|form| spec.form.get(form)).peekable();
        forms.peek().is_none() || forms.any(serves)
    };
    if signature.requantize && row.results.is_none() {
        for activation in spec.pairs(row).filter_map(Pair::codes) {
            let made = any(&row.requantize, &|form| form.output.contains(&activation));
            findings.ensure(made, &at("requantize"), || {
                format!("the results of the row are {activation}, and none of these forms makes {activation}")
            });
        }
    }
    let common = [
        RecipeName::AddLeftShift,
        RecipeName::AddCommonGrid,
        RecipeName::AddCoarserGrid,
    ];
    if common.contains(&recipe) {
        let made = any(&row.inputs, &|form| form.output.contains(&Integer::Int32));
        findings.ensure(made, &at("inputs"), || {
            format!("`{recipe}` adds operands of int32, and none of these forms makes int32")
        });
    }
    if recipe == RecipeName::MultiplyAccumulate {
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

/// That an integer function computes the row's ops, reads its activations, and that their grids can be its own.
fn definition(findings: &mut Findings<'_>, row: &OpRow, ops: &[&str], function: IntegerFunction, path: &KeyPath) {
    let spec = findings.spec;
    let computed: Vec<&str> = function.computes().into_iter().map(Term::name).collect();
    if let Some(other) = ops.iter().find(|op| !computed.contains(op)) {
        return findings.add(path, format!("`{function}` is no `{other}`"));
    }
    findings.ensure(row.left_shift.is_none(), path, || {
        format!("`{function}` makes codes, without the bits of `left_shift` beside them")
    });
    let made = function.definition();
    let (elements, symmetric, codes, output) = match (made.softmax(), made.pointwise()) {
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
        (None, None) if made.normalizes() => return layer_normalization(findings, row, function, path),
        // Any types, any grids.
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
        // Of 16 bits LiteRT takes zero points of 0 alone.
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

/// That a layer normalization makes all codes of its results.
fn layer_normalization(findings: &mut Findings<'_>, row: &OpRow, function: IntegerFunction, path: &KeyPath) {
    let spec = findings.spec;
    let read = spec.pairs(row).filter_map(Pair::codes);
    for result in row.results.iter().flatten().copied().chain(read) {
        let (range, own) = (spec.types.activation_range(result), IntType::from(result));
        findings.ensure(range == own.range(), path, || {
            format!("`{function}` makes all codes of {result}, and `types` has but those in {range:?}")
        });
    }
}
