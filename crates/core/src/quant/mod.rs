//! Quantization of operands: one config for each operand and each result of a node, and nothing beside it.
//!
//! Who produces a value says on which grid and type its codes leave; who reads it says on which it wants them. The
//! configs stand in one [`QuantTable`], which one function writes ([`QuantTable::transition`]). The states and moves are
//! PPQ's (its public sources, 2024), with its defects mended.

mod config;
mod entries;
mod params;
mod policy;
mod port;
mod scheme;
mod sets;
mod table;

pub use config::{Derivation, Grid, Move, Origin, ParameterCodes, QuantConfig, State};
pub use entries::{Entry, EntryError, Parameter, Standing};
pub use params::{Parts, QuantParams};
pub use policy::{FloatFormat, Granularity, Policy};
pub use port::Port;
pub use scheme::{Scheme, SchemeError};
pub use table::{IllegalMove, QuantTable};
