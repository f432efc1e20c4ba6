//! What the writers of operators share: tensors of the file for values of the graph, constants, and operators.

use super::WriteError;
use super::file::{File, Operator, Tensor};
use super::flatbuffer::{Field, Table};
use super::options::kind;
use super::versions::version;
use crate::names::type_number;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use strait_core::layout::{Layouts, Order};
use strait_core::{Elem, Graph, Module, Node, NodeId, QuantParams, TensorData, ValueId};

/// A tensor of the file, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Index(pub(super) i32);

/// Why a node cannot be written.
pub(super) type Refused = String;

/// Shape, type and grid of a tensor of the file.
#[derive(Clone)]
pub(super) struct Stored {
    pub(super) shape: Vec<u64>,
    pub(super) elem: Elem,
    pub(super) grid: Option<QuantParams>,
}

/// The file that is being made.
pub(super) struct Emitter<'m> {
    pub(super) module: &'m Module,
    pub(super) graph: &'m Graph,
    pub(super) layouts: Layouts,
    pub(super) file: File,
    /// For each value: the tensors that store it, each with its axes in another order. The first tensor is the result
    /// of the operator that computes the value.
    made: BTreeMap<ValueId, Vec<(Order, Index)>>,
    /// Clamps for which no operator is written, because they are the fused activation of the operator before them.
    pub(super) absorbed: BTreeSet<NodeId>,
}

impl<'m> Emitter<'m> {
    pub(super) fn new(module: &'m Module, layouts: Layouts) -> Emitter<'m> {
        Emitter {
            module,
            graph: module.main(),
            layouts,
            file: File::default(),
            made: BTreeMap::new(),
            absorbed: BTreeSet::new(),
        }
    }

    pub(super) fn name_of(&self, value: ValueId) -> &'m str {
        let value = self.graph.value(value);
        value.map_or("", |value| self.module.name(value.name))
    }

