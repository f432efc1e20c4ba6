//! Writes grids as scales and zero points of `QuantizeLinear` and `DequantizeLinear`. In both ONNX and the IR, real =
//! scale · (q − zero point).

use super::apart::apart;
use super::attributes::int;
use super::emitter::Emitter;
use super::ops::{At, Operator};
use crate::error::WriteError;
use crate::proto::AttributeProto;
use strait_core::op::RoundTo;
use strait_core::{Dim, Elem, Policy, QuantParams, TensorData, TensorError, TensorType, ValueId};
use strait_requantize::{Per, Rounding};

/// Writes a `QuantizeLinear` with the result's grid, or a `DequantizeLinear` with the operand's grid.
pub(super) fn linear(
    emitter: &mut Emitter<'_>,
    at: At<'_>,
    op: &str,
    integer: Option<ValueId>,
) -> Result<(), WriteError> {
    let (names, axis) = constants(emitter, at, integer)?;
    let result = at.node.outputs.first().copied();
    let operand = apart(emitter, at.node.inputs.first().copied().flatten(), result);
    let outputs = at.outputs(emitter);
    emitter.node(op, at.name, [vec![operand], names].concat(), outputs, axis);
    Ok(())
}

/// The names of the constants for the scale and the zero point of an integer value, and the attributes that say along
/// which axis they run. If several nodes read or make the value, they share the constants.
pub(super) fn constants(
    emitter: &mut Emitter<'_>,
    at: At<'_>,
    integer: Option<ValueId>,
) -> Result<(Vec<String>, Vec<AttributeProto>), WriteError> {
    let found = integer.and_then(|id| Some((id, emitter.graph().value(id)?)));
    let Some((id, value, quant)) = found.and_then(|(id, v)| Some((id, v, v.quant.as_deref()?))) else {
        return Err(at.unwritable("the integer value has no grid"));
    };
    let parameters = match emitter.is_turned(Some(id)) {
        true => turned(quant, &value.ty),
        false => parameters(quant, &value.ty),
    };
    let parameters = parameters.map_err(|text| at.unwritable(text))?;
    let names = match emitter.scope.grids.get(&id) {
        Some(names) => names.clone(),
        None => {
            let base = emitter.value(id);
            let mut names = vec![emitter.constant(&format!("{base}_scale"), &parameters.scale)];
            if let Some(zero) = &parameters.zero_point {
                names.push(emitter.constant(&format!("{base}_zero_point"), zero));
            }
            emitter.scope.grids.insert(id, names.clone());
            names
        }
    };
    Ok((names, parameters.axis))
}

/// Writes a rounding to a constant grid as s · clip(round(x / s)). The result stays float. Runtimes do not take these
/// operators for a quantization that they could compute in integers, and every operator set has these operators.
impl Operator for RoundTo {
    fn write(&self, emitter: &mut Emitter<'_>, at: At<'_>) -> Result<(), WriteError> {
        let unwritable = || at.unwritable("no operator rounds to small floats or to a range of each run");
        let value = at.node.outputs.first().and_then(|&id| emitter.graph().value(id));
        let is_fixed = matches!(self.scheme.policy(), Policy::Linear { dynamic: false, .. });
        let (Some(value), Some(range), true, Rounding::HalfEven) =
            (value, self.scheme.range(), is_fixed, self.scheme.rounding())
        else {
            return Err(unwritable());
        };
        let quant = value.quant.as_deref().filter(|quant| quant.block.is_none());
        let quant = quant.ok_or_else(unwritable)?;
        let count = quant.scale.channels().or(quant.zero_point.channels()).unwrap_or(1);
        let along = |position: usize| quant.axis.is_some_and(|axis| usize::from(axis) == position);
        let rank = if count == 1 { 0 } else { value.ty.shape.len() };
        let shape: Vec<u64> = (0..rank)
            .map(|position| if along(position) { count as u64 } else { 1 })
            .collect();
        // A constant that has one number for each part of the grid.
        let mut parts = |word: &str, of: &dyn Fn(f32, i32) -> f32| {
            let of = |part: usize| Some(of(*quant.scale.get(part)?, *quant.zero_point.get(part)?));
            let numbers: Vec<f32> = (0..count).filter_map(of).collect();
            let tensor = TensorData::from_values(&shape, &numbers).map_err(|error| at.unwritable(error.to_string()))?;
            Ok::<_, WriteError>(emitter.constant(&format!("{}_{word}", at.name), &tensor))
        };
        let scale = parts("scale", &|scale, _| scale)?;
        let [low, high] = [("low", range[0]), ("high", range[1])];
        let end = |end: i64| move |_, zero: i32| (end - i64::from(zero)) as f32;
        let (low, high) = (parts(low.0, &end(low.1))?, parts(high.0, &end(high.1))?);
        let mut number = apart(emitter, at.node.inputs.first().copied().flatten(), None);
        for (step, word, other) in [
            ("Div", "steps", Some(&scale)),
            ("Round", "rounded", None),
            ("Max", "above", Some(&low)),
            ("Min", "codes", Some(&high)),
        ] {
            let inputs = std::iter::once(number).chain(other.cloned()).collect();
            number = emitter.step(step, &format!("{}_{word}", at.name), inputs, vec![]);
        }
        let outputs = at.outputs(emitter);
        emitter.node("Mul", at.name, vec![number, scale], outputs, vec![]);
        Ok(())
    }
}

