//! Ops that only move elements. They work the same for every element type.

pub(crate) mod cast;
pub(crate) mod concat;
pub(crate) mod expand;
pub(crate) mod gather;
pub(crate) mod pad;
pub(crate) mod resize;
pub(crate) mod select;
pub(crate) mod slice;
pub(crate) mod split;
pub(crate) mod transpose;

mod copies;
mod strided;

pub(crate) use strided::{around, axis, position, strides};

use crate::prelude::*;
use strait_core::Op;

/// Evaluates `$body` with `$t` as the unsigned integer type that has the width of `$elem`. This is enough for code that
/// only moves elements.
macro_rules! by_width {
    ($elem:expr, $t:ident => $body:expr) => {
        match $elem.size() {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            _ => {
                type $t = u64;
                $body
            }
        }
    };
}
pub(crate) use by_width;

/// True if the first result can share the bytes of the first operand, so that nothing has to be copied.
pub(crate) fn is_alias(site: &NodeSlots<'_>) -> bool {
    let (Some(Some(operand)), Some(result)) = (site.inputs.first(), site.outputs.first()) else {
        return false;
    };
    if site.fused.is_some() {
        return false;
    }
    match &site.node.op {
        op if op.term().keeps_order() => operand.elem == result.elem && operand.count() == result.count(),
        Op::Cast(cast) => cast.to == operand.elem,
        Op::BitCast(_) => true,
        // A transposition keeps the order of the elements if only axes of extent 1 change their place.
        Op::Transpose(op) => {
            let kept = op
                .permutation
                .iter()
                .filter(|&&axis| operand.dims.get(axis as usize) != Some(&1));
            kept.is_sorted()
        }
        _ => false,
    }
}
