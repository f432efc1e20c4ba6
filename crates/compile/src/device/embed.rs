//! Puts the steps from a device's numbers to the model's input into the graph.

use serde::{Deserialize, Serialize};
use strait_core::op::{Cast, Mul, Slice, Sub, Transpose};
use strait_core::{Def, Elem, Graph, Module, Node, Op, TensorData, TensorType, ValueId};

/// The steps from the numbers that a device hands over to an input of the model.
///
/// The axes of the device's numbers are `axes` in the model's order: axis i of the input is axis `axes[i]` of the
/// device's tensor. For channel c, counted as the device does, input = (number − offset\[c\]) · factor\[c\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddedInput {
    /// Name of the input.
    pub name: String,
    /// The type of the device's numbers: `u8`, `i8` or `f32`.
    #[serde(rename = "type")]
    pub elem: String,
    /// For each axis of the model's input, the axis of the device's tensor. Empty: the same axes.
    pub axes: Vec<usize>,
    /// The axis of the channels, in the model's input.
    pub channel: usize,
    /// The numbers that are subtracted: one for all channels, or one for each.
    pub offset: Vec<f64>,
    /// The numbers that are multiplied with: as many as offsets.
    pub factor: Vec<f64>,
    /// True if the model has the channels in the opposite order.
    pub reversed: bool,
}

/// Why the steps cannot be put into the graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The steps do not fit the model's input.
    #[error("the input `{name}` of the model is {ty}: {why}")]
    Unfit {
        /// Name of the input.
        name: String,
        /// Its type.
        ty: String,
        /// What does not fit.
        why: String,
    },
    /// The compiler has a defect.
    #[error("{0}")]
    Defect(String),
}

/// Returns the module with the steps of `inputs` in its main graph, in which these inputs have the type and the shape of
/// the device. Inputs that the module does not have are left out.
///
/// # Errors
/// The steps do not fit an input, or the compiler has a defect.
pub fn embed(mut module: Module, inputs: &[EmbeddedInput]) -> Result<Module, DeviceError> {
    let (name, stage) = (module.main().name, module.main().stage());
    let old = std::mem::replace(module.main_mut(), Graph::new(name, stage));
    let mut made = Rebuilt {
        graph: Graph::new(name, stage),
        module: &mut module,
        values: vec![None; old.value_bound()],
    };
    let mut fronts = Vec::new();
    for &input in old.inputs() {
        let value = old.value(input).ok_or_else(broken)?;
        let name = made.module.name(value.name).to_owned();
        let ty = match inputs.iter().find(|of| of.name == name) {
            None => value.ty.clone(),
            Some(of) => {
                let ty = of.device_type(&value.ty)?;
                fronts.push((input, of));
                ty
            }
        };
        let new = made.graph.add_input(value.name, ty, value.quant.clone());
        made.set(input, new);
    }
    for (id, value) in old.values() {
        if let Def::Data(data) = value.def {
            let new = (made.graph).add_data(value.name, value.ty.clone(), value.quant.clone(), data);
            made.set(id, new);
        }
    }
    for (input, of) in fronts {
        let from = made.value(input).ok_or_else(broken)?;
        let end = made.front(from, of)?;
        made.set(input, end);
    }
    for (_, node) in old.nodes() {
        let operands: Option<Vec<Option<ValueId>>> = (node.inputs.iter())
            .map(|input| input.map_or(Some(None), |input| made.value(input).map(Some)))
            .collect();
        let results: Option<Vec<_>> = (node.outputs.iter())
            .map(|&output| {
                old.value(output)
                    .map(|value| (value.name, value.ty.clone(), value.quant.clone()))
            })
            .collect();
        let (operands, results) = operands.zip(results).ok_or_else(broken)?;
        let id = made.graph.add_node(node.name, node.op.clone(), &operands, results);
        made.graph.set_sources(id, &node.sources);
        made.graph.set_fused(id, None, node.place.clone());
        let outputs = made.graph.node(id).ok_or_else(broken)?.outputs.clone();
        for (&old, new) in node.outputs.iter().zip(outputs) {
            made.set(old, new);
        }
    }
    for output in old.outputs() {
        let new = made.value(*output).ok_or_else(broken)?;
        made.graph.add_output(new);
    }
    let graph = made.graph;
    *module.main_mut() = graph;
    Ok(module)
}

fn broken() -> DeviceError {
    DeviceError::Defect("the graph of the model is broken".to_owned())
}

