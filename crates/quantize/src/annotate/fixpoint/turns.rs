//! The state of annotation between turns, and the functions that run a turn and handle refusals. A turn is one run of
//! the annotation passes. After each refusal, another turn follows.

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

/// The state of the annotation of one graph under one [`Annotation`]: the configs, the ranges that observers have
/// found, the grids that had to become coarser, and the values and nodes that refusals have affected.
#[derive(Clone, Debug, Default)]
pub struct Fixpoint {
    pub(crate) settled: Option<(Order, Settled)>,
    pub(crate) analyses: Option<GraphAnalyses>,
    pub(crate) draft: Draft,
    /// The values that have to be annotated again: the values of nodes that have moved to the host, and the values
    /// whose grids have to become coarser.
    pub(crate) touched: Vec<ValueId>,
    /// The number of nodes that the last call of `annotate` looked at.
    visited: usize,
    /// The number of nodes that were refused so far.
    refusals: usize,
}

/// Analyses of the graph that stay valid when the passes run again. For example, which numbers of a value matter to its
/// readers does not depend on where nodes run.
#[derive(Clone, Debug)]
pub(crate) struct GraphAnalyses {
    pub(crate) reach: Reach,
    pub(crate) regions: Regions,
}

impl GraphAnalyses {
    /// Finds the regions of `touched` again, and returns the scope that consists of them. After a revision, nodes may
    /// bind further values to the values of these regions. The scope then includes those values too.
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
    /// Returns the findings in the annotated main graph of a module. Findings about grids that waste codes are included
    /// only if they affect an output.
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

    /// Returns the values whose given grid could not be used, because a node did not support the grid and was moved to
    /// the host. For each value, the entry has this node and the reason.
    pub fn unfitting(&self) -> &BTreeMap<ValueId, (NodeId, Reason)> {
        &self.draft.unfitting
    }

    /// The number of nodes that the last call of `annotate` looked at.
    pub fn visited(&self) -> usize {
        self.visited
    }

    /// The number of refusals so far. A node that is refused several times counts several times.
    pub fn refusals(&self) -> usize {
        self.refusals
    }

    /// The nodes whose own configs, or whose neighbours' configs, may have changed in the last call of `annotate`.
    pub fn touched(&self) -> impl Iterator<Item = NodeId> {
        self.draft.touched.iter().copied()
    }

    /// Moves further nodes to the host: nodes that are better off there now that the nodes `moved` are on the host.
    pub(crate) fn settle(&mut self, graph: &mut Graph, how: &Annotation<'_>, moved: &[NodeId]) -> Vec<NodeId> {
        match self.ordered(graph) {
            Some((order, settled)) => settled.settle(graph, order, how, moved),
            None => Vec::new(),
        }
    }

    /// The order of the graph, and the analysis that settling needs. `None` if the graph has a cycle.
    fn ordered(&mut self, graph: &Graph) -> Option<&mut (Order, Settled)> {
        if self.settled.is_none() {
            let order = Order::new(graph)?;
            let settled = Settled::new(graph, &order);
            self.settled = Some((order, settled));
        }
        self.settled.as_mut()
    }
}

/// Annotates a placed graph and sets its stage to annotated. Nodes whose operands cannot be given a grid move to the
/// host with the reason, and all decisions that depend on these nodes are made again. `fixpoint` must be empty, or come
/// from the same graph and the same `how`, or continue from another `how` ([`Fixpoint::revise`]). If a recipe later
/// refuses a node, the caller moves the node or makes its grid coarser ([`refuse`]) and calls this function again. The
/// new call annotates only the affected regions.
///
/// Each run of the passes (a turn) moves at least one node to the host, and no node comes back. So there are at most as
/// many turns as nodes, plus one in which no node is refused. All nodes that are refused in one turn move together.
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

/// Handles all nodes that cannot be annotated or lowered. If a node would be accepted with a coarser grid for its
/// result, `fixpoint` stores this grid change for the next annotation. Otherwise the node moves to the host. Other
/// nodes that then no longer belong on the accelerator move too. If the node already is on the host, its weights lose
/// their codes. Returns true if anything has changed. If nothing has changed, the caller must stop, because the same
/// refusal would be repeated forever.
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
        let result = node.result().filter(|_| given.is_none());
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
