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
    w.u8(u8::from(quant.axis.is_some()));
    quant.axis.into_iter().for_each(|axis| w.u8(axis));
    w.u8(u8::from(quant.block.is_some()));
    quant.block.into_iter().for_each(|block| w.u32(block.get()));
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
        axis: if r.flag("the axis of a grid")? {
            Some(r.u8("the axis of a grid")?)
        } else {
            None
        },
        codes: None,
        block: if r.flag("the blocks of a grid")? {
            Some(block(r)?)
        } else {
            None
        },
    })
}

pub(super) fn block(r: &mut Reader<'_>) -> Read<NonZeroU32> {
    let at = r.at();
    let what = "a size of blocks";
    NonZeroU32::new(r.u32(what)?).ok_or(BytesError::Malformed { what, at, found: 0 })
}

pub(super) fn elem(r: &mut Reader<'_>) -> Read<Elem> {
    let at = r.at();
    let tag = r.u8("an element type")?;
    Elem::ALL
        .into_iter()
        .find(|e| e.tag() == tag)
        .ok_or(BytesError::Malformed {
            what: "an element type",
            at,
            found: tag.into(),
        })
}

pub(super) fn rank(r: &mut Reader<'_>) -> Read<usize> {
    let at = r.at();
    let rank = usize::from(r.u8("a rank")?);
    let found = rank as u64;
    if rank <= MAX_RANK {
        Ok(rank)
    } else {
        Err(BytesError::Malformed {
            what: "a rank",
            at,
            found,
        })
    }
}
