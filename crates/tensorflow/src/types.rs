//! Finds the types of the tensors at which a graph begins.
//!
//! A placeholder has an element type, and sometimes a shape. Other tensors have neither, unless the writer of the file
//! has added `_output_shapes`. Their types are derived from the nodes that read them. For example, the operand of a
//! convolution has four axes, and its filter gives the number of channels. For extents that remain unknown, the user
//! has to bind values with the keys `<tensor>.<axis>`. If even the number of axes is not known, it is the number of
//! axes for which the user has bound values.

use std::collections::BTreeMap;

use strait_core::shape::MAX_RANK;
use strait_core::{Dim, Elem, TensorData, TensorType};
use strait_import::{Declared, Extent, Refusal, TensorId, TensorSource, Wiring};

use crate::elements::element;
use crate::graph::Graph;
use crate::proto::{NodeDef, TensorShapeProto, Value, attribute};
use crate::switches::Port;
use crate::tensor::{Budget, tensor};

/// The numbers of element types that operands or results of some operators always have.
const FLOAT: i32 = 1;
const INT32: i32 = 3;

/// The first version of the graph format in which the shapes of placeholders are reliable. Older writers store an empty
/// shape if they do not know the shape.
const FIRST_WITH_SHAPES: i32 = 24;

/// To find the number of axes of a tensor, a chain of at most this many operators is followed.
const FARTHEST: usize = 64;

/// The extents of a tensor. An extent that is not known is `None`.
type Extents = Vec<Option<u64>>;

/// The tensors of a graph. For the tensors at which the graph begins, their types are added as far as they are known.
pub(crate) struct Tensors<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) wiring: &'a Wiring<'a>,
    /// The types of the tensors at which the graph begins.
    pub(crate) begins: BTreeMap<TensorId, Declared>,
    pub(crate) budget: Budget,
}

impl TensorSource for Tensors<'_> {
    fn constant(&self, id: TensorId) -> Option<Result<TensorData, Refusal>> {
        let (node, _) = self
            .graph
            .find(self.wiring.name(id))
            .filter(|_| self.wiring.is_constant(id))?;
        let Some(Value::Tensor(proto)) = attribute(self.graph.node(node), "value") else {
            return Some(Err(Refusal::unsupported("a constant without a value")));
        };
        let name = self.wiring.name(id);
        let within = |refusal: Refusal| refusal.within(&format!("the constant `{name}`"));
        Some(tensor(proto, &self.budget).map_err(within))
    }

    fn declared(&self, id: TensorId) -> Option<Declared> {
        if let Some(declared) = self.begins.get(&id) {
            return Some(declared.clone());
        }
        // If the graph declares an output as a float of another type than f32, the output is rounded to that type at
        // the end.
        let port = self.graph.find(self.wiring.name(id))?;
        let elem = element(made_by(self.graph, port)?).ok()?;
        let is_rounded = elem.is_float() && elem != Elem::F32;
        is_rounded.then_some(Declared {
            elem: Some(Ok(elem)),
            extents: None,
        })
    }

    fn begins(&self, id: TensorId) -> Option<bool> {
        begins(self.graph, self.wiring, id)
    }
}

/// True if the graph can begin at the tensor, because its element type is one that we can read. The extents do not
/// matter: values can be bound to extents that the file does not state.
pub(crate) fn begins(graph: &Graph, wiring: &Wiring<'_>, id: TensorId) -> Option<bool> {
    let elem = made_by(graph, graph.find(wiring.name(id))?);
    Some(elem.is_none_or(|elem| element(elem).is_ok()))
}

/// The type of a tensor at which a graph begins, as far as it is known from the file and from the keys in `bind`.
pub(crate) fn begin(graph: &Graph, port: Port, bind: &BTreeMap<String, u64>) -> Declared {
    let elem = made_by(graph, port).or_else(|| taken_as(graph, port));
    let name = graph.tensor(port);
    let key = |axis: usize| format!("{name}.{axis}");
    let known = merged(written(graph, port), wanted(graph, port, FARTHEST)).or_else(|| {
        let rank = (0..MAX_RANK).rev().find(|&axis| bind.contains_key(&key(axis)))? + 1;
        Some(vec![None; rank])
    });
    let extent = |(axis, known): (usize, Option<u64>)| known.map_or_else(|| Extent::Open(key(axis)), Extent::Known);
    Declared {
        elem: elem.map(element),
        extents: known.map(|known| known.into_iter().enumerate().map(extent).collect()),
    }
}

/// Merges two lists of extents of the same length: an extent is known if it is known in one of them. If the lengths
/// differ, the result is the first list.
fn merged(first: Option<Extents>, second: Option<Extents>) -> Option<Extents> {
    match (first, second) {
        (Some(first), Some(second)) if first.len() == second.len() => {
            Some(first.iter().zip(second).map(|(&a, b)| a.or(b)).collect())
        }
        (first, second) => first.or(second),
    }
}

