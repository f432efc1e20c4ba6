//! The compiler in memory: a float graph, what was observed of it, a target and settings go in, and the integer model with
//! its certificates comes out. There is no file, no console, no folder and no clock in this crate; whoever calls it watches
//! the steps ([`Watch`]) and may stop them.
//!
//! [`Model::new`] applies the rules that know no target, [`observe()`] runs the samples once, for any number of targets,
//! [`OfTarget::new`] applies the rules of one target's table, [`rules`] makes settings of what somebody wants of single layers, and
//! [`compile()`] does the rest.

mod blame;
mod compile;
mod error;
mod foresee;
mod fuse;
mod loops;
mod model;
mod observed;
mod of_target;
mod own_model;
mod quantize;
mod resolved;
mod revise;
pub mod rules;
mod shares;
mod simulated;
mod watch;

pub use compile::{Built, Task, build, compile, hold, verify};
pub use error::{CompileError, Denied, LayerError};
pub use foresee::foresee;
pub use loops::{OwnLoops, TargetLoops};
pub use model::{Means, Model, canonicalise, check_invariants, observe};
pub use observed::{InMemory, Observed};
pub use of_target::OfTarget;
pub use quantize::{OwnGrids, Quantized, UnfittingGrids, is_unfit, quantize};
pub use resolved::{GivenGrid, Resolved, fusion_policy};
pub use revise::{Anew, Revision};
pub use shares::{Shares, shares};
pub use simulated::Simulated;
pub use strait_quantize::Settings;
pub use watch::{Silent, Watch};
