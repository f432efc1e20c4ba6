//! Rules. One program, so that it is linked once.

mod common;

mod affine;
mod catalogue;
mod order;
mod switches;