fn type_of(node: &NodeDef, key: &str) -> Option<i32> {
    match attribute(node, key) {
        Some(&Value::Type(number)) => Some(number),
        _ => None,
    }
}

/// The number of a result's element type, if the operator that produces the result determines it.
pub(crate) fn made_by(graph: &Graph, (node, result): Port) -> Option<i32> {
    let node = graph.node(node);
    let of = |key| type_of(node, key);
    match node.op.as_str() {
        "Placeholder" | "PlaceholderWithDefault" | "Const" => of("dtype"),
        "Cast" => of("DstT"),
        "IteratorGetNext" | "IteratorGetNextSync" | "QueueDequeueV2" | "QueueDequeueManyV2" => {
            let key = if node.op.starts_with("Iterator") {
                "output_types"
            } else {
                "component_types"
            };
            match attribute(node, key) {
                Some(Value::List(list)) => list.types.get(result).copied(),
                _ => None,
            }
        }
        "DecodeWav" => Some(if result == 0 { FLOAT } else { INT32 }),
        "AudioSpectrogram" | "Mfcc" | "ResizeBilinear" => Some(FLOAT),
        "DecodeImage" | "DecodeJpeg" | "DecodePng" => of("dtype").or(Some(4)),
        "Identity"
        | "StopGradient"
        | "Conv2D"
        | "Conv3D"
        | "DepthwiseConv2dNative"
        | "Conv2DBackpropInput"
        | "BiasAdd"
        | "MatMul"
        | "BatchMatMul"
        | "BatchMatMulV2"
        | "Softmax"
        | "LogSoftmax"
        | "Sigmoid"
        | "Tanh"
        | "Relu"
        | "Relu6"
        | "Add"
        | "AddV2"
        | "Sub"
        | "Mul"
        | "RealDiv"
        | "Maximum"
        | "Minimum"
        | "FusedBatchNorm"
        | "Reshape"
        | "Squeeze"
        | "ExpandDims"
        | "Transpose"
        | "ConcatV2"
        | "Concat"
        | "StridedSlice"
        | "Mean"
        | "MaxPool"
        | "AvgPool"
        | "Pack"
        | "Pad"
        | "DepthToSpace"
        | "SpaceToDepth" => of("T"),
        // The first result has the element type of the image; all other results have the element type of the
        // statistics.
        "FusedBatchNormV2" | "FusedBatchNormV3" if result == 0 => of("T"),
        _ => None,
    }
}

/// The number of a tensor's element type, if some node that reads the tensor determines it.
fn taken_as(graph: &Graph, port: Port) -> Option<i32> {
    graph.users(port).find_map(|(user, position)| {
        let node = graph.node(user);
        let of = |key| type_of(node, key);
        match (node.op.as_str(), position) {
            ("Cast", _) => of("SrcT"),
            ("Gather" | "GatherV2" | "GatherNd", 0) => of("Tparams"),
            ("Gather" | "GatherV2" | "GatherNd", 1) => of("Tindices"),
            ("Reshape", 1) => of("Tshape"),
            ("ResizeBilinear" | "ResizeNearestNeighbor" | "ResizeBicubic", 1) => Some(INT32),
            ("Select" | "SelectV2" | "Switch" | "LogicalAnd" | "LogicalOr" | "LogicalNot", 0) => None,
            // In almost all other operators, the attribute `T` is the type of the first operand.
            (_, 0) => of("T"),
            ("Add" | "AddV2" | "Sub" | "Mul" | "RealDiv" | "Maximum" | "Minimum" | "MatMul" | "BiasAdd", 1) => of("T"),
            _ => None,
        }
    })
}

fn extents_of(shape: &TensorShapeProto) -> Option<Extents> {
    let extent = |size: i64| u64::try_from(size).ok().filter(|&size| size > 0);
    let known = || shape.dim.iter().map(|dim| extent(dim.size)).collect();
    (!shape.unknown_rank && shape.dim.len() <= MAX_RANK).then(known)
}

/// The extents that the file states for a result.
fn written(graph: &Graph, (node, result): Port) -> Option<Extents> {
    let version = graph.producer();
    let node = graph.node(node);
    let listed = |key: &str| match attribute(node, key) {
        Some(Value::List(list)) => list.shape.get(result).and_then(extents_of),
        _ => None,
    };
    let own = || match (node.op.as_str(), attribute(node, "shape")) {
        ("Placeholder" | "PlaceholderWithDefault", Some(Value::Shape(shape))) => {
            let is_unknown = shape.dim.is_empty() && version < FIRST_WITH_SHAPES;
            extents_of(shape).filter(|_| !is_unknown)
        }
        _ => None,
    };
    let features = |key: &str| match attribute(node, key) {
        Some(&Value::Int(count)) => u64::try_from(count).ok(),
        _ => None,
    };
    let known = || match (node.op.as_str(), result) {
        // The axes are channels, frames and features.
        ("Mfcc", 0) => Some(vec![None, None, features("dct_coefficient_count")]),
        ("AudioSpectrogram", 0) => Some(vec![None; 3]),
        ("DecodeWav", 0) => Some(vec![features("desired_samples"), features("desired_channels")]),
        ("DecodeWav", 1) => Some(vec![]),
        ("DecodeJpeg" | "DecodePng", 0) => Some(vec![None, None, features("channels").filter(|&count| count > 0)]),
        _ => None,
    };
    listed("_output_shapes")
        .or_else(own)
        .or_else(|| listed("output_shapes"))
        .or_else(known)
}

