//! Integer primitives on the loops of a target or of the host, one file each.
//!
//! A node's accumulators pass through [`NodeSlots::loops`]: what is fused into the node, or what a join adds. What the
//! fast loops do not support (sums over three spatial axes, weights that are not constant) is computed by the
//! definition in [`crate::reference`], inside a [`plain`] step.

pub(crate) mod add;
mod addend;
pub(crate) mod average_pool;
pub(crate) mod clamp;
pub(crate) mod conv;
pub(crate) mod dequantize;
pub(crate) mod gemm;
pub(crate) mod layer_normalization;
pub(crate) mod lookup;
pub(crate) mod matmul;
pub(crate) mod max_pool;
pub(crate) mod mul;
mod picked;
pub(crate) mod plain;
pub(crate) mod quantize;
pub(crate) mod reduce;
pub(crate) mod requantize;
pub(crate) mod resize;
pub(crate) mod shift_left;
pub(crate) mod softmax;
pub(crate) mod sum_pool;

use crate::error::StepError;
use crate::site::{NodeSlots, Slot};
use crate::step::Step;
use crate::wide;
use std::borrow::Cow;
use strait_core::{Elem, Fused, Op, WeightZero};
use strait_kernels::integer::{Bias, Carrier, Loops, Weights, accumulators};
use strait_requantize::IntType;

/// The result of a preparation: a step, or `None` if the loops do not support these operands.
pub(crate) type Prepared = Result<Option<Box<dyn Step>>, StepError>;

/// Prepares a primitive whose first operand is an integer.
pub(crate) fn prepare(site: &NodeSlots<'_>) -> Result<Box<dyn Step>, StepError> {
    if let (Some(fused), None) = (&site.fused, site.node.op.channel_axis(site.output()?.dims.len()))
        && fused.requant.channels().is_some()
    {
        let op = site.node.op.term();
        return Err(StepError::Model(format!(
            "{op} has no channel axis for a requantization per channel"
        )));
    }
    if let (Op::Dequantize(_), Elem::I64) = (&site.node.op, site.input(0)?.elem) {
        return dequantize::wide(site);
    }
    if let Some(Fused {
        addend: Some(addend), ..
    }) = &site.fused
    {
        return match addend::prepare(addend, site)? {
            Some(step) => Ok(step),
            None => plain::prepare(site),
        };
    }
    if let Op::Binary(op) = &site.node.op {
        return wide::arithmetic::binary(op.function, site);
    }
    if let Op::Compare(op) = &site.node.op {
        return wide::compare::prepare(op.relation, site);
    }
    let step = match &site.node.op {
        Op::Conv(op) => conv::prepare(op, site),
        Op::Gemm(op) => gemm::prepare(op, site),
        Op::MatMul(op) => matmul::prepare(op, site),
        Op::Add(_) => add::prepare(site, i32::wrapping_add, i64::wrapping_add),
        Op::Sub(_) => add::prepare(site, i32::wrapping_sub, i64::wrapping_sub),
        Op::Mul(op) => mul::prepare(op, site),
        Op::SumPool(op) => sum_pool::prepare(op, site),
        Op::AveragePool(op) => average_pool::prepare(Some(op), site),
        Op::GlobalAveragePool(_) => average_pool::prepare(None, site),
        Op::MaxPool(op) => max_pool::prepare(op, site),
        Op::Reduce(op) => reduce::prepare(op, site),
        Op::Lookup(_) => lookup::prepare(site),
        Op::Interpolate(op) => lookup::interpolate(op, site),
        Op::IntegerResize(op) => resize::prepare(op, site),
        Op::IntegerSoftmax(op) => softmax::prepare(op, site),
        Op::IntegerLayerNormalization(op) => layer_normalization::prepare(op, site),
        Op::Clamp(op) => clamp::prepare(op, site),
        Op::Requantize(op) => requantize::prepare(op, site),
        Op::ShiftLeft(op) => shift_left::prepare(op, site),
        Op::Dequantize(_) => dequantize::prepare(site),
        // These ops are defined on real numbers only.
        Op::BatchNormalization(_)
        | Op::LayerNormalization(_)
        | Op::RmsNormalization(_)
        | Op::Softmax(_)
        | Op::Div(_)
        | Op::Pow(_)
        | Op::Unary(_)
        | Op::Relu(_)
        | Op::Clip(_)
        | Op::LeakyRelu(_)
        | Op::HardSigmoid(_)
        | Op::ConvTranspose(_)
        | Op::GridSample(_)
        | Op::DeformConv(_)
        | Op::Recurrent(_)
        | Op::RoiAlign(_)
        | Op::GatherElements(_)
        | Op::GatherNd(_)
        | Op::Scatter(_)
        | Op::ArgReduce(_)
        | Op::Cumulative(_)
        | Op::TopK(_)
        | Op::Det(_)
        | Op::Dft(_)
        | Op::Col2Im(_)
        | Op::Elu(_)
        | Op::RoundTo(_) => return Err(unsupported(site)),
        // These ops move elements of any type, or start from floats.
        Op::Reshape(_)
        | Op::Flatten(_)
        | Op::Squeeze(_)
        | Op::Unsqueeze(_)
        | Op::Transpose(_)
        | Op::Identity(_)
        | Op::Concat(_)
        | Op::Split(_)
        | Op::Slice(_)
        | Op::Gather(_)
        | Op::Expand(_)
        | Op::Select(_)
        | Op::Binary(_)
        | Op::Compare(_)
        | Op::Pad(_)
        | Op::Resize(_)
        | Op::Cast(_)
        | Op::BitCast(_)
        | Op::Quantize(_) => return Err(unsupported(site)),
        Op::Call(_)
        | Op::Foreign(_)
        | Op::If(_)
        | Op::Loop(_)
        | Op::ShapeOf(_)
        | Op::Range(_)
        | Op::NonZero(_)
        | Op::Unique(_)
        | Op::NonMaxSuppression(_) => return Err(unsupported(site)),
    };
    match step? {
        Some(step) => Ok(step),
        None => plain::prepare(site),
    }
}