struct Parameters {
    scale: TensorData,
    /// The zero point. It is absent if it is 0 and of type i32, for which ONNX allows no other zero point.
    zero_point: Option<TensorData>,
    axis: Vec<AttributeProto>,
}

/// Returns the shape of the scales. Without blocks, there is one scale for each position of the grid's axis. With
/// blocks, the scales have the shape of the value, except that the grid's axis has one position for each block.
fn shape(quant: &QuantParams, shape: &[Dim]) -> Option<Vec<u64>> {
    let axis = usize::from(quant.axis?);
    let extent = shape.get(axis)?.fixed()?;
    let Some(block) = quant.block else {
        return Some(vec![extent]);
    };
    let mut dims: Vec<u64> = shape.iter().map(|dim| dim.fixed()).collect::<Option<_>>()?;
    dims[axis] = extent / u64::from(block.get());
    Some(dims)
}

/// Scale and zero point of a matrix after it is transposed.
fn turned(quant: &QuantParams, ty: &TensorType) -> Result<Parameters, String> {
    let mut turned = ty.clone();
    turned.shape.reverse();
    let quant = ty.dims().and_then(|dims| quant.turned(&dims));
    let quant = quant.ok_or("the grid of a matrix has no transpose")?;
    parameters(&quant, &turned)
}

/// Scale and zero point as tensors. Both are scalars if the grid is per tensor; otherwise both run along an axis.
fn parameters(quant: &QuantParams, ty: &TensorType) -> Result<Parameters, String> {
    let (fault, elem) = (|e: TensorError| e.to_string(), ty.elem);
    let (shape, scales, zeros) = match (&quant.scale, &quant.zero_point, shape(quant, &ty.shape)) {
        (Per::Tensor(scale), Per::Tensor(zero), _) => (vec![], vec![*scale], vec![*zero]),
        (_, _, None) => return Err("its grid runs along an axis that it does not have".into()),
        (scale, zero, Some(shape)) => {
            let channels: u64 = shape.iter().product();
            let count = usize::try_from(channels).map_err(|e| e.to_string())?;
            let fits = |length: usize| length == count;
            let scales = match scale {
                Per::Tensor(scale) => vec![*scale; count],
                Per::Channel(scales) if fits(scales.len()) => scales.to_vec(),
                Per::Channel(scales) => return Err(format!("{} scales for {count} channels", scales.len())),
            };
            let zeros = match zero {
                Per::Tensor(zero) => vec![*zero; count],
                Per::Channel(zeros) if fits(zeros.len()) => zeros.to_vec(),
                Per::Channel(zeros) => return Err(format!("{} zero points for {count} channels", zeros.len())),
            };
            (shape, scales, zeros)
        }
    };
    let zero_point = match elem {
        Elem::I32 if zeros.iter().all(|&zero| zero == 0) => None,
        Elem::I8 | Elem::U8 | Elem::I16 | Elem::U16 | Elem::I4 | Elem::U4 => {
            let zeros: Vec<i64> = zeros.iter().map(|&zero| i64::from(zero)).collect();
            Some(TensorData::from_integers(elem, &shape, &zeros).map_err(fault)?)
        }
        Elem::I32 | Elem::I64 | Elem::F32 | Elem::F16 | Elem::BF16 | Elem::F64 | Elem::U32 | Elem::U64 | Elem::Bool => {
            return Err(format!("{elem} has no zero point in ONNX"));
        }
    };
    let axis = match (shape.as_slice(), quant.axis) {
        ([], _) | (_, None) => Vec::new(),
        (_, Some(axis)) => {
            let block = quant.block.map(|block| int("block_size", block.get()));
            std::iter::once(int("axis", axis)).chain(block).collect()
        }
    };
    Ok(Parameters {
        scale: TensorData::from_values(&shape, &scales).map_err(fault)?,
        zero_point,
        axis,
    })
}
