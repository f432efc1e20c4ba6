//! Every row of the tables in the box, and a graph that it is for: each file below `rows/TARGET` is a float graph that goes
//! the whole way, and ends in the rows that made its integers.
//!
//! ```text
//! ; options: requantization_mode=tflite
//! ; accept: 1
//! ; scale: 4.0
//! ; types: type=int16 leaves:NAME=int16
//! strait 1 float
//! graph @main(%x: f32[2]) { … }
//! ; fires
//! ; op conv: conv on int8, int8
//! ```
//!
//! A row of an op fires for one op on one type, or one pair of types; a row of the host for an op that it leaves there; a
//! fusion row behind one op. `accept` is the largest difference that a fusion may make, `scale` the largest input.
//! With `STRAIT_BLESS=1` the lines behind `; fires` are rewritten.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use strait_builtin as _;
use strait_core::text::parse;
use strait_core::{Elem, Graph, Module, Node, Op, Placement, Port, Term, ValueId};
use strait_lower::FusionPolicy;
use strait_target::spec::{Integer, OpRow, Pair, RecipeName};
use strait_target::{Options, Registry, TargetSpec};
use strait_tests::integer::{InMemory, integer_wanting};
use strait_tests::numeric::inputs;
use strait_tests::passes::types;

const FIRES: &str = "; fires\n";

/// Everything that a row of a table can do, as the files spell it.
fn table(spec: &TargetSpec) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (name, row) in &spec.op {
        for term in terms(name, row) {
            for Pair { activation, weight } in spec.pairs(row) {
                all.insert(match row.recipe {
                    None => format!("op {name}: {term} on the host"),
                    Some(RecipeName::MultiplyAccumulate | RecipeName::DequantizeWeights) => {
                        format!("op {name}: {term} on {activation}, {weight}")
                    }
                    Some(_) => format!("op {name}: {term} on {activation}"),
                });
            }
        }
    }
    for row in &spec.fusion {
        all.extend(row.ops.iter().map(|op| format!("fusion {}: behind {op}", row.name)));
    }
    all
}

fn terms(name: &str, row: &OpRow) -> Vec<Term> {
    let names = row.ops.clone().unwrap_or_else(|| vec![name.to_owned()]);
    names.iter().map(|name| Term::parse(name).unwrap()).collect()
}

/// Content of a file.
struct Case<'a> {
    target: String,
    policy: FusionPolicy,
    scale: f32,
    types: Vec<&'a str>,
    graph: &'a str,
    fires: &'a str,
}

fn read<'a>(target: &str, text: &'a str) -> Case<'a> {
    let (graph, fires) = text.split_once(FIRES).unwrap_or((text, ""));
    let key = |key: &str| {
        let mut lines = graph
            .lines()
            .filter_map(|line| line.strip_prefix("; ")?.split_once(": "));
        lines.find(|(found, _)| *found == key).map(|(_, value)| value)
    };
    let bound = key("accept").map(|bound| FusionPolicy::Bounded(bound.parse().unwrap()));
    Case {
        target: key("options").map_or(target.to_owned(), |options| format!("{target},{options}")),
        policy: bound.unwrap_or(FusionPolicy::Exact),
        scale: key("scale").map_or(1.0, |scale| scale.parse().unwrap()),
        types: key("types").map(|types| types.split(' ').collect()).unwrap_or_default(),
        graph,
        fires,
    }
}

/// The rows that fire in a graph.
fn fired(case: &Case<'_>, spec: &TargetSpec) -> Result<BTreeSet<String>, String> {
    let float = parse(case.graph).map_err(|error| error.to_string())?;
    let samples = InMemory((0..4).map(|seed| inputs(&float, seed, case.scale)).collect());
    let wanted = |module: &Module| types(module, &case.types).map(|(types, _)| types);
    let made = integer_wanting(&wanted, case.policy, &float, &case.target, &samples)?;
    let (module, lowered) = (&made.module, made.module.graph(made.lowered).unwrap());
    // A rule that makes one op of several names it after one of them.
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
            if let Some((name, _)) = row.filter(|(_, row)| row.is_host() && row.why.as_deref() == Some(&*reason.text)) {
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
                (Some(RecipeName::MultiplyAccumulate), Some(w)) => format!("op {name}: {term} on {activation}, {w}"),
                (Some(RecipeName::MultiplyAccumulate), None) => continue,
                // What it reads are the codes of the weights.
                (Some(RecipeName::DequantizeWeights), _) => format!("op {name}: {term} on float32, {activation}"),
                _ => format!("op {name}: {term} on {activation}"),
            });
        }
        if row.recipe == Some(RecipeName::Requantize) {
            found.insert(format!("op {name}: requantize on {activation}"));
        }
    }
    // Nothing is computed there.
    let annotated = made.annotated.main();
    for (id, node) in annotated.nodes().filter(|(_, node)| matches!(node.op, Op::Identity(_))) {
        let code = annotated
            .quant
            .scheme_of(id, Port::Result(0))
            .and_then(|scheme| scheme.elem()?.int_type());
        if let Some((name, _)) = code.and_then(|code| spec.row_for(node.op.term(), code.into())) {
            found.insert(format!("op {name}: identity on {}", Integer::from(code.unwrap())));
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

/// The type of an operand that is codes.
fn code(graph: &Graph, node: &Node, operand: usize) -> Option<Integer> {
    let value: ValueId = node.inputs.get(operand).copied().flatten()?;
    let elem = graph.value(value)?.ty.elem;
    let codes = !matches!(elem, Elem::I32 | Elem::I64);
    codes.then(|| elem.int_type()).flatten().map(Integer::from)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_row_of_the_tables_in_the_box_fires_in_a_graph() {
    let (rows, bless) = (
        Path::new(env!("CARGO_MANIFEST_DIR")).join("rows"),
        std::env::var_os("STRAIT_BLESS").is_some(),
    );
    let (registry, mut wrong) = (Registry::builtin().unwrap(), Vec::new());
    for (id, entry) in registry.entries() {
        let target = entry.target(&Options::new()).unwrap();
        let mut left = table(target.spec());
        for path in files(&rows.join(id)) {
            let text = std::fs::read_to_string(&path).unwrap();
            let case = read(id, &text);
            let found = match fired(&case, target.spec()) {
                Ok(found) => found,
                Err(error) => {
                    wrong.push(format!("{}: {error}", path.display()));
                    continue;
                }
            };
            let lines: String = found.iter().map(|line| format!("; {line}\n")).collect();
            if lines != case.fires && bless {
                std::fs::write(&path, format!("{}{FIRES}{lines}", case.graph)).unwrap();
            } else if lines != case.fires {
                wrong.push(format!("{} fires other rows:\n{lines}", path.display()));
            }
            left.retain(|row| !found.contains(row));
        }
        wrong.extend(
            left.iter()
                .map(|row| format!("{id}: {row}: no graph in {}", rows.join(id).display())),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
