//! For nodes that cannot be read, suggests options with which the model is read without these nodes.

use std::collections::{BTreeMap, BTreeSet};

use crate::cut::Cut;
use crate::error::NodeFault;
use crate::wiring::{TensorId, Wiring};

/// Limit on the number of groups of nodes for which options are suggested. If there are more groups, no choice of
/// inputs and outputs helps.
const MOST_GROUPS: usize = 16;

/// Limit on the nodes of a group that a message names.
const MOST_NAMED: usize = 3;

/// Appends a suggestion to the first fault of each group of nodes: options with which the graph ends before the group
/// or begins after it, so that other software can compute the group. Nodes that produce or read the same tensor are in
/// one group, because a cut at this tensor would still leave one of them in the graph. `begins` says whether a graph
/// can begin at a tensor; it returns `None` if the file does not declare the type of the tensor.
pub fn with_ways(
    wiring: &Wiring<'_>,
    cut: &Cut,
    faults: Vec<(usize, NodeFault)>,
    begins: impl Fn(TensorId) -> Option<bool>,
) -> Vec<NodeFault> {
    let nodes: BTreeSet<usize> = faults.iter().map(|&(node, _)| node).collect();
    let mut groups = groups(wiring, &nodes, &begins);
    groups.truncate(MOST_GROUPS);
    let mut told = vec![false; groups.len()];
    let fault = |(node, mut fault): (usize, NodeFault)| {
        let group = groups.iter().position(|group| group.contains(&node));
        let Some((at, group)) = group.and_then(|at| Some((at, groups.get(at)?))) else {
            return fault;
        };
        if !std::mem::replace(&mut told[at], true)
            && let Some(ways) = ways(wiring, cut, group, &begins)
        {
            let is_inside = wiring.node_name(node) != fault.node;
            let all = named(wiring, node, is_inside, group);
            fault.reason.text += &format!("; {all} can be computed elsewhere by {ways}");
        }
        fault
    };
    faults.into_iter().map(fault).collect()
}

/// Returns groups of nodes, ordered by the first node of each group. Nodes that are connected by a tensor other than a
/// constant are in one group. No graph can begin at some tensors, such as the handle of a variable. All nodes that read
/// or produce such a tensor form a single group, because each of these nodes prevents reading, even if the others are
/// left out.
fn groups(
    wiring: &Wiring<'_>,
    nodes: &BTreeSet<usize>,
    begins: impl Fn(TensorId) -> Option<bool>,
) -> Vec<BTreeSet<usize>> {
    // For each node: an earlier node of the same group, or the node itself if it is the first node of its group.
    let mut before: BTreeMap<usize, usize> = nodes.iter().map(|&node| (node, node)).collect();
    let first = |before: &BTreeMap<usize, usize>, mut node: usize| {
        while let Some(&other) = before.get(&node).filter(|other| **other != node) {
            node = other;
        }
        node
    };
    let mut touched: BTreeMap<TensorId, usize> = BTreeMap::new();
    let mut of_variables = None;
    for &node in nodes {
        let results = wiring.results(node).iter().flatten().copied();
        for tensor in wiring.reads(node).chain(results).filter(|&id| !wiring.is_constant(id)) {
            let other = match begins(tensor) {
                Some(false) => *of_variables.get_or_insert(node),
                _ => *touched.entry(tensor).or_insert(node),
            };
            let [one, other] = [node, other].map(|node| first(&before, node));
            before.insert(one.max(other), one.min(other));
        }
    }
    let mut groups: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for &node in nodes {
        groups.entry(first(&before, node)).or_default().insert(node);
    }
    groups.into_values().collect()
}

