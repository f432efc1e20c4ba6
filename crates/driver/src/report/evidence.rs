//! On which rows of the target's table the layers of a model rest, and what may be said of the model because of it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display},
};

use serde::{Deserialize, Serialize};
use strait_core::{Graph, Kind, Module, Node, Op, Placement, Term, ValueId};
use strait_requantize::Requantization;
use strait_target::{
    TargetSpec,
    spec::{Evidence, RecipeName, Row, Support},
};

/// Number of layers for each kind of evidence. A layer rests on the weakest of its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceReport {
    /// Claim for the whole model.
    pub claim: String,
    /// Number of layers for each kind of evidence; layers on the host need none.
    pub layers: Counts,
    /// The rows that the layers rest on, the weakest first, then those that most layers rest on.
    pub rows: Vec<Ground>,
}

/// Counts by kind of evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Derived from the reference's definition.
    pub proved: usize,
    /// Compared with the reference.
    pub measured: usize,
    /// Written in the vendor's documentation.
    pub documented: usize,
    /// On at least one assumption.
    pub assumed: usize,
}

impl Counts {
    /// Counts each by its weakest.
    pub(crate) fn of(weakest: impl IntoIterator<Item = Evidence>) -> Counts {
        let mut counts = Counts::default();
        for evidence in weakest {
            *match evidence {
                Evidence::Proved => &mut counts.proved,
                Evidence::Measured => &mut counts.measured,
                Evidence::Documented => &mut counts.documented,
                Evidence::Assumed => &mut counts.assumed,
            } += 1;
        }
        counts
    }
}

impl Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.proved, Evidence::Proved),
            (self.measured, Evidence::Measured),
            (self.documented, Evidence::Documented),
            (self.assumed, Evidence::Assumed),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, evidence)| format!("{count} {evidence}")).collect();
        f.write_str(if counts.is_empty() { "none" } else { "" })?;
        f.write_str(&counts.join(", "))
    }
}

/// A row of the target's table that layers rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ground {
    /// `quantize`, or `accumulator`, `op`, `form` or `fusion` and the row's name.
    pub row: String,
    /// `proved`, `measured`, `documented` or `assumed`.
    pub evidence: String,
    /// Whose bits they are.
    pub oracle: String,
    /// The row's remark.
    pub note: Option<String>,
    /// Number of layers that rest on the row.
    pub layers: usize,
}

/// Claim for a model, or for a table, that rests on these rows.
///
/// This is the one place that says `bit-accurate`, and it does so only where nothing is assumed. Rows that follow
/// another reference than the table's, `oracle`, are named with theirs.
pub fn claim<'a>(oracle: &str, supports: impl IntoIterator<Item = Support<'a>>) -> String {
    let (mut weakest, mut others) = (None, BTreeSet::new());
    for support in supports {
        weakest = weakest.max(Some(support.evidence));
        if support.oracle != oracle {
            others.insert(format!("{} by {}", support.row, support.oracle));
        }
    }
    let others = match Vec::from_iter(others).as_slice() {
        [] => String::new(),
        others => format!("; {}", others.join(", ")),
    };
    match weakest {
        None => "nothing of it runs on the target".to_owned(),
        Some(Evidence::Assumed) => format!("follows {oracle}, in part by assumption{others}"),
        Some(known) => format!("bit-accurate to {oracle} ({known}){others}"),
    }
}

/// The rows that the layers of a model rest on.
pub(super) struct Grounds<'a> {
    spec: &'a TargetSpec,
    integer: &'a Module,
    /// The terms of the ops that the nodes were made from, by the nodes' names.
    origins: &'a BTreeMap<String, Term>,
    /// The lowered graph and its values by their names, where there is one beside the fused graph.
    lowered: Option<(&'a Graph, BTreeMap<&'a str, ValueId>)>,
    /// The fusion rows that fired, by the name of the result.
    fired: &'a BTreeMap<&'a str, &'a str>,
}

