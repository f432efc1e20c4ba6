//! Runs a graph. Float operators compute on floats, and integer primitives on integers. A graph has both if a target
//! leaves some operators to the host.
//!
//! A [`Plan`] is made once from a graph with fixed shapes. It orders the nodes, packs the weights, joins primitives
//! into fast loops, and places every value in one arena. A plan is immutable and can be shared between threads; each
//! thread runs it in a [`Workspace`] of its own. [`map_in_order`] runs many samples, and its memory does not grow with
//! their number.
//!
//! # Extents that depend on data
//! If an extent of a value is only known at run time, the value is a tensor outside of the arena. The nodes that read
//! or make such values run one by one. The step of such a node is prepared once for each set of extents that occurs. A
//! node that runs other graphs (`if`, `loop`) has a plan for each of them.
//!
//! # The same bits everywhere
//! Neither the instruction set ([`PlanOptions::context`]) nor the number of [`Threads`] changes a bit of any result.
//! Sums of floats have the order that `strait-kernels` defines. Integer primitives are exact; their results equal those
//! of the plain interpreter in [`mod@reference`].

pub mod reference;

mod aligned;
mod batches;
mod channels_last;
mod cost;
mod elementwise;
mod error;
mod evaluate;
mod executable;
mod float;
mod index;
mod inputs;
mod integer;
mod join;
mod late;
mod layers;
mod layout;
mod limits;
mod loops_for;
mod memory;
mod options;
mod pass;
mod plan;
mod prelude;
mod prepare;
mod samples;
mod scratch;
mod single;
mod site;
mod step;
mod tensor;
mod threads;
mod wide;
mod window;
mod workspace;

pub use cost::{Cost, NodeCost, cost, operations};
pub use error::{ExecuteError, StepError};
pub use evaluate::evaluate;
pub use limits::{Demand, Excess, Limits, Operations};
pub use loops_for::{LoopsFor, Standard};
pub use options::PlanOptions;
pub use pass::Pass;
pub use plan::{Plan, PlanStep, Port};
pub use samples::{SampleError, collect_in_workers, map_in_order};
pub use tensor::{Tensor, TensorView};
pub use threads::{Aside, MOST_THREADS, Threads, both, each, free_aside};
pub use workspace::Workspace;
