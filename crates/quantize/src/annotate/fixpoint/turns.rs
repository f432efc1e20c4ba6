//! The state of annotation between turns, and what has to be annotated again after a refusal.

use crate::annotate::analyses::{Order, Reach, Regions, Scope};
use crate::annotate::findings::{Findings, heard, rule_ranges};
use crate::annotate::passes;
use crate::annotate::placing::Settled;
use crate::annotate::settings::{AnnotateError, Annotation};
use crate::annotate::state::{Draft, PassContext, is_given};
use std::collections::BTreeMap;
use strait_core::{
    Graph, GraphId, Module, NodeId, Placement, Port, QuantTable, Reason, ReasonCode, Refusal, Stage, ValueId,
};

/// How far the annotation of one graph under one [`Annotation`] has come: the configs, the ranges that observers have
/// made, the grids that had to become coarser, and what refusals have affected since.
#[derive(Clone, Debug, Default)]
pub struct Fixpoint {
    pub(crate) settled: Option<(Order, Settled)>,
    pub(crate) analyses: Option<GraphAnalyses>,
    pub(crate) draft: Draft,
    /// Values of nodes that have moved to the host, and values whose grids have to become coarser.
    pub(crate) touched: Vec<ValueId>,
    /// The number of nodes that the last turn looked at.
    visited: usize,
    /// The number of nodes that were refused so far.
    refusals: usize,
}

/// What is known about the graph. Where nodes run does not change which part of a value matters.
#[derive(Clone, Debug)]
pub(crate) struct GraphAnalyses {
    pub(crate) reach: Reach,
    pub(crate) regions: Regions,
}

impl GraphAnalyses {
    /// The scope of the regions of these values, after they were bound again. A revision may bind them to further
    /// values, which then belong to the scope too.
    fn scope(&mut self, graph: &Graph, how: &Annotation<'_>, order: &Order, touched: Vec<ValueId>) -> Scope {
        let mut values = self.regions.of(touched);
        loop {
            let scope = Scope::new(graph, order, values);
            self.regions.renew(graph, how, &scope);
            values = self.regions.of(scope.values.iter().copied());
            if values.len() == scope.values.len() {
                return scope;
            }
        }
    }
}

impl Fixpoint {
    /// The findings in the annotated main graph of a module. Grids that look bad by themselves are included only if
    /// they affect an output.
    pub fn findings(&self, module: &Module, how: &Annotation<'_>) -> Findings {
        let (graph, draft) = (module.main(), &self.draft);
        let has_codes = |id: NodeId| graph.quant.id(id, Port::Operand(1)).is_some();
        let overlapped = draft.overlapped.values().filter(|found| !found.readers.is_empty());
        let raised = draft.raised.iter().filter(|&(&id, _)| has_codes(id));
        let reach = self.analyses.as_ref().map(|analyses| &analyses.reach);
        let mut findings = Findings {
            coarser: draft.coarser(graph),
            overlapped: overlapped.cloned().collect(),
            raised: raised.map(|(_, raised)| raised.clone()).collect(),
            rule_ranges: reach.map_or_else(Vec::new, |reach| rule_ranges(module, how, reach)),
            ..Findings::default()
        };
        heard(module, how, &mut findings);
        findings
    }

    /// The values whose given grid a node does not support, so that it was moved to the host, with that node and the
    /// reason.
    pub fn unfitting(&self) -> &BTreeMap<ValueId, (NodeId, Reason)> {
        &self.draft.unfitting
    }

    /// The number of nodes that were annotated in the last turn.
    pub fn visited(&self) -> usize {
        self.visited
    }

    /// The number of refusals so far. If a node is refused again, it counts again.
    pub fn refusals(&self) -> usize {
        self.refusals
    }

    /// The nodes whose own configs, or whose neighbours' configs, may have changed in the last turn.
    pub fn touched(&self) -> impl Iterator<Item = NodeId> {
        self.draft.touched.iter().copied()
    }

    /// Moves further nodes to the host that no longer belong on the accelerator, now that `moved` have left it.
    pub(crate) fn settle(&mut self, graph: &mut Graph, how: &Annotation<'_>, moved: &[NodeId]) -> Vec<NodeId> {
        match self.ordered(graph) {
            Some((order, settled)) => settled.settle(graph, order, how, moved),
            None => Vec::new(),
        }
    }

    /// The order of the graph, and what settling knows about it. `None` if the graph has a cycle.
    fn ordered(&mut self, graph: &Graph) -> Option<&mut (Order, Settled)> {
        if self.settled.is_none() {
            let order = Order::new(graph)?;
            let settled = Settled::new(graph, &order);
            self.settled = Some((order, settled));
        }
        self.settled.as_mut()
    }
}

