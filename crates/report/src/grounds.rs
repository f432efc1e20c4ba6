//! For each layer of a model, finds the rows of the target's table on which the layer rests.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display},
};

use serde::{Deserialize, Serialize};
use strait_core::{Graph, Kind, Module, Node, Op, Placement, ValueId};
use strait_lower::interval::Bounds;
use strait_requantize::{Per, Requantization};
use strait_target::{
    TargetSpec,
    spec::{Evidence, Integer, OpRow, Recipe, Row, Support},
};

/// The rows of the target's table on which a layer rests, with their evidence.
#[derive(Default)]
pub(super) struct Basis<'a> {
    /// The rows on which the layer rests. The row with the weakest evidence is last. The list is empty for a layer on
    /// the host. Some rows only hold under a condition. If the layer meets the condition, the entry here has no
    /// condition; otherwise the entry counts as `documented`.
    pub(super) supports: Vec<Support<'a>>,
    /// The forms whose evidence covers fewer accumulators than the layer can have.
    pub(super) outside: Vec<Outside>,
}

/// A value, and the bounds of all values in the graph that contains this value.
type BoundedValue<'s, 'a> = (&'s RefCell<Bounds<'a>>, ValueId);

/// The lowered graph, from which fusing made the main graph.
struct Lowered<'a> {
    graph: &'a Graph,
    /// The values of this graph, by their names.
    named: BTreeMap<&'a str, ValueId>,
    bounds: RefCell<Bounds<'a>>,
}

/// Finds the rows of the target's table on which the layers of a model rest.
pub(super) struct Grounds<'a> {
    spec: &'a TargetSpec,
    integer: &'a Module,
    /// For each node, by its name: the row of the table with which the node was lowered.
    origins: &'a BTreeMap<String, String>,
    /// The bounds of the values in the main graph. They are kept for all layers, so that each value is analysed only
    /// once.
    bounds: RefCell<Bounds<'a>>,
    /// The lowered graph. `None` if the module only has the main graph.
    lowered: Option<Lowered<'a>>,
    /// For each fused result, by its name: the fusion row that was applied.
    fired: &'a BTreeMap<&'a str, &'a str>,
}

impl<'a> Grounds<'a> {
    /// Prepares to find the rows for layers of the main graph of `integer`. `origins` has the row with which each node
    /// was lowered, and `fired` has the fusion row that made each fused result.
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

    /// Returns the rows on which a layer of the main graph rests. Also returns those forms of the layer whose evidence
    /// does not cover all accumulators that the layer can have.
    pub(super) fn of(&self, node: &Node) -> Basis<'a> {
        if matches!(node.op, Op::Quantize(_) | Op::Dequantize(_)) {
            // In a weight-only product, weights are dequantized for a product of real numbers. Dequantizing them is
            // part of the product's row.
            let weights = self.op_row(node);
            let weights = weights.filter(|row| self.spec.op.get(*row).is_some_and(OpRow::is_weight_only));
            let constant = node.inputs.first().copied().flatten();
            let constant = constant.is_some_and(|value| self.integer.main().data_of(value).is_some());
            if constant && weights.is_none() {
                // These are the weights of a layer on the host, which needs no evidence.
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
        // If a clamp was fused into the layer, the fusion row also covers the clamp, so the clamp's own row is left
        // out.
        let absorbed = chain.iter().filter_map(|node| self.op_row(node));
        let absorbed = absorbed.filter(|row| !self.is_clamp(row));
        let ops: BTreeSet<&str> = self.op_row(node).into_iter().chain(absorbed).collect();
        let result = node.outputs.first().and_then(|&id| self.integer.main().value(id));
        let fusion = result.and_then(|value| self.fired.get(self.integer.name(value.name)).copied());
        let read = |node: &Node| node.inputs.first().copied().flatten();
        let forms: Vec<(&Requantization, Option<BoundedValue<'_, 'a>>)> = match node.requantization() {
            Some(own) if node.fused.is_some() => {
                // If another tensor is added to the layer's accumulators, the sum of both is requantized, and not the
                // accumulators alone.
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

    /// Checks whether all accumulators of the layer are among those for which a form was shown to be right. If not, the
    /// evidence of the form is lowered to `documented`, and the form is added to `outside`.
    fn discharged(
        &self,
        support: Support<'a>,
        accumulators: Option<BoundedValue<'_, 'a>>,
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

    /// The bounds of the values in the lowered graph; `None` if the module only has the main graph.
    fn lowered_bounds(&self) -> Option<&RefCell<Bounds<'a>>> {
        self.lowered.as_ref().map(|lowered| &lowered.bounds)
    }

    /// The row of the table for the op from which a node was lowered.
    fn op_row(&self, node: &Node) -> Option<&'a str> {
        let name = self.integer.name(node.name);
        self.origins.get(name).map(String::as_str)
    }

    fn is_clamp(&self, op: &str) -> bool {
        let recipe = self.spec.op.get(op).and_then(|row| row.recipe);
        recipe == Some(Recipe::Clamp)
    }

    /// If another tensor is added to the layer's accumulators, returns the form that requantizes the codes of this
    /// tensor to the grid of the accumulators. Also returns the value that this form requantizes in the lowered graph.
    /// Returns `None` if no tensor is added.
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

    /// Returns the names of the forms that a layer may use. For a fused layer, these are the forms that the fusion row
    /// accepts, and for any other layer the forms with which the rows of its ops requantize. In both cases, the forms
    /// that requantize codes to be added to accumulators are included.
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

    /// Returns the nodes of the lowered graph that became part of a fused layer, from the last to the first. The layer
    /// has the name of the first of these nodes in the lowered graph.
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
            // If another tensor is added to the layer's accumulators, continue with the operand that the layer itself
            // computes.
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

/// Returns a row with its evidence for a layer whose first operand has `rank` axes. If the row was only shown to be
/// right for other numbers of axes, it counts as `documented`.
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

/// True if an integer op computes sums or products, so that its accumulator could overflow.
fn sums(op: &Op) -> bool {
    matches!(op.term().kind(), Kind::Accumulates | Kind::Divides)
}

/// A form whose evidence covers fewer accumulators than its layer can have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Outside {
    /// The row of the form in the target's table.
    pub row: String,
    /// Smallest and largest accumulator for which the form was shown to equal its reference.
    pub shown_on: [i64; 2],
    /// Smallest and largest accumulator that the layer can have.
    pub accumulators: [i64; 2],
    /// How far the layer's accumulators can lie outside of `shown_on`, at most.
    pub past: u64,
}

impl Outside {
    /// Compares the accumulators of a layer with those in `shown_on`; `None` if all of them are within `shown_on`.
    pub(crate) fn of(row: Row<'_>, shown_on: [i64; 2], accumulators: [i64; 2]) -> Option<Outside> {
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
