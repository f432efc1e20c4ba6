//! Reads Fourier transforms and determinants.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::op::{Det, Dft, Gather, Mul, Reshape, Transform};
use strait_core::{ReasonCode, TensorData};

pub(super) const ROWS: &[Row] = &[
    Row::new("Det", 11, |reader| reader.finish(Det {}, &[Arg::Operand(0)])).and(&[22]),
    Row::new("DFT", 17, dft).and(&[20]),
    Row::new("STFT", 17, stft),
];

fn invalid(text: impl Into<String>) -> Refusal {
    Refusal::invalid(ReasonCode::Operands, text)
}

fn length(number: u64) -> Result<u32, Refusal> {
    let number = u32::try_from(number).ok().filter(|&length| length > 0);
    number.ok_or_else(|| invalid("the length of the transform is 0 or past 32 bits"))
}

/// Reads DFT, a discrete Fourier transform. From operator set 20 on, the axis is an operand.
fn dft(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let axis = match reader.opset() {
        ..20 => reader.int("axis")?.unwrap_or(1),
        _ => reader.known_int(2, "axis")?.unwrap_or(-2),
    };
    let transform = match (reader.flag("inverse")?, reader.flag("onesided")?) {
        (false, false) => Transform::Forward,
        (false, true) => Transform::ForwardHalf,
        (true, false) => Transform::Inverse,
        (true, true) => Transform::InverseHalf,
    };
    let ty = reader.ty(0)?;
    let position = usize::try_from(if axis < 0 { axis + ty.shape.len() as i64 } else { axis }).ok();
    let extent = position.and_then(|axis| ty.shape.get(axis)).and_then(|dim| dim.fixed());
    let given = reader
        .known_int(1, "length")?
        .map(|given| u64::try_from(given).unwrap_or(0));
    let natural = || match transform {
        // Nothing says whether the length of the result is even or odd, so it is taken to be even.
        Transform::InverseHalf => extent.map(|extent| extent.saturating_sub(1).saturating_mul(2)),
        _ => extent,
    };
    let count = given.or_else(natural).ok_or_else(|| {
        Refusal::invalid(
            ReasonCode::SymbolicAxis,
            format!("axis {axis} is symbolic; bind it to a number"),
        )
    })?;
    let op = Dft {
        transform,
        axis,
        length: length(count)?,
    };
    reader.finish(op, &[Arg::Operand(0)])
}

/// Reads STFT, a short-time Fourier transform: the signal is cut into frames, and each frame is multiplied by the
/// window and transformed.
fn stft(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let ty = reader.ty(0)?;
    let (samples, parts) = match &ty.shape[..] {
        [_, samples] => (samples.fixed(), Some(1)),
        [_, samples, parts] => (samples.fixed(), parts.fixed()),
        _ => return Err(invalid(format!("the signal {ty} is no batch of samples"))),
    };
    let (Some(samples), Some(parts)) = (samples, parts) else {
        let text = "the signal has a symbolic extent; bind it to a number";
        return Err(Refusal::invalid(ReasonCode::SymbolicAxis, text));
    };
    let step = reader.known_int(1, "step")?.and_then(|step| u64::try_from(step).ok());
    let step = step
        .filter(|&step| step > 0)
        .ok_or_else(|| invalid("its step is not positive"))?;
    let window = match reader.has(2) {
        true => reader.ty(2)?.shape.first().and_then(|dim| dim.fixed()),
        false => None,
    };
    let given = reader
        .known_int(3, "frame length")?
        .and_then(|frame| u64::try_from(frame).ok());
    let frame = given
        .or(window)
        .ok_or_else(|| invalid("neither window nor frame length is there"))?;
    if window.is_some_and(|window| window != frame) || frame > samples {
        return Err(invalid(format!(
            "a frame of {frame} does not fit the window or {samples} samples"
        )));
    }
    let count = (samples - frame) / step + 1;
    if count.checked_mul(frame).is_none_or(|all| all > 1 << 28) {
        return Err(Refusal::invalid(ReasonCode::Limit, "there are too many frames"));
    }
    let half = reader.int("onesided")?.unwrap_or(1) != 0 && parts == 1;
    let places: Vec<i64> = (0..count)
        .flat_map(|i| (0..frame).map(move |k| (i * step + k) as i64))
        .collect();
    let places = TensorData::from_values(&[count, frame], &places);
    let places = places.map_err(|error| Refusal::invalid(ReasonCode::Constant, error.to_string()))?;
    let shaped = |extents: &[i64]| Reshape { shape: extents.into() };
    let extent = |extent: u64| i64::try_from(extent).map_err(|_| invalid("an axis is too long"));
    let signal = reader.push(shaped(&[0, extent(samples)?, extent(parts)?]), &[Arg::Operand(0)])?;
    let mut frames = reader.push(Gather { axis: 1 }, &[signal, Arg::Constant(places)])?;
    if reader.has(2) {
        let window = reader.push(shaped(&[extent(frame)?, 1]), &[Arg::Operand(2)])?;
        frames = reader.push(Mul::float(), &[frames, window])?;
    }
    let op = Dft {
        transform: if half {
            Transform::ForwardHalf
        } else {
            Transform::Forward
        },
        axis: 2,
        length: length(frame)?,
    };
    reader.finish(op, &[frames])
}
