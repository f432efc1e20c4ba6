//! Groups of channels whose factors are chosen together.

use super::walk::{Cut, Walk};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{Graph, NodeId, ValueId};

/// Channels whose factors are chosen together, because they are channels of the same values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seam {
    /// The classes that may have any factor.
    pub(crate) classes: BTreeSet<u32>,
    /// The values that are divided by the factors.
    pub(crate) values: Vec<ValueId>,
    /// Where a multiplication is put in for this seam.
    pub(crate) cut: Option<Cut>,
    /// The positions in [`Walk::effects`] of the constants that are divided by the factors, and of those that are
    /// multiplied by them.
    pub(crate) effects: [Vec<usize>; 2],
}

impl Seam {
    /// The nodes whose constants are divided by the factors, or multiplied by them.
    pub(crate) fn nodes(&self, walk: &Walk, divides: bool) -> BTreeSet<NodeId> {
        let own = &self.effects[usize::from(!divides)];
        own.iter().map(|&at| walk.effects[at].node).collect()
    }
}

/// Finds the seams: sets of classes that are not pinned and that occur together in the label of a value. Only those are
/// returned in which constants are both divided and multiplied, in the order of their classes.
pub(crate) fn seams(walk: &Walk) -> Vec<Seam> {
    let classes = &walk.classes;
    let mut leader: Vec<u32> = (0..classes.count() as u32).collect();
    let all = || walk.labels.values().chain(walk.cuts.values());
    let free = |class: u32| classes.pinned(class).is_none();
    for label in all() {
        let mut roots = label
            .classes
            .iter()
            .map(|&class| classes.root(class))
            .filter(|&class| free(class));
        let Some(first) = roots.next() else { continue };
        for other in roots {
            let (one, other) = (found(&leader, first), found(&leader, other));
            leader[one.max(other) as usize] = one.min(other);
        }
    }
    let mut seams: BTreeMap<u32, Seam> = BTreeMap::new();
    for class in (0..classes.count() as u32).filter(|&class| classes.root(class) == class && free(class)) {
        seams.entry(found(&leader, class)).or_default().classes.insert(class);
    }
    let of = |label: &super::label::Label| {
        let mut roots = label.classes.iter().map(|&class| classes.root(class));
        roots.find(|&class| free(class)).map(|class| found(&leader, class))
    };
    for (&value, label) in &walk.labels {
        if let Some(seam) = of(label).and_then(|leader| seams.get_mut(&leader)) {
            seam.values.push(value);
        }
    }
    for (&cut, label) in &walk.cuts {
        if let Some(seam) = of(label).and_then(|leader| seams.get_mut(&leader)) {
            seam.cut = Some(cut);
            if let Cut::Behind(value) = cut {
                seam.values.push(value);
            }
        }
    }
    for (at, effect) in walk.effects.iter().enumerate() {
        if let Some(seam) = of(&effect.label).and_then(|leader| seams.get_mut(&leader)) {
            seam.effects[usize::from(!effect.divides)].push(at);
        }
    }
    let acts = |seam: &Seam| {
        let [divided, multiplied] = seam.effects.each_ref().map(|effects| !effects.is_empty());
        match seam.cut {
            Some(Cut::Before(_) | Cut::Beside(_)) => multiplied,
            Some(Cut::Behind(_)) => divided,
            None => divided && multiplied,
        }
    };
    seams.into_values().filter(acts).collect()
}

fn found(leader: &[u32], class: u32) -> u32 {
    let mut class = class;
    while leader[class as usize] != class {
        class = leader[class as usize];
    }
    class
}

/// For each layer, why what it reads cannot be divided by factors. `None` if it can.
pub(crate) fn pinned(walk: &Walk, graph: &Graph) -> BTreeMap<NodeId, Option<String>> {
    let why = |&x: &ValueId| match walk.labels.get(&x) {
        None if graph.inputs().contains(&x) => Some("it reads an input of the model".to_owned()),
        None => Some("nothing before it can take up a factor for each channel".to_owned()),
        Some(label) => {
            let reasons = label.classes.iter().map(|&class| walk.classes.pinned(class));
            let reasons: Option<Vec<&str>> = reasons.collect();
            reasons.map(|reasons| reasons.first().copied().unwrap_or("it has no channels").to_owned())
        }
    };
    walk.layers.iter().map(|(&id, x)| (id, why(x))).collect()
}
