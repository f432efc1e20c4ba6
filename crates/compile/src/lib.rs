//! The compiler in memory. It takes a float graph, the statistics observed on samples, a target and settings, and makes
//! the integer model with its certificates. This crate uses no files, no console, no folders and no clock. The caller
//! can follow the steps through [`Watch`] and stop them.
//!
//! A caller uses these functions, in this order:
//! - [`Model::new`] applies the rules that are the same for every target.
//! - [`observe()`] runs the samples once, for any number of targets.
//! - [`OfTarget::new`] applies the rules that one target's table switches on.
//! - [`rules`] turns the rules that the user has set for single layers into settings.
//! - [`compile()`] does all other steps.

mod blame;
mod built;
mod compile;
mod device;
mod error;
mod foresee;
mod fuse;
mod loops;
mod migrate;
mod model;
mod observed;
mod of_target;
mod optimise;
mod own_model;
mod quantize;
mod ranges;
mod resolved;
mod revise;
mod roles;
pub mod rules;
mod shares;
mod simulated;
mod task;
pub mod types;
mod variants;
mod watch;

pub use built::{Anew, Built, Revision, Simulated};
pub use compile::{build, compile, hold, verify};
pub use device::{DeviceError, EmbeddedInput, embed};
pub use error::{CompileError, Denied, LayerError};
pub use foresee::foresee;
pub use loops::{OwnLoops, TargetLoops};
pub use migrate::{MigratedCopy, MigratedModel};
pub use model::{Means, Model, canonicalise, check_invariants, observe};
pub use observed::{InMemory, Observed};
pub use of_target::OfTarget;
pub use optimise::OptimisedModel;
pub use quantize::{OwnGrids, Quantized, UnfittingGrids, is_unfit, quantize};
pub use ranges::ChosenRanges;
pub use resolved::{GivenGrid, Resolved, fusion_policy};
pub use roles::{Role, rounding_only};
pub use shares::{Shares, shares};
pub use strait_optimize::{Algorithms, Balance, Choice, Cut, LayerOutcome, Optimised, Pair, Rule, Untouched};
pub use strait_quantize::Settings;
pub use task::{OnCopy, Optimising, Task};
pub use variants::Apart;
pub use watch::{Silent, Watch};
