//! Writes and reads element types, ranks and grids as IR bytes.

use super::BytesError;
use super::reader::{Read, Reader};
use super::writer::Writer;
use crate::elem::Elem;
use crate::quant::QuantParams;
use crate::shape::MAX_RANK;
use std::num::NonZeroU32;
use strait_requantize::Per;

pub(super) fn write_grid(w: &mut Writer, quant: &QuantParams) {
    fn per<T>(w: &mut Writer, values: &Per<T>, one: impl Fn(&mut Writer, &T)) {
        match values {
            Per::Tensor(value) => {
                w.u8(0);
                one(w, value);
            }
            Per::Channel(values) => {
                w.u8(1);
                w.list(values, one);
            }
        }
    }
    per(w, &quant.scale, |w, v| w.f32(*v));
    per(w, &quant.zero_point, |w, v| w.i32(*v));
    w.optional(quant.axis, Writer::u8);
    w.optional(quant.block, |w, block| w.u32(block.get()));
}

pub(super) fn read_grid(r: &mut Reader<'_>) -> Read<QuantParams> {
    fn per<'a, T>(r: &mut Reader<'a>, one: impl Fn(&mut Reader<'a>) -> Read<T>) -> Read<Per<T>> {
        Ok(if r.flag("a grid")? {
            Per::Channel(r.list(4, "a grid", one)?.into())
        } else {
            Per::Tensor(one(r)?)
        })
    }
    Ok(QuantParams {
        scale: per(r, |r| r.f32("a scale"))?,
        zero_point: per(r, |r| r.i32("a zero point"))?,
        axis: r.optional("the axis of a grid", |r| r.u8("the axis of a grid"))?,
        codes: None,
        block: r.optional("the blocks of a grid", block)?,
    })
}

pub(super) fn block(r: &mut Reader<'_>) -> Read<NonZeroU32> {
    let at = r.at;
    let what = "a size of blocks";
    NonZeroU32::new(r.u32(what)?).ok_or(BytesError::malformed(what, at, 0u64))
}

pub(super) fn elem(r: &mut Reader<'_>) -> Read<Elem> {
    r.tag("an element type", |tag| {
        Elem::ALL.into_iter().find(|elem| elem.tag() == tag)
    })
}

pub(super) fn rank(r: &mut Reader<'_>) -> Read<usize> {
    r.tag("a rank", |rank| {
        Some(usize::from(rank)).filter(|&rank| rank <= MAX_RANK)
    })
}
