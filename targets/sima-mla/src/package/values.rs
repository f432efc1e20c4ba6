//! Describes values of the graph as the package's documents need them.

use super::document::{Tree, map};
use super::layout::stored;
use strait_plugin_sdk::TargetError;
use strait_plugin_sdk::form::Per;
use strait_plugin_sdk::graph::{Elem, Graph, Module, QuantParams, Reason, ReasonCode, ValueId};
use strait_samples::NumberType;

/// A value of the graph: its name, its stored shape, and its scale and zero point.
pub(super) struct Described<'a> {
    pub(super) name: &'a str,
    pub(super) elem: Elem,
    /// Shape of the value as it is stored, with the channels last.
    pub(super) shape: Vec<u64>,
    pub(super) quant: Option<&'a QuantParams>,
}

impl<'a> Described<'a> {
    pub(super) fn new(module: &'a Module, graph: &'a Graph, id: ValueId) -> Result<Described<'a>, TargetError> {
        let missing = || Reason::new(ReasonCode::NoValue, "a value is missing");
        let value = graph.value(id).ok_or_else(missing)?;
        let name = module.name(value.name);
        // A dimension that depends on the data is written as 0. Only values on the host have such dimensions.
        let dims: Vec<u64> = value.ty.shape.iter().map(|dim| dim.fixed().unwrap_or(0)).collect();
        Ok(Described {
            name,
            elem: value.ty.elem,
            shape: stored(&dims),
            quant: value.quant.as_deref(),
        })
    }

    /// The value's entry in the network, with its type, shape, scale and zero point.
    pub(super) fn tree(&self) -> Tree {
        let extents = self.shape.iter().map(|&extent| Tree::Int(extent as i64));
        let mut tree = map([
            ("name", self.name.into()),
            ("dtype", NumberType::from(self.elem).name().into()),
            ("shape", Tree::List(extents.collect())),
        ]);
        if let Some(quant) = self.quant {
            tree.put("scale", scales(quant));
            tree.put("zero_point", zero_points(quant));
        }
        tree
    }
}

/// Converts the scale in the IR to SiMa's scale S, with which q = round(real · S) + Z for a code q with the zero point
/// Z. S is the reciprocal of the scale in the IR, rounded to f64. If 1 / S is rounded to f32, the result is the scale
/// in the IR again.
pub(super) fn multiplicative(scale: f32) -> f64 {
    1.0 / f64::from(scale)
}

/// SiMa's scales of a value: a single one, or one for each channel.
pub(super) fn scales(quant: &QuantParams) -> Tree {
    per(&quant.scale, |&scale| multiplicative(scale))
}

pub(super) fn zero_points(quant: &QuantParams) -> Tree {
    per(&quant.zero_point, |&zero| zero)
}

fn per<T, U: Into<Tree>>(values: &Per<T>, one: impl Fn(&T) -> U) -> Tree {
    match values {
        Per::Tensor(value) => one(value).into(),
        Per::Channel(values) => Tree::List(values.iter().map(|value| one(value).into()).collect()),
    }
}

/// The pairs of a scale and a zero point of a value: a single pair, or one for each channel.
pub(super) fn channel_params(quant: &QuantParams) -> Vec<(f64, i32)> {
    let channels = quant.scale.channels().or(quant.zero_point.channels()).unwrap_or(1);
    let pair = |channel: usize| {
        let scale = quant.scale.get(channel).copied().unwrap_or(1.0);
        let zero = quant.zero_point.get(channel).copied().unwrap_or(0);
        (multiplicative(scale), zero)
    };
    (0..channels).map(pair).collect()
}

/// The package's name for an element type.
pub(super) fn logical_name(elem: Elem) -> &'static str {
    match elem {
        Elem::F16 => "FP16",
        Elem::F32 => "FP32",
        Elem::F64 => "FP64",
        Elem::I8 => "INT8",
        Elem::U8 => "UINT8",
        Elem::I16 => "INT16",
        Elem::I32 => "INT32",
        Elem::I64 => "INT64",
        Elem::Bool => "BOOL",
        Elem::U16 => "UINT16",
        Elem::I4 => "INT4",
        Elem::U4 => "UINT4",
        Elem::BF16 => "BF16",
        Elem::U32 => "UINT32",
        Elem::U64 => "UINT64",
    }
}
