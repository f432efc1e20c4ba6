//! Plans which scale is moved in a model.

use super::apply::{Factors, Migrated, apply};
use super::choose::{Choice, Rule, axis, spread};
use super::gather::{Watched, gather};
use super::seams::{Seam, pinned, seams};
use super::trial::Trials;
use super::walk::{Cut, Walk, is_layer};
use crate::LEAST_SAMPLES;
use crate::error::Error;
use crate::layer::geometry::Geometry;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use strait_core::{Elem, Graph, Module, NodeId, Placement, Port, TensorData, Term, ValueId};
use strait_execute::{Limits, Threads};
use strait_quantize::observe::Samples;

/// What a plan is made from.
#[derive(Clone, Copy)]
pub struct MigrationTask<'a> {
    /// The float graph.
    pub float: &'a Module,
    /// The annotated graph without factors. Its nodes and values have the ids of the float graph.
    pub annotated: &'a Module,
    /// The calibration samples.
    pub samples: &'a dyn Samples,
    /// True if factors may move between the activations and the weights of matrix products.
    pub smooth: bool,
    /// True if factors may move between the weights of neighbouring layers.
    pub equalize: bool,
    /// The limits of the run.
    pub limits: Limits,
    /// The number of threads. The result does not depend on it.
    pub threads: NonZeroUsize,
}

/// Factors that were found for the channels of some values, and what they help.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The nodes whose constants are divided by the factors.
    pub makers: Vec<NodeId>,
    /// The layers whose weights are multiplied by the factors.
    pub readers: Vec<NodeId>,
    /// Where a multiplication is put in.
    pub cut: Option<Cut>,
    /// How the factors were computed.
    pub rule: Rule,
    /// The largest factor divided by the smallest one.
    pub spread: f64,
    /// The error of the layers around the seam on the samples that judge, divided by the power of their results, before and
    /// after.
    pub errors: [f64; 2],
    factors: Factors,
}

/// The factors that were found for a model.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The factors that were found, in the order of the classes of channels.
    pub pairs: Vec<Pair>,
    /// For each other layer, why what it reads gets no factors.
    pub untouched: BTreeMap<NodeId, String>,
    walk: Walk,
}

impl Plan {
    /// Applies some of the pairs to a copy of the model.
    ///
    /// # Errors
    /// A defect of the compiler.
    pub fn apply(&self, float: &Module, pairs: &BTreeSet<usize>) -> Result<Migrated, Error> {
        let chosen = self.pairs.iter().enumerate().filter(|(at, _)| pairs.contains(at));
        let all: Factors = chosen.flat_map(|(_, pair)| pair.factors.clone()).collect();
        apply(float, &self.walk, &all)
    }

    /// The values that a pair divides by factors.
    pub fn values(&self, pair: usize) -> BTreeSet<ValueId> {
        let Some(pair) = self.pairs.get(pair) else {
            return BTreeSet::new();
        };
        let is_own = |class: &u32| pair.factors.contains_key(&self.walk.classes.root(*class));
        let labelled = self
            .walk
            .labels
            .iter()
            .filter(|(_, label)| label.classes.iter().any(is_own));
        let behind = pair.cut.and_then(|cut| match cut {
            Cut::Behind(value) => Some(value),
            Cut::Before(_) | Cut::Beside(_) => None,
        });
        labelled.map(|(&value, _)| value).chain(behind).collect()
    }
}

/// Chooses factors for the seams of a model, from its first layers to its last ones.
///
/// # Errors
/// [`Error`].
pub fn plan(task: &MigrationTask<'_>, done: &mut dyn FnMut(usize) -> ControlFlow<()>) -> Result<Plan, Error> {
    let graph = task.float.main();
    let plain = Walk::new(task.float, &BTreeSet::new());
    let cuts = match task.smooth {
        true => cuts(task, &plain),
        false => BTreeSet::new(),
    };
    let walk = Walk::new(task.float, &cuts);
    let found = seams(&walk);
    let mut untouched: BTreeMap<NodeId, String> = reasons(&walk, graph);
    if task.samples.count() < LEAST_SAMPLES {
        let why = format!("factors are chosen from {LEAST_SAMPLES} samples or more, because some of them only judge");
        untouched.extend(walk.layers.keys().map(|&id| (id, why.clone())));
        return Ok(Plan {
            pairs: Vec::new(),
            untouched,
            walk,
        });
    }
    let around = |seam: &Seam| {
        seam.nodes(&walk, true)
            .union(&seam.nodes(&walk, false))
            .copied()
            .collect::<Vec<_>>()
    };
    let mut watched: BTreeMap<NodeId, Watched> = BTreeMap::new();
    let mut values: BTreeMap<ValueId, usize> = BTreeMap::new();
    for id in found.iter().flat_map(around) {
        let Some(layer) = layer(task.float, id) else { continue };
        for value in layer.values {
            values.extend(
                axis(&walk, value)
                    .or_else(|| own_axis(graph, id, value))
                    .map(|axis| (value, axis)),
            );
        }
        watched.insert(id, layer);
    }
    if found.is_empty() || watched.is_empty() {
        return Ok(Plan {
            pairs: Vec::new(),
            untouched,
            walk,
        });
    }
    let layers: Vec<Watched> = watched.values().cloned().collect();
    let means = (task.limits, task.threads);
    let seen = gather(task.float, task.samples, (&layers, &values), means, done)?;
    let choice = Choice {
        float: task.float,
        walk: &walk,
        seen: &seen,
        trials: Trials {
            float: task.float,
            annotated: task.annotated,
            walk: &walk,
            seen: &seen,
        },
        layers: &watched,
        rules: [task.smooth, task.equalize],
    };
    let threads = Threads::new(task.threads);
    let (mut known, mut pairs) = (Factors::new(), Vec::new());
    for seam in &found {
        if !(task.smooth && choice.migrates(seam) || task.equalize && choice.equalizes(seam)) {
            continue;
        }
        let [makers, readers] = [true, false].map(|divides| seam.nodes(&walk, divides).into_iter().collect::<Vec<_>>());
        match threads.run(|| choice.of_seam(seam, &known)) {
            Ok(chosen) => {
                known.extend(chosen.factors.clone());
                pairs.push(Pair {
                    makers,
                    readers,
                    cut: seam.cut,
                    rule: chosen.rule,
                    spread: spread(seam, &chosen.factors),
                    errors: chosen.errors,
                    factors: chosen.factors,
                });
            }
            Err(why) => {
                for id in readers {
                    untouched.entry(id).or_insert_with(|| why.clone());
                }
            }
        }
    }
    for pair in &pairs {
        pair.readers.iter().for_each(|id| _ = untouched.remove(id));
    }
    Ok(Plan { pairs, untouched, walk })
}

