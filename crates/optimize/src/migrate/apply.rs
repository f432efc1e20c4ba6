//! Gives a copy of the float model factors.

use super::label::Label;
use super::walk::{Cut, Walk};
use crate::error::Error;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{
    DataId, Module, NewNode, NodeId, Patch, Source, TensorData, Use, ValueId, op::Mul, shape::fixed_dims,
};

/// The factors of classes, by their root. All others are 1.
pub(crate) type Factors = BTreeMap<u32, f64>;

/// A copy of the float model in which values are divided by factors, and constants make up for it.
#[derive(Clone, Debug)]
pub struct Migrated {
    /// The copy. It computes what the model computes, except for the rounding of floats.
    pub module: Module,
    /// The multiplications that were put in, with their results.
    pub inserted: BTreeMap<Cut, (NodeId, ValueId)>,
    /// The values of the model that the copy divides by factors.
    pub changed: BTreeSet<ValueId>,
    /// For each layer, the factors of the channels that it reads and of its outputs. A list is empty if all of its factors are
    /// 1.
    pub balance: BTreeMap<NodeId, Balance>,
}

/// The factors of one layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Balance {
    /// The factors by which the channels that it reads are divided, and its weights multiplied.
    pub input: Vec<f32>,
    /// The factors by which its outputs are divided, with its weights and its bias.
    pub output: Vec<f32>,
}

/// The factor at each position of a label.
pub(crate) fn factors(walk: &Walk, label: &Label, factors: &Factors) -> Vec<f64> {
    let of = |class: &u32| factors.get(&walk.classes.root(*class)).copied().unwrap_or(1.0);
    label.classes.iter().map(of).collect()
}

/// A constant after all of its effects. `None` if no factor acts on it.
pub(crate) fn scaled(module: &Module, walk: &Walk, data: DataId, all: &Factors) -> Option<Vec<f64>> {
    let tensor = module.data(data)?;
    let dims: Vec<usize> = tensor.shape().iter().map(|&extent| extent as usize).collect();
    let mut elements: Option<Vec<f64>> = None;
    for effect in walk.effects.iter().filter(|effect| effect.data == data) {
        let own = factors(walk, &effect.label, all);
        if own.iter().all(|&factor| factor == 1.0) {
            continue;
        }
        let numbers = match &mut elements {
            Some(numbers) => numbers,
            None => elements.insert(tensor.to_f32().ok()?.iter().map(|&x| f64::from(x)).collect()),
        };
        let mut strides = vec![1; dims.len()];
        for axis in (1..dims.len()).rev() {
            strides[axis - 1] = strides[axis] * dims[axis];
        }
        for (index, number) in numbers.iter_mut().enumerate() {
            let place = |at: usize, &axis: &usize| at * dims[axis] + index / strides[axis] % dims[axis];
            let factor = own.get(effect.label.axes.iter().fold(0, place)).copied().unwrap_or(1.0);
            match effect.divides {
                true => *number /= factor,
                false => *number *= factor,
            }
        }
    }
    elements
}

