//! Evaluates a single op on constants.

use crate::aligned::AlignedBytes;
use crate::error::StepError;
use crate::late;
use crate::layout::is_alias;
use crate::plan::is_aligned;
use crate::prepare::prepare;
use crate::single::Single;
use crate::site::Slot;
use crate::step::{Input, Io};
use crate::tensor::byte_count;
use crate::{ExecuteError, PlanOptions, Threads};
use smallvec::SmallVec;
use std::sync::OnceLock;
use strait_core::op::Results;
use strait_core::shape::fixed_dims;
use strait_core::{Kind, Op, TensorData, TensorType};

/// The largest number of elements, of operands and results together, for which the caller's thread does the work.
/// Handing such short work to another thread would take many times as long.
const MOST_HERE: usize = 1 << 12;

/// The largest size of a result in bytes: 64 GiB, the same limit as for a plan.
const LARGEST: usize = 1 << 36;

/// Computes the results of `op` on `operands` with the step that a plan would use. Callers use this to fold constants
/// and to compute tables.
///
/// # Errors
/// The operands do not fit the op, or the step fails.
pub fn evaluate(op: &Op, operands: &[Option<&TensorData>]) -> Result<Vec<TensorData>, ExecuteError> {
    let types: SmallVec<[Option<TensorType>; 3]> = operands.iter().map(|t| t.map(TensorData::tensor_type)).collect();
    let types: SmallVec<[Option<&TensorType>; 3]> = types.iter().map(Option::as_ref).collect();
    if let Some(results) = computed_late(op, operands) {
        return results;
    }
    let results = op
        .infer(&types)
        .map_err(|reason| ExecuteError::Ours(reason.to_string()))?;
    let work = || on_this_thread(op, operands, &types, &results);
    match is_short(op, operands, &results) {
        true => work(),
        false => one_thread()?.run(work),
    }
}

/// Computes the results of an op whose extents depend on data, or whose operands replace attributes. Returns `None` for
/// any other op.
fn computed_late(op: &Op, operands: &[Option<&TensorData>]) -> Option<Result<Vec<TensorData>, ExecuteError>> {
    let tensor = |operand: &Option<&TensorData>| {
        operand.map(|data| {
            let dims: SmallVec<[usize; 4]> = data.shape().iter().map(|&extent| extent as usize).collect();
            crate::Tensor::from_bytes(data.elem(), &dims, &data.unpacked())
        })
    };
    if !late::is_late(op, operands.iter().map(Option::is_some)) {
        return None;
    }
    let tensors = operands.iter().map(|operand| tensor(operand).transpose());
    let made = tensors
        .collect::<Result<Vec<_>, _>>()
        .map_err(ours)
        .and_then(|tensors| {
            let views: Vec<_> = tensors
                .iter()
                .map(|tensor| tensor.as_ref().map(crate::Tensor::view))
                .collect();
            late::evaluate(op, &views).map_err(|source| ExecuteError::Node {
                node: "constant".into(),
                op: op.term().name(),
                source,
            })
        });
    Some(made.and_then(|tensors| tensors.iter().map(|tensor| tensor.to_data().map_err(ours)).collect()))
}

/// True if there are few elements, and the work is proportional to their number. The caller's thread then does the work
/// alone.
fn is_short(op: &Op, operands: &[Option<&TensorData>], results: &Results) -> bool {
    let made = results.iter().map(|ty| {
        let dims = fixed_dims(&ty.shape).unwrap_or_default();
        dims.iter().fold(1u64, |n, &d| n.saturating_mul(d)) as usize
    });
    let elements = operands.iter().flatten().map(|tensor| tensor.len()).chain(made);
    let is_elementwise = match op {
        Op::Add(_) | Op::Sub(_) | Op::Mul(_) | Op::Div(_) | Op::Binary(_) | Op::Compare(_) | Op::Reduce(_) => true,
        Op::Select(_) => true,
        // In a resize, each element is interpolated from several others, so its work is not proportional to the number
        // of elements.
        Op::Resize(_) => false,
        _ => matches!(
            op.term().kind(),
            Kind::Function | Kind::Rearranges | Kind::Moves | Kind::Extends | Kind::Converts
        ),
    };
    is_elementwise && elements.fold(0, usize::saturating_add) <= MOST_HERE
}