/// Annotates a placed graph, which is in the annotated stage afterwards. Nodes whose operands cannot be given a grid
/// move to the host with the reason, and whatever depends on them is decided again. `fixpoint` must come from the same
/// graph and the same `how`, or continue from another `how` ([`Fixpoint::revise`]), or be empty. If a recipe later
/// refuses a node, the node is moved or gets a coarser grid ([`refuse`]), and this function is called again. It then
/// annotates only the affected regions.
///
/// Each turn moves at least one node to the host, and none comes back. So there are at most as many turns as nodes,
/// plus one in which nothing is refused. All nodes that are refused in one turn move together.
///
/// # Errors
/// A defect of the compiler.
pub fn annotate(
    module: &mut Module,
    graph: GraphId,
    how: &Annotation<'_>,
    fixpoint: &mut Fixpoint,
) -> Result<(), AnnotateError> {
    let ours = |text: &str| AnnotateError::Ours(text.to_string());
    fixpoint.visited = 0;
    fixpoint.draft.touched.clear();
    loop {
        let g = module.graphs.get_mut(graph.index());
        let g = g.ok_or_else(|| ours("the graph is not in the module"))?;
        fixpoint.ordered(g);
        let table = std::mem::take(&mut g.quant);
        fixpoint.draft.table = fixpoint.analyses.as_ref().map_or_else(QuantTable::default, |_| table);
        let order = fixpoint.settled.as_ref().map(|(order, _)| order);
        let order = order.ok_or_else(|| ours("the graph has a cycle"))?;
        let g = &module.graphs[graph.index()];
        let touched = std::mem::take(&mut fixpoint.touched);
        let (analyses, scope) = match &mut fixpoint.analyses {
            Some(analyses) => {
                let scope = analyses.scope(g, how, order, touched);
                (analyses, scope)
            }
            unknown => {
                let analyses = GraphAnalyses {
                    reach: Reach::new(module, g, &order.nodes, how),
                    regions: Regions::new(g, how, &order.nodes),
                };
                (unknown.insert(analyses), Scope::all(g, &order.nodes))
            }
        };
        fixpoint.visited += scope.nodes.len();
        let context = PassContext {
            module,
            id: graph,
            graph: g,
            how,
            scope: &scope,
            regions: &analyses.regions,
            reach: &analyses.reach,
            order,
        };
        if !passes::run(&context, &mut fixpoint.draft)? {
            fixpoint.touched.extend(&scope.values);
        }
        let g = &mut module.graphs[graph.index()];
        g.quant = std::mem::take(&mut fixpoint.draft.table);
        if fixpoint.draft.refused.is_empty() {
            g.set_stage(Stage::Annotated);
            return Ok(());
        }
        let refused = std::mem::take(&mut fixpoint.draft.refused);
        let refused = refused.into_iter().map(Refusal::from).collect();
        if !refuse(g, how, fixpoint, refused) {
            return Err(ours("a node on the host was refused"));
        }
    }
}

/// Handles nodes that cannot be annotated or lowered, all at once. If a coarser grid for its result would help a node,
/// `fixpoint` remembers this for the next annotation. Otherwise the node moves to the host, together with those that no
/// longer belong on the accelerator then. If the node already is on the host, its weights lose their codes. Returns
/// true if anything has changed. A refusal that changes nothing would be repeated forever.
pub fn refuse(graph: &mut Graph, how: &Annotation<'_>, fixpoint: &mut Fixpoint, refused: Vec<Refusal>) -> bool {
    fixpoint.refusals += refused.len();
    let runs = |id: NodeId| graph.node(id).is_some_and(|node| node.place == Placement::Accelerator);
    let (refused, on_host): (Vec<Refusal>, Vec<Refusal>) = refused.into_iter().partition(|refusal| runs(refusal.node));
    let mut moved: Vec<NodeId> = on_host.iter().map(|refusal| refusal.node).collect();
    let plain = &mut fixpoint.draft.plain;
    let before = plain.len();
    plain.extend(&moved);
    let mut changed = plain.len() > before;
    for Refusal {
        node: id,
        reason,
        doublings,
    } in refused
    {
        let Some(node) = graph.node(id).filter(|n| n.place == Placement::Accelerator) else {
            continue;
        };
        changed = true;
        let own = graph.quant.id(id, Port::Result(0));
        let given = own.filter(|&config| is_given(&graph.quant, config));
        let result = node.outputs.first().copied().filter(|_| given.is_none());
        match result.filter(|&y| fixpoint.draft.ranges.coarsen(y, doublings, &reason)) {
            Some(result) => fixpoint.touched.push(result),
            None => {
                let reason = match given.filter(|_| doublings > 0) {
                    None => reason,
                    Some(config) => {
                        let text = format!("its grid is given, and would have to be coarser: {}", reason.text);
                        let reason = Reason::new(ReasonCode::GivenGrid, text);
                        let ids = [config, graph.quant.root(config)];
                        fixpoint.draft.unfitting(ids, id, &reason);
                        reason
                    }
                };
                graph.place_on_host(id, reason);
                moved.push(id);
            }
        }
    }
    moved.extend(fixpoint.settle(graph, how, &moved));
    for node in moved.into_iter().filter_map(|id| graph.node(id)) {
        fixpoint
            .touched
            .extend(node.inputs.iter().flatten().chain(&node.outputs));
    }
    changed
}
