//! Rules: local rewrites that look first and answer with a patch or a reason, and the worklist that drives them.

use crate::graph::Graph;
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

/// The depth of a rule whose answer any change of the graph may turn.
pub const EVERYWHERE: usize = usize::MAX;

/// A local rewrite.
pub trait Rule: Send + Sync {
    /// Kebab-case, as configurations and reports speak of it.
    fn name(&self) -> &'static str;

    /// The terms of the nodes that it looks at, or [`ANY`]; it is asked about no others.
    fn anchors(&self) -> Vec<Term>;

    /// The number of nodes on the longest way up that it looks at, the anchor included: it is asked again so far below a
    /// change. Of the readers of what it looks at, no more than their op and their number may matter. [`EVERYWHERE`] is for a
    /// rule that looks farther.
    fn depth(&self) -> usize;

    /// True for a rule that takes a layer into another one: what a user calls a fusion, and may do without.
    fn is_fusion(&self) -> bool {
        false
    }

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

/// Numbers of the places where a rule found its pattern, and where it changed the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Patterns that were there: applied, or refused to the end.
    pub matched: usize,
    /// Patches that were applied.
    pub applied: usize,
}

impl Rewritten {
    /// The steps of another run behind this one.
    pub fn extend(&mut self, other: Rewritten) {
        self.applied.extend(other.applied);
        self.refused.extend(other.refused);
    }

    /// The counts of each rule that matched, by its name.
    pub fn counts(&self) -> BTreeMap<&'static str, Counts> {
        let mut counts: BTreeMap<&'static str, Counts> = BTreeMap::new();
        for (rule, _) in &self.applied {
            let counts = counts.entry(rule).or_default();
            counts.applied += 1;
            counts.matched += 1;
        }
        for (rule, ..) in &self.refused {
            counts.entry(rule).or_default().matched += 1;
        }
        counts
    }
}

/// Rules and layers that a user has taken out.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// The names of rules that are off.
    pub off: BTreeSet<String>,
    /// True if no rule takes a layer into another one ([`Rule::is_fusion`]).
    pub no_fusion: bool,
    /// Layers, by their names in the model, that no rule takes into another one, and none into them.
    pub kept: BTreeSet<String>,
}

/// Rules indexed by anchor.
#[derive(Default)]
pub struct RuleSet {
    rules: Vec<Box<dyn Rule>>,
    by_anchor: BTreeMap<Term, Anchored>,
    kept: BTreeSet<String>,
}

/// The rules that look at the nodes of one term.
#[derive(Default)]
struct Anchored {
    rules: Vec<usize>,
    /// The greatest depth of them.
    depth: usize,
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

/// The layer that no rule takes into another one, where a patch would.
fn kept_layer(module: &Module, graph: GraphId, patch: &Patch, kept: &BTreeSet<String>) -> Option<Reason> {
    let graph = module.graph(graph).filter(|_| !kept.is_empty())?;
    let nodes = patch.remove.iter().filter_map(|&id| graph.node(id));
    let mut names = nodes.flat_map(|node| &node.sources).map(|&name| module.name(name));
    let name = names.find(|&name| kept.contains(name))?;
    let text = format!("the configuration keeps layer `{name}` as it is");
    Some(Reason::new(ReasonCode::KeptLayer, text))
}

impl RuleSet {
    /// A set that tries the rules of an anchor in this order, those for every node first.
    pub fn new(rules: Vec<Box<dyn Rule>>) -> RuleSet {
        let mut by_anchor: BTreeMap<Term, Anchored> = BTreeMap::new();
        let (any, some): (Vec<usize>, Vec<usize>) = (0..rules.len()).partition(|&index| rules[index].anchors() == ANY);
        for index in any.into_iter().chain(some) {
            for anchor in rules[index].anchors() {
                let anchored = by_anchor.entry(anchor).or_default();
                anchored.rules.push(index);
                anchored.depth = anchored.depth.max(rules[index].depth());
            }
        }
        let kept = BTreeSet::new();
        RuleSet { rules, by_anchor, kept }
    }

    /// The set without what is switched off.
    #[must_use]
    pub fn switched(self, switches: &Switches) -> RuleSet {
        let is_off = |rule: &dyn Rule| switches.off.contains(rule.name()) || switches.no_fusion && rule.is_fusion();
        let on = self.rules.into_iter().filter(|rule| !is_off(rule.as_ref()));
        let kept = switches.kept.clone();
        RuleSet {
            kept,
            ..RuleSet::new(on.collect())
        }
    }

    /// The rules in order.
    pub fn rules(&self) -> impl Iterator<Item = &dyn Rule> {
        self.rules.iter().map(AsRef::as_ref)
    }

    /// Applies the rules to one graph until none matches, in topological order; see [`RuleSet::run_in`].
    pub fn run(&self, module: &mut Module, graph: GraphId) -> Result<Rewritten, PassError> {
        let order = match module.graph(graph).map(Graph::topological_order) {
            Some(Ok(order)) => order,
            Some(Err(node)) => return Err(PassError::Ours(format!("{node} lies on a cycle").into())),
            None => return Err(PassError::Ours(format!("{graph} is not in the module").into())),
        };
        self.run_in(module, graph, order)
    }