impl EmbeddedInput {
    /// The type of the device's tensor for an input of the type `ty`.
    fn device_type(&self, ty: &TensorType) -> Result<TensorType, DeviceError> {
        let unfit = |why: String| DeviceError::Unfit {
            name: self.name.clone(),
            ty: ty.to_string(),
            why,
        };
        if !ty.elem.is_float() {
            return Err(unfit(
                "only inputs of floats take numbers of another type or layout".to_owned(),
            ));
        }
        let elem = [Elem::U8, Elem::I8, Elem::F32]
            .into_iter()
            .find(|elem| elem.to_string() == self.elem);
        let elem = elem.ok_or_else(|| unfit(format!("`{}` is no type of a device", self.elem)))?;
        let rank = ty.shape.len();
        let mut sorted = self.axes.clone();
        sorted.sort_unstable();
        if !self.axes.is_empty() && !sorted.into_iter().eq(0..rank) {
            return Err(unfit(format!("its layout has {} axes", self.axes.len())));
        }
        let channels = ty.shape.get(self.channel).and_then(|extent| extent.fixed());
        let each = self.offset.len().max(self.factor.len());
        if each > 1 && channels != Some(each as u64) {
            return Err(unfit(format!(
                "there are numbers for {each} channels along axis {}",
                self.channel
            )));
        }
        if self.reversed && channels != Some(3) {
            return Err(unfit(format!(
                "three channels of colour are expected along axis {}",
                self.channel
            )));
        }
        let mut shape = ty.shape.clone();
        for (axis, &from) in self.axes.iter().enumerate() {
            shape[from] = ty.shape[axis];
        }
        Ok(TensorType { elem, shape })
    }

    /// True if no number changes.
    fn is_affine_identity(&self) -> bool {
        self.offset.iter().all(|&offset| offset == 0.0) && self.factor.iter().all(|&factor| factor == 1.0)
    }
}

struct Rebuilt<'a> {
    module: &'a mut Module,
    graph: Graph,
    /// The new value for each value of the old graph, by the index of the old one.
    values: Vec<Option<ValueId>>,
}

impl Rebuilt<'_> {
    /// The new value for a value of the old graph.
    fn value(&self, old: ValueId) -> Option<ValueId> {
        self.values.get(old.index()).copied().flatten()
    }

    fn set(&mut self, old: ValueId, new: ValueId) {
        if let Some(place) = self.values.get_mut(old.index()) {
            *place = Some(new);
        }
    }

    /// Adds the steps behind the device's numbers `from`, and returns the model's input.
    fn front(&mut self, from: ValueId, of: &EmbeddedInput) -> Result<ValueId, DeviceError> {
        let mut value = from;
        let elem = self.graph.value(from).map_or(Elem::F32, |value| value.ty.elem);
        if elem != Elem::F32 {
            value = self.node("real", Cast { to: Elem::F32 }, &[value], &of.name)?;
        }
        let moves = !of.axes.iter().copied().eq(0..of.axes.len());
        if moves {
            let permutation = of.axes.iter().map(|&axis| axis as u32).collect();
            value = self.node("layout", Transpose { permutation }, &[value], &of.name)?;
        }
        if !of.is_affine_identity() {
            let (offset, factor) = (
                self.constant(value, of, &of.offset)?,
                self.constant(value, of, &of.factor)?,
            );
            value = self.node("offset", Sub {}, &[value, offset], &of.name)?;
            value = self.node("scale", Mul::float(), &[value, factor], &of.name)?;
        }
        if of.reversed {
            let one = |number: i64| [number].into_iter().collect();
            let reverse = Slice {
                starts: one(-1),
                ends: one(i64::MIN),
                axes: one(of.channel as i64),
                steps: one(-1),
            };
            value = self.node("colors", reverse, &[value], &of.name)?;
        }
        Ok(value)
    }

    /// A constant with one number for all channels, or one for each, that broadcasts against `beside`.
    fn constant(&mut self, beside: ValueId, of: &EmbeddedInput, numbers: &[f64]) -> Result<ValueId, DeviceError> {
        let rank = self.graph.value(beside).map_or(0, |value| value.ty.shape.len());
        let mut shape = vec![1; rank];
        if let Some(extent) = shape.get_mut(of.channel) {
            *extent = numbers.len() as u64;
        }
        let numbers: Vec<f32> = numbers.iter().map(|&number| number as f32).collect();
        let tensor =
            TensorData::from_values(&shape, &numbers).map_err(|error| DeviceError::Defect(error.to_string()))?;
        let (name, ty) = (
            self.module.names.fresh(&format!("{}:constant", of.name)),
            tensor.tensor_type(),
        );
        let data = self.module.add_data(tensor);
        Ok(self.graph.add_data(name, ty, None, data))
    }

    /// Adds a node with one result.
    fn node(
        &mut self,
        word: &str,
        op: impl Into<Op>,
        operands: &[ValueId],
        name: &str,
    ) -> Result<ValueId, DeviceError> {
        let op = op.into();
        let types: Vec<Option<&TensorType>> = (operands.iter())
            .map(|&operand| self.graph.value(operand).map(|value| &value.ty))
            .collect();
        let mut results =
            (self.module.result_types(&op, &types, None)).map_err(|reason| DeviceError::Defect(reason.text))?;
        let ty = results.pop().ok_or_else(broken)?;
        let names = [format!("{name}:{word}"), format!("{name}:{word}:value")];
        let [own, value] = names.map(|name| self.module.names.fresh(&name));
        let operands: Vec<Option<ValueId>> = operands.iter().copied().map(Some).collect();
        let id = self.graph.add_node(own, op, &operands, vec![(value, ty, None)]);
        self.graph.node(id).and_then(Node::result).ok_or_else(broken)
    }
}