/// Applies factors to a copy of the model.
pub(crate) fn apply(module: &Module, walk: &Walk, all: &Factors) -> Result<Migrated, Error> {
    let defect = |text: &str| Error::Defect(text.to_owned());
    let mut made = module.clone();
    let constants: BTreeSet<DataId> = walk.effects.iter().map(|effect| effect.data).collect();
    for data in constants {
        let Some(numbers) = scaled(module, walk, data, all) else {
            continue;
        };
        let shape = module.data(data).map_or(&[][..], TensorData::shape);
        let rounded: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
        let tensor = TensorData::from_values(shape, &rounded).map_err(|error| Error::Defect(error.to_string()))?;
        if !made.replace_data(data, tensor) {
            return Err(defect("a constant with factors has another type"));
        }
    }
    let is_one = |label: &Label| factors(walk, label, all).iter().all(|&factor| factor == 1.0);
    let mut inserted = BTreeMap::new();
    for (&cut, label) in &walk.cuts {
        if !is_one(label) {
            inserted.insert(cut, insert(&mut made, walk, (cut, label), all)?);
        }
    }
    let changed = walk
        .labels
        .iter()
        .filter(|(_, label)| !is_one(label))
        .map(|(&value, _)| value);
    let mut changed: BTreeSet<ValueId> = changed.collect();
    changed.extend(inserted.keys().filter_map(|cut| match cut {
        Cut::Behind(value) => Some(*value),
        Cut::Before(_) => None,
    }));
    let mut balance: BTreeMap<NodeId, Balance> = BTreeMap::new();
    for (&id, x) in &walk.layers {
        let y = module.main().node(id).and_then(strait_core::Node::result);
        let of = |cut: Cut, value: ValueId| {
            let label = walk.cuts.get(&cut).or_else(|| walk.labels.get(&value));
            let own = label
                .filter(|label| !is_one(label))
                .map(|label| factors(walk, label, all));
            own.unwrap_or_default().iter().map(|&factor| factor as f32).collect()
        };
        let own = Balance {
            input: of(Cut::Before(*x), *x),
            output: y.map_or_else(Vec::new, |y| of(Cut::Behind(y), y)),
        };
        if own != Balance::default() {
            balance.insert(id, own);
        }
    }
    Ok(Migrated {
        module: made,
        inserted,
        changed,
        balance,
    })
}

/// Puts in one multiplication.
fn insert(
    module: &mut Module,
    walk: &Walk,
    (cut, label): (Cut, &Label),
    all: &Factors,
) -> Result<(NodeId, ValueId), Error> {
    let defect = |text: &str| Error::Defect(text.to_owned());
    let (main, value) = (module.main, cut.value());
    let graph = module.main();
    let ty = &graph
        .value(value)
        .ok_or_else(|| defect("a value with factors is missing"))?
        .ty;
    let rank = fixed_dims(&ty.shape).map_or(0, |dims| dims.len());
    let own = factors(walk, label, all);
    let axis = label.axes.first().copied().unwrap_or(0);
    let mut shape = vec![own.len() as u64];
    shape.resize(rank.saturating_sub(axis).max(1), 1);
    let numbers: Vec<f32> = own
        .iter()
        .map(|&factor| match cut {
            Cut::Before(_) => (1.0 / factor) as f32,
            Cut::Behind(_) => factor as f32,
        })
        .collect();
    let tensor = TensorData::from_values(&shape, &numbers).map_err(|error| Error::Defect(error.to_string()))?;
    let uses: Vec<Use> = match cut {
        Cut::Behind(_) => graph.uses(value).collect(),
        Cut::Before(_) => {
            let reads = |at: &Use| walk.layers.get(&at.node) == Some(&value) && at.operand == 0;
            graph.uses(value).filter(reads).collect()
        }
    };
    let origin = match cut {
        Cut::Behind(_) => graph.producer(value).map(|(id, _)| id),
        Cut::Before(_) => uses.iter().map(|at| at.node).min(),
    };
    let origin = origin.ok_or_else(|| defect("nothing reads a value with factors"))?;
    let node = NewNode::new(
        Mul::float(),
        &[Some(Source::Old(value)), Some(Source::Data(0))],
        &[origin],
    );
    let patch = Patch {
        data: vec![("balance".into(), tensor)],
        add: vec![node],
        redirect: uses.into_iter().map(|at| (at, Source::New(0, 0))).collect(),
        ..Patch::default()
    };
    let applied = module
        .apply(main, patch)
        .map_err(|error| Error::Defect(error.to_string()))?;
    let id = applied
        .added
        .first()
        .copied()
        .ok_or_else(|| defect("no multiplication was put in"))?;
    let result = module.main().node(id).and_then(strait_core::Node::result);
    Ok((id, result.ok_or_else(|| defect("a multiplication has no result"))?))
}
