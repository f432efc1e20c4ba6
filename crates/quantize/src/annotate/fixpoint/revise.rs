//! Revision: annotates a graph again with other settings, but only the parts that the new settings affect.

use super::turns::{Fixpoint, GraphAnalyses};
use crate::annotate::analyses::Reach;
use crate::annotate::settings::{Annotation, LayerSettings, OperandSettings, ValueSettings};
use std::collections::BTreeMap;
use strait_core::{Graph, GraphId, Module, NodeId, Placement, ValueId};

impl Fixpoint {
    /// Continues from an earlier annotation with other settings. The graph was annotated with the settings `before`,
    /// and has now been placed with the settings `after`. This fixpoint belongs to `after`. Both settings must be for
    /// the same target and for statistics of the same samples, and no node may have been refused in the earlier
    /// annotation. `module` must have all tensors of `annotated`, and the same main graph except for where nodes run.
    /// The next [`annotate`](super::annotate()) annotates three kinds of regions again: regions in which settings
    /// differ, regions around nodes that moved between accelerator and host, and regions of values for which another
    /// interval matters than before (`reach.rs`). If that call refuses no node either, the result is the same as
    /// annotating the whole graph.
    pub fn revise(
        &mut self,
        (module, graph): (&mut Module, GraphId),
        (annotated, kept): (&Module, &Fixpoint),
        [before, after]: [&Annotation<'_>; 2],
    ) {
        let (Some(g), Some(was)) = (module.graph(graph), annotated.graph(graph)) else {
            return;
        };
        let (Some(analyses), Some((order, _))) = (&kept.analyses, &self.settled) else {
            // Nothing was annotated before.
            return;
        };
        let reach = Reach::new(module, g, &order.nodes, after);
        let mut values: Vec<ValueId> = match before.settings.default == after.settings.default {
            true => differing(g, before, after),
            false => g.values().map(|(id, _)| id).collect(),
        };
        values.extend(reach.differing(&analyses.reach));
        let runs = |graph: &Graph, id: NodeId| graph.node(id).map(|node| node.place == Placement::Accelerator);
        let moved = g.nodes().filter(|&(id, _)| runs(was, id) != runs(g, id));
        values.extend(moved.flat_map(|(id, _)| of_node(g, id)));
        let mut regions = analyses.regions.clone();
        let values = regions.of(values);
        self.draft = kept.draft.clone();
        for &value in &values {
            self.draft.ranges.forget(value);
        }
        self.touched.extend(values);
        self.analyses = Some(GraphAnalyses { reach, regions });
        let table = was.quant.clone();
        module.graphs[graph.index()].quant = table;
    }
}

/// The operands and results of a node.
fn of_node(graph: &Graph, id: NodeId) -> impl Iterator<Item = ValueId> {
    let node = graph.node(id).into_iter();
    node.flat_map(|node| node.inputs.iter().flatten().chain(&node.outputs).copied())
}

/// The keys whose entries in two maps differ. A key that is in only one of the maps is included.
fn apart<K: Ord + Copy, V>([before, after]: [&BTreeMap<K, V>; 2], alike: impl Fn(&V, &V) -> bool) -> Vec<K> {
    let gone = before.keys().filter(|key| !after.contains_key(key));
    let same = |key, value| before.get(key).is_some_and(|before| alike(before, value));
    let other = after.iter().filter(|(key, value)| !same(key, value));
    gone.chain(other.map(|(key, _)| key)).copied().collect()
}

/// Returns the values whose settings differ, and all values of nodes whose settings differ. Settings that are equal but
/// come from different rules do not differ.
fn differing(graph: &Graph, before: &Annotation<'_>, after: &Annotation<'_>) -> Vec<ValueId> {
    let (settings, constraints) = (
        [before.settings, after.settings],
        [before.constraints, after.constraints],
    );
    let layers = apart(settings.map(|of| &of.layers), |one, other| {
        let rules = other.rules.clone();
        LayerSettings { rules, ..one.clone() } == *other
    });
    let of_values = apart(settings.map(|of| &of.values), |one, other| {
        let rules = other.rules.clone();
        ValueSettings { rules, ..one.clone() } == *other
    });
    let operands = apart(settings.map(|of| &of.operands), |one, other| {
        let rules = other.rules.clone();
        OperandSettings { rules, ..one.clone() } == *other
    });
    let given = apart(constraints.map(|of| &of.given), PartialEq::eq);
    let nodes = (layers.into_iter())
        .chain(apart(constraints.map(|of| &of.nodes), PartialEq::eq))
        .chain(apart([&before.wider, &after.wider], PartialEq::eq))
        .chain(operands.into_iter().map(|(node, _)| node))
        .chain(given.iter().map(|&(node, _)| node));
    let of_border = given.iter().filter_map(|&(node, port)| graph.value_at(node, port));
    (of_values.into_iter())
        .chain(apart(constraints.map(|of| &of.values), PartialEq::eq))
        .chain(of_border)
        .chain(nodes.flat_map(|id| of_node(graph, id)))
        .collect()
}
