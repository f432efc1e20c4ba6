//! The records that are collected while samples run.

use super::clamps::Clamp;
use crate::requests::Requests;
use crate::statistics::{self, Kind, Record};
use std::collections::btree_map::{BTreeMap, Entry};
use strait_core::ValueId;
use strait_kernels::{Context, float};

/// The records of some samples, or of all.
#[derive(Default)]
pub(super) struct Seen(pub(super) BTreeMap<(ValueId, Kind), Record>);

impl Seen {
    /// The records of all samples, from those that several threads have collected. Each request has a record, even if no
    /// element was seen.
    pub(super) fn joined(parts: impl Iterator<Item = Seen>, requests: &Requests) -> Seen {
        let mut all = Seen::default();
        for (request, record) in parts.flat_map(|seen| seen.0) {
            match all.0.entry(request) {
                Entry::Occupied(mut known) => known.get_mut().merge(&record),
                Entry::Vacant(new) => {
                    new.insert(record);
                }
            }
        }
        for request in requests.iter() {
            all.record(request);
        }
        all
    }

    fn record(&mut self, request: (ValueId, Kind)) -> &mut Record {
        self.0.entry(request).or_insert_with(|| Record::new(request.1))
    }

    /// Adds the elements of one sample of a value. `axes` are the axes along which softmaxes read the value.
    pub(super) fn add(
        &mut self,
        request: (ValueId, Kind),
        sample: u64,
        (elements, shape): (&[f32], &[usize]),
        axes: impl Iterator<Item = usize>,
    ) {
        match (self.record(request), request.1) {
            (Record::Statistics(statistics), Kind::Peaks) => {
                axes.for_each(|axis| statistics.add(sample, &peaks(elements, shape, axis)));
            }
            (Record::Statistics(statistics), _) => statistics.add(sample, elements),
            (Record::Leaders(leaders), Kind::Leaders { axis }) => leaders.add(elements, shape, axis as usize),
            (Record::Channels(channels), Kind::Channels { axis }) => channels.add(elements, shape, axis as usize),
            // All records of a kind have the same type.
            (Record::Leaders(_) | Record::Channels(_), _) => {}
        }
    }

    /// Adds the elements of one sample of a value, and what a clamp makes of them to the record of its result. Returns
    /// false if nothing was added.
    pub(super) fn add_with_clamped(&mut self, sample: u64, elements: &[f32], value: ValueId, clamp: Clamp) -> bool {
        // Two records cannot be borrowed from the map at the same time.
        let key = (clamp.result, Kind::Elements);
        let mut clamped = self.0.remove(&key).unwrap_or_else(|| Record::new(Kind::Elements));
        let is_added = match (self.record((value, Kind::Elements)), &mut clamped) {
            (Record::Statistics(x), Record::Statistics(y)) => x.add_with_clamped(sample, elements, clamp.most, y),
            _ => false,
        };
        self.0.insert(key, clamped);
        is_added
    }
}

/// The largest element of each row along `axis`. Rows without a finite element are left out.
fn peaks(elements: &[f32], shape: &[usize], axis: usize) -> Vec<f32> {
    let each = |row: &mut dyn Iterator<Item = f32>| row.fold(f32::NEG_INFINITY, f32::max);
    let largest: Vec<f32> = if axis + 1 == shape.len() && shape[axis] > 0 {
        // The elements of such a row lie side by side.
        let cx = Context::detect();
        let peak =
            |row: &[f32]| float::range(&cx, row).map_or_else(|| each(&mut row.iter().copied()), |range| range.max);
        elements.chunks_exact(shape[axis]).map(peak).collect()
    } else {
        let rows = statistics::rows(elements, shape, axis);
        rows.map(|mut row| each(&mut row)).collect()
    };
    largest.into_iter().filter(|peak| peak.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_the_largest_finite_elements_of_rows() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let elements = [1.0, -3.0, nan, 2.0, -inf, -inf, inf, 0.5, -4.0, -inf, nan, nan];
        assert_eq!(peaks(&elements, &[6, 2], 1), [1.0, 2.0, -4.0]);
        assert_eq!(peaks(&elements, &[2, 2, 3], 1), [2.0, -3.0, 0.5, -4.0]);
        assert!(peaks(&elements, &[12], 0).is_empty());
        assert_eq!(peaks(&elements[..6], &[6], 0), [2.0]);
        assert!(peaks(&[], &[4, 0], 1).is_empty());
    }
}