fn on_this_thread(
    op: &Op,
    operands: &[Option<&TensorData>],
    types: &[Option<&TensorType>],
    results: &Results,
) -> Result<Vec<TensorData>, ExecuteError> {
    let at = |source: StepError| ExecuteError::Node {
        node: "constant".into(),
        op: op.term().name(),
        source,
    };
    let (single, options) = (Single::new(op, types, results), PlanOptions::default());
    let inputs = operands.iter().map(|operand| operand.map(constant).transpose());
    let outputs = results.iter().map(result).collect::<Result<_, _>>()?;
    let site = single
        .site(inputs.collect::<Result<_, _>>()?, outputs, &options)
        .map_err(at)?;
    if let (true, [Some(operand), ..], [result]) = (is_alias(&site), operands, &site.outputs[..])
        && !operand.elem().is_packed()
    {
        let (shape, bytes) = (extents(result), operand.bytes().clone());
        return Ok(vec![TensorData::new(result.elem, &shape, bytes).map_err(ours)?]);
    }
    let aligned: SmallVec<[Option<AlignedBytes>; 3]> = (operands.iter())
        .map(|operand| operand.filter(|tensor| !is_aligned(tensor)))
        .map(|operand| operand.map(|tensor| AlignedBytes::copy_of(&tensor.unpacked())))
        .collect();
    let mut made = Vec::with_capacity(site.outputs.len());
    for result in &site.outputs {
        let bytes = byte_count(result.elem, &result.dims).filter(|&bytes| bytes <= LARGEST);
        made.push(AlignedBytes::zeroed(bytes.ok_or_else(|| too_large(u64::MAX))?));
    }
    if is_alias(&site) {
        // Here, as in a plan, each 4-bit code takes a whole byte.
        if let (Some(Some(operand)), Some(result)) = (aligned.first(), made.first_mut()) {
            result.as_mut_slice().copy_from_slice(operand.as_slice());
        }
    } else {
        let step = prepare(&site).map_err(at)?;
        let mut inputs = SmallVec::new();
        for (index, (operand, copy)) in operands.iter().zip(&aligned).enumerate() {
            let bytes = copy.as_ref().map(AlignedBytes::as_slice);
            let bytes = bytes.or(operand.map(|tensor| &tensor.bytes()[..]));
            inputs.push(bytes.filter(|_| step.reads(index)).map_or(Input::Absent, Input::Bytes));
        }
        step.run(&mut Io {
            context: &options.context,
            inputs,
            outputs: made.iter_mut().map(AlignedBytes::as_mut_slice).collect(),
        })
        .map_err(at)?;
    }
    let data = |(result, bytes): (&Slot<'_>, AlignedBytes)| {
        let bytes = bytes::Bytes::copy_from_slice(bytes.as_slice());
        TensorData::from_unpacked(result.elem, &extents(result), bytes).map_err(ours)
    };
    site.outputs.iter().zip(made).map(data).collect()
}

fn constant(tensor: &TensorData) -> Result<Slot<'_>, ExecuteError> {
    let extent = |&extent: &u64| usize::try_from(extent).map_err(|_| too_large(extent));
    Ok(Slot {
        elem: tensor.elem(),
        dims: tensor.shape().iter().map(extent).collect::<Result<_, _>>()?,
        quant: None,
        constant: Some(tensor),
    })
}

fn result<'a>(ty: &TensorType) -> Result<Slot<'a>, ExecuteError> {
    let dims = fixed_dims(&ty.shape).ok_or_else(|| ExecuteError::Ours("constants make no symbolic shape".into()))?;
    let extent = |&extent: &u64| usize::try_from(extent).map_err(|_| too_large(extent));
    Ok(Slot {
        elem: ty.elem,
        dims: dims.iter().map(extent).collect::<Result<_, _>>()?,
        quant: None,
        constant: None,
    })
}

fn extents(slot: &Slot<'_>) -> SmallVec<[u64; 4]> {
    slot.dims.iter().map(|&extent| extent as u64).collect()
}

fn too_large(bytes: u64) -> ExecuteError {
    ExecuteError::TooLarge {
        value: "constant".into(),
        bytes,
    }
}

fn ours(error: strait_core::TensorError) -> ExecuteError {
    ExecuteError::Ours(error.to_string())
}

/// Returns the single thread that does all longer work.
fn one_thread() -> Result<&'static Threads, ExecuteError> {
    static ONE: OnceLock<Threads> = OnceLock::new();
    if let Some(threads) = ONE.get() {
        return Ok(threads);
    }
    let threads = Threads::one();
    Ok(ONE.get_or_init(|| threads))
}
