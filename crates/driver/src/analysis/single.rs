//! The error of each layer by itself: the model is simulated with only this layer quantized, and its outputs are compared
//! with the float model's. Only what depends on the layer runs again.

use std::sync::Arc;

use strait_compile::{Apart, Built, InMemory, Watch};
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

/// The first `count` samples, in memory.
///
/// # Errors
/// If a sample cannot be read.
pub(crate) fn first(samples: &dyn observe::Samples, count: usize) -> Result<Arc<dyn observe::Samples>, Stop> {
    let read = (0..count.min(samples.count())).map(|index| samples.sample(index));
    let read: Result<Vec<Vec<Tensor>>, String> = read.collect();
    Ok(Arc::new(InMemory(read.map_err(Stop::Defect)?)))
}

/// For each layer, the smallest SNR of the model's outputs, in dB, if only this layer is quantized. `None` if no output
/// has a signal.
///
/// # Errors
/// If a run fails or needs more than is allowed, or if the user interrupts.
pub(crate) fn singles(
    built: &Built,
    groups: &[Group],
    samples: &Arc<dyn observe::Samples>,
    (session, target): (&Session<'_>, &str),
) -> Result<Vec<Option<f64>>, Stop> {
    let quiet = Quiet(session);
    session.phase(&format!("layers ({target})"), Some(groups.len()), |done| {
        let apart = Apart::new(built, samples, &quiet)?;
        let mut found = Vec::with_capacity(groups.len());
        for group in groups {
            let alone = apart.alone(&group.nodes, &quiet)?;
            found.push(least_snr(apart.float(), &alone.outputs)?);
            if done(found.len()).is_break() {
                return Err(Stop::Interrupted);
            }
        }
        Ok(found)
    })
}

/// The smallest SNR of the outputs over all samples.
pub(crate) fn least_snr(float: &[Vec<Arc<Tensor>>], other: &[Vec<Arc<Tensor>>]) -> Result<Option<f64>, Stop> {
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
