//! Turns a graph for one sample into a graph for any number of samples.
//!
//! When a model is read, its shapes become fixed, with a batch of 1, and lists of extents that the model computes
//! become constants. This module makes the batch a named extent again. Each value that depends on an input gets an axis
//! along which the samples lie. If this axis had n elements for one sample, it then has n elements for each sample
//! ([`Samples`]). [`rules`] says for each op which axis this is and how the op has to change, or refuses the op because
//! its result mixes samples. If a Concat joins a constant with samples, the constant is repeated for each sample.

mod hidden;
mod node_rule;
mod rules;
mod shapes;
#[cfg(test)]
mod tests;

use node_rule::{At, Rule};
use rules::rule;
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, BTreeSet};
use strait_core::op::{Concat, Expand, ShapeOf, Slice, Transpose};
use strait_core::{Def, Dim, Elem, Module, Node, Op, Symbol, TensorData, TensorType, ValueId};

/// The reason why a graph cannot be changed to take any number of samples, and the node that is the cause.
#[derive(Clone, Debug, PartialEq)]
pub struct OneSample {
    /// The name of the node.
    pub node: String,
    /// The reason.
    pub why: String,
}

/// How a value contains several samples: they lie one after the other along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Samples {
    axis: usize,
    /// The number of elements of each sample along the axis.
    each: u64,
}

/// A graph for any number of samples.
#[derive(Debug)]
pub struct FreeBatch {
    /// The graph. Its extents that depend on the number of samples have names.
    pub module: Module,
    /// For the name of each such extent: how many elements belong to one sample.
    extents: BTreeMap<Symbol, u64>,
    /// For each node that the model does not have: the node of the model for which it was added.
    added: BTreeMap<String, String>,
}

impl FreeBatch {
    /// The name of the node of the model that a node belongs to, by its name.
    pub fn layer<'a>(&'a self, node: &'a str) -> &'a str {
        self.added.get(node).map_or(node, String::as_str)
    }

    /// The graph for `count` samples.
    pub fn of(&self, count: u64) -> Module {
        let mut module = self.module.clone();
        let extent = |symbol: Symbol| self.extents.get(&symbol).map(|each| each.saturating_mul(count));
        module.main_mut().bind(extent);
        module
    }
}

/// Returns the main graph of `module`, changed for any number of samples. The batch of every input must have the extent 1,
/// and gets the extent `name`. It is the first axis, or the one in `axes`, by the name of the input; `None` stands for an
/// input without a batch, which stays as it is. Each node must have the op that it has in the model, or convert codes: the
/// graph must be that of a simulation or of operators on codes. It must have no control flow.
///
/// # Errors
/// The first node that cannot be shown to treat each sample alike.
pub fn free_batch(module: &Module, name: &str, axes: &BTreeMap<String, Option<usize>>) -> Result<FreeBatch, OneSample> {
    let joined = freed(module, name, axes, false);
    joined.or_else(|why| freed(module, name, axes, true).map_err(|_| why))
}

/// Does the same as [`free_batch`]. If `hides` is set, and a reshape would merge the batch with another axis, the batch
/// may get an extra axis in front.
fn freed(
    module: &Module,
    name: &str,
    axes: &BTreeMap<String, Option<usize>>,
    hides: bool,
) -> Result<FreeBatch, OneSample> {
    let mut freeing = Freeing::new(module, name, hides);
    let order = module.main().topological_order().map_err(|id| OneSample {
        node: id.to_string(),
        why: "the graph has a cycle".into(),
    })?;
    for &input in module.main().inputs() {
        freeing.input(input, axes)?;
    }
    for node in order.into_iter().filter_map(|id| module.main().node(id)) {
        freeing.node(node).map_err(|why| OneSample {
            node: module.name(node.name).to_owned(),
            why,
        })?;
    }
    for output in module.main().outputs() {
        if freeing.hidden.contains(output) {
            let value = module.main().value(*output);
            return Err(OneSample {
                node: value.map_or("", |value| module.name(value.name)).to_owned(),
                why: "the batch is no axis of it".into(),
            });
        }
        let made = freeing.made(*output);
        made.into_iter()
            .for_each(|made| freeing.out.main_mut().add_output(made));
    }
    Ok(FreeBatch {
        module: freeing.out,
        extents: freeing.extents,
        added: freeing.added,
    })
}