/// For each layer that reads no value with factors, the reason.
fn reasons(walk: &Walk, graph: &Graph) -> BTreeMap<NodeId, String> {
    let left = walk.left.iter().map(|(&id, why)| (id, (*why).to_owned()));
    let has_cut = |id: &NodeId| {
        let cuts = |&x: &ValueId| [Cut::Before(x), Cut::Beside(x)];
        let of = walk.layers.get(id).map(cuts);
        of.is_some_and(|cuts| cuts.iter().any(|cut| walk.cuts.contains_key(cut)))
    };
    let pinned = pinned(walk, graph).into_iter().filter(|(id, _)| !has_cut(id));
    left.chain(pinned.filter_map(|(id, why)| Some((id, why?)))).collect()
}

fn layer(float: &Module, id: NodeId) -> Option<Watched> {
    let graph = float.main();
    let node = graph.node(id).filter(|node| is_layer(node))?;
    let weights = graph
        .data_of(node.input(1)?)
        .and_then(|data| float.data(data))
        .map(TensorData::shape)?;
    Some(Watched {
        node: id,
        geometry: Geometry::of(node, weights).ok()?,
        values: [node.input(0)?, node.result()?],
    })
}

/// The axis of the channels of what a layer reads or makes.
fn own_axis(graph: &Graph, id: NodeId, value: ValueId) -> Option<usize> {
    match graph.node(id)?.op.term() {
        Term::Gemm => graph.value(value)?.ty.shape.len().checked_sub(1),
        _ => Some(1),
    }
}

/// True if a value comes from a normalization with constants that have one number for each channel, and layers are not its only
/// readers.
fn is_normalized(float: &Module, value: ValueId) -> bool {
    let graph = float.main();
    let channels = graph.value(value).and_then(|value| value.ty.shape.last()?.fixed());
    graph.producer(value).is_some_and(|(_, node)| {
        let is_norm = matches!(node.op.term(), Term::LayerNormalization | Term::RmsNormalization);
        let mut constants = node.inputs.iter().skip(1).flatten();
        is_norm
            && constants.all(|&operand| {
                let tensor = graph.data_of(operand).and_then(|data| float.data(data));
                tensor.is_some_and(|tensor| channels == Some(tensor.len() as u64) && tensor.elem() == Elem::F32)
            })
    })
}

/// Where nodes can be put in: multiplications where a value is real in the quantized model, too, and normalizations beside those
/// that are computed on codes.
fn cuts(task: &MigrationTask<'_>, plain: &Walk) -> BTreeSet<Cut> {
    let (graph, table) = (task.annotated.main(), &task.annotated.main().quant);
    let has_grid = |id: NodeId, port: Port| table.params_of(id, port).is_some();
    let on_host = |id: NodeId| graph.node(id).is_some_and(|node| node.place != Placement::Accelerator);
    let pinned = |value: ValueId| {
        plain
            .labels
            .get(&value)
            .is_none_or(|label| label.classes.iter().all(|&class| plain.classes.pinned(class).is_some()))
    };
    let mut found = BTreeSet::new();
    for (&id, &x) in &plain.layers {
        let is_real = graph
            .producer(x)
            .is_some_and(|(maker, _)| on_host(maker) || !has_grid(maker, Port::Result(0)));
        if !on_host(id) && has_grid(id, Port::Operand(0)) && pinned(x) && is_real {
            found.insert(Cut::Before(x));
        } else if !on_host(id) && has_grid(id, Port::Operand(0)) && pinned(x) && is_normalized(task.float, x) {
            found.insert(Cut::Beside(x));
        }
        let Some(y) = graph.node(id).and_then(strait_core::Node::result) else {
            continue;
        };
        let readers: Vec<NodeId> = graph.uses(y).map(|at| at.node).collect();
        let is_read_as_real = !readers.is_empty() && readers.iter().all(|&reader| on_host(reader));
        let shares = table
            .params_of(id, Port::Operand(1))
            .is_some_and(|grid| grid.axis.is_none());
        let would_gain = has_grid(id, Port::Result(0)) || shares;
        if !on_host(id) && !graph.is_output(y) && pinned(y) && is_read_as_real && would_gain {
            found.insert(Cut::Behind(y));
        }
    }
    found
}
