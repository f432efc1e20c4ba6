//! Revision: other directives for a graph that is annotated, of which only what they touch is annotated again.

use super::progress::Progress;
use super::reach::Reach;
use super::{Annotation, Directives};
use std::collections::BTreeMap;
use strait_core::{Graph, GraphId, Module, NodeId, ValueId};

impl Progress {
    /// Takes over that directives, types or defaults have changed since the graph was annotated, from `before` to `after`: of
    /// the same target, statistics and placing. The next [`annotate`](super::annotate()), by `after`, makes anew the regions
    /// of what differs, and of values of which something else matters now; the result is what annotating the whole graph
    /// would make. Nodes stay where they run, so types that single nodes are to have are among those of their rows. Grids
    /// that had to be coarser in these regions may be as fine as their ranges ask for again.
    pub fn revise(&mut self, module: &Module, graph: GraphId, before: &Annotation<'_>, after: &Annotation<'_>) {
        let (Some(known), Some((order, _)), Some(g)) = (&mut self.known, &self.settled, module.graph(graph)) else {
            // Nothing is annotated yet.
            return;
        };
        let reach = Reach::new(module, g, &order.nodes, after.observation, &after.directives);
        let mut values: Vec<ValueId> = match defaults(before) == defaults(after) {
            true => differing(g, before, after),
            false => g.values().map(|(id, _)| id).collect(),
        };
        values.extend(reach.differing(&known.reach));
        known.reach = reach;
        let values = known.regions.of(values);
        for &value in &values {
            self.draft.ranges.forget(value);
            let (made, read) = (g.producer(value).map(|(id, _)| id), g.uses(value).map(|at| at.node));
            for node in made.into_iter().chain(read) {
                self.draft.plain.remove(&node);
            }
        }
        self.touched.extend(values);
        // Which neighbours a node needs depends on types.
        if before.types != after.types {
            self.settled = None;
        }
    }
}

/// All that is said of a whole graph.
fn defaults<'a>(how: &'a Annotation<'_>) -> impl PartialEq + use<'a> {
    let (types, directives) = (&how.types, &how.directives);
    (
        (&how.observer, how.weight_per, how.weight_block, how.alignments),
        (
            types.activation,
            types.weight,
            types.grids.activation,
            types.grids.weight,
        ),
        (&directives.weight_observer, directives.weight_unfit),
    )
}

/// The values of which something else is said, and all of a node of which something else is said.
fn differing(graph: &Graph, before: &Annotation<'_>, after: &Annotation<'_>) -> Vec<ValueId> {
    fn apart<'a, K: Ord + Copy, V: PartialEq>(
        [before, after]: [&'a BTreeMap<K, V>; 2],
    ) -> impl Iterator<Item = K> + use<'a, K, V> {
        let gone = before.keys().filter(|key| !after.contains_key(key));
        let other = after.iter().filter(|(key, value)| before.get(key) != Some(value));
        gone.chain(other.map(|(key, _)| key)).copied()
    }
    let said: [&Directives; 2] = [&before.directives, &after.directives];
    let types = [&before.types, &after.types];
    let grids = types.map(|types| &types.grids);
    let operands = apart(said.map(|of| &of.operands)).chain(apart(grids.map(|of| &of.operands)));
    let given: Vec<_> = apart(said.map(|of| &of.given)).collect();
    let nodes = (apart(said.map(|of| &of.weight_per)))
        .chain(apart(said.map(|of| &of.weight_block)))
        .chain(apart(said.map(|of| &of.weight_observers)))
        .chain(apart(said.map(|of| &of.weights_unfit)))
        .chain(apart(said.map(|of| &of.alignments)))
        .chain(apart(said.map(|of| &of.simplify)))
        .chain(apart(types.map(|of| &of.activations)))
        .chain(apart(types.map(|of| &of.weights)))
        .chain(types[0].plain.symmetric_difference(&types[1].plain).copied())
        .chain(apart(grids.map(|of| &of.activations)))
        .chain(apart(grids.map(|of| &of.weights)))
        .chain(operands.map(|(node, _)| node))
        .chain(given.iter().map(|&(node, _)| node));
    let of_node = |id: NodeId| {
        let node = graph.node(id).into_iter();
        node.flat_map(|node| node.inputs.iter().flatten().chain(&node.outputs).copied())
    };
    let of_border = given.iter().filter_map(|&(node, port)| graph.value_at(node, port));
    apart(said.map(|of| &of.ranges))
        .chain(apart(types.map(|of| &of.values)))
        .chain(apart(grids.map(|of| &of.values)))
        .chain(of_border)
        .chain(nodes.flat_map(of_node))
        .collect()
}