struct Freeing<'a> {
    source: &'a Module,
    out: Module,
    batch: Symbol,
    /// For the name of each extent that depends on the number of samples: how many elements belong to one sample.
    extents: BTreeMap<Symbol, u64>,
    /// For each node that the source does not have: the node of the source for which it was added.
    added: BTreeMap<String, String>,
    /// The name of the node of the source that is being changed.
    layer: String,
    /// For each value of the source: the new value, and the axis of the samples if the value depends on samples.
    made: BTreeMap<ValueId, (ValueId, Option<Samples>)>,
    /// Values of the source whose new values have an extra axis in front for the samples.
    hidden: BTreeSet<ValueId>,
    /// True if extra axes for the samples are allowed.
    hides: bool,
    /// The number of samples, as a list with one element.
    count: Option<ValueId>,
}

impl<'a> Freeing<'a> {
    fn new(source: &'a Module, batch: &str, hides: bool) -> Freeing<'a> {
        let main = source.main();
        let graph = strait_core::Graph::new(main.name, main.stage());
        let mut out = Module::new(graph, source.names.clone());
        // The tensors are copied in their order, so they keep their ids.
        source.pool().iter().for_each(|tensor| {
            out.add_data(tensor.clone());
        });
        let batch = out.names.intern(batch);
        Freeing {
            source,
            out,
            batch,
            extents: BTreeMap::from([(batch, 1)]),
            added: BTreeMap::new(),
            layer: String::new(),
            made: BTreeMap::new(),
            hidden: BTreeSet::new(),
            hides,
            count: None,
        }
    }

    fn input(&mut self, id: ValueId, axes: &BTreeMap<String, Option<usize>>) -> Result<(), OneSample> {
        let Some(value) = self.source.main().value(id) else {
            return Ok(());
        };
        let name = self.source.name(value.name);
        let axis = axes.get(name).copied().unwrap_or(Some(0));
        if let Some(axis) = axis.filter(|&axis| value.ty.shape.get(axis) != Some(&Dim::Fixed(1))) {
            return Err(OneSample {
                node: name.to_owned(),
                why: match axis {
                    0 => "its first extent is not 1".into(),
                    _ => format!("its extent along axis {axis} is not 1"),
                },
            });
        }
        let samples = axis.map(|axis| Samples { axis, each: 1 });
        let ty = self.typed(&value.ty, samples);
        let made = self.out.main_mut().add_input(value.name, ty, value.quant.clone());
        self.made.insert(id, (made, samples));
        Ok(())
    }

    /// The new value for a value of the source. A constant is copied when it is first needed.
    fn made(&mut self, id: ValueId) -> Option<ValueId> {
        if let Some((made, _)) = self.made.get(&id) {
            return Some(*made);
        }
        let value = self.source.main().value(id)?;
        let Def::Data(data) = value.def else { return None };
        let main = self.out.main_mut();
        let made = main.add_data(value.name, value.ty.clone(), value.quant.clone(), data);
        self.made.insert(id, (made, None));
        Some(made)
    }

    /// Changes the type that a value has for one sample: the samples' axis gets the extent of all samples together.
    fn typed(&mut self, ty: &TensorType, samples: Option<Samples>) -> TensorType {
        let mut ty = ty.clone();
        if let Some(Samples { axis, each }) = samples
            && let Some(extent) = ty.shape.get_mut(axis)
        {
            let name = match each {
                1 => self.batch,
                _ => {
                    let text = format!("{each}*{}", self.out.name(self.batch));
                    self.out.names.intern(&text)
                }
            };
            self.extents.insert(name, each);
            *extent = Dim::Named(name);
        }
        ty
    }

    /// The types that the values `ids` have in the source graph.
    fn types(&self, ids: impl Iterator<Item = Option<ValueId>>) -> Vec<Option<&'a TensorType>> {
        let graph = self.source.main();
        ids.map(|id| graph.value(id?).map(|value| &value.ty)).collect()
    }