impl<'a> Grounds<'a> {
    /// For the main graph of `integer`, whose nodes were made from ops of these terms; `fired` are rows by names of
    /// results.
    pub(super) fn new(
        spec: &'a TargetSpec,
        origins: &'a BTreeMap<String, Term>,
        integer: &'a Module,
        fired: &'a BTreeMap<&'a str, &'a str>,
    ) -> Grounds<'a> {
        let lowered = integer.graphs.first().filter(|_| integer.graphs.len() > 1);
        let named = |graph: &'a Graph| {
            graph
                .values()
                .map(|(id, value)| (integer.name(value.name), id))
                .collect()
        };
        Grounds {
            spec,
            integer,
            origins,
            lowered: lowered.map(|graph| (graph, named(graph))),
            fired,
        }
    }

    /// Evidence for a layer of the main graph, the weakest last; empty for a layer on the host.
    pub(super) fn of(&self, node: &Node) -> Vec<Support<'a>> {
        if matches!(node.op, Op::Quantize(_) | Op::Dequantize(_)) {
            return self.spec.support(Row::Quantize).into_iter().collect();
        }
        if node.place != Placement::Accelerator {
            return Vec::new();
        }
        let chain = self.lowered(node);
        // A clamp that became part of a layer is the business of its fusion row.
        let absorbed = chain.iter().filter_map(|node| self.op_row(node));
        let absorbed = absorbed.filter(|row| !self.is_clamp(row));
        let ops: BTreeSet<&str> = self.op_row(node).into_iter().chain(absorbed).collect();
        let result = node.outputs.first().and_then(|&id| self.integer.main().value(id));
        let fusion = result.and_then(|value| self.fired.get(self.integer.name(value.name)).copied());
        let own: Vec<&Requantization> = form(node).into_iter().collect();
        let forms = match own.as_slice() {
            [] => chain.iter().filter_map(|node| form(node)).collect(),
            _ => own,
        };
        let named = self.forms_of(fusion, &ops);
        let forms = forms.into_iter().filter_map(|form| self.spec.form_name(&named, form));
        let activation = self.spec.types.pairs.first().map(|pair| pair[0]);
        let accumulator = activation.filter(|_| sums(&node.op)).map(Row::Accumulator);
        let rows = accumulator.into_iter().chain(ops.iter().copied().map(Row::Op));
        let rows = rows.chain(forms.map(Row::Form));
        let rows = rows.chain(fusion.map(Row::Fusion));
        let mut supports: Vec<Support<'a>> = rows.filter_map(|row| self.spec.support(row)).collect();
        supports.sort_by_key(|support| (support.evidence, support.row));
        supports.dedup();
        supports
    }

    /// The row of the op that a node was made from.
    fn op_row(&self, node: &Node) -> Option<&'a str> {
        let name = self.integer.name(node.name);
        self.spec.op_row(*self.origins.get(name)?).map(|(name, _)| name)
    }

    fn is_clamp(&self, op: &str) -> bool {
        let recipe = self.spec.op.get(op).and_then(|row| row.recipe);
        recipe == Some(RecipeName::Clamp)
    }

    /// The names of the forms that a fusion accepts; without one, of those that the ops narrow by.
    fn forms_of(&self, fusion: Option<&str>, ops: &BTreeSet<&str>) -> Vec<&'a str> {
        let row = self.spec.fusion.iter().find(|row| Some(row.name.as_str()) == fusion);
        match row {
            Some(row) if row.accept.is_none() => self.spec.form.keys().map(String::as_str).collect(),
            Some(row) => row.accepted().chain(&row.weaken_to).map(|name| name.as_str()).collect(),
            None => ops
                .iter()
                .filter_map(|name| self.spec.op.get(*name))
                .flat_map(|row| row.requantize.iter().chain(&row.inputs))
                .map(|name| name.as_str())
                .collect(),
        }
    }

    /// The nodes of the lowered graph that became part of a layer, which has kept the name of the first of them.
    fn lowered(&self, layer: &Node) -> Vec<&'a Node> {
        let main = self.integer.main();
        let Some((lowered, named)) = &self.lowered else {
            return Vec::new();
        };
        let result = layer.outputs.first().and_then(|&id| main.value(id));
        let mut at = result.and_then(|result| named.get(self.integer.name(result.name)).copied());
        let mut chain = Vec::new();
        while let Some((_, node)) = at.and_then(|value| lowered.producer(value)) {
            chain.push(node);
            at = node
                .inputs
                .first()
                .copied()
                .flatten()
                .filter(|_| node.name != layer.name);
        }
        let whole = chain.last().is_some_and(|first| first.name == layer.name);
        if whole { chain } else { Vec::new() }
    }
}

