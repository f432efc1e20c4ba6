//! Tests every row of the built-in tables with the graphs of [`strait_tests::row_graph`].
//!
//! A row of an op must be used for each of its ops on each type, or pair of types; a row of the host for each op that
//! it leaves there; a fusion row after each of its ops. If an overlay adds or changes a row, or one of its forms, the
//! row must be used with the overlay, too: either in a graph with that option, or in a graph in which it is used
//! without. With `STRAIT_BLESS=1` the lines after `; fires` are rewritten.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use strait_container::Quantization;
use strait_core::{Elem, Graph, Module, Node, Op, Placement, Term, ValueId};
use strait_driver::report::contradictions;
use strait_target::spec::{Integer, OpRow, Pair, Recipe};
use strait_target::{Target, TargetSpec};
use strait_tests::passes::target;
use strait_tests::row_graph::{FIRES, Made, RowGraph, tables};

/// A table with the overlay of one value of an option, or without any.
struct Variant {
    /// The option as `OPTION=VALUE`, or empty.
    options: String,
    /// Name of the target with this option.
    name: String,
    target: Arc<dyn Target>,
}

fn variants(id: &str) -> Vec<Variant> {
    let variant = |options: String| {
        let name = if options.is_empty() {
            id.to_owned()
        } else {
            format!("{id},{options}")
        };
        let target = target(&name).unwrap();
        Variant { options, name, target }
    };
    let base = variant(String::new());
    let spec = base.target.spec();
    let overlays = spec.overlay.iter();
    let values = overlays.flat_map(|(option, values)| values.keys().map(move |value| (option, value)));
    let others = values.filter(|(option, value)| spec.options[*option].default.to_string() != **value);
    let others: Vec<Variant> = others
        .map(|(option, value)| variant(format!("{option}={value}")))
        .collect();
    std::iter::once(base).chain(others).collect()
}

/// Everything that rows of a table can do, as the files spell it. If another table is given, only for rows that differ
/// from it.
fn table(spec: &TargetSpec, other: Option<&TargetSpec>) -> BTreeSet<String> {
    let same =
        |other: &TargetSpec, forms: &[String]| forms.iter().all(|form| spec.form.get(form) == other.form.get(form));
    let mut all = BTreeSet::new();
    for (name, row) in &spec.op {
        let is_same = |other: &TargetSpec| {
            other.op.get(name) == Some(row) && same(other, &row.requantize) && same(other, &row.inputs)
        };
        if other.is_some_and(is_same) {
            continue;
        }
        for term in terms(name, row) {
            for Pair { activation, weight } in spec.pairs(row) {
                all.insert(match row.recipe {
                    None => format!("op {name}: {term} on the host"),
                    Some(Recipe::MultiplyAccumulate { .. } | Recipe::DequantizeWeights) => {
                        format!("op {name}: {term} on {activation}, {weight}")
                    }
                    // This recipe reads sums.
                    Some(Recipe::AddShifted) => format!("op {name}: {term} on int16"),
                    Some(_) => format!("op {name}: {term} on {activation}"),
                });
            }
        }
    }
    for row in &spec.fusion {
        let is_same = |other: &TargetSpec| {
            let accept = row.accept.as_deref().unwrap_or_default();
            other.fusion.contains(row) && same(other, accept) && same(other, &row.weaken_to)
        };
        if !other.is_some_and(is_same) {
            all.extend(row.ops.iter().map(|op| format!("fusion {}: behind {op}", row.name)));
        }
    }
    all
}

fn terms(name: &str, row: &OpRow) -> Vec<Term> {
    let names = row.ops.clone().unwrap_or_else(|| vec![name.to_owned()]);
    names.iter().map(|name| Term::parse(name).unwrap()).collect()
}