    /// How the node changes for several samples. `None` if the node does not depend on an input.
    fn rule(&self, node: &'a Node, results: &[&'a TensorType]) -> Result<Option<Rule>, String> {
        let samples: Vec<Option<Samples>> = (node.inputs.iter())
            .map(|id| self.made.get(&(*id)?).and_then(|(_, samples)| *samples))
            .collect();
        if samples.iter().all(Option::is_none) {
            return Ok(None);
        }
        let values = node.inputs.iter().flatten().chain(&node.outputs);
        let grids = values.filter_map(|id| self.source.main().value(*id)?.quant.as_deref());
        let (operands, grids) = (self.types(node.inputs.iter().copied()), grids.collect::<Vec<_>>());
        let is_hidden = |id: &Option<ValueId>| id.is_some_and(|id| self.hidden.contains(&id));
        if !node.inputs.iter().any(is_hidden) {
            let at = At {
                op: &node.op,
                grids: &grids,
                operands: &operands,
                samples: &samples,
                results,
                hides: self.hides,
            };
            return rule(&at).map(Some);
        }
        let mixes = node
            .inputs
            .iter()
            .zip(&samples)
            .any(|(id, samples)| samples.is_some() && !is_hidden(id));
        if mixes || grids.iter().any(|grid| grid.axis.is_some()) {
            return Err("its operands have the batch along different axes".into());
        }
        hidden::behind(&node.op, &operands, &samples, results).map(Some)
    }

    fn node(&mut self, node: &'a Node) -> Result<(), String> {
        let graph = self.source.main();
        self.source.name(node.name).clone_into(&mut self.layer);
        let missing = || "a value of it is missing".to_owned();
        let results: Option<Vec<_>> = self.types(node.outputs.iter().copied().map(Some)).into_iter().collect();
        let results = results.ok_or_else(missing)?;
        let rule = self.rule(node, &results)?;
        let mut operands: SmallVec<[Option<ValueId>; 3]> = SmallVec::new();
        for id in &node.inputs {
            operands.push(id.map(|id| self.made(id).ok_or_else(missing)).transpose()?);
        }
        for &(position, axis) in rule.iter().flat_map(|rule| &rule.repeated) {
            if let Some(Some(operand)) = operands.get_mut(position) {
                *operand = self.repeated(*operand, axis)?;
            }
        }
        if let Some(rule) = rule.as_ref().filter(|rule| !rule.turned.is_empty())
            && let Some(Some(operand)) = operands.first_mut()
        {
            let permutation = rule.turned.iter().copied().collect();
            *operand = self.step("turned", Transpose { permutation }.into(), &[*operand], None)?;
        }
        let op = rule.as_ref().map_or(&node.op, |rule| &rule.op).clone();
        let of = |position: usize| rule.as_ref().and_then(|rule| rule.results.get(position).copied());
        let is_hidden = rule.as_ref().is_some_and(|rule| rule.is_hidden);
        let stated: Vec<TensorType> = (results.iter().enumerate())
            .map(|(position, ty)| match is_hidden {
                true => self.typed(&hidden::lifted_type(ty), of(position)),
                false => self.typed(ty, of(position)),
            })
            .collect();
        let given = self.given(&op, &operands);
        let given: Vec<Option<&TensorType>> = given.iter().map(Option::as_ref).collect();
        let mut inferred = self.out.result_types(&op, &given, None).map_err(|reason| reason.text)?;
        for (inferred, &id) in inferred.iter_mut().zip(&node.outputs) {
            if let Some(value) = graph.value(id).filter(|value| value.quant.is_some()) {
                inferred.elem = value.ty.elem;
            }
        }
        if let Some((inferred, stated)) = (inferred.iter().zip(&stated)).find(|(own, stated)| !own.is_stated_by(stated))
        {
            return Err(format!(
                "its result is {inferred} for several samples, and not {stated}"
            ));
        }
        let values = node.outputs.iter().filter_map(|&id| graph.value(id));
        let values = values
            .zip(stated)
            .map(|(value, ty)| (value.name, ty, value.quant.clone()));
        let values = values.collect();
        let id = self.out.main_mut().add_node(node.name, op, &operands, values);
        self.out.main_mut().set_sources(id, &node.sources);
        self.out.main_mut().set_fused(id, None, node.place.clone());
        let outputs = self.out.main().node(id).map(|node| node.outputs.clone());
        for (position, (&id, made)) in node.outputs.iter().zip(outputs.unwrap_or_default()).enumerate() {
            self.made.insert(id, (made, of(position)));
            if is_hidden {
                self.hidden.insert(id);
            }
        }
        Ok(())
    }

    /// The types of operands from which the types of an op's results are inferred. An op of the model that computes on
    /// codes has the shapes that it has on real numbers.
    fn given(&self, op: &Op, operands: &[Option<ValueId>]) -> Vec<Option<TensorType>> {
        let takes_codes = matches!(op, Op::Dequantize(_) | Op::Lookup(_));
        let given = |id: &Option<ValueId>| {
            let value = self.out.main().value((*id)?)?;
            let is_real = value.quant.is_some() && !takes_codes;
            Some(TensorType {
                elem: if is_real { Elem::F32 } else { value.ty.elem },
                shape: value.ty.shape.clone(),
            })
        };
        operands.iter().map(given).collect()
    }

    /// Repeats a value with the extent 1 along `axis` for each sample.
    fn repeated(&mut self, value: ValueId, axis: usize) -> Result<ValueId, String> {
        let ty = self.out.main().value(value).map(|value| value.ty.clone());
        let ty = ty.ok_or("an operand is missing")?;
        let count = self.count()?;
        let rank = ty.shape.len();
        let ones = |this: &mut Self, many: usize| this.list(&vec![1; many]);
        let mut parts: Vec<ValueId> = Vec::new();
        if axis > 0 {
            parts.push(ones(self, axis)?);
        }
        parts.push(count);
        if axis + 1 < rank {
            parts.push(ones(self, rank - axis - 1)?);
        }
        let list = match parts.as_slice() {
            [_] => count,
            _ => self.step("extents", Concat { axis: 0 }.into(), &parts, None)?,
        };
        let mut shape: SmallVec<[i64; 8]> = smallvec![1; rank];
        shape[axis] = -1;
        let named = self.typed(&ty, Some(Samples { axis, each: 1 }));
        self.step("repeated", Expand { shape }.into(), &[value, list], Some(named))
    }

    /// The number of samples, as a value of the graph.
    fn count(&mut self) -> Result<ValueId, String> {
        if let Some(count) = self.count {
            return Ok(count);
        }
        let input = self.out.main().inputs().first().copied().ok_or("there is no input")?;
        let extents = self.step("input_extents", ShapeOf {}.into(), &[input], None)?;
        let slice = Slice {
            starts: smallvec![0],
            ends: smallvec![1],
            axes: smallvec![0],
            steps: smallvec![1],
        };
        let count = self.step("samples", slice.into(), &[extents], None)?;
        Ok(*self.count.insert(count))
    }

    fn list(&mut self, values: &[i64]) -> Result<ValueId, String> {
        let tensor = TensorData::from_values(&[values.len() as u64], values).map_err(|error| error.to_string())?;
        let (name, ty) = (self.out.names.fresh("ones"), tensor.tensor_type());
        let data = self.out.add_data(tensor);
        Ok(self.out.main_mut().add_data(name, ty, None, data))
    }

    /// Appends a node that the source does not have. Its result has the type `ty`, or an inferred type if `ty` is
    /// `None`.
    fn step(&mut self, name: &str, op: Op, operands: &[ValueId], ty: Option<TensorType>) -> Result<ValueId, String> {
        let value = |id: ValueId| self.out.main().value(id);
        let quant = operands.first().and_then(|&id| value(id)?.quant.clone());
        if matches!(op, Op::Transpose(_)) && quant.as_ref().is_some_and(|grid| grid.axis.is_some()) {
            return Err("its operand has a scale for each channel".into());
        }
        let types: Vec<_> = operands.iter().map(|&id| Some(&value(id)?.ty)).collect();
        let mut inferred = self.out.result_types(&op, &types, None).map_err(|reason| reason.text)?;
        let ty = ty.or_else(|| inferred.pop()).ok_or("a step has no result")?;
        let name = self.out.names.fresh(name);
        self.added.insert(self.out.name(name).to_owned(), self.layer.clone());
        let operands: Vec<_> = operands.iter().copied().map(Some).collect();
        let main = self.out.main_mut();
        let id = main.add_node(name, op, &operands, vec![(name, ty, quant)]);
        let made = main.node(id).and_then(Node::result);
        made.ok_or_else(|| "a step has no result".into())
    }
}