/// Returns a phrase that names the nodes of a group. The node with the fault comes first. If that node is in a nested
/// graph, the node that contains the nested graph comes first instead.
fn named(wiring: &Wiring<'_>, node: usize, is_inside: bool, group: &BTreeSet<usize>) -> String {
    let name = |node: usize| format!("`{}`", wiring.node_name(node));
    let first = match is_inside {
        true => format!("{}, which it is inside of,", name(node)),
        false => "it".to_owned(),
    };
    let others: Vec<String> = group
        .iter()
        .filter(|other| **other != node)
        .map(|&node| name(node))
        .collect();
    match others.as_slice() {
        [] => first,
        [one] => format!("{first} and {one}"),
        [head @ .., last] if others.len() <= MOST_NAMED => format!("{first}, {} and {last}", head.join(", ")),
        _ => format!("{first} and {} other nodes", others.len()),
    }
}

/// Returns the options with which the graph ends before a group, and those with which it begins after the group.
fn ways(
    wiring: &Wiring<'_>,
    cut: &Cut,
    group: &BTreeSet<usize>,
    begins: impl Fn(TensorId) -> Option<bool>,
) -> Option<String> {
    let them = if group.len() == 1 { "it" } else { "them" };
    let front = in_front(wiring, cut, group, &begins);
    let end = (!front.is_empty()).then(|| {
        let option = option("outputs", front.iter().map(|&id| wiring.name(id)));
        format!("ending the graph in front of {them}, with {option}")
    });
    let (inputs, behind) = behind(wiring, cut, group);
    let begin = if behind.is_empty() || behind.iter().any(|&id| begins(id) == Some(false)) {
        None
    } else if let Some(&id) = behind.iter().find(|&&id| begins(id).is_none()) {
        let name = wiring.name(id);
        Some(format!(
            "beginning the graph behind {them}, which needs the type of `{name}` declared in the file"
        ))
    } else {
        let option = option("inputs", inputs.into_iter().chain(behind).map(|id| wiring.name(id)));
        Some(format!("beginning the graph behind {them}, with {option}"))
    };
    let ways: Vec<String> = end.into_iter().chain(begin).collect();
    (!ways.is_empty()).then(|| ways.join(", or "))
}

/// The computed tensors that nodes of a group read and that do not depend on the group. The graph can end at them.
fn in_front(
    wiring: &Wiring<'_>,
    cut: &Cut,
    group: &BTreeSet<usize>,
    begins: impl Fn(TensorId) -> Option<bool>,
) -> Vec<TensorId> {
    let mut hangs = vec![false; wiring.tensor_count()];
    for &node in &cut.nodes {
        if group.contains(&node) || wiring.reads(node).any(|id| hangs[id.position()]) {
            let results = wiring.results(node).iter().flatten();
            results.for_each(|id| hangs[id.position()] = true);
        }
    }
    let mut seen = BTreeSet::new();
    let read = group.iter().flat_map(|&node| wiring.reads(node));
    let is_it = |&id: &TensorId| {
        let is_made = wiring.producer(id).is_some() && !cut.inputs.contains(&id);
        is_made && !hangs[id.position()] && begins(id) != Some(false) && seen.insert(id)
    };
    read.filter(is_it).collect()
}

/// Returns the tensors that the outputs need if the graph begins at results of a group: first the inputs of the graph,
/// then the results of the group.
fn behind(wiring: &Wiring<'_>, cut: &Cut, group: &BTreeSet<usize>) -> (Vec<TensorId>, Vec<TensorId>) {
    let mut seen = vec![false; wiring.tensor_count()];
    let mut behind = BTreeSet::new();
    let mut open = cut.outputs.clone();
    while let Some(id) = open.pop() {
        if std::mem::replace(&mut seen[id.position()], true) || cut.inputs.contains(&id) {
            continue;
        }
        match wiring.producer(id) {
            // No graph can begin at a result that no node reads.
            Some(node) if group.contains(&node) => drop((wiring.reads_of(id) > 0).then(|| behind.insert((node, id)))),
            Some(node) => open.extend(wiring.reads(node)),
            None => {}
        }
    }
    let inputs = cut.inputs.iter().copied().filter(|id| seen[id.position()]);
    (inputs.collect(), behind.into_iter().map(|(_, id)| id).collect())
}

