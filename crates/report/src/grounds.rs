//! On which rows of the target's table the layers of a model rest.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use strait_core::{Graph, Kind, Module, Node, Op, Placement, ValueId};
use strait_lower::interval::Bounds;
use strait_requantize::{Per, Requantization};
use strait_target::{
    TargetSpec,
    spec::{Evidence, Integer, OpRow, RecipeName, Row, Support},
};

use crate::evidence::Outside;

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
type BoundedValue<'s, 'a> = (&'s RefCell<Bounds<'a>>, ValueId);

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
        let forms: Vec<(&Requantization, Option<BoundedValue<'_, 'a>>)> = match node.requantization() {
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
