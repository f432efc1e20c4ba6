//! Rules: local rewrites that look first and answer with a patch or a reason, and the worklist that drives them.

use crate::ids::{GraphId, NodeId};
use crate::module::Module;
use crate::pass::PassError;
use crate::patch::Patch;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use crate::term::{Kind, Term};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A rule's answer about one node.
#[derive(Debug)]
pub enum Outcome {
    /// The pattern is not here.
    NoMatch,
    /// The pattern is here, but a precondition does not hold.
    Refused(Reason),
    /// The pattern is here; this is the rewrite.
    Apply(Patch),
}

/// The anchors of a rule that looks at every node.
pub const ANY: &[Term] = Term::ALL;

/// A local rewrite.
pub trait Rule: Send + Sync {
    /// Kebab-case, as configurations and reports speak of it.
    fn name(&self) -> &'static str;

    /// The terms of the nodes that it looks at, or [`ANY`]; it is asked about no others.
    fn anchors(&self) -> &'static [Term];

    /// Looks at one node. Changes nothing.
    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError>;
}

/// Log of a run of rules, in the order of its steps.
#[derive(Clone, Debug, Default)]
pub struct Rewritten {
    /// Rule and the name of the node that it was anchored at.
    pub applied: Vec<(&'static str, String)>,
    /// Rule, node name and reason, once per rule and node: the last answer counts.
    pub refused: Vec<(&'static str, String, Reason)>,
}

/// Rules indexed by anchor.
#[derive(Default)]
pub struct RuleSet {
    rules: Vec<Box<dyn Rule>>,
    by_anchor: BTreeMap<Term, Vec<usize>>,
}

/// A rule set that rewrites its own results for ever is our defect; each node may be rewritten this often on average
/// before the run stops with an error.
const REWRITES_PER_NODE: usize = 32;

/// The grid that the model gives for a value which a patch takes away, while others are computed from it: there the model
/// rounds. What only moves numbers rounds nothing, and a value that another takes the place of leaves it its grid; so does one whose
/// node has a new one on the same grid.
fn lost_grid(module: &Module, graph: GraphId, patch: &Patch) -> Option<Reason> {
    let graph = module.graph(graph)?;
    let is_replaced = |value| patch.replace.iter().any(|&(old, _)| old == value);
    let nodes = patch.remove.iter().filter_map(|&id| Some((id, graph.node(id)?)));
    let computes = nodes.filter(|(_, node)| !matches!(node.op.term().kind(), Kind::Rearranges | Kind::Moves));
    let mut results = computes.flat_map(|(id, node)| node.outputs.iter().map(move |&result| (id, result)));
    let (_, lost) = results.find(|&(node, id)| {
        let given = graph.value(id).and_then(|value| value.quant.as_ref());
        let is_kept = |given| {
            let mut new = patch.add.iter().filter(|new| new.origins.contains(&node));
            new.any(|new| new.quant.iter().flatten().any(|grid| grid == given))
        };
        let is_lost = given.is_some_and(|given| given.codes.is_some() && !is_kept(given));
        is_lost && !is_replaced(id) && graph.uses(id).next().is_some()
    })?;
    let name = graph
        .value(lost)
        .map(|value| module.name(value.name))
        .unwrap_or_default();
    let text = format!("the model gives a grid for `{name}`, at which it rounds");
    Some(Reason::new(ReasonCode::GivenGrid, text))
}

impl RuleSet {
    /// A set that tries the rules of an anchor in this order, those for every node first.
    pub fn new(rules: Vec<Box<dyn Rule>>) -> RuleSet {
        let mut by_anchor: BTreeMap<Term, Vec<usize>> = BTreeMap::new();
        let (any, some): (Vec<usize>, Vec<usize>) = (0..rules.len()).partition(|&index| rules[index].anchors() == ANY);
        for index in any.into_iter().chain(some) {
            for anchor in rules[index].anchors() {
                by_anchor.entry(*anchor).or_default().push(index);
            }
        }
        RuleSet { rules, by_anchor }
    }

    /// The rules in order.
    pub fn rules(&self) -> impl Iterator<Item = &dyn Rule> {
        self.rules.iter().map(AsRef::as_ref)
    }

    /// Applies the rules to one graph until none matches. The worklist starts in topological order; a patch puts only
    /// what it touched back, so the cost is that of the graph once plus that of the rewrites.
    pub fn run(&self, module: &mut Module, graph: GraphId) -> Result<Rewritten, PassError> {
        let order = match module.graph(graph).map(crate::Graph::topological_order) {
            Some(Ok(order)) => order,
            Some(Err(node)) => return Err(PassError::Ours(format!("{node} lies on a cycle").into())),
            None => return Err(PassError::Ours(format!("{graph} is not in the module").into())),
        };
        let mut budget = order.len().saturating_mul(REWRITES_PER_NODE).saturating_add(1024);
        let mut pending: BTreeSet<NodeId> = order.iter().copied().collect();
        let mut queue: VecDeque<NodeId> = order.into();
        let mut done = Rewritten::default();
        let mut refused: BTreeMap<(NodeId, usize), Reason> = BTreeMap::new();
        while let Some(at) = queue.pop_front() {
            pending.remove(&at);
            let Some(node) = module.graph(graph).and_then(|g| g.node(at)) else {
                continue;
            };
            for &index in self.by_anchor.get(&node.op.term()).into_iter().flatten() {
                let rule = &self.rules[index];
                match rule.look(module, graph, at)? {
                    Outcome::NoMatch => {
                        refused.remove(&(at, index));
                    }
                    Outcome::Refused(reason) => {
                        refused.insert((at, index), reason);
                    }
                    Outcome::Apply(patch) if let Some(lost) = lost_grid(module, graph, &patch) => {
                        refused.insert((at, index), lost);
                    }
                    Outcome::Apply(patch) => {
                        budget = budget.checked_sub(1).ok_or_else(|| {
                            PassError::Ours(format!("rule {} does not come to an end", rule.name()).into())
                        })?;
                        let name = module.graph(graph).and_then(|g| g.node(at)).map(|n| n.name);
                        done.applied.push((
                            rule.name(),
                            name.map(|n| module.name(n).to_string()).unwrap_or_default(),
                        ));
                        let applied = module
                            .apply(graph, patch)
                            .map_err(|error| PassError::Ours(format!("rule {}: {error}", rule.name()).into()))?;
                        for node in applied.touched {
                            if pending.insert(node) {
                                queue.push_back(node);
                            }
                        }
                        // The node may be gone or another; it is in the queue if it was touched.
                        if pending.insert(at) {
                            queue.push_back(at);
                        }
                        break;
                    }
                }
            }
        }
        for ((node, index), reason) in refused {
            if let Some(node) = module.graph(graph).and_then(|g| g.node(node)) {
                done.refused
                    .push((self.rules[index].name(), module.name(node.name).to_string(), reason));
            }
        }
        Ok(done)
    }
}
