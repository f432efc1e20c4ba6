//! The imports that nearly every op needs.

pub(super) use super::support::{self, OpFacts, Operands, Results};
pub(super) use crate::attribute::{op, words};
pub(super) use crate::carrier::Carrier;
pub(super) use crate::elem::Elem;
pub(super) use crate::kind::Kind;
pub(super) use crate::reason::Reason;
pub(super) use crate::reason_code::ReasonCode;
pub(super) use crate::shape::{Dim, Shape, TensorType};
pub(super) use crate::zeros::{WeightZero, Zero};
pub(super) use smallvec::{SmallVec, smallvec};
pub(super) use strait_requantize::function::Real;