/// Which primitives each recipe leaves before its requantizations.
type Left = BTreeSet<(&'static str, Term)>;

/// The primitives whose requantization belongs to the same row, with the recipe of that row.
fn left(module: &Module, lowered: &Graph, origins: &BTreeMap<String, String>, spec: &TargetSpec) -> Left {
    let origin = |node: &Node| origins.get(module.name(node.name));
    let found = lowered.nodes().filter(|(_, node)| matches!(node.op, Op::Requantize(_)));
    let found = found.filter_map(|(_, node)| {
        let (_, producer) = lowered.producer(node.inputs.first().copied().flatten()?)?;
        let row = origin(node).filter(|row| origin(producer) == Some(row))?;
        // Primitives that another node of the same row made are left out.
        let ours = producer.sources.last() == node.sources.last() && !producer.sources.is_empty();
        Some((spec.op[row].recipe.filter(|_| ours)?.name(), producer.op.term()))
    });
    found.collect()
}

/// The rows that are used in a graph.
fn fired(graph: &RowGraph, target: &str, spec: &TargetSpec, all: &mut Left) -> Result<BTreeSet<String>, String> {
    let Made {
        float, integer: made, ..
    } = graph.make(target)?;
    let (module, lowered) = (&made.module, made.module.graph(made.lowered).unwrap());
    // What the artifact says about operands and results agrees with the lowered graph.
    let untrue = contradictions(&Quantization::of(&made.annotated), module, lowered);
    if !untrue.is_empty() {
        return Err(untrue.join("; "));
    }
    all.extend(left(module, lowered, &made.origins, spec));
    // A rule that makes one op from several names it after one of them.
    let of_ops = |module: &Module| -> BTreeMap<String, Term> {
        let nodes = module.main().nodes();
        nodes
            .map(|(_, node)| (module.name(node.name).to_owned(), node.op.term()))
            .collect()
    };
    let mut known = of_ops(&float);
    known.extend(of_ops(&made.annotated));
    let mut found = BTreeSet::new();
    for (_, node) in lowered.nodes() {
        let sources = node.sources.iter().filter_map(|&source| known.get(module.name(source)));
        if let Placement::Host(reason) = &node.place {
            let row = spec.op_row(node.op.term());
            if let Some((name, _)) = row.filter(|(name, row)| row.is_host() && spec.why_host(name, row) == *reason.text)
            {
                found.insert(format!("op {name}: {} on the host", node.op.term()));
            }
        }
        let Some(name) = made.origins.get(module.name(node.name)) else {
            continue;
        };
        let Some(activation) = code(lowered, node, 0) else {
            continue;
        };
        let row = &spec.op[name.as_str()];
        for &term in sources.filter(|&term| terms(name, row).contains(term)) {
            found.insert(match (row.recipe, code(lowered, node, 1)) {
                (Some(Recipe::MultiplyAccumulate { .. }), Some(w)) => format!("op {name}: {term} on {activation}, {w}"),
                (Some(Recipe::MultiplyAccumulate { .. }), None) => continue,
                // What it reads are the codes of the weights.
                (Some(Recipe::DequantizeWeights), _) => format!("op {name}: {term} on float32, {activation}"),
                _ => format!("op {name}: {term} on {activation}"),
            });
        }
        if matches!(row.recipe, Some(Recipe::Requantize { .. })) {
            found.insert(format!("op {name}: requantize on {activation}"));
        }
    }
    let ops: BTreeMap<&str, Term> = lowered
        .nodes()
        .map(|(_, node)| (module.name(node.name), node.op.term()))
        .collect();
    for fired in &made.fusion.fired {
        let op = ops.get(&*fired.node).map_or("constant", |term| term.name());
        found.insert(format!("fusion {}: behind {op}", fired.row));
    }
    Ok(found)
}

/// Type of an operand that has codes.
fn code(graph: &Graph, node: &Node, operand: usize) -> Option<Integer> {
    // The condition comes before the values that it selects from.
    let operand = operand + usize::from(matches!(node.op, Op::Select(_)));
    let value: ValueId = node.inputs.get(operand).copied().flatten()?;
    let elem = graph.value(value)?.ty.elem;
    let codes = !matches!(elem, Elem::I32 | Elem::I64);
    codes.then(|| elem.int_type()).flatten().map(Integer::from)
}

#[test]
fn every_row_of_the_tables_in_the_box_fires_in_a_graph() {
    let bless = strait_testkit::is_blessing();
    let (mut wrong, mut all) = (Vec::new(), Left::new());
    for (id, name) in tables() {
        let (graphs, variants) = (RowGraph::of_target(&id), variants(&name));
        for graph in &graphs {
            if !variants.iter().any(|variant| variant.options == graph.options) {
                wrong.push(format!("{}: no overlay is that of its options", graph.path.display()));
            }
        }
        let base = variants[0].target.spec();
        // The rows of the table without overlays. A row that an overlay does not change may be used with the overlay
        // instead.
        let mut plain = table(base, None);
        for variant in &variants {
            let (spec, name) = (variant.target.spec(), &variant.name);
            let brought = match &*variant.options {
                "" => BTreeSet::new(),
                _ => table(spec, Some(base)),
            };
            assert!(brought.is_empty() == variant.options.is_empty(), "{name}");
            let mut left = brought.clone();
            for graph in &graphs {
                let own = graph.options == variant.options;
                let lent = graph.options.is_empty() && graph.rows().any(|row| left.contains(row));
                if !(own || lent) {
                    continue;
                }
                let found = match fired(graph, name, spec, &mut all) {
                    Ok(found) => found,
                    Err(error) => {
                        wrong.push(format!("{} for {name}: {error}", graph.path.display()));
                        continue;
                    }
                };
                let lines: String = found.iter().map(|line| format!("; {line}\n")).collect();
                if own && lines != graph.fires && bless {
                    std::fs::write(&graph.path, format!("{}{FIRES}{lines}", graph.graph)).unwrap();
                } else if own && lines != graph.fires {
                    wrong.push(format!("{} fires other rows:\n{lines}", graph.path.display()));
                }
                left.retain(|row| !found.contains(row));
                plain.retain(|row| !own || brought.contains(row) || !found.contains(row));
            }
            wrong.extend(left.iter().map(|row| format!("{name}: {row}: no graph in rows/{id}")));
        }
        wrong.extend(plain.iter().map(|row| format!("{id}: {row}: no graph in rows/{id}")));
    }
    let known: Left = Recipe::ALL
        .iter()
        .flat_map(|recipe| recipe.leaves().iter().map(|&term| (recipe.name(), term)))
        .collect();
    let unknown = all
        .difference(&known)
        .map(|(recipe, term)| format!("`{recipe}` leaves {term}, and does not say so"));
    wrong.extend(unknown);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
