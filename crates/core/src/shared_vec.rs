//! A vector that is quick to clone and to compare, because clones share chunks of entries.

use std::sync::Arc;

/// The number of entries in a chunk. A clone copies one pointer per chunk. The first write to a shared chunk copies
/// this chunk.
const CHUNK: usize = 64;

/// A vector whose clones share their chunks until one of them writes.
#[derive(Clone, Debug)]
pub(crate) struct SharedVec<T> {
    chunks: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T> Default for SharedVec<T> {
    fn default() -> Self {
        SharedVec {
            chunks: Vec::new(),
            len: 0,
        }
    }
}

impl<T: Clone> SharedVec<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Arc::new(Vec::with_capacity(CHUNK)));
        }
        if let Some(last) = self.chunks.last_mut() {
            Arc::make_mut(last).push(value);
            self.len += 1;
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    /// Returns a mutable reference to an entry. If the entry's chunk is shared, the chunk is copied first.
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        Arc::make_mut(self.chunks.get_mut(index / CHUNK)?).get_mut(index % CHUNK)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Returns the positions at which this vector and `other` may differ: all positions in chunks that the two do not
    /// share, and all positions that only one of the two has.
    pub(crate) fn apart<'a>(&'a self, other: &'a SharedVec<T>) -> impl Iterator<Item = usize> + 'a {
        let chunks = 0..self.chunks.len().max(other.chunks.len());
        let shared = |chunk: &usize| match (self.chunks.get(*chunk), other.chunks.get(*chunk)) {
            (Some(one), Some(another)) => Arc::ptr_eq(one, another),
            _ => false,
        };
        let end = self.len.max(other.len);
        let positions = move |chunk: usize| (chunk * CHUNK..(chunk + 1) * CHUNK).take_while(move |index| *index < end);
        chunks.filter(move |chunk| !shared(chunk)).flat_map(positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_what_neither_has_written() {
        let mut one = SharedVec::default();
        (0..1000).for_each(|n| one.push(n));
        let mut another = one.clone();
        assert_eq!(one.apart(&another).count(), 0);
        *another.get_mut(130).unwrap() = -1;
        another.push(1000);
        let apart: Vec<usize> = one.apart(&another).collect();
        assert_eq!(apart[..64], (128..192).collect::<Vec<_>>());
        assert_eq!((apart.len(), apart.last()), (64 + 41, Some(&1000)));
        assert_eq!((one.get(130), another.get(130)), (Some(&130), Some(&-1)));
        assert_eq!((one.len(), another.len(), another.iter().count()), (1000, 1001, 1001));
        assert_eq!((one.get(1000), one.iter().sum::<i32>()), (None, 499_500));
    }
}
