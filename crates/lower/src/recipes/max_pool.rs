//! `max_pool`: codes are ordered as the real numbers that they stand for, so the largest code of a window, or along
//! reduced axes, is the maximum there, and the smallest one the minimum.

use super::{NodeToLower, pass_through};
use crate::lowering::Lowering;
use strait_core::Failure;

pub(super) fn lower(walk: &mut Lowering<'_>, site: &NodeToLower<'_>) -> Result<(), Failure> {
    pass_through::lower(walk, site)
}