    /// Applies the rules to one graph until none matches, beginning with the nodes in this order. A patch puts back what it
    /// touched at once. Once nothing is left to do, the anchors below all that was touched since are asked again, as far below
    /// as their rules look: together, so that each node is asked once for any number of changes. The cost is that of the
    /// graph a few times plus that of the rewrites.
    pub fn run_in(&self, module: &mut Module, graph: GraphId, order: Vec<NodeId>) -> Result<Rewritten, PassError> {
        let mut run = Run {
            set: self,
            graph,
            budget: order.len().saturating_mul(REWRITES_PER_NODE).saturating_add(1024),
            pending: Marks::default(),
            queue: VecDeque::new(),
            changed: Vec::new(),
            refused: BTreeMap::new(),
            done: Rewritten::default(),
        };
        order.into_iter().for_each(|node| run.put(node));
        loop {
            while let Some(at) = run.queue.pop_front() {
                run.pending.clear(at);
                run.ask(module, at)?;
            }
            if run.changed.is_empty() {
                module.forget(None);
                return Ok(run.finish(module));
            }
            let changed = std::mem::take(&mut run.changed);
            if let Some(graph) = module.graph(graph) {
                self.below(graph, changed).into_iter().for_each(|node| run.put(node));
            }
        }
    }

    /// The anchors of rules that look at one of these nodes, in the order of their distance below them.
    fn below(&self, graph: &Graph, changed: Vec<NodeId>) -> Vec<NodeId> {
        let depth = |id: NodeId| {
            let anchored = graph.node(id).and_then(|node| self.by_anchor.get(&node.op.term()));
            anchored.map_or(0, |anchored| anchored.depth)
        };
        let finite = self.by_anchor.values().map(|anchored| anchored.depth);
        let farthest = finite.filter(|&depth| depth != EVERYWHERE).max().unwrap_or(0);
        let mut seen = Marks::default();
        let mut level = changed;
        level.retain(|&node| graph.node(node).is_some() && seen.set(node));
        let mut found = Vec::new();
        for distance in 0..farthest {
            found.extend(level.iter().copied().filter(|&node| depth(node) > distance));
            let results = level.iter().filter_map(|&node| graph.node(node));
            let readers = results.flat_map(|node| node.outputs.iter().flat_map(|&result| graph.uses(result)));
            level = readers.map(|at| at.node).filter(|&node| seen.set(node)).collect();
        }
        let others = graph.nodes().map(|(id, _)| id);
        found.extend(others.filter(|&id| depth(id) == EVERYWHERE));
        found
    }
}

/// A set of nodes.
#[derive(Default)]
struct Marks(Vec<bool>);

impl Marks {
    /// Puts a node in; false if it was there.
    fn set(&mut self, node: NodeId) -> bool {
        if self.0.len() <= node.index() {
            self.0.resize(node.index() + 1, false);
        }
        self.0
            .get_mut(node.index())
            .is_some_and(|mark| !std::mem::replace(mark, true))
    }

    fn clear(&mut self, node: NodeId) {
        if let Some(mark) = self.0.get_mut(node.index()) {
            *mark = false;
        }
    }
}

/// One run of a set over a graph.
struct Run<'a> {
    set: &'a RuleSet,
    graph: GraphId,
    budget: usize,
    /// The nodes of the queue.
    pending: Marks,
    queue: VecDeque<NodeId>,
    /// Touched by patches since the queue was last empty.
    changed: Vec<NodeId>,
    refused: BTreeMap<(NodeId, usize), Reason>,
    done: Rewritten,
}

impl Run<'_> {
    fn put(&mut self, node: NodeId) {
        if self.pending.set(node) {
            self.queue.push_back(node);
        }
    }

    /// Asks the rules about a node; the first patch counts.
    fn ask(&mut self, module: &mut Module, at: NodeId) -> Result<(), PassError> {
        let Some(node) = module.graph(self.graph).and_then(|g| g.node(at)) else {
            return Ok(());
        };
        let set = self.set;
        let anchored = set.by_anchor.get(&node.op.term());
        for &index in anchored.iter().flat_map(|anchored| &anchored.rules) {
            let rule = &set.rules[index];
            let patch = match rule.look(module, self.graph, at)? {
                Outcome::NoMatch => {
                    self.refused.remove(&(at, index));
                    continue;
                }
                Outcome::Refused(reason) => {
                    self.refused.insert((at, index), reason);
                    continue;
                }
                Outcome::Apply(patch) => patch,
            };
            let kept = || {
                rule.is_fusion()
                    .then(|| kept_layer(module, self.graph, &patch, &set.kept))?
            };
            if let Some(reason) = kept().or_else(|| lost_grid(module, self.graph, &patch)) {
                self.refused.insert((at, index), reason);
                continue;
            }
            let endless = || PassError::Ours(format!("rule {} does not come to an end", rule.name()).into());
            self.budget = self.budget.checked_sub(1).ok_or_else(endless)?;
            let name = module.graph(self.graph).and_then(|g| g.node(at)).map(|n| n.name);
            let name = name.map(|n| module.name(n).to_string()).unwrap_or_default();
            self.done.applied.push((rule.name(), name));
            let applied = module
                .apply(self.graph, patch)
                .map_err(|error| PassError::Ours(format!("rule {}: {error}", rule.name()).into()))?;
            self.changed.extend(&applied.touched);
            applied.touched.into_iter().for_each(|node| self.put(node));
            // The node may be gone or another; it is in the queue if it was touched.
            self.put(at);
            return Ok(());
        }
        Ok(())
    }

    fn finish(mut self, module: &Module) -> Rewritten {
        for ((node, index), reason) in self.refused {
            if let Some(node) = module.graph(self.graph).and_then(|g| g.node(node)) {
                let name = module.name(node.name).to_string();
                self.done.refused.push((self.set.rules[index].name(), name, reason));
            }
        }
        self.done
    }
}
