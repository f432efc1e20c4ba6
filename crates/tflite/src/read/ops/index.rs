//! Reads operators that pick elements by index, or return indices.

use super::Row;
use crate::read::site::{Arg, Refusal, Site, option, options};
use strait_core::ReasonCode;
use strait_core::op::{Gather, GatherNd, Identity, NonZero, Range, Select, Transpose, Unique};

pub(super) const ROWS: &[Row] = &[
    Row::new("GATHER", 8, gather),
    Row::new("GATHER_ND", 6, |site| {
        let places = site.indices(1)?;
        site.finish(GatherNd { batch: 0 }, &[Arg::Operand(0), places])
    }),
    Row::new("EMBEDDING_LOOKUP", 5, |site| {
        let places = site.indices(0)?;
        site.finish(Gather { axis: 0 }, &[Arg::Operand(1), places])
    }),
    Row::new("REVERSE_SEQUENCE", 1, reverse_sequence),
    Row::new("UNIQUE", 1, unique),
    Row::new("RANGE", 2, range),
    Row::new("WHERE", 2, places_of_truths),
    Row::new("ONE_HOT", 1, one_hot),
];

/// A gather. Batch axes that both operands share come first; one axis after them is indexed.
fn gather(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, GatherOptions);
    let rank = site.rank(0)?;
    let axis = site.axis(option!(options, axis, 0).into(), rank)?;
    let indices = site.rank(1)?;
    let batch = i64::from(option!(options, batch_dims, 0));
    let batch = if batch < 0 { batch + indices as i64 } else { batch };
    let places = site.indices(1)?;
    if batch == 0 {
        return site.finish(Gather { axis: axis as i64 }, &[Arg::Operand(0), places]);
    }
    let batch = u32::try_from(batch).ok().filter(|&batch| batch as usize == axis);
    let batch = batch.ok_or_else(|| {
        Refusal::unsupported("axes that its operands share are not those in front of the indexed one")
    })?;
    let places = site.unsqueezed(&places, &[-1])?;
    site.finish(GatherNd { batch }, &[Arg::Operand(0), places])
}

fn reverse_sequence(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, ReverseSequenceOptions);
    let rank = site.rank(0)?;
    let time = site.axis(option!(options, seq_dim, 0).into(), rank)?;
    let batch = site.axis(option!(options, batch_dim, 0).into(), rank)?;
    let lengths = site.indices(1)?;
    site.finish_reversed(&lengths, batch, time)
}

/// The distinct elements in the order of their first occurrence, and the index of each element among them.
fn unique(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let op = Unique { axis: 0, sorted: false };
    let results = site.push_all(op, &[Arg::Operand(0)])?;
    let [elements, _, places, _] = results.as_slice() else {
        return Err(Refusal::unsupported("it has not two results"));
    };
    site.finish_value(elements)?;
    let to = site.result_elem(1)?;
    let places = site.converted(places, to)?;
    site.finish_result(1, Identity {}, &[places])
}

fn range(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    site.one_type([0, 1, 2])?;
    site.finish(Range {}, &[0, 1, 2].map(Arg::Operand))
}

/// The positions of the elements that are not 0, one row for each.
fn places_of_truths(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let places = site.push(NonZero {}, &[Arg::Operand(0)])?;
    site.finish(
        Transpose {
            permutation: [1, 0].as_slice().into(),
        },
        &[places],
    )
}

/// One-hot encoding. Operands: the indices, the depth, the value at the index, and the value elsewhere.
fn one_hot(site: &mut Site<'_, '_>) -> Result<(), Refusal> {
    let options = options!(site, OneHotOptions);
    let depth = super::reduce::known_int(site, 1, "depth")?;
    if depth < 0 {
        return Err(Refusal::invalid(ReasonCode::Axes, format!("its depth is {depth}")));
    }
    let is_it = site.is_at(&Arg::Operand(0), option!(options, axis, -1).into(), depth)?;
    site.one_type([2, 3])?;
    site.finish(Select {}, &[is_it, Arg::Operand(2), Arg::Operand(3)])
}
