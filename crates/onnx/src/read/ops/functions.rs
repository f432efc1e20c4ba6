//! Reads elementwise functions that become several ops.

use crate::read::row::{Arg, OperatorReader, Refusal, Row};
use strait_core::ReasonCode;
use strait_core::op::{Elu, Function, Mul};

pub(super) const ROWS: &[Row] = &[
    Row::new("Selu", 6, selu).and(&[22]),
    Row::new("Celu", 12, celu).and(&[28]),
    Row::new("Softsign", 1, |reader| reader.finish_softsign(Arg::Operand(0))).and(&[22]),
    Row::new("Swish", 24, swish),
    Row::new("SwiGLU", 28, swiglu),
];

/// The default `alpha` of Selu. With the defaults of `alpha` and `gamma`, mean 0 and variance 1 are preserved.
const SELU_ALPHA: f32 = 1.673_263_2;
/// The default `gamma` of Selu.
const SELU_GAMMA: f32 = 1.050_701;

/// gamma · elu(x).
fn selu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let alpha = reader.float("alpha")?.unwrap_or(SELU_ALPHA);
    let gamma = reader.float("gamma")?.unwrap_or(SELU_GAMMA);
    scaled_elu(reader, &Arg::Operand(0), alpha, gamma)
}

pub(super) fn scaled_elu(reader: &mut OperatorReader<'_, '_>, x: &Arg, alpha: f32, gamma: f32) -> Result<(), Refusal> {
    let elu = reader.push(Elu { alpha }, std::slice::from_ref(x))?;
    let gamma = reader.number(&elu, gamma.into())?;
    reader.finish(Mul::float(), &[elu, gamma])
}

/// Reads Celu: max(x, 0) + min(alpha · (exp(x / alpha) − 1), 0) = alpha · elu(x / alpha), for a positive alpha.
fn celu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let alpha = reader.float("alpha")?.unwrap_or(1.0);
    if alpha <= 0.0 {
        return Err(Refusal::invalid(
            ReasonCode::NotFinite,
            format!("`alpha` is {alpha}; it has to be positive"),
        ));
    }
    let (x, elu) = (Arg::Operand(0), Elu { alpha: 1.0 });
    if alpha == 1.0 {
        return reader.finish(elu, &[x]);
    }
    let factor = reader.number(&x, alpha.into())?;
    let inner = reader.over(&x, &factor)?;
    let elu = reader.push(elu, &[inner])?;
    reader.finish(Mul::float(), &[elu, factor])
}

/// x · sigmoid(alpha · x).
fn swish(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (x, alpha) = (Arg::Operand(0), reader.float("alpha")?.unwrap_or(1.0));
    if alpha == 1.0 {
        return reader.finish(Function::Silu, &[x]);
    }
    let gate = gate(reader, &x, alpha)?;
    reader.finish(Mul::float(), &[x, gate])
}

/// swish(a) · b.
fn swiglu(reader: &mut OperatorReader<'_, '_>) -> Result<(), Refusal> {
    let (a, alpha) = (Arg::Operand(0), reader.float("alpha")?.unwrap_or(1.0));
    let swish = match alpha {
        1.0 => reader.function(Function::Silu, &a)?,
        _ => {
            let gate = gate(reader, &a, alpha)?;
            reader.times(&a, &gate)?
        }
    };
    reader.finish(Mul::float(), &[swish, Arg::Operand(1)])
}

pub(super) fn gate(reader: &mut OperatorReader<'_, '_>, x: &Arg, alpha: f32) -> Result<Arg, Refusal> {
    let scaled = reader.scaled(x, alpha.into())?;
    reader.function(Function::Sigmoid, &scaled)
}
