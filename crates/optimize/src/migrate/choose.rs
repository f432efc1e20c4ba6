//! Chooses the factors of each seam by the error of the layers around it.

use super::apply::{Factors, scaled};
use super::gather::{Ends, Seen, Watched};
use super::seams::Seam;
use super::trial::Trials;
use super::walk::{Cut, Effect, Walk};
use crate::fidelity::{is_gain, mean};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{Module, NodeId, ValueId};

/// How factors are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// s = max|x|^α / max|w|^(1 − α), with the channels x that layers read and their weights w. Behind a layer,
    /// t = max|y|^α · max|w|^(1 − α), with the weights w of an output.
    Migrate {
        /// The part of the spread that the weights take up.
        strength: f64,
    },
    /// s = √(max|v| / max|w|), with the weights v that make a channel and the weights w that read it.
    Equalize,
}

impl Rule {
    /// The word for the rule in reports.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Migrate { .. } => "migrate",
            Rule::Equalize => "equalize",
        }
    }
}

/// The strengths that are tried.
const STRENGTHS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// No factor is larger, and none is smaller than the reciprocal.
const MOST: f64 = 1024.0;

/// The error of the layers has to fall by this part if a node is put in.
const LEAST_OF_NODES: f64 = 0.2;

/// Factors that were chosen for a seam.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) rule: Rule,
    pub(crate) factors: Factors,
    /// The mean error of the layers around the seam on the samples that judge, before and after.
    pub(crate) errors: [f64; 2],
}

/// What factors are chosen from.
pub(crate) struct Choice<'a> {
    pub(crate) float: &'a Module,
    pub(crate) walk: &'a Walk,
    pub(crate) seen: &'a Seen,
    pub(crate) trials: Trials<'a>,
    pub(crate) layers: &'a BTreeMap<NodeId, Watched>,
    /// If factors may be computed as for migration, and as for equalization.
    pub(crate) rules: [bool; 2],
}