    pub(super) fn node_name(&self, node: NodeId) -> &'m str {
        let node = self.graph.node(node);
        node.map_or("", |node| self.module.name(node.name))
    }

    // ---- Tensors ----

    /// Returns the shape, type and grid of a tensor that stores `value` with its axes in `order`.
    pub(super) fn stored(&self, value: ValueId, order: &Order) -> Result<Stored, Refused> {
        let own = self.graph.value(value).ok_or("a value is missing")?;
        let shape: Option<Vec<u64>> = own.ty.shape.iter().map(|dim| dim.fixed()).collect();
        let shape =
            shape.ok_or_else(|| format!("the shape of `{}` depends on the input", self.module.name(own.name)))?;
        let grid = own.quant.as_deref().map(|grid| {
            let axis = grid.axis.and_then(|axis| order.position(axis.into()));
            QuantParams {
                axis: axis.map(|axis| axis as u8),
                ..grid.bare()
            }
        });
        Ok(Stored {
            shape: order.stored(&shape).to_vec(),
            elem: own.ty.elem,
            grid,
        })
    }

    /// Adds a tensor to the file: a constant with the elements `data`, or a tensor that an operator has to compute.
    pub(super) fn add(&mut self, name: String, stored: Stored, data: Option<Bytes>) -> Result<Index, Refused> {
        if stored.shape.iter().any(|&extent| i32::try_from(extent).is_err()) {
            return Err(format!("`{name}` has more than 2^31 - 1 elements along an axis"));
        }
        if type_number(stored.elem).is_none() {
            return Err(format!("there are no tensors of {}", stored.elem));
        }
        self.file.tensors.push(Tensor {
            name,
            shape: stored.shape,
            batch: None,
            elem: stored.elem,
            grid: stored.grid,
            data,
        });
        Ok(Index(self.file.tensors.len() as i32 - 1))
    }

    /// Adds a tensor that stores `value` with its axes in `order`. The first such tensor has the name of the value; the
    /// others have names that no value of a model has. The caller has to append the operator that computes
    /// it.
    pub(super) fn define(&mut self, value: ValueId, order: Order) -> Result<Index, Refused> {
        let stored = self.stored(value, &order)?;
        let name = self.name_of(value);
        let name = match self.made.get(&value) {
            None => name.to_owned(),
            Some(others) => format!("{name}:order_{}", others.len()),
        };
        let index = self.add(name, stored, None)?;
        self.made.entry(value).or_default().push((order, index));
        Ok(index)
    }

    /// Records that the tensor `index` stores `value` with its axes in `order`.
    pub(super) fn alias(&mut self, value: ValueId, order: Order, index: Index) {
        self.made.entry(value).or_default().push((order, index));
    }

    pub(super) fn tensor(&self, index: Index) -> &Tensor {
        &self.file.tensors[index.0 as usize]
    }

    pub(super) fn rename(&mut self, index: Index, name: String) {
        self.file.tensors[index.0 as usize].name = name;
    }

    /// Shape, type and grid of a tensor of the file.
    pub(super) fn stored_as(&self, index: Index) -> Stored {
        let own = self.tensor(index);
        Stored {
            shape: own.shape.clone(),
            elem: own.elem,
            grid: own.grid.clone(),
        }
    }

    /// Adds a tensor with the type and grid of the tensor `of`, and with another shape.
    pub(super) fn like(&mut self, of: Index, suffix: &str, shape: Vec<u64>) -> Result<Index, Refused> {
        let name = format!("{}_{suffix}", self.tensor(of).name);
        let stored = Stored {
            shape,
            ..self.stored_as(of)
        };
        self.add(name, stored, None)
    }

    /// A constant of the graph. `None` if the value is not a constant.
    pub(super) fn constant(&self, value: ValueId) -> Option<&'m TensorData> {
        self.module.constant(self.graph, value)
    }

    /// Returns the tensor that stores `value` with its axes in `order`. If the file has no such tensor yet, adds a
    /// constant whose elements are already in this order, or an operator that transposes the value's first tensor.
    pub(super) fn read(&mut self, value: ValueId, order: &Order) -> Result<Index, Refused> {
        let known = self.made.get(&value).map(Vec::as_slice).unwrap_or_default();
        if let Some((_, index)) = known.iter().find(|(own, _)| own == order) {
            return Ok(*index);
        }
        if let Some(data) = self.constant(value) {
            let shape = data.shape().to_vec();
            return self.constant_as(value, order, &shape);
        }
        let (own, index) = known.first().cloned().ok_or("an operand was not made")?;
        let permutation = own.permutation_to(order);
        let shape = &self.tensor(index).shape;
        // If only axes of extent 1 change their places, the elements stay where they are.
        let moved: Vec<usize> = permutation.iter().copied().filter(|&axis| shape[axis] != 1).collect();
        let made = self.define(value, order.clone())?;
        match moved.is_sorted() {
            true => self.reshape(index, made)?,
            false => {
                let permutation: Vec<i32> = permutation.iter().map(|&axis| axis as i32).collect();
                let permutation = self.ints(&permutation)?;
                self.emit("TRANSPOSE", &[index, permutation], &[made], None)?;
            }
        }
        Ok(made)
    }

    /// Adds a tensor for a constant value, with the axes of `shape` stored in `order`. `shape` is the value's own
    /// shape, possibly with further axes of extent 1 in front.
    pub(super) fn constant_as(&mut self, value: ValueId, order: &Order, shape: &[u64]) -> Result<Index, Refused> {
        let data = self.constant(value).ok_or("it has to be a constant")?;
        let added = shape.len() - data.shape().len().min(shape.len());
        self.constant_with(value, order, shape, added)
    }

    /// Adds a tensor for the constant weights of a convolution. `shape` is [O, I, H, W], and the tensor stores these
    /// axes in `order`. Weights of a convolution over one axis get a height of 1.
    pub(super) fn constant_as_image(&mut self, value: ValueId, order: &Order, shape: &[u64]) -> Result<Index, Refused> {
        self.constant_with(value, order, shape, 0)
    }

    /// Adds a tensor for a constant that is taken to have the shape `shape`, in which the axis of its grid moves back
    /// by `added`.
    fn constant_with(&mut self, value: ValueId, order: &Order, shape: &[u64], added: usize) -> Result<Index, Refused> {
        let data = self.constant(value).ok_or("it has to be a constant")?;
        let own = self.graph.value(value).ok_or("a value is missing")?;
        let grid = own.quant.as_deref().map(|grid| QuantParams {
            axis: grid
                .axis
                .and_then(|axis| order.position(usize::from(axis) + added))
                .map(|axis| axis as u8),
            ..grid.bare()
        });
        if grid.as_ref().is_some_and(|grid| grid.block.is_some()) {
            return Err("its weights have a scale for each block, which LiteRT's operators do not take".into());
        }
        let stored = Stored {
            shape: order.stored(shape).to_vec(),
            elem: data.elem(),
            grid,
        };
        let bytes = permuted(data, shape, order)?;
        let name = self.module.name(own.name).to_owned();
        let name = match self.made.get(&value) {
            None => name,
            Some(others) => format!("{name}:order_{}", others.len()),
        };
        let index = self.add(name, stored, Some(bytes))?;
        let full = shape.len() == data.shape().len();
        let order = if full { order.clone() } else { Order::plain(0) };
        self.made.entry(value).or_default().push((order, index));
        Ok(index)
    }

    /// A constant list of numbers: shapes, axes, permutations.
    pub(super) fn ints(&mut self, ints: &[i32]) -> Result<Index, Refused> {
        self.list(ints, vec![ints.len() as u64])
    }

    /// A constant number.
    pub(super) fn int(&mut self, int: i32) -> Result<Index, Refused> {
        self.list(&[int], Vec::new())
    }

    /// A constant matrix with two columns: amounts of padding.
    pub(super) fn matrix(&mut self, rows: &[[i32; 2]]) -> Result<Index, Refused> {
        self.list(rows.as_flattened(), vec![rows.len() as u64, 2])
    }

    fn list(&mut self, ints: &[i32], shape: Vec<u64>) -> Result<Index, Refused> {
        let bytes: Bytes = ints
            .iter()
            .flat_map(|int| int.to_le_bytes())
            .collect::<Vec<u8>>()
            .into();
        let same = |tensor: &Tensor| tensor.elem == Elem::I32 && tensor.grid.is_none() && tensor.shape == shape;
        let mut known = self.file.tensors.iter();
        if let Some(at) = known.position(|tensor| same(tensor) && tensor.data.as_ref() == Some(&bytes)) {
            return Ok(Index(at as i32));
        }
        let name = format!("ints_{}", self.file.tensors.len());
        let stored = Stored {
            shape,
            elem: Elem::I32,
            grid: None,
        };
        self.add(name, stored, Some(bytes))
    }

    /// Adds a constant with the single element `number`, with the type and grid of the tensor `of`.
    pub(super) fn number_like(&mut self, of: Index, number: f64) -> Result<Index, Refused> {
        let own = self.tensor(of);
        let (elem, grid) = (own.elem, own.grid.clone());
        let data = match elem {
            Elem::F32 => TensorData::from_values(&[1], &[number as f32]),
            _ => TensorData::from_integers(elem, &[1], &[number as i64]),
        };
        let data = data.map_err(|error| error.to_string())?;
        let name = format!("number_{}", self.file.tensors.len());
        let stored = Stored {
            shape: vec![1],
            elem,
            grid,
        };
        self.add(name, stored, Some(data.bytes().clone()))
    }

    // ---- Operators ----

    /// Appends an operator.
    pub(super) fn emit(
        &mut self,
        name: &'static str,
        inputs: &[Index],
        outputs: &[Index],
        options: Option<Table>,
    ) -> Result<(), Refused> {
        let inputs: Vec<Option<Index>> = inputs.iter().copied().map(Some).collect();
        self.emit_with(name, &inputs, outputs, options)
    }

    /// Appends an operator that may have absent operands.
    pub(super) fn emit_with(
        &mut self,
        name: &'static str,
        inputs: &[Option<Index>],
        outputs: &[Index],
        options: Option<Table>,
    ) -> Result<(), Refused> {
        let operands: Vec<Option<&Tensor>> = inputs
            .iter()
            .map(|index| index.map(|index| self.tensor(index)))
            .collect();
        let results: Vec<&Tensor> = outputs.iter().map(|&index| self.tensor(index)).collect();
        let version = version(name, &operands, &results);
        let options = match (options, kind(name)) {
            (None, _) => None,
            (Some(options), Some(kind)) => Some((kind, options)),
            (Some(_), None) => return Err(format!("the kind of options of {name} is not known")),
        };
        self.file.operators.push(Operator {
            name,
            version,
            inputs: inputs.iter().map(|index| index.map_or(-1, |Index(at)| at)).collect(),
            outputs: outputs.iter().map(|&Index(at)| at).collect(),
            options,
        });
        Ok(())
    }

    /// Appends an operator whose result is a new tensor with type, grid and shape of the first operand.
    pub(super) fn step(
        &mut self,
        name: &'static str,
        inputs: &[Index],
        suffix: &str,
        options: Option<Table>,
    ) -> Result<Index, Refused> {
        let of = *inputs.first().ok_or("an operator without operands")?;
        let made = self.like(of, suffix, self.tensor(of).shape.clone())?;
        self.emit(name, inputs, &[made], options)?;
        Ok(made)
    }

    /// Appends a RESHAPE between two tensors.
    pub(super) fn reshape(&mut self, from: Index, to: Index) -> Result<(), Refused> {
        let shape: Vec<i32> = self.tensor(to).shape.iter().map(|&extent| extent as i32).collect();
        let list = self.ints(&shape)?;
        let options = Table::default().with(0, Field::Ints(shape));
        self.emit("RESHAPE", &[from, list], &[to], Some(options))
    }

    // ---- Nodes ----

    /// Returns the tensor of a node's bias, which is its third operand. If the node has no bias but computes on codes,
    /// adds a bias of zeros, because some programs that read TFLite files expect a bias. Otherwise returns `None`.
    pub(super) fn bias(
        &mut self,
        node: &Node,
        outputs: u64,
        x: Index,
        weights: Index,
    ) -> Result<Option<Index>, Refused> {
        if let Some(value) = node.inputs.get(2).copied().flatten() {
            let rank = self.graph.value(value).map_or(0, |value| value.ty.shape.len());
            return match rank {
                1 => self.read(value, &Order::plain(1)).map(Some),
                _ => self.constant_with(value, &Order::plain(1), &[outputs], 0).map(Some),
            };
        }
        let [x, weights] = [x, weights].map(|index| self.tensor(index));
        let (Some(of_x), Some(of_weights)) = (&x.grid, &weights.grid) else {
            return Ok(None);
        };
        let elem = match x.elem {
            Elem::I16 => Elem::I64,
            _ => Elem::I32,
        };
        let grid = of_x.product(of_weights, Some(0));
        let name = format!("{}_bias", weights.name);
        let zeros = TensorData::from_integers(elem, &[outputs], &vec![0; outputs as usize]);
        let zeros = zeros.map_err(|error| error.to_string())?;
        let stored = Stored {
            shape: vec![outputs],
            elem,
            grid,
        };
        self.add(name, stored, Some(zeros.bytes().clone())).map(Some)
    }

    /// The value of a node's operand.
    pub(super) fn operand(&self, node: &Node, at: usize) -> Result<ValueId, Refused> {
        let value = node.inputs.get(at).copied().flatten();
        value.ok_or_else(|| format!("operand {at} is missing"))
    }

    /// The tensor of an operand in the order in which the node reads it.
    pub(super) fn image(&mut self, node: &Node, at: usize) -> Result<Index, Refused> {
        let value = self.operand(node, at)?;
        let order = self.layouts.read(self.graph, node, at);
        self.read(value, &order)
    }

    /// A new tensor for a node's only result, in the order of the graph.
    pub(super) fn result(&mut self, node: &Node) -> Result<Index, Refused> {
        let value = *node.outputs.first().ok_or("it has no result")?;
        let order = self.layouts.of(self.graph, value);
        self.define(value, order)
    }

    /// The order in which the node's first result is stored.
    pub(super) fn result_order(&self, node: &Node) -> Order {
        let value = node.outputs.first();
        value.map_or(Order::plain(0), |&value| self.layouts.of(self.graph, value))
    }
}

