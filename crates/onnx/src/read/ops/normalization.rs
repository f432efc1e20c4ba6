//! Reads normalizations that divide by a standard deviation or by a norm.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use smallvec::smallvec;
use strait_core::ReasonCode;
use strait_core::op::{Add, BatchNormalization, Div, Function, Identity, LayerNormalization, Mul, Reduction, Reshape};
use strait_import::{Window, reduction_over};

pub(super) const ROWS: &[Row] = &[
    Row::new("BatchNormalization", 7, batch_normalization).and(&[9, 14, 15]),
    Row::new("LayerNormalization", 17, layer_normalization),
    Row::new("RMSNormalization", 23, rms_normalization),
    Row::new("InstanceNormalization", 6, instance_normalization).and(&[22]),
    Row::new("GroupNormalization", 18, group_normalization).and(&[21]),
    Row::new("MeanVarianceNormalization", 9, mean_variance_normalization).and(&[13]),
    Row::new("LpNormalization", 1, lp_normalization).and(&[22]),
    Row::new("LRN", 1, local_response).and(&[13]),
];

const DEFAULT_EPSILON: f32 = 1e-5;
const DEFAULT_MOMENTUM: f32 = 0.9;

fn batch_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    // Up to operator set 8, `spatial` may be 0, which means one mean and variance for each element instead of each
    // channel. Strait refuses such a node.
    reader.only("spatial", 1)?;
    let momentum = reader.float("momentum")?.unwrap_or(DEFAULT_MOMENTUM);
    let epsilon = reader.float("epsilon")?.unwrap_or(DEFAULT_EPSILON);
    let mut operands = [0, 1, 2, 3, 4].map(Arg::Operand);
    if reader.flag("training_mode")? {
        if reader.constant(0)?.is_none() {
            let text = "it is in training mode, whose statistics are those of the batch that it is given";
            return Err(Refusal::unsupported(text));
        }
        let statistics = statistics(reader)?;
        for (result, statistic) in (1..).zip(&statistics) {
            let past = reader.scaled(&Arg::Operand(result + 2), momentum.into())?;
            let new = reader.scaled(statistic, 1.0 - f64::from(momentum))?;
            reader.finish_result(result, Add {}, &[past, new])?;
        }
        let [mean, variance] = statistics;
        (operands[3], operands[4]) = (mean, variance);
    }
    reader.finish(BatchNormalization { epsilon }, &operands)
}

/// Mean and variance of each channel of operand 0.
fn statistics(reader: &mut OperatorReader<'_, '_>) -> Result<[Arg; 2], Refusal> {
    let (x, rank) = (Arg::Operand(0), reader.rank(0)? as i64);
    let axes: Vec<i64> = (0..rank).filter(|&axis| axis != 1).collect();
    let mean = reader.reduced(Reduction::Mean, &x, &axes)?;
    let centred = reader.minus(&x, &mean)?;
    let squares = reader.times(&centred, &centred)?;
    let variance = reader.reduced(Reduction::Mean, &squares, &axes)?;
    Ok([reader.reshaped(&mean, &[-1])?, reader.reshaped(&variance, &[-1])?])
}

/// Reads LayerNormalization. The second and third results are the mean and the reciprocal of the standard deviation.
pub(super) fn layer_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    // `stash_type` 1 says that mean and variance are computed in 32-bit floats.
    reader.only("stash_type", 1)?;
    let (x, rank) = (Arg::Operand(0), reader.rank(0)?);
    let op = LayerNormalization {
        axis: reader.int("axis")?.unwrap_or(-1),
        epsilon: reader.float("epsilon")?.unwrap_or(DEFAULT_EPSILON),
    };
    if reader.has_result(1) || reader.has_result(2) {
        let axes: Vec<i64> = (reader.axis(op.axis, rank)? as i64..rank as i64).collect();
        reader.finish_result(
            1,
            reduction_over(Reduction::Mean, &axes, true),
            std::slice::from_ref(&x),
        )?;
        let deviation = deviation(reader, &x, &axes, op.epsilon)?;
        reader.finish_result(2, Function::Reciprocal, &[deviation])?;
    }
    reader.finish(op, &[x, Arg::Operand(1), Arg::Operand(2)])
}

/// √(variance + epsilon), computed over the axes. The axes are kept with extent 1.
fn deviation(reader: &mut OperatorReader<'_, '_>, x: &Arg, axes: &[i64], epsilon: f32) -> Result<Arg, Refusal> {
    let mean = reader.reduced(Reduction::Mean, x, axes)?;
    let centred = reader.minus(x, &mean)?;
    root_of_squares(reader, &centred, axes, epsilon)
}