impl Choice<'_> {
    /// Chooses the factors of a seam. `known` are the factors of seams before it. Returns the reason if none are a gain.
    pub(crate) fn of_seam(&self, seam: &Seam, known: &Factors) -> Result<Chosen, String> {
        let around: BTreeSet<NodeId> = seam
            .nodes(self.walk, true)
            .union(&seam.nodes(self.walk, false))
            .copied()
            .collect();
        let layers: Vec<&Watched> = around.iter().filter_map(|id| self.layers.get(id)).collect();
        let errors = |all: &Factors| -> Option<Vec<f64>> {
            let mut sum = vec![0.0; self.seen.held];
            for layer in &layers {
                let own = self.trials.errors(layer, all)?;
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            Some(sum)
        };
        let before = errors(known).ok_or("its layers were not seen on the samples")?;
        let mut best: Option<(Rule, Factors, Vec<f64>)> = None;
        for rule in self.rules(seam) {
            let Some(own) = self.factors(seam, rule, known) else {
                continue;
            };
            let mut all = known.clone();
            all.extend(own.clone());
            let Some(after) = errors(&all) else { continue };
            if best.as_ref().is_none_or(|(_, _, best)| mean(&after) < mean(best)) {
                best = Some((rule, own, after));
            }
        }
        let (rule, factors, after) = best.ok_or("no channel of it has numbers other than zero")?;
        let is_worth_a_node = seam.cut.is_none() || mean(&after) < (1.0 - LEAST_OF_NODES) * mean(&before);
        match is_gain(&before, &after) && is_worth_a_node {
            true => Ok(Chosen {
                rule,
                factors,
                errors: [mean(&before), mean(&after)],
            }),
            false => Err("factors bring the results of its layers not clearly closer to the float model's".to_owned()),
        }
    }

    fn rules(&self, seam: &Seam) -> Vec<Rule> {
        let mut rules = Vec::new();
        if self.rules[0] && self.migrates(seam) {
            rules.extend(STRENGTHS.map(|strength| Rule::Migrate { strength }));
        }
        if self.rules[1] && self.equalizes(seam) {
            rules.push(Rule::Equalize);
            if rules.len() == 1 {
                rules.extend([0.5, 1.0].map(|strength| Rule::Migrate { strength }));
            }
        }
        rules
    }

    /// True for seams in front of matrix products, and for those with a multiplication.
    pub(crate) fn migrates(&self, seam: &Seam) -> bool {
        let graph = self.float.main();
        let is_product = |id: &NodeId| {
            graph
                .node(*id)
                .is_some_and(|node| node.op.term() == strait_core::Term::Gemm)
        };
        seam.cut.is_some() || seam.nodes(self.walk, false).iter().all(is_product)
    }

    /// True for seams between layers with weights.
    pub(crate) fn equalizes(&self, seam: &Seam) -> bool {
        let makers = seam.nodes(self.walk, true);
        seam.cut.is_none() && makers.iter().any(|id| self.walk.layers.contains_key(id))
    }

    /// The factors of a seam by a rule. `None` if all channels are zero.
    fn factors(&self, seam: &Seam, rule: Rule, known: &Factors) -> Option<Factors> {
        let numbers = self.largest(seam);
        let [made, read] = [0, 1].map(|side| self.weights(seam, side, known));
        let mut found = Factors::new();
        for &class in &seam.classes {
            let [x, v, w] = [&numbers, &made, &read].map(|of| of.get(&class).copied().unwrap_or(0.0));
            let factor = match (rule, seam.cut) {
                (Rule::Migrate { strength }, Some(Cut::Behind(_))) if x > 0.0 && v > 0.0 => {
                    x.powf(strength) * v.powf(1.0 - strength)
                }
                (Rule::Migrate { strength }, _) if x > 0.0 && w > 0.0 => x.powf(strength) / w.powf(1.0 - strength),
                (Rule::Equalize, _) if v > 0.0 && w > 0.0 => (v / w).sqrt(),
                _ => continue,
            };
            found.insert(class, factor);
        }
        // The largest number of the tensor stays what it is, so that channels without a factor lose nothing.
        let most = |of: &dyn Fn(u32, f64) -> f64| numbers.iter().map(|(&class, &x)| of(class, x)).fold(0.0, f64::max);
        let before = most(&|class, x| if found.contains_key(&class) { x } else { 0.0 });
        let after = most(&|class, x| found.get(&class).map_or(0.0, |factor| x / factor));
        if !(before > 0.0 && after > 0.0) {
            return None;
        }
        for factor in found.values_mut() {
            *factor = f64::from((*factor * (after / before)).clamp(1.0 / MOST, MOST) as f32);
        }
        Some(found)
    }

    /// The largest magnitude of each class of a seam: in what its layers read, or in its values if none reads them.
    fn largest(&self, seam: &Seam) -> BTreeMap<u32, f64> {
        let mut found = BTreeMap::new();
        let mut add = |label: &super::label::Label, ends: &Ends| {
            for (&class, ends) in label.classes.iter().zip(ends).filter(|(_, ends)| ends[0] <= ends[1]) {
                let magnitude = f64::from(ends[1].max(-ends[0]));
                let known: &mut f64 = found.entry(self.walk.classes.root(class)).or_default();
                *known = known.max(magnitude);
            }
        };
        let ends = |value: &ValueId| self.seen.ends.get(value).map(|[learned, _]| learned);
        let readers = seam.nodes(self.walk, false);
        let read = readers.iter().filter_map(|id| self.walk.layers.get(id));
        let made = match seam.cut {
            Some(Cut::Behind(value)) => Some(value),
            _ => None,
        };
        let read = read.map(|value| (self.walk.read(*value), ends(value)));
        let made = made.iter().map(|value| (self.walk.made(*value), ends(value)));
        for (label, ends) in read.chain(made) {
            if let (Some(label), Some(ends)) = (label, ends) {
                add(label, ends);
            }
        }
        found.retain(|class, _| seam.classes.contains(class));
        found
    }

    /// The largest magnitude among the weights of each class: those that make it, or those that read it.
    fn weights(&self, seam: &Seam, side: usize, known: &Factors) -> BTreeMap<u32, f64> {
        let mut found = BTreeMap::new();
        for &at in &seam.effects[side] {
            let effect = &self.walk.effects[at];
            if effect.operand == 1 && self.walk.layers.contains_key(&effect.node) {
                self.add_weights(effect, known, &mut found);
            }
        }
        found.retain(|class, _| seam.classes.contains(class));
        found
    }

    fn add_weights(&self, effect: &Effect, known: &Factors, found: &mut BTreeMap<u32, f64>) -> Option<()> {
        let tensor = self.float.data(effect.data)?;
        let numbers: Vec<f64> = match scaled(self.float, self.walk, effect.data, known) {
            Some(numbers) => numbers,
            None => tensor.to_f32().ok()?.iter().map(|&x| f64::from(x)).collect(),
        };
        let dims: Vec<usize> = tensor.shape().iter().map(|&extent| extent as usize).collect();
        let mut strides = vec![1; dims.len()];
        for axis in (1..dims.len()).rev() {
            strides[axis - 1] = strides[axis] * dims[axis];
        }
        for (index, number) in numbers.iter().enumerate() {
            let place = |at: usize, &axis: &usize| at * dims[axis] + index / strides[axis] % dims[axis];
            let class = *effect.label.classes.get(effect.label.axes.iter().fold(0, place))?;
            let known = found.entry(self.walk.classes.root(class)).or_default();
            *known = f64::max(*known, number.abs());
        }
        Some(())
    }
}

/// The largest factor of a seam divided by the smallest one.
pub(crate) fn spread(seam: &Seam, all: &Factors) -> f64 {
    let own = seam.classes.iter().map(|class| all.get(class).copied().unwrap_or(1.0));
    let (low, high) = own.fold((f64::INFINITY, 0.0f64), |(low, high), factor| {
        (low.min(factor), high.max(factor))
    });
    match low.is_finite() && low > 0.0 {
        true => high / low,
        false => 1.0,
    }
}

/// The axis of the channels of a value with this label.
pub(crate) fn axis(walk: &Walk, value: ValueId) -> Option<usize> {
    let label = walk.cuts.get(&Cut::Behind(value)).or_else(|| walk.read(value))?;
    label.axes.first().copied().filter(|_| label.axes.len() == 1)
}
