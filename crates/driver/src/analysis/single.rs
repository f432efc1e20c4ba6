//! The error of each layer by itself: the model is simulated with only this layer quantized, and its outputs are compared
//! with the float model's. Only what depends on the layer runs again.

use std::sync::Arc;

use strait_compile::{Apart, Built, CompileError, InMemory, Role, Watch};
use strait_evaluate::floats;
use strait_execute::Tensor;
use strait_quantize::observe;

use crate::{sanity::Squares, session::Session, stop::Stop};

use super::Group;

/// A watch that shows nothing, because one phase shows the progress of all layers.
struct Quiet<'a>(&'a Session<'a>);

impl Watch for Quiet<'_> {
    fn interrupted(&self) -> bool {
        self.0.interrupted()
    }
}

/// Runs the float model on the first `count` samples, which stay in memory.
///
/// # Errors
/// If a sample cannot be read, a run fails or needs more than is allowed, or if the user interrupts.
pub(crate) fn apart<'a>(
    built: &'a Built,
    (samples, count): (&dyn observe::Samples, usize),
    (session, target): (&Session<'_>, &str),
) -> Result<Apart<'a>, Stop> {
    session.phase(&format!("float ({target})"), None, |_| {
        let read = (0..count.min(samples.count())).map(|index| {
            let sample = samples.sample(index);
            sample.map_err(|text| CompileError::Sample { index, text })
        });
        let read: Vec<Vec<Tensor>> = read.collect::<Result<_, _>>()?;
        let samples: Arc<dyn observe::Samples> = Arc::new(InMemory(read));
        Ok(Apart::new(built, &samples, &Quiet(session))?)
    })
}

/// The smallest SNR of the outputs, in dB, if everything is rounded for whose role `rounds` is true, and nothing else.
///
/// # Errors
/// As for [`apart`].
pub(crate) fn roles_snr(
    apart: &Apart<'_>,
    rounds: impl Fn(Role) -> bool,
    session: &Session<'_>,
) -> Result<Option<f64>, Stop> {
    let alone = apart.only(rounds, &Quiet(session))?;
    least_snr(apart.float(), &alone.outputs)
}

/// For this many of the worst layers, the errors of weights and of activations are measured separately.
const WORST: usize = 10;

/// The error of a layer by itself: the smallest SNR of the model's outputs, in dB. `None` if no output has a signal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Single {
    pub(crate) whole: Option<f64>,
    /// The error if only the weights are rounded, for the worst layers.
    pub(crate) weights: Option<f64>,
    /// The error if only activations are rounded, for the worst layers.
    pub(crate) activations: Option<f64>,
}

/// Measures each layer by itself, and the weights and activations of the worst ones.
///
/// # Errors
/// If a run fails or needs more than is allowed, or if the user interrupts.
pub(crate) fn singles(
    apart: &Apart<'_>,
    groups: &[Group],
    (session, target): (&Session<'_>, &str),
) -> Result<Vec<Single>, Stop> {
    let whole = wholes(apart, groups, (session, target))?;
    let alone = |whole: Option<f64>| Single {
        whole,
        ..Single::default()
    };
    let mut found: Vec<Single> = whole.into_iter().map(alone).collect();
    let key = |single: &Single| single.whole.unwrap_or(f64::INFINITY);
    let mut order: Vec<(&Group, &mut Single)> = groups.iter().zip(&mut found).collect();
    order.sort_by(|one, other| key(one.1).total_cmp(&key(other.1)));
    order.truncate(WORST);
    session.phase(&format!("worst layers ({target})"), Some(order.len()), |done| {
        for (at, (group, single)) in order.into_iter().enumerate() {
            single.weights = snr(apart, group, |role| role == Role::Weights, session)?;
            single.activations = snr(
                apart,
                group,
                |role| matches!(role, Role::Activations | Role::Host),
                session,
            )?;
            if done(at + 1).is_break() {
                return Err(Stop::Interrupted);
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// For each layer, the error if only this layer is quantized.
///
/// # Errors
/// As for [`singles`].
pub(super) fn wholes(
    apart: &Apart<'_>,
    groups: &[Group],
    (session, target): (&Session<'_>, &str),
) -> Result<Vec<Option<f64>>, Stop> {
    session.phase(&format!("layers ({target})"), Some(groups.len()), |done| {
        let mut found = Vec::with_capacity(groups.len());
        for group in groups {
            found.push(snr(apart, group, |_| true, session)?);
            if done(found.len()).is_break() {
                return Err(Stop::Interrupted);
            }
        }
        Ok(found)
    })
}

/// The smallest SNR of the outputs if only those ports of a layer are rounded for whose role `rounds` is true.
fn snr(apart: &Apart<'_>, group: &Group, rounds: fn(Role) -> bool, session: &Session<'_>) -> Result<Option<f64>, Stop> {
    let alone = apart.alone(&group.nodes, rounds, &Quiet(session))?;
    least_snr(apart.float(), &alone.outputs)
}

/// The smallest SNR of the outputs over all samples.
fn least_snr(float: &[Vec<Arc<Tensor>>], other: &[Vec<Arc<Tensor>>]) -> Result<Option<f64>, Stop> {
    let mut squares: Vec<Squares> = Vec::new();
    for (float, other) in float.iter().zip(other) {
        squares.resize(float.len().max(squares.len()), Squares::default());
        for (squares, (float, other)) in squares.iter_mut().zip(float.iter().zip(other)) {
            if float.elem().is_float() && float.shape() == other.shape() {
                let pairs = floats(float)?.into_iter().zip(floats(other)?);
                pairs.for_each(|(x, y)| squares.add(x, y));
            }
        }
    }
    Ok(squares.into_iter().filter_map(Squares::snr).reduce(f64::min))
}
