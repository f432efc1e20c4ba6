//! Reads elementwise functions that become several ops.

use super::Row;
use crate::read::site::{Arg, NodeReader, Refusal};
use strait_core::ReasonCode;
use strait_core::op::{Div, Elu, Function, Mul};

pub(super) const ROWS: &[Row] = &[
    Row::new("Selu", 6, selu).and(&[22]),
    Row::new("Celu", 12, celu).and(&[28]),
    Row::new("Softsign", 1, |site| softsign(site, Arg::Operand(0))).and(&[22]),
    Row::new("Swish", 24, swish),
    Row::new("SwiGLU", 28, swiglu),
];

/// The default alpha of Selu, and (next constant) gamma. With them, mean 0 and variance 1 are preserved.
const SELU_ALPHA: f32 = 1.673_263_2;
const SELU_GAMMA: f32 = 1.050_701;

/// gamma · elu(x).
fn selu(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let alpha = site.float("alpha")?.unwrap_or(SELU_ALPHA);
    let gamma = site.float("gamma")?.unwrap_or(SELU_GAMMA);
    scaled_elu(site, &Arg::Operand(0), alpha, gamma)
}

pub(super) fn scaled_elu(site: &mut NodeReader<'_, '_>, x: &Arg, alpha: f32, gamma: f32) -> Result<(), Refusal> {
    let elu = site.push(Elu { alpha }, std::slice::from_ref(x))?;
    let gamma = site.number(&elu, gamma.into())?;
    site.finish(Mul::float(), &[elu, gamma])
}

/// max(x, 0) + min(alpha · (exp(x / alpha) − 1), 0) = alpha · elu(x / alpha), for a positive alpha.
fn celu(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let alpha = site.float("alpha")?.unwrap_or(1.0);
    if alpha <= 0.0 {
        return Err(Refusal::invalid(
            ReasonCode::NotFinite,
            format!("`alpha` is {alpha}; it has to be positive"),
        ));
    }
    let (x, elu) = (Arg::Operand(0), Elu { alpha: 1.0 });
    if alpha == 1.0 {
        return site.finish(elu, &[x]);
    }
    let factor = site.number(&x, alpha.into())?;
    let inner = site.over(&x, &factor)?;
    let elu = site.push(elu, &[inner])?;
    site.finish(Mul::float(), &[elu, factor])
}

/// x / (1 + |x|).
pub(super) fn softsign(site: &mut NodeReader<'_, '_>, x: Arg) -> Result<(), Refusal> {
    let magnitude = site.function(Function::Abs, &x)?;
    let divisor = site.shifted(&magnitude, 1.0)?;
    site.finish(Div {}, &[x, divisor])
}

/// x · sigmoid(alpha · x).
fn swish(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let (x, alpha) = (Arg::Operand(0), site.float("alpha")?.unwrap_or(1.0));
    if alpha == 1.0 {
        let function = Function::Silu;
        return site.finish(strait_core::op::Unary { function }, &[x]);
    }
    let gate = gate(site, &x, alpha)?;
    site.finish(Mul::float(), &[x, gate])
}

/// swish(a) · b.
fn swiglu(site: &mut NodeReader<'_, '_>) -> Result<(), Refusal> {
    let (a, alpha) = (Arg::Operand(0), site.float("alpha")?.unwrap_or(1.0));
    let swish = match alpha {
        1.0 => site.function(Function::Silu, &a)?,
        _ => {
            let gate = gate(site, &a, alpha)?;
            site.times(&a, &gate)?
        }
    };
    site.finish(Mul::float(), &[swish, Arg::Operand(1)])
}

fn gate(site: &mut NodeReader<'_, '_>, x: &Arg, alpha: f32) -> Result<Arg, Refusal> {
    let scaled = site.scaled(x, alpha.into())?;
    site.function(Function::Sigmoid, &scaled)
}