/// √(mean of squares + epsilon), computed over the axes. The axes are kept with extent 1.
pub(super) fn root_of_squares(
    reader: &mut OperatorReader<'_, '_>,
    x: &Arg,
    axes: &[i64],
    epsilon: f32,
) -> Result<Arg, Refusal> {
    let squares = reader.times(x, x)?;
    let mean = reader.reduced(Reduction::Mean, &squares, axes)?;
    let shifted = reader.shifted(&mean, epsilon.into())?;
    reader.function(Function::Sqrt, &shifted)
}

/// Reads an RMS normalization: x / √(mean of x² + epsilon) · scale. The mean is over the axes from `axis` on.
pub(super) fn rms_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.only("stash_type", 1)?;
    let (x, rank) = (Arg::Operand(0), reader.rank(0)?);
    let first = reader.int("axis")?.unwrap_or(-1);
    let epsilon = reader.float("epsilon")?.unwrap_or(DEFAULT_EPSILON);
    let axes: Vec<i64> = (reader.axis(first, rank)? as i64..rank as i64).collect();
    let root = root_of_squares(reader, &x, &axes, epsilon)?;
    // The operator of ONNX Runtime has a second result; the operator of ONNX does not.
    if reader.has_result(1) {
        reader.finish_result(1, Function::Reciprocal, std::slice::from_ref(&root))?;
    }
    let normal = reader.over(&x, &root)?;
    reader.finish_result(0, Mul::float(), &[normal, Arg::Operand(1)])
}

/// Divides the channels into groups and normalizes each group with its own mean and variance. This is computed as a
/// layer normalization of [N, groups, all the rest] with a scale of 1.
fn normalised_groups(reader: &mut OperatorReader<'_, '_>, groups: i64) -> Result<Arg, Refusal> {
    let epsilon = reader.float("epsilon")?.unwrap_or(DEFAULT_EPSILON);
    let rows = reader.reshaped(&Arg::Operand(0), &[0, groups, -1])?;
    let one = Arg::Constant(reader.floats_of(&[1], &[1.0])?);
    reader.push(LayerNormalization { axis: 2, epsilon }, &[rows, one])
}

/// Returns the shape of operand 0 for reshapes, with a 0 in place of the batch extent (a 0 keeps the extent of the
/// reshape's operand). Also returns the number of channels.
fn image(reader: &mut OperatorReader<'_, '_>) -> Result<(Vec<i64>, i64), Refusal> {
    let shape = reader.ty(0)?.shape;
    let extents = shape.iter().skip(1);
    let extents = extents.map(|dim| dim.fixed().and_then(|d| i64::try_from(d).ok()).filter(|&d| d > 0));
    let mut extents = extents.collect::<Option<Vec<i64>>>().ok_or_else(|| {
        Refusal::invalid(
            ReasonCode::SymbolicAxis,
            "an axis behind the batch is symbolic or empty; bind it to a number",
        )
    })?;
    let channels = extents.first().copied();
    let channels = channels.ok_or_else(|| Refusal::invalid(ReasonCode::Axis, "the operand has no channels"))?;
    extents.insert(0, 0);
    Ok((extents, channels))
}

/// True if an operand is a constant and every element of it is `number`.
fn is_all(reader: &mut OperatorReader<'_, '_>, position: usize, number: f32) -> Result<bool, Refusal> {
    let Some(tensor) = reader.constant(position)? else {
        return Ok(false);
    };
    Ok(tensor
        .to_f32()
        .is_ok_and(|values| values.iter().all(|&value| value == number)))
}

/// Multiplies by a scale and adds a bias for each channel (axis 1). Exporters of a group normalization write scales
/// that are all 1 and biases that are all 0. In that case no op is added.
fn scale_channels(reader: &mut OperatorReader<'_, '_>, x: &Arg, rank: usize) -> Result<(), Refusal> {
    if is_all(reader, 1, 1.0)? && is_all(reader, 2, 0.0)? {
        return reader.finish(Identity {}, std::slice::from_ref(x));
    }
    let mut shape = vec![1; rank.saturating_sub(1)];
    if let Some(first) = shape.first_mut() {
        *first = -1;
    }
    let scale = reader.reshaped(&Arg::Operand(1), &shape)?;
    let bias = reader.reshaped(&Arg::Operand(2), &shape)?;
    let scaled = reader.times(x, &scale)?;
    reader.finish(Add {}, &[scaled, bias])
}

