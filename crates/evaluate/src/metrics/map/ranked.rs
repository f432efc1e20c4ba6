//! Precision and recall over the boxes of all images.

use std::collections::BTreeMap;

use strait_samples::Object;

use crate::meter::Note;

/// The boxes of all images, except boxes of classes that have no objects. Each box comes with the index of its image.
/// Boxes are sorted by score, the largest first.
pub(super) struct Ranked {
    overlaps: usize,
    /// For each class: the boxes as (sample, hits), and, for each sample with objects of this class, the number of
    /// these objects.
    classes: Vec<(Vec<(usize, u16)>, Vec<(usize, u32)>)>,
}

impl Ranked {
    pub(super) fn new(notes: &[Note], objects: &[Vec<Object>], overlaps: usize) -> Ranked {
        let mut classes: BTreeMap<u32, (Vec<(f64, usize, u16)>, Vec<(usize, u32)>)> = BTreeMap::new();
        for (sample, objects) in objects.iter().enumerate() {
            for object in objects {
                let (_, counts) = classes.entry(object.class).or_default();
                match counts.last_mut() {
                    Some((last, count)) if *last == sample => *count += 1,
                    _ => counts.push((sample, 1)),
                }
            }
        }
        for (sample, note) in notes.iter().enumerate() {
            let Note::Claims(claims) = note else { continue };
            for claim in claims {
                if let Some((claims, _)) = classes.get_mut(&claim.class) {
                    claims.push((claim.score, sample, claim.hits));
                }
            }
        }
        let sorted = classes.into_values().map(|(mut claims, counts)| {
            claims.sort_by(|a, b| b.0.total_cmp(&a.0));
            (
                claims.into_iter().map(|(_, sample, hits)| (sample, hits)).collect(),
                counts,
            )
        });
        Ranked {
            overlaps,
            classes: sorted.collect(),
        }
    }

    /// Returns the mean average precision in percent, or NaN if there is no object. A sample with weight w counts as w
    /// samples.
    pub(super) fn value(&self, weights: Option<&[u32]>) -> f64 {
        let weight = |sample: usize| weights.map_or(1, |weights| weights.get(sample).copied().unwrap_or(0));
        let (mut sum, mut classes) = (0.0, 0.0);
        let mut paths = vec![Vec::new(); self.overlaps];
        for (claims, counts) in &self.classes {
            let objects: u64 = (counts.iter())
                .map(|&(sample, count)| u64::from(count) * u64::from(weight(sample)))
                .sum();
            if objects == 0 {
                continue;
            }
            classes += 1.0;
            let mut hits = vec![0u64; self.overlaps];
            let mut boxes = 0u64;
            paths.iter_mut().for_each(Vec::clear);
            for &(sample, hit) in claims {
                let weight = u64::from(weight(sample));
                boxes += weight;
                // A box that is not a hit lowers the precision and does not change the recall. So for each recall, the
                // largest precision is reached at a hit.
                if hit == 0 || weight == 0 {
                    continue;
                }
                for (bit, (hits, path)) in hits.iter_mut().zip(&mut paths).enumerate() {
                    if hit >> bit & 1 == 1 {
                        *hits += weight;
                        path.push((*hits as f64 / objects as f64, *hits as f64 / boxes as f64));
                    }
                }
            }
            for path in &mut paths {
                sum += average(path);
            }
        }
        100.0 * sum / (classes * self.overlaps as f64)
    }
}

/// Computes the average precision, which is a mean over 101 recalls. For each recall, it takes the largest precision at
/// that recall or a higher one. `path` has pairs of (recall, precision), sorted by recall.
fn average(path: &mut [(f64, f64)]) -> f64 {
    let mut largest = 0.0f64;
    for (_, precision) in path.iter_mut().rev() {
        largest = largest.max(*precision);
        *precision = largest;
    }
    let mut at = path.iter().peekable();
    let mut sum = 0.0;
    for recall in 0..=100 {
        let recall = f64::from(recall) * 0.01;
        while at.next_if(|(reached, _)| *reached < recall).is_some() {}
        sum += at.peek().map_or(0.0, |(_, precision)| *precision);
    }
    sum / 101.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_the_envelope_at_101_recalls() {
        // Two objects: one is ranked first, the other after a false box. So 51 recalls have precision 1 and 50 have
        // 2/3.
        assert!(
            (average(&mut [(0.5, 1.0), (0.5, 0.5), (1.0, 2.0 / 3.0)]) - (51.0 + 50.0 * 2.0 / 3.0) / 101.0).abs()
                < 1e-12
        );
        assert_eq!(average(&mut []), 0.0);
        assert!((average(&mut [(0.5, 1.0)]) - 51.0 / 101.0).abs() < 1e-12);
    }
}
