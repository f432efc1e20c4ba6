//! A model with its statistics, and the artifacts that have been compiled from it.

use crate::{Rules, Target};
use std::{fmt, sync::Arc};
use strait_artifact::ModelReading;
use strait_compile::Built;
use strait_container::{Digest, ModelFiles};

/// A model and the statistics that were collected by running it on samples. It can be compiled for any number of
/// targets.
///
/// ```
/// # #[cfg(all(feature = "onnx", feature = "generic-int8"))] {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");
/// # let image = strait::Tensor::new(&[1, 1, 8, 8], &[0.5f32; 64])?;
/// # let samples = strait::Samples::new([vec![image.clone()]]);
/// use strait::{LayerRule, Model, Rules, SessionOptions, Target};
///
/// let observed = Model::open(path)?.observe(&samples, &SessionOptions::default())?;
/// for note in observed.notes() {
///     println!("{note}");
/// }
/// let target = Target::named("generic-int8")?;
/// let built = observed.compile(&target, &Rules::new())?;
/// // Compile again from the same statistics. Only what the new rule affects is computed again.
/// let rules = Rules::new().layer(LayerRule::of("/head/**").float("it is looked at"));
/// let better = built.revise(&rules)?;
/// # assert!(better.layers()?.iter().any(|layer| layer.host.is_some()));
/// # }
/// # Ok::<(), strait::Error>(())
/// ```
#[derive(Clone)]
pub struct Observed {
    pub(super) observed: Arc<strait_compile::Observed>,
    pub(super) model: Digest,
    pub(super) files: Option<ModelFiles>,
    pub(super) reading: ModelReading,
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed")
            .field("samples", &self.observed.samples().count())
            .finish_non_exhaustive()
    }
}

/// An artifact that this program has compiled, with everything that it was made from.
pub(crate) struct Compiled {
    pub(crate) built: Built,
    pub(super) observed: Observed,
    pub(super) target: Target,
    pub(super) rules: Rules,
}