fn unsupported(site: &NodeSlots<'_>) -> StepError {
    StepError::Unsupported(format!("{} on integers", site.node.op.term()))
}

impl NodeSlots<'_> {
    /// The loops that requantize this node's accumulators.
    pub(crate) fn loops(&self) -> Result<Box<dyn Loops>, StepError> {
        match &self.fused {
            Some(fused) => self.options.loops.loops_for(&fused.requant, fused.clamp),
            None => Ok(accumulators()),
        }
    }
}

/// The integer type of a slot with codes of 8 bits.
pub(crate) fn eight_bits(slot: &Slot<'_>) -> Option<IntType> {
    match slot.elem {
        Elem::I8 => Some(IntType::I8),
        Elem::U8 => Some(IntType::U8),
        Elem::I4
        | Elem::U4
        | Elem::I16
        | Elem::U16
        | Elem::I32
        | Elem::I64
        | Elem::F32
        | Elem::F16
        | Elem::F64
        | Elem::BF16
        | Elem::U32
        | Elem::U64
        | Elem::Bool => None,
    }
}

/// The integer type of a slot with codes of at most 16 bits.
pub(crate) fn codes(slot: &Slot<'_>) -> Option<IntType> {
    slot.elem.int_type().filter(|codes| codes.bits() <= 16)
}

/// Converts an accumulator type to the kernels' type.
pub(crate) fn carrier(carrier: strait_core::Carrier) -> Carrier {
    match carrier {
        strait_core::Carrier::I32 => Carrier::I32,
        strait_core::Carrier::I64 => Carrier::I64,
    }
}

/// Constant weights as numbers.
pub(crate) enum Constant<'a> {
    /// Signed codes of up to 8 bits, or unsigned codes of 4.
    I8(Cow<'a, [i8]>),
    /// Codes of any other type, or weights with a zero point.
    I32(Vec<i32>),
}

impl Constant<'_> {
    /// The weights of a slot: codes minus the zero points of the output channels, which run along an axis. `None` if
    /// they are not constant.
    pub(crate) fn of<'a>(slot: &'a Slot<'_>, zeros: &WeightZero, axis: usize) -> Option<Constant<'a>> {
        let tensor = slot.constant?;
        codes(slot)?;
        Some(match slot.elem {
            Elem::I8 | Elem::I4 if zeros.is_zero() => Constant::I8(tensor.values().ok()?),
            _ => {
                let inner = slot.dims.iter().skip(axis + 1).product::<usize>().max(1);
                let outputs = slot.dims.get(axis).copied().unwrap_or(1).max(1);
                let wide = tensor.to_i64().ok()?.into_iter().enumerate();
                // Codes have up to 16 bits, and so do zero points.
                let weight = |(at, code): (usize, i64)| code as i32 - zeros.of(at / inner % outputs);
                Constant::I32(wide.map(weight).collect())
            }
        })
    }

    pub(crate) fn weights(&self) -> Weights<'_> {
        match self {
            Constant::I8(weights) => Weights::I8(weights),
            Constant::I32(weights) => Weights::I32(weights),
        }
    }
}

/// The elements of a bias, in the type of the accumulators.
pub(crate) struct ConstantBias {
    carrier: Carrier,
    narrow: Option<Vec<i32>>,
    wide: Option<Vec<i64>>,
}

impl ConstantBias {
    /// The bias of a slot. `None` if it is not a constant of the accumulator type.
    pub(crate) fn of(slot: Option<&Slot<'_>>, carrier: Carrier) -> Option<ConstantBias> {
        let mut bias = ConstantBias {
            carrier,
            narrow: None,
            wide: None,
        };
        let Some(slot) = slot else { return Some(bias) };
        match carrier {
            Carrier::I32 => bias.narrow = Some(slot.constant?.values().ok()?.into_owned()),
            Carrier::I64 => bias.wide = Some(slot.constant?.values().ok()?.into_owned()),
        }
        Some(bias)
    }

    /// One bias value per channel. A single value is repeated. `None` if the number of values does not match.
    pub(crate) fn repeated(mut self, channels: usize) -> Option<ConstantBias> {
        fn fit<T: Copy>(values: &mut Option<Vec<T>>, channels: usize) -> bool {
            if let Some(&[one]) = values.as_deref() {
                *values = Some(vec![one; channels]);
            }
            values.as_ref().is_none_or(|values| values.len() == channels)
        }
        (fit(&mut self.narrow, channels) && fit(&mut self.wide, channels)).then_some(self)
    }

    pub(crate) fn bias(&self) -> Bias<'_> {
        match self.carrier {
            Carrier::I32 => Bias::I32(self.narrow.as_deref()),
            Carrier::I64 => Bias::I64(self.wide.as_deref()),
        }
    }
}
