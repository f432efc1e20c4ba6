//! Gives a copy of the float model factors.

use super::insert::insert;
use super::label::Label;
use super::walk::{Cut, Walk};
use crate::error::Error;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::{DataId, Module, NodeId, TensorData, ValueId};

/// The factors of classes, by their root. All others are 1.
pub(crate) type Factors = BTreeMap<u32, f64>;

/// A copy of the float model in which values are divided by factors, and constants make up for it.
#[derive(Clone, Debug)]
pub struct Migrated {
    /// The copy. It computes what the model computes, except for the rounding of floats.
    pub module: Module,
    /// The nodes that were put in, with their results.
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
            let own = factors(walk, label, all);
            inserted.insert(cut, insert(&mut made, walk, (cut, label), &own)?);
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
        Cut::Before(_) | Cut::Beside(_) => None,
    }));
    let mut balance: BTreeMap<NodeId, Balance> = BTreeMap::new();
    for (&id, x) in &walk.layers {
        let y = module.main().node(id).and_then(strait_core::Node::result);
        let of = |label: Option<&Label>| {
            let own = label
                .filter(|label| !is_one(label))
                .map(|label| factors(walk, label, all));
            own.unwrap_or_default().iter().map(|&factor| factor as f32).collect()
        };
        let own = Balance {
            input: of(walk.read(*x)),
            output: y.map_or_else(Vec::new, |y| of(walk.made(y))),
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