fn instance_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (extents, channels) = image(reader)?;
    let normal = normalised_groups(reader, channels)?;
    let normal = reader.reshaped(&normal, &extents)?;
    scale_channels(reader, &normal, extents.len())
}

/// Reads GroupNormalization. There is one scale and bias for each group up to operator set 20, and for each channel
/// from 21 on.
fn group_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    reader.only("stash_type", 1)?;
    let (extents, channels) = image(reader)?;
    let groups = reader
        .int("num_groups")?
        .filter(|&groups| groups > 0 && channels % groups == 0);
    let groups = groups.ok_or_else(|| {
        Refusal::invalid(
            ReasonCode::Blocks,
            format!("`num_groups` does not divide {channels} channels"),
        )
    })?;
    let normal = normalised_groups(reader, groups)?;
    if reader.opset() >= 21 {
        let normal = reader.reshaped(&normal, &extents)?;
        return scale_channels(reader, &normal, extents.len());
    }
    let scale = reader.reshaped(&Arg::Operand(1), &[-1, 1])?;
    let bias = reader.reshaped(&Arg::Operand(2), &[-1, 1])?;
    let scaled = reader.times(&normal, &scale)?;
    let sum = reader.plus(&scaled, &bias)?;
    let shape = extents.into();
    reader.finish(Reshape { shape }, &[sum])
}

/// (x − mean) / (√variance + 10⁻⁹).
fn mean_variance_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axes = reader.ints("axes")?.map_or_else(|| vec![0, 2, 3], <[i64]>::to_vec);
    let x = Arg::Operand(0);
    let mean = reader.reduced(Reduction::Mean, &x, &axes)?;
    let centred = reader.minus(&x, &mean)?;
    let root = root_of_squares(reader, &centred, &axes, 0.0)?;
    let root = reader.shifted(&root, 1e-9)?;
    reader.finish(Div {}, &[centred, root])
}

/// Reads LpNormalization: x / ‖x‖ along one axis, and 0 where the norm is 0. If the norm is 0, all elements are 0, so
/// any divisor gives 0.
fn lp_normalization(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = reader.int("axis")?.unwrap_or(-1);
    let x = Arg::Operand(0);
    let norm = match reader.int("p")?.unwrap_or(2) {
        1 => {
            let magnitudes = reader.function(Function::Abs, &x)?;
            reader.reduced(Reduction::Sum, &magnitudes, &[axis])?
        }
        2 => {
            let squares = reader.times(&x, &x)?;
            let sum = reader.reduced(Reduction::Sum, &squares, &[axis])?;
            reader.function(Function::Sqrt, &sum)?
        }
        other => return Err(Refusal::Unsupported(format!("`p` is {other}; 1 and 2 are read"))),
    };
    let positive = strait_core::op::Clip {
        min: f32::MIN_POSITIVE,
        max: f32::INFINITY,
    };
    let norm = reader.push(positive, &[norm])?;
    reader.finish(Div {}, &[x, norm])
}

/// Reads LRN: x / (bias + alpha · mean of x²)^beta. The mean is over `size` channels around the element's own channel.
/// Channels that do not exist count as 0. The mean is computed as an average pool along the channels, in which padding
/// counts.
fn local_response(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (alpha, beta) = (
        reader.float("alpha")?.unwrap_or(1e-4),
        reader.float("beta")?.unwrap_or(0.75),
    );
    let bias = reader.float("bias")?.unwrap_or(1.0);
    let size = reader
        .int("size")?
        .and_then(|size| u32::try_from(size).ok())
        .filter(|&size| size > 0);
    let size = size.ok_or_else(|| Refusal::invalid(ReasonCode::Window, "`size` has to be positive"))?;
    let (extents, channels) = image(reader)?;
    let x = Arg::Operand(0);
    let squares = reader.times(&x, &x)?;
    let planes = reader.reshaped(&squares, &[0, 1, channels, -1])?;
    let window = Window::dense(smallvec![(size - 1) / 2, 0, size / 2, 0]);
    let pool = window.average_pool(smallvec![size, 1], false, true);
    let mean = reader.push(pool, &[planes])?;
    let mean = reader.reshaped(&mean, &extents)?;
    let scaled = reader.scaled(&mean, alpha.into())?;
    let base = reader.shifted(&scaled, bias.into())?;
    let exponent = reader.number(&base, beta.into())?;
    let divisor = reader.power(&base, &exponent)?;
    reader.finish(Div {}, &[x, divisor])
}
