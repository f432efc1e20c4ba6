//! Verifies an artifact in a folder, on samples from files.

use std::path::Path;

use strait_artifact::{Error, verify_files};
use strait_samples::Scratch;
use strait_target::Registry;

use crate::{
    artifact::{self, Kernels, given_samples},
    failure,
    pipeline::Adapter,
    session::Session,
    stop::Stop,
};

pub use strait_artifact::Verification;
pub use strait_container::Digest;

/// The inputs of a verification, besides the artifact.
#[derive(Clone, Debug, Default)]
pub struct VerificationRequest {
    /// Samples to run on, as `[NAME=]PATH`. They are stored samples and are preprocessed as the artifact says.
    pub data: Vec<String>,
    /// Number of random inputs.
    pub samples: usize,
    /// Seed of the random inputs.
    pub seed: u64,
    /// The digest that the artifact must have.
    pub expect: Option<Digest>,
    /// Which kernels compute the fused graph.
    pub kernels: Kernels,
}

/// Verifies the artifact in a folder. The result says what is wrong with it.
///
/// # Errors
/// As for [`verify_files`] and [`Verification::with_model`].
pub fn verify(
    folder: &Path,
    registry: &Registry,
    request: &VerificationRequest,
    session: &Session<'_>,
) -> Result<Verification, Stop> {
    let (found, opened) = verify_files(folder, registry, request.expect, session)?;
    let Some(opened) = opened else { return Ok(found) };
    let opened = artifact::by(opened, (&request.kernels, false), registry, session)?;
    let samples = match &request.data[..] {
        [] => None,
        data => Some(given_samples(data, &artifact::inputs(&opened)?)?.0),
    };
    let adapter = samples.as_ref().map(Adapter::alone);
    let on = strait_artifact::RunSamples {
        random: request.samples,
        seed: request.seed,
        given: adapter.as_ref().map(|samples| samples as _),
    };
    let verified = found.with_model(&opened, &on, &session.means(), session);
    verified.map_err(|error| match (&error, &samples) {
        // The error of the verification has only one sentence about the sample. Reading the sample again gives an error
        // with all details.
        (Error::Sample { index, .. }, Some(samples)) => match samples.sample(*index, &mut Scratch::default()) {
            Err(error) => failure::data(error).into(),
            Ok(_) => error.into(),
        },
        _ => error.into(),
    })
}
