//! On which rows of the target's table the layers of a model rest, and what may be said of the model because of it.

use std::{
    cell::RefCell,
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display},
};

use serde::{Deserialize, Serialize};
use strait_core::{Graph, Kind, Module, Node, Op, Placement, ValueId};
use strait_lower::interval::Bounds;
use strait_requantize::{Per, Requantization};
use strait_target::{
    TargetSpec,
    spec::{Evidence, Integer, OpRow, RecipeName, Row, Support},
};

/// Number of layers for each kind of evidence. A layer rests on the weakest of its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    pub fn of(weakest: impl IntoIterator<Item = Evidence>) -> Counts {
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// A form of a layer that was shown to equal its reference on fewer accumulators than the layer can have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Outside {
    /// The row of the form.
    pub row: String,
    /// The smallest and the largest accumulator on which it was shown.
    pub shown_on: [i64; 2],
    /// The smallest and the largest accumulator that the layer can have.
    pub accumulators: [i64; 2],
    /// Largest distance by which these reach past those.
    pub past: u64,
}

impl Outside {
    /// `None` where all accumulators are among those of `shown_on`.
    fn of(row: Row<'_>, shown_on: [i64; 2], accumulators: [i64; 2]) -> Option<Outside> {
        let [below, above] = [
            shown_on[0].saturating_sub(accumulators[0]),
            accumulators[1].saturating_sub(shown_on[1]),
        ];
        let past = below.max(above);
        (past > 0).then(|| Outside {
            row: row.to_string(),
            shown_on,
            accumulators,
            past: past.unsigned_abs(),
        })
    }
}

impl Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([low, high], [least, most]) = (self.accumulators, self.shown_on);
        write!(
            f,
            "accumulators reach [{low}, {high}], {} past [{least}, {most}], on which {} was shown to be right",
            self.past, self.row
        )
    }
}

/// Claim for a model, or for a table, that rests on these rows.
///
/// This is the one place that says `bit-accurate`, and it does so only where everything is measured or proved, and under no
/// condition. Rows that follow another reference than the table's, `oracle`, are named with theirs.
pub fn claim<'a>(oracle: &str, supports: impl IntoIterator<Item = Support<'a>>) -> String {
    let (mut weakest, mut others, mut conditions) = (None, BTreeSet::new(), String::new());
    for support in supports {
        weakest = weakest.max(Some(support.evidence));
        if support.oracle != oracle {
            others.insert(format!("{} by {}", support.row, support.oracle));
        }
        if let Some([low, high]) = support.holds {
            conditions += &format!(", {} on accumulators in [{low}, {high}] alone", support.row);
        }
        if !support.ranks.is_empty() {
            let ranks: Vec<String> = support.ranks.iter().map(u8::to_string).collect();
            conditions += &format!(", {} of rank {} alone", support.row, ranks.join(" or "));
        }
    }
    let others = match Vec::from_iter(others).as_slice() {
        [] => String::new(),
        others => format!("; {}", others.join(", ")),
    };
    match weakest {
        None => "nothing of it runs on the target".to_owned(),
        Some(Evidence::Assumed) => format!("follows {oracle}, in part by assumption{others}"),
        Some(Evidence::Documented) => format!("follows {oracle} as documented{others}"),
        Some(known) if conditions.is_empty() => format!("bit-accurate to {oracle} ({known}){others}"),
        Some(known) => format!("follows {oracle} ({known}){conditions}{others}"),
    }
}

/// Evidence that a layer rests on.
#[derive(Default)]
pub(super) struct Basis<'a> {
    /// The rows, the weakest last; none for a layer on the host. What a row holds of is left out where all of the layer is
    /// among that, and a row is `documented` where it is not.
    pub(super) supports: Vec<Support<'a>>,
    /// The forms that were shown to be right on fewer accumulators.
    pub(super) outside: Vec<Outside>,
}

/// A value, and the bounds of the graph that it is in.
type Place<'s, 'a> = (&'s RefCell<Bounds<'a>>, ValueId);

/// The graph before the fusions.
struct Lowered<'a> {
    graph: &'a Graph,
    /// Its values by their names.
    named: BTreeMap<&'a str, ValueId>,
    bounds: RefCell<Bounds<'a>>,
}

