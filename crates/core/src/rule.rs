//! Rules, which are local rewrites: they look at a node and return a patch or a reason. This file also has the worklist
//! that runs the rules.

use crate::graph::Graph;
use crate::ids::{GraphId, NodeId};
use crate::kind::Kind;
use crate::module::Module;
use crate::op::Term;
use crate::pass::PassError;
use crate::patch::Patch;
use crate::reason::Reason;
use crate::reason_code::ReasonCode;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a rule says about a node.
#[derive(Debug)]
pub enum Outcome {
    /// The node does not match the rule's pattern.
    NoMatch,
    /// The node matches, but a precondition is not met.
    Refused(Reason),
    /// The node matches, and this is the rewrite.
    Apply(Patch),
}

/// The anchors of a rule that looks at every node.
pub const ANY: &[Term] = Term::ALL;

/// The depth of a rule whose outcome may depend on any part of the graph.
pub const EVERYWHERE: usize = usize::MAX;

/// A local rewrite.
pub trait Rule: Send + Sync {
    /// The name in kebab-case, as used by configurations and reports.
    fn name(&self) -> &'static str;

    /// The terms of the nodes that the rule looks at, or [`ANY`].
    fn anchors(&self) -> Vec<Term>;

    /// How far above a node the rule looks: the number of nodes on the longest path from the node through producers of
    /// operands, including the node itself. If a node changes, the rule looks again at nodes below it, up to this
    /// distance. For nodes on the path, the rule may also use the number of their readers and the ops of these readers.
    /// A rule that looks farther has to return [`EVERYWHERE`].
    fn depth(&self) -> usize;

    /// True if the rule merges a layer into another one. Users call this a fusion and can switch it off.
    fn is_fusion(&self) -> bool {
        false
    }

    /// Looks at one node and returns what should be done. Nothing is changed yet.
    fn look(&self, module: &Module, graph: GraphId, at: NodeId) -> Result<Outcome, PassError>;
}

/// What rules did in one run, in chronological order.
#[derive(Clone, Debug, Default)]
pub struct Rewritten {
    /// For each patch that was applied, the rule, and the name of the node that the rule looked at.
    pub applied: Vec<(&'static str, String)>,
    /// For each refusal, the rule, the name of the node, and the reason. If a rule refuses the same node several times,
    /// only the last refusal is listed.
    pub refused: Vec<(&'static str, String, Reason)>,
}

/// How often a rule matched, and how often it changed the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often the rule matched a node. Each match ends with a rewrite or a refusal.
    pub matched: usize,
    /// How many of the rule's patches were applied.
    pub applied: usize,
}

impl Rewritten {
    /// Appends the results of another run.
    pub fn extend(&mut self, other: Rewritten) {
        self.applied.extend(other.applied);
        self.refused.extend(other.refused);
    }

    /// Returns the counts of each rule that matched a node, by the rule's name.
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

/// Rules and layers that a user has switched off.
#[derive(Clone, Debug, Default)]
pub struct Switches {
    /// The names of rules that are off.
    pub off: BTreeSet<String>,
    /// True to switch off all rules that merge a layer into another one ([`Rule::is_fusion`]).
    pub no_fusion: bool,
    /// Layers that stay as they are, by their names in the model. No rule may merge them with other layers.
    pub kept: BTreeSet<String>,
}

/// Rules, indexed by anchor.
#[derive(Default)]
pub struct RuleSet {
    rules: Vec<Box<dyn Rule>>,
    by_anchor: BTreeMap<Term, Anchored>,
    kept: BTreeSet<String>,
}

/// The rules that have the same anchor.
#[derive(Default)]
struct Anchored {
    rules: Vec<usize>,
    /// The largest depth of these rules.
    depth: usize,
}

/// The largest number of rewrites per node, on average. A run that exceeds this number stops with an error, because a
/// rule set that never comes to an end is a bug in Strait.
const REWRITES_PER_NODE: usize = 32;

/// Returns the reason to refuse a patch that loses a rounding of the model. Such a patch removes a value for which the
/// model gives a grid, although other values are computed from this value. Nodes that only move elements do not round.
/// The grid is not lost if another value replaces the removed value, or if a new node in its place has the same grid.
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

/// Returns the reason to refuse a patch that would merge a layer that the user wants to keep.
fn kept_layer(module: &Module, graph: GraphId, patch: &Patch, kept: &BTreeSet<String>) -> Option<Reason> {
    let graph = module.graph(graph).filter(|_| !kept.is_empty())?;
    let nodes = patch.remove.iter().filter_map(|&id| graph.node(id));
    let mut names = nodes.flat_map(|node| &node.sources).map(|&name| module.name(name));
    let name = names.find(|&name| kept.contains(name))?;
    let text = format!("the configuration keeps layer `{name}` as it is");
    Some(Reason::new(ReasonCode::KeptLayer, text))
}

impl RuleSet {
    /// Makes a set of rules. At each node, the rules are tried in this order, except that rules for every node come
    /// first.
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

    /// Returns the set without the rules that are switched off.
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

    /// Returns the rules in order.
    pub fn rules(&self) -> impl Iterator<Item = &dyn Rule> {
        self.rules.iter().map(AsRef::as_ref)
    }

    /// Applies the rules to a graph until none matches, in topological order; see [`RuleSet::run_in`].
    pub fn run(&self, module: &mut Module, graph: GraphId) -> Result<Rewritten, PassError> {
        let order = match module.graph(graph).map(Graph::topological_order) {
            Some(Ok(order)) => order,
            Some(Err(node)) => return Err(PassError::Ours(format!("{node} lies on a cycle").into())),
            None => return Err(PassError::Ours(format!("{graph} is not in the module").into())),
        };
        self.run_in(module, graph, order)
    }

    /// Applies the rules to a graph until none matches, beginning with the nodes in `order`. The nodes that a patch
    /// touches go back into the queue at once. When the queue is empty, the rules look again at the nodes below all
    /// changed nodes, as far down as the depths of the rules require. Each of these nodes is visited only once for all
    /// changes together. The time is proportional to the graph's size, plus the time of the rewrites.
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

    /// Finds the nodes below changed nodes, as far down as some rule's depth reaches. They are ordered by their
    /// distance from the changed nodes.
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

/// A set of nodes, with a flag for each node.
#[derive(Default)]
struct Marks(Vec<bool>);

impl Marks {
    /// Adds a node. Returns false if it was already in the set.
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

/// One run, in which the rules of a set are applied to a graph.
struct Run<'a> {
    set: &'a RuleSet,
    graph: GraphId,
    budget: usize,
    /// The nodes that are in the queue.
    pending: Marks,
    queue: VecDeque<NodeId>,
    /// The nodes that patches have touched since the queue was last empty.
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

    /// Tries the rules at a node, and applies the first patch that a rule returns.
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
            // The node goes back into the queue, because a rule has changed something. If the patch removed the node,
            // it is skipped later.
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
