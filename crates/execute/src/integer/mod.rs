//! Integer primitives on the loops of a target or of the host, one file each.
//!
//! A node's accumulators pass through [`NodeSlots::loops`]: what is fused into it, or what a join adds. What the fast loops
//! do not take (16-bit activations, accumulators of i64, three spatial axes, weights that are no constants) is computed by the definition in
//! [`crate::reference`], inside a [`plain`] step.

pub(crate) mod add;
pub(crate) mod average_pool;
pub(crate) mod clamp;
pub(crate) mod conv;
pub(crate) mod dequantize;
pub(crate) mod gemm;
pub(crate) mod lookup;
pub(crate) mod matmul;
pub(crate) mod max_pool;
pub(crate) mod mul;
mod picked;
pub(crate) mod plain;
pub(crate) mod quantize;
pub(crate) mod reduce;
pub(crate) mod requantize;
pub(crate) mod shift_left;
pub(crate) mod sum_pool;

use crate::error::StepError;
use crate::site::{NodeSlots, Slot};
use crate::step::Step;
use strait_core::{Elem, Op, TensorData};
use strait_kernels::integer::{Loops, accumulators};
use strait_requantize::IntType;

/// The outcome of a preparation: a step, or `None` where the loops do not take these operands.
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
    if site.is_wide()? {
        return plain::prepare(site);
    }
    let step = match &site.node.op {
        Op::Conv(op) => conv::prepare(op, site),
        Op::Gemm(op) => gemm::prepare(op, site),
        Op::MatMul(op) => matmul::prepare(op, site),
        Op::Add(_) => add::prepare(site, i32::wrapping_add),
        Op::Sub(_) => add::prepare(site, i32::wrapping_sub),
        Op::Mul(op) => mul::prepare(op, site),
        Op::SumPool(op) => sum_pool::prepare(op, site),
        Op::AveragePool(op) => average_pool::prepare(Some(op), site),
        Op::GlobalAveragePool(_) => average_pool::prepare(None, site),
        Op::MaxPool(op) => max_pool::prepare(op, site),
        Op::Reduce(op) => reduce::prepare(op, site),
        Op::Lookup(_) => lookup::prepare(site),
        Op::Clamp(op) => clamp::prepare(op, site),
        Op::Requantize(op) => requantize::prepare(op, site),
        Op::ShiftLeft(op) => shift_left::prepare(op, site),
        Op::Dequantize(_) => dequantize::prepare(site),
        // Of real numbers.
        Op::BatchNormalization(_)
        | Op::LayerNormalization(_)
        | Op::Softmax(_)
        | Op::Div(_)
        | Op::Pow(_)
        | Op::Unary(_)
        | Op::Relu(_)
        | Op::Clip(_)
        | Op::LeakyRelu(_)
        | Op::HardSigmoid(_)
        | Op::Elu(_) => return Err(unsupported(site)),
        // Moved for every element type, or from floats.
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
        | Op::Pad(_)
        | Op::Resize(_)
        | Op::Cast(_)
        | Op::Quantize(_) => return Err(unsupported(site)),
        Op::Call(_) | Op::Foreign(_) => return Err(unsupported(site)),
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
    /// The loops that this node's accumulators pass through.
    pub(crate) fn loops(&self) -> Result<Box<dyn Loops>, StepError> {
        match &self.fused {
            Some(fused) => self.options.loops.loops_for(&fused.requant, fused.clamp),
            None => Ok(accumulators()),
        }
    }
}

/// The type of a slot with codes of 8 bits.
pub(crate) fn eight_bits(slot: &Slot<'_>) -> Option<IntType> {
    match slot.elem {
        Elem::I8 => Some(IntType::I8),
        Elem::U8 => Some(IntType::U8),
        // Those of 4 bits have bytes, but no loops yet.
        Elem::I4
        | Elem::U4
        | Elem::I16
        | Elem::U16
        | Elem::I32
        | Elem::I64
        | Elem::F32
        | Elem::F16
        | Elem::F64
        | Elem::Bool => None,
    }
}

/// The elements of a constant of `i8` weights.
pub(crate) fn weights<'a>(slot: &'a Slot<'_>) -> Option<&'a [i8]> {
    let constant = slot.constant.filter(|_| slot.elem == Elem::I8)?;
    bytemuck::try_cast_slice(constant.bytes()).ok()
}

/// The elements of a bias; `Err` where it is no constant of `i32`.
pub(crate) fn bias(slot: Option<&Slot<'_>>) -> Result<Option<Vec<i32>>, ()> {
    match slot {
        None => Ok(None),
        Some(slot) => match slot.constant.map(TensorData::values::<i32>) {
            Some(Ok(values)) => Ok(Some(values.into_owned())),
            _ => Err(()),
        },
    }
}