/// Returns the bytes of a constant, taken to have the shape `shape`, after its axes are permuted to `order`.
fn permuted(data: &TensorData, shape: &[u64], order: &Order) -> Result<Bytes, Refused> {
    if order.is_plain() {
        return Ok(data.bytes().clone());
    }
    let elements = data.unpacked();
    let size = if data.is_empty() {
        1
    } else {
        elements.len() / data.len()
    };
    // The distance in elements between neighbours along each axis of the stored tensor.
    let mut strides = vec![1usize; shape.len()];
    for axis in (0..shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * shape[axis + 1] as usize;
    }
    let (extents, strides) = (order.stored(shape), order.stored(&strides));
    let mut bytes = Vec::with_capacity(elements.len());
    let mut position = vec![0u64; extents.len()];
    for _ in 0..data.len() {
        let at: usize = position
            .iter()
            .zip(&strides)
            .map(|(&index, &stride)| index as usize * stride)
            .sum();
        bytes.extend_from_slice(&elements[at * size..(at + 1) * size]);
        for axis in (0..position.len()).rev() {
            position[axis] += 1;
            if position[axis] < extents[axis] {
                break;
            }
            position[axis] = 0;
        }
    }
    let made = TensorData::from_unpacked(data.elem(), &extents, bytes.into());
    made.map(|made| made.bytes().clone()).map_err(|error| error.to_string())
}

/// The error for a node.
pub(super) fn fault(module: &Module, node: &Node, why: Refused) -> WriteError {
    WriteError::Node {
        node: module.name(node.name).to_owned(),
        why,
    }
}
