//! The imports that nearly every file with a step needs.

pub(crate) use crate::error::StepError;
pub(crate) use crate::executable::*;
pub(crate) use crate::site::NodeSlots;
pub(crate) use crate::step::{Io, Orders, Step, elementwise, reading};
pub(crate) use strait_core::{Elem, TensorType, op};