/// The rows that the layers of a model rest on.
pub(super) struct Grounds<'a> {
    spec: &'a TargetSpec,
    integer: &'a Module,
    /// The rows of the table by which the nodes were made, by the nodes' names.
    origins: &'a BTreeMap<String, String>,
    /// Bounds of the main graph, kept from layer to layer: each value is looked at once.
    bounds: RefCell<Bounds<'a>>,
    /// The lowered graph, where there is one beside the fused graph.
    lowered: Option<Lowered<'a>>,
    /// The fusion rows that fired, by the name of the result.
    fired: &'a BTreeMap<&'a str, &'a str>,
}

impl<'a> Grounds<'a> {
    /// For the main graph of `integer`, whose nodes were made by these rows; `fired` are rows by names of
    /// results.
    pub(super) fn new(
        spec: &'a TargetSpec,
        origins: &'a BTreeMap<String, String>,
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
            bounds: RefCell::new(Bounds::new(integer, integer.main())),
            lowered: lowered.map(|graph| Lowered {
                graph,
                named: named(graph),
                bounds: RefCell::new(Bounds::new(integer, graph)),
            }),
            fired,
        }
    }

    /// Rows that a layer of the main graph rests on, and its accumulators.
    pub(super) fn of(&self, node: &Node) -> Basis<'a> {
        if matches!(node.op, Op::Quantize(_) | Op::Dequantize(_)) {
            // Weights in front of a product of real numbers are its row's business.
            let weights = self.op_row(node);
            let weights = weights.filter(|row| self.spec.op.get(*row).is_some_and(OpRow::is_weight_only));
            let constant = node.inputs.first().copied().flatten();
            let constant = constant.is_some_and(|value| self.integer.main().data_of(value).is_some());
            if constant && weights.is_none() {
                // Those of a layer on the host.
                return Basis::default();
            }
            return Basis {
                supports: self
                    .spec
                    .support(weights.map_or(Row::Quantize, Row::Op))
                    .into_iter()
                    .collect(),
                outside: Vec::new(),
            };
        }
        if node.place != Placement::Accelerator {
            return Basis::default();
        }
        let chain = self.lowered(node);
        // A clamp that became part of a layer is the business of its fusion row.
        let absorbed = chain.iter().filter_map(|node| self.op_row(node));
        let absorbed = absorbed.filter(|row| !self.is_clamp(row));
        let ops: BTreeSet<&str> = self.op_row(node).into_iter().chain(absorbed).collect();
        let result = node.outputs.first().and_then(|&id| self.integer.main().value(id));
        let fusion = result.and_then(|value| self.fired.get(self.integer.name(value.name)).copied());
        let read = |node: &Node| node.inputs.first().copied().flatten();
        let forms: Vec<(&Requantization, Option<Place<'_, 'a>>)> = match node.requantization() {
            Some(own) if node.fused.is_some() => {
                // With something added inside it, what is requantized is the sum.
                let sums = chain
                    .iter()
                    .find(|step| matches!(step.op, Op::Add(_)) && node.addend().is_some());
                let first = sums.or(chain.last()).and_then(|first| first.outputs.first().copied());
                let added = self.added(node, sums.copied());
                let added = added.map(|(form, codes)| (form, self.lowered_bounds().zip(Some(codes))));
                std::iter::once((own, self.lowered_bounds().zip(first)))
                    .chain(added)
                    .collect()
            }
            Some(own) => vec![(own, read(node).map(|value| (&self.bounds, value)))],
            None => (chain.iter())
                .filter_map(|step| Some((step.requantization()?, self.lowered_bounds().zip(read(step)))))
                .collect(),
        };
        let named = self.forms_of(fusion, &ops);
        let mut outside = Vec::new();
        let forms = forms.into_iter().filter_map(|(form, accumulators)| {
            let support = self.spec.support(Row::Form(self.spec.form_name(&named, form)?))?;
            Some(self.discharged(support, accumulators, &mut outside))
        });
        let forms: Vec<Support<'a>> = forms.collect();
        let read = read(node).and_then(|value| self.integer.main().value(value)?.ty.elem.int_type());
        let activation = read.map(Integer::from);
        let accumulator = activation.filter(|_| sums(&node.op)).map(Row::Accumulator);
        let rows = accumulator.into_iter().chain(ops.iter().copied().map(Row::Op));
        let rows = rows.chain(fusion.map(Row::Fusion));
        let rank = node.inputs.first().copied().flatten();
        let rank = rank
            .and_then(|value| self.integer.main().value(value))
            .map(|value| value.ty.shape.len());
        let rows = rows
            .filter_map(|row| self.spec.support(row))
            .map(|support| of_rank(support, rank));
        let mut supports: Vec<Support<'a>> = rows.chain(forms).collect();
        supports.sort_by_key(|support| (support.evidence, support.row));
        supports.dedup();
        Basis { supports, outside }
    }

    /// A form's support, held against the accumulators that can occur. A row that was shown to be right on fewer is
    /// documented, and not more.
    fn discharged(
        &self,
        support: Support<'a>,
        accumulators: Option<Place<'_, 'a>>,
        outside: &mut Vec<Outside>,
    ) -> Support<'a> {
        let Some(shown_on) = support.holds else { return support };
        let found = accumulators.and_then(|(bounds, value)| bounds.borrow_mut().of(value));
        let found = found.unwrap_or(Per::Tensor((i32::MIN.into(), i32::MAX.into())));
        let ends = |pick: fn(&(i64, i64)) -> i64| found.values().iter().map(pick);
        let reach = [ends(|i| i.0).min().unwrap_or(0), ends(|i| i.1).max().unwrap_or(0)];
        let past = Outside::of(support.row, shown_on, reach);
        let evidence = match &past {
            Some(_) => support.evidence.max(Evidence::Documented),
            None => support.evidence,
        };
        outside.extend(past);
        Support {
            evidence,
            holds: None,
            ..support
        }
    }

    /// The bounds of the graph before the fusions, where it is beside the main one.
    fn lowered_bounds(&self) -> Option<&RefCell<Bounds<'a>>> {
        self.lowered.as_ref().map(|lowered| &lowered.bounds)
    }

    /// The row of the op that a node was made from.
    fn op_row(&self, node: &Node) -> Option<&'a str> {
        let name = self.integer.name(node.name);
        self.origins.get(name).map(String::as_str)
    }

    fn is_clamp(&self, op: &str) -> bool {
        let recipe = self.spec.op.get(op).and_then(|row| row.recipe);
        recipe == Some(RecipeName::Clamp)
    }

    /// The form that brings codes onto the grid of a layer's accumulator, and what it requantizes in the lowered graph.
    fn added<'n>(&self, layer: &'n Node, sum: Option<&Node>) -> Option<(&'n Requantization, ValueId)> {
        let (addend, _) = layer.addend()?;
        let lowered = self.lowered.as_ref()?.graph;
        let makers = sum?
            .inputs
            .iter()
            .flatten()
            .filter_map(|&value| lowered.producer(value));
        let mut brings = makers.filter(|(_, node)| node.requantization() == Some(&addend.form));
        Some((
            &addend.form,
            brings.find_map(|(_, node)| node.inputs.first().copied().flatten())?,
        ))
    }

    /// The names of the forms that a fusion accepts, and of those that bring codes into an accumulator; without one, of those that the ops narrow by.
    fn forms_of(&self, fusion: Option<&str>, ops: &BTreeSet<&str>) -> Vec<&'a str> {
        let row = self.spec.fusion.iter().find(|row| Some(row.name.as_str()) == fusion);
        let added = ops.iter().filter_map(|name| self.spec.op.get(*name));
        let added = added.flat_map(|row| row.in_accumulator.iter().map(String::as_str));
        let own: Vec<&str> = match row {
            Some(row) if row.accept.is_none() => self.spec.form.keys().map(String::as_str).collect(),
            Some(row) => row.accepted().chain(&row.weaken_to).map(String::as_str).collect(),
            None => ops
                .iter()
                .filter_map(|name| self.spec.op.get(*name))
                .flat_map(|row| row.requantize.iter().chain(&row.inputs))
                .map(String::as_str)
                .collect(),
        };
        own.into_iter().chain(added).collect()
    }

    /// The nodes of the lowered graph that became part of a layer, which has kept the name of the first of them.
    fn lowered(&self, layer: &Node) -> Vec<&'a Node> {
        let main = self.integer.main();
        let Some(Lowered {
            graph: lowered, named, ..
        }) = &self.lowered
        else {
            return Vec::new();
        };
        let result = layer.outputs.first().and_then(|&id| main.value(id));
        let mut at = result.and_then(|result| named.get(self.integer.name(result.name)).copied());
        let mut chain = Vec::new();
        while let Some((_, node)) = at.and_then(|value| lowered.producer(value)) {
            chain.push(node);
            let is_layer =
                |&&value: &&ValueId| lowered.producer(value).is_some_and(|(_, node)| node.name == layer.name);
            // Of a sum that the layer forms inside its accumulator, the operand that is its own.
            let own = node
                .inputs
                .iter()
                .flatten()
                .find(is_layer)
                .filter(|_| layer.addend().is_some());
            at = own
                .copied()
                .or(node.inputs.first().copied().flatten())
                .filter(|_| node.name != layer.name);
        }
        let whole = chain.last().is_some_and(|first| first.name == layer.name);
        if whole { chain } else { Vec::new() }
    }
}