/// A list of tensors, written as an option of a configuration.
pub fn option<'n>(key: &str, tensors: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = tensors.map(|name| format!("\"{name}\"")).collect();
    format!("`{key} = [{}]`", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strait_core::{Reason, ReasonCode};

    /// What is said about the nodes `unread`, which cannot be read, in a graph from `x` to `y`. Each node is given as
    /// (name, operands, result). The graph cannot begin at tensors whose names begin with `handle`.
    fn told(nodes: &[(&'static str, &[&'static str], &'static str)], unread: &[usize]) -> Vec<String> {
        let mut wiring = Wiring::with_room(nodes.len(), nodes.len());
        wiring.input("x").unwrap();
        for (name, operands, result) in nodes {
            let operands = operands.iter().map(|&name| Some(name));
            wiring.node(name, operands, [], [Some(*result)]).unwrap();
        }
        wiring.output("y");
        let cut = crate::cut::cut(&wiring, &crate::ReadOptions::default()).unwrap();
        let fault = |&node: &usize| {
            let fault = NodeFault {
                node: wiring.node_name(node).into(),
                operator: String::new(),
                reason: Reason::new(ReasonCode::Unsupported, "not read"),
            };
            (node, fault)
        };
        let faults = unread.iter().map(fault).collect();
        let begins = |id: TensorId| Some(!wiring.name(id).starts_with("handle"));
        let all = with_ways(&wiring, &cut, faults, begins);
        all.into_iter().map(|fault| fault.reason.text).collect()
    }

    #[test]
    fn nodes_in_a_row_have_one_way_for_all_of_them() {
        let nodes: &[(&str, &[&str], &str)] = &[
            ("relu", &["x"], "a"),
            ("first", &["a"], "b"),
            ("second", &["b"], "c"),
            ("third", &["c", "a"], "d"),
            ("add", &["d", "x"], "y"),
        ];
        let way = "not read; it, `second` and `third` can be computed elsewhere by ending the graph in front of them, with \
                   `outputs = [\"a\"]`, or beginning the graph behind them, with `inputs = [\"x\", \"d\"]`";
        assert_eq!(told(nodes, &[1, 2, 3]), [way, "not read", "not read"]);
    }

    #[test]
    fn nodes_side_by_side_are_left_out_together_and_nodes_far_apart_by_themselves() {
        let nodes: &[(&str, &[&str], &str)] = &[
            ("relu", &["x"], "a"),
            ("left", &["a"], "b"),
            ("right", &["a"], "c"),
            ("add", &["b", "c"], "d"),
            ("last", &["d"], "e"),
            ("copy", &["e"], "y"),
        ];
        let sides = "not read; it and `right` can be computed elsewhere by ending the graph in front of them, with \
                     `outputs = [\"a\"]`, or beginning the graph behind them, with `inputs = [\"b\", \"c\"]`";
        let last = "not read; it can be computed elsewhere by ending the graph in front of it, with `outputs = [\"d\"]`, or \
                    beginning the graph behind it, with `inputs = [\"e\"]`";
        assert_eq!(told(nodes, &[1, 2, 4]), [sides, "not read", last]);
    }

    #[test]
    fn variables_are_cut_behind_what_is_read_through_their_handles() {
        let nodes: &[(&str, &[&str], &str)] = &[
            ("variable", &[], "handle"),
            ("read", &["handle"], "state"),
            ("add", &["x", "state"], "a"),
            ("other", &[], "handle_1"),
            ("read_1", &["handle_1"], "state_1"),
            ("add_1", &["a", "state_1"], "y"),
        ];
        let way = "not read; it, `read`, `other` and `read_1` can be computed elsewhere by beginning the graph behind them, with \
                   `inputs = [\"x\", \"state\", \"state_1\"]`";
        assert_eq!(told(nodes, &[0, 1, 3, 4]), [way, "not read", "not read", "not read"]);
    }
}
