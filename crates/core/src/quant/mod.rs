//! Quantization of operands. Each operand and each result of a node has exactly one config.
//!
//! The config of a result says which grid and which type the produced codes have. The config of an operand says on
//! which grid the node needs the codes that it reads. All configs are in one [`QuantTable`], which only
//! [`QuantTable::transition`] changes. The states and transitions are those of PPQ (its public sources, 2024), with its
//! bugs fixed.

mod config;
mod entries;
mod params;
mod policy;
mod port;
mod scheme;
mod sets;
mod table;

pub use config::{CodesOrigin, Derivation, Grid, Move, Origin, ParameterCodes, QuantConfig, State};
pub use entries::{Entry, EntryError, Parameter, Standing};
pub use params::{Parts, QuantParams, Reading};
pub use policy::{FloatFormat, Granularity, Policy};
pub use port::Port;
pub use scheme::{Scheme, SchemeError};
pub use table::{IllegalMove, QuantTable};
