//! Strait as a library: a float model and a few real samples go in, an integer model for one chip comes out.
//!
//! ```
//! # #[cfg(all(feature = "onnx", feature = "generic-int8"))] {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");
//! use strait::{Artifact, Model, Rules, Samples, Target, Tensor};
//!
//! let model = Model::open(path)?;
//! let target = Target::named("generic-int8")?;
//! // Use real images instead of these.
//! let image = |k: usize| (0..64).map(|i| (i * k % 17) as f32 / 16.0).collect::<Vec<_>>();
//! let samples = Samples::new((1..9).map(|k| vec![Tensor::new(&[1, 1, 8, 8], &image(k)).unwrap()]));
//! let built = strait::compile(&model, &target, &samples, &Rules::new())?;
//! let x = Tensor::new(&[1, 1, 8, 8], &image(3))?;
//! let y = built.session()?.run(&[("image", x.view())])?;
//! built.write(folder.path().join("digits"))?;
//! let same = Artifact::open(folder.path().join("digits"))?.session()?.run(&[("image", x.view())])?;
//! assert_eq!(y["logits"].bytes(), same["logits"].bytes());
//! # }
//! # Ok::<(), strait::Error>(())
//! ```
//!
//! A model is observed once with [`Model::observe`] and can then be compiled for any number of targets with
//! [`Observed::compile`]. An [`Artifact`] has either been compiled or opened from a folder. A [`Session`] prepares an
//! artifact once and runs it as often as you like. Every [`Error`] says who is at fault.
//!
//! # Features
//! Without any feature a program can run artifacts ([`Artifact::open`]). `onnx`, `tensorflow` and `tflite` read models.
//! `generic-int8`, `sima-mla` and `ascend` are targets. `tables` makes targets from tables in TOML, and `plugins` loads
//! them from shared libraries. `ndarray` converts arrays.

mod artifact;
#[cfg(feature = "compile")]
mod compile;
mod error;
#[cfg(feature = "compile")]
mod model;
#[cfg(feature = "compile")]
mod observed;
#[cfg(feature = "compile")]
pub mod rules;
#[cfg(feature = "compile")]
mod samples;
mod session;
#[cfg(feature = "compile")]
mod target;
mod tensor;

pub use artifact::{Artifact, Layer};
#[cfg(feature = "compile")]
pub use compile::compile;
pub use error::{Error, Fault};
#[cfg(feature = "compile")]
pub use model::{Model, formats};
#[cfg(feature = "compile")]
pub use observed::Observed;
#[cfg(feature = "compile")]
pub use rules::{LayerRule, Rules};
#[cfg(feature = "compile")]
pub use samples::{Samples, Source};
pub use session::{Outputs, Port, Session, SessionOptions};
pub use strait_core::{Elem, tensor::Element};
pub use strait_execute::{Limits, Operations};
#[cfg(feature = "compile")]
pub use target::{Target, targets};
pub use tensor::{Tensor, TensorView};

/// Traits and types for programs that read a model format of their own, or that watch a compilation.
///
/// ```
/// # #[cfg(all(feature = "onnx", feature = "generic-int8"))] {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits/digits.onnx");
/// # let (model, target) = (strait::Model::open(path)?, strait::Target::named("generic-int8")?);
/// # let samples = strait::Samples::new([vec![strait::Tensor::new(&[1, 1, 8, 8], &[0.5f32; 64])?]]);
/// use std::cell::Cell;
/// use strait::{Fault, Rules, SessionOptions, extend::Watch};
///
/// /// Stops the work after this number of steps.
/// struct After(Cell<usize>);
///
/// impl Watch for After {
///     fn end(&self) {
///         self.0.set(self.0.get().saturating_sub(1));
///     }
///
///     fn interrupted(&self) -> bool {
///         self.0.get() == 0
///     }
/// }
///
/// let watch = After(Cell::new(2));
/// let observed = model.observe_watched(&samples, &SessionOptions::default(), &watch)?;
/// let error = observed.compile_watched(&target, &Rules::new(), &watch).unwrap_err();
/// assert_eq!(error.fault(), Fault::Interrupted);
/// # }
/// # Ok::<(), strait::Error>(())
/// ```
#[cfg(feature = "compile")]
pub mod extend {
    pub use bytes::Bytes;
    pub use strait_compile::{Silent, Watch};
    pub use strait_core::{Module, Reason};
    pub use strait_execute::Demand;
    pub use strait_import::{Assumed, Decoded, Format, NodeFault, ReadError, ReadOptions};
}

/// The types that a [`Verification`] is made of.
#[cfg(feature = "compile")]
pub mod verification {
    pub use strait_artifact::{Computed, FusionLine, Runs, Subject, Unsound};
    pub use strait_compile::Shares;
}

#[cfg(feature = "compile")]
pub use strait_artifact::Verification;
#[cfg(feature = "compile")]
pub use strait_exchange::Share;
#[cfg(feature = "compile")]
pub use strait_import::ReadOptions;
#[cfg(feature = "compile")]
pub use strait_report::Report;
#[cfg(feature = "compile")]
pub use strait_target::{OptionValue, Options};
