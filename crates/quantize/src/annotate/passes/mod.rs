//! The annotation passes.

mod alignment;
mod borders;
mod calibration;
mod configs;
mod fusion;
mod given;
mod parameters;
mod parts;
mod passive;
mod products;
mod sequence;
mod shifts;
mod simplify;
mod weights;

pub(crate) use sequence::run;