/// The extents that the nodes that read a tensor require of it.
fn wanted(graph: &Graph, port: Port, left: usize) -> Option<Extents> {
    let left = left.checked_sub(1)?;
    graph.users(port).find_map(|(user, position)| {
        let node = graph.node(user);
        let operand = |position: usize| graph.operands(user).get(position).copied();
        let is_first = match attribute(node, "data_format") {
            Some(Value::Text(format)) => format.starts_with(b"NC"),
            _ => false,
        };
        let image = |rank: usize, channels: Option<u64>| {
            let mut extents = vec![None; rank];
            if let Some(slot) = extents.get_mut(if is_first { 1 } else { rank - 1 }) {
                *slot = channels;
            }
            Some(extents)
        };
        let filter = |axis: usize| constant_shape(graph, operand(1)?)?.get(axis).copied();
        match (node.op.as_str(), position) {
            ("Conv2D" | "DepthwiseConv2dNative", 0) => image(4, filter(2)),
            ("Conv3D", 0) => image(5, filter(3)),
            ("FusedBatchNorm" | "FusedBatchNormV2" | "FusedBatchNormV3", 0) => image(4, filter(0)),
            ("MaxPool" | "AvgPool" | "LRN" | "DepthToSpace" | "SpaceToDepth", 0)
            | ("ResizeBilinear" | "ResizeNearestNeighbor" | "ResizeBicubic", 0) => image(4, None),
            ("MaxPool3D" | "AvgPool3D", 0) => image(5, None),
            ("MatMul", 0) => Some(match attribute(node, "transpose_a") {
                Some(Value::Flag(true)) => vec![None, None],
                _ => vec![
                    None,
                    filter(0).filter(|_| !matches!(attribute(node, "transpose_b"), Some(Value::Flag(true)))),
                ],
            }),
            ("Transpose" | "Pad" | "PadV2" | "MirrorPad", 0) => {
                let rank = *constant_shape(graph, operand(1)?)?.first()?;
                let rank = usize::try_from(rank).ok().filter(|&rank| rank <= MAX_RANK)?;
                Some(vec![None; rank])
            }
            // These operators keep the shape of their operand.
            (
                "Identity" | "StopGradient" | "CheckNumerics" | "PlaceholderWithDefault" | "Cast" | "Relu" | "Relu6",
                0,
            )
            | ("Abs" | "Neg" | "Exp" | "Log" | "Sqrt" | "Square" | "Rsqrt" | "Sigmoid" | "Tanh" | "Softmax", 0) => {
                wanted(graph, (user, 0), left)
            }
            ("Add" | "AddV2" | "Sub" | "Mul" | "RealDiv" | "Div" | "Maximum" | "Minimum", 0 | 1) => {
                let other = constant_shape(graph, operand(1 - position)?)?;
                let is_number = other.iter().all(|&extent| extent == 1) && other.len() < 2;
                is_number.then(|| wanted(graph, (user, 0), left)).flatten()
            }
            _ => None,
        }
    })
}

/// The extents of a constant, or of a node that only passes a constant on.
fn constant_shape(graph: &Graph, mut port: Port) -> Option<Vec<u64>> {
    for _ in 0..FARTHEST {
        let node = graph.node(port.0);
        match (node.op.as_str(), attribute(node, "value")) {
            ("Const", Some(Value::Tensor(tensor))) => {
                let dims = tensor.tensor_shape.as_ref().map_or(&[][..], |shape| &shape.dim);
                return dims.iter().map(|dim| u64::try_from(dim.size).ok()).collect();
            }
            ("Identity" | "StopGradient", _) => port = graph.operands(port.0).first().copied()?,
            _ => return None,
        }
    }
    None
}

/// Converts an inferred type to the form of a declared type.
pub(crate) fn as_declared(name: &str, ty: &TensorType) -> Declared {
    let extent = |(axis, dim): (usize, &Dim)| match dim {
        Dim::Fixed(extent) => Extent::Known(*extent),
        Dim::Named(_) => Extent::Open(format!("{name}.{axis}")),
    };
    Declared {
        elem: Some(Ok(ty.elem)),
        extents: Some(ty.shape.iter().enumerate().map(extent).collect()),
    }
}