/// True if an integer op adds up or multiplies, so that it can leave its accumulator.
fn sums(op: &Op) -> bool {
    matches!(op.term().kind(), Kind::Accumulates | Kind::Divides)
}

/// The requantization that a node computes.
pub(crate) fn form(node: &Node) -> Option<&Requantization> {
    match (&node.op, &node.fused) {
        (_, Some(fused)) => Some(&fused.requant),
        (Op::Requantize(op), None) => Some(&op.form),
        _ => None,
    }
}

/// Counts the layers; `oracle` is the table's.
pub(super) fn count(oracle: &str, layers: &[Vec<Support<'_>>]) -> EvidenceReport {
    let weakest = layers
        .iter()
        .filter_map(|layer| layer.iter().map(|support| support.evidence).max());
    let mut rows: BTreeMap<Support<'_>, usize> = BTreeMap::new();
    for support in layers.iter().flatten() {
        *rows.entry(*support).or_default() += 1;
    }
    let mut rows: Vec<(Support<'_>, usize)> = rows.into_iter().collect();
    rows.sort_by_key(|&(support, layers)| (Reverse((support.evidence, layers)), support.row));
    EvidenceReport {
        claim: claim(oracle, rows.iter().map(|&(support, _)| support)),
        layers: Counts::of(weakest),
        rows: rows
            .into_iter()
            .map(|(support, layers)| Ground {
                row: support.row.to_string(),
                evidence: support.evidence.to_string(),
                oracle: support.oracle.to_owned(),
                note: support.note.map(str::to_owned),
                layers,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(row: Row<'static>, evidence: Evidence, oracle: &'static str) -> Support<'static> {
        Support {
            row,
            evidence,
            oracle,
            note: None,
        }
    }

    #[test]
    fn only_what_rests_on_no_assumption_is_called_bit_accurate() {
        let chip = "the chip";
        for known in Evidence::ALL {
            let rows = [Evidence::Proved, *known].map(|evidence| support(Row::Quantize, evidence, chip));
            let said = claim(chip, rows);
            assert_eq!(said.contains("bit-accurate"), *known != Evidence::Assumed, "{said}");
        }
        assert_eq!(
            claim(chip, [support(Row::Quantize, Evidence::Measured, chip)]),
            "bit-accurate to the chip (measured)"
        );
        assert!(!claim(chip, []).contains("bit-accurate"));
    }

    #[test]
    fn a_row_that_follows_another_reference_is_named() {
        let rows = [
            support(Row::Op("conv"), Evidence::Documented, "the chip"),
            support(Row::Op("lookup"), Evidence::Proved, "the rounded function"),
        ];
        assert_eq!(
            claim("the chip", rows),
            "bit-accurate to the chip (documented); op lookup by the rounded function"
        );
    }

    #[test]
    fn layers_count_by_their_weakest_row_and_rows_by_their_layers() {
        let (conv, form) = (
            support(Row::Op("conv"), Evidence::Documented, "c"),
            support(Row::Form("shift"), Evidence::Assumed, "c"),
        );
        let report = count("c", &[vec![conv], vec![conv, form], vec![conv, form], vec![]]);
        assert_eq!(report.layers.to_string(), "1 documented, 2 assumed");
        let rows: Vec<_> = report.rows.iter().map(|row| (row.row.as_str(), row.layers)).collect();
        assert_eq!(rows, [("form shift", 2), ("op conv", 3)]);
    }
}