/// The support of a layer whose first operand has so many axes: a row that was shown to be right with others is documented,
/// and not more.
fn of_rank(support: Support<'_>, rank: Option<usize>) -> Support<'_> {
    let shown = support.ranks.is_empty() || support.ranks.iter().any(|&shown| Some(usize::from(shown)) == rank);
    Support {
        evidence: match shown {
            true => support.evidence,
            false => support.evidence.max(Evidence::Documented),
        },
        ranks: &[],
        ..support
    }
}

/// True if an integer op adds up or multiplies, so that it can leave its accumulator.
fn sums(op: &Op) -> bool {
    matches!(op.term().kind(), Kind::Accumulates | Kind::Divides)
}

/// Counts the layers; `oracle` is the table's.
pub(super) fn count(oracle: &str, layers: &[Basis<'_>]) -> EvidenceReport {
    let weakest = layers
        .iter()
        .filter_map(|layer| layer.supports.iter().map(|support| support.evidence).max());
    let mut rows: BTreeMap<Support<'_>, usize> = BTreeMap::new();
    for support in layers.iter().flat_map(|layer| &layer.supports) {
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
            holds: None,
            ranks: &[],
            note: None,
        }
    }

    #[test]
    fn only_what_is_measured_or_proved_is_called_bit_accurate() {
        let chip = "the chip";
        for known in Evidence::ALL {
            let rows = [Evidence::Proved, *known].map(|evidence| support(Row::Quantize, evidence, chip));
            let said = claim(chip, rows);
            let shown = matches!(known, Evidence::Proved | Evidence::Measured);
            assert_eq!(said.contains("bit-accurate"), shown, "{said}");
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
            "follows the chip as documented; op lookup by the rounded function"
        );
    }

    #[test]
    fn a_condition_that_nothing_discharges_is_part_of_the_claim() {
        let form = Support {
            holds: Some([-9, 9]),
            ..support(Row::Form("once"), Evidence::Measured, "the chip")
        };
        assert_eq!(
            claim("the chip", [form]),
            "follows the chip (measured), form once on accumulators in [-9, 9] alone"
        );
    }

    #[test]
    fn accumulators_are_outside_from_the_first_one_past_an_end() {
        let past = |accumulators| Outside::of(Row::Form("once"), [-9, 9], accumulators).map(|outside| outside.past);
        assert_eq!(
            [[-9, 9], [0, 10], [-11, 4], [-12, 10]].map(past),
            [None, Some(1), Some(2), Some(3)]
        );
        assert_eq!(past([i64::MIN, i64::MAX]), Some(i64::MAX.unsigned_abs() - 8));
    }

    #[test]
    fn layers_count_by_their_weakest_row_and_rows_by_their_layers() {
        let (conv, form) = (
            support(Row::Op("conv"), Evidence::Documented, "c"),
            support(Row::Form("shift"), Evidence::Assumed, "c"),
        );
        let basis = |supports| Basis {
            supports,
            outside: Vec::new(),
        };
        let layers = [vec![conv], vec![conv, form], vec![conv, form], vec![]].map(basis);
        let report = count("c", &layers);
        assert_eq!(report.layers.to_string(), "1 documented, 2 assumed");
        let rows: Vec<_> = report.rows.iter().map(|row| (row.row.as_str(), row.layers)).collect();
        assert_eq!(rows, [("form shift", 2), ("op conv", 3)]);
    }
}
