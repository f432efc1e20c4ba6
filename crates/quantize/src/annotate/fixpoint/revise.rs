//! Revision: other settings for a graph that is annotated, of which only what they touch is annotated again.

use super::progress::Progress;
use crate::annotate::analyses::Reach;
use crate::annotate::placing::Settled;
use crate::annotate::settings::Annotation;
use std::collections::BTreeMap;
use strait_core::{Graph, GraphId, Module, NodeId, ValueId};

impl Progress {
    /// Takes over that settings or constraints have changed since the graph was annotated, from `before` to `after`: of
    /// the same target, statistics and placing. The next [`annotate`](super::annotate()), by `after`, makes anew the regions
    /// of what differs, and of values of which something else matters now; the result is what annotating the whole graph
    /// would make. Nodes stay where they run, so types that single nodes are to have are among those of their rows. Grids
    /// that had to be coarser in these regions may be as fine as their ranges ask for again.
    pub fn revise(&mut self, module: &Module, graph: GraphId, before: &Annotation<'_>, after: &Annotation<'_>) {
        let (Some(known), Some((order, settled)), Some(g)) = (&mut self.known, &mut self.settled, module.graph(graph))
        else {
            // Nothing is annotated yet.
            return;
        };
        let reach = Reach::new(module, g, &order.nodes, after);
        let mut values: Vec<ValueId> = match before.settings.default == after.settings.default {
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
        *settled = Settled::new(g, order);
    }
}

/// The values of which something else is said, and all of a node of which something else is said.
fn differing(graph: &Graph, before: &Annotation<'_>, after: &Annotation<'_>) -> Vec<ValueId> {
    fn apart<K: Ord + Copy, V: PartialEq>([before, after]: [&BTreeMap<K, V>; 2]) -> Vec<K> {
        let gone = before.keys().filter(|key| !after.contains_key(key));
        let other = after.iter().filter(|(key, value)| before.get(key) != Some(value));
        gone.chain(other.map(|(key, _)| key)).copied().collect()
    }
    let (settings, constraints) = (
        [before.settings, after.settings],
        [before.constraints, after.constraints],
    );
    let given = apart(constraints.map(|of| &of.given));
    let operands = apart(settings.map(|of| &of.operands)).into_iter();
    let nodes = (apart(settings.map(|of| &of.layers)).into_iter())
        .chain(apart(constraints.map(|of| &of.nodes)))
        .chain(apart([&before.wider, &after.wider]))
        .chain(operands.map(|(node, _)| node))
        .chain(given.iter().map(|&(node, _)| node));
    let of_node = |id: NodeId| {
        let node = graph.node(id).into_iter();
        node.flat_map(|node| node.inputs.iter().flatten().chain(&node.outputs).copied())
    };
    let of_border = given.iter().filter_map(|&(node, port)| graph.value_at(node, port));
    (apart(settings.map(|of| &of.values)).into_iter())
        .chain(apart(constraints.map(|of| &of.values)))
        .chain(of_border)
        .chain(nodes.flat_map(of_node))
        .collect()
}
