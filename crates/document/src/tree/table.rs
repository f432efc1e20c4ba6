//! The entries of a table in a document.

use crate::Entry;

/// Entries by their keys, in the order of the keys.
///
/// They lie in one slice. Most tables have a few keys, and a document may have a hundred thousand tables: a node of a
/// `BTreeMap` has room for eleven entries, and would take five times the memory.
#[derive(Clone, Debug, Default)]
pub struct Table(Vec<(String, Entry)>);

impl Table {
    fn position(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.as_str().cmp(key))
    }

    /// The entry of a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.get(self.position(key).ok()?).map(|(_, entry)| entry)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        let position = self.position(key).ok()?;
        self.0.get_mut(position).map(|(_, entry)| entry)
    }

    /// True if there is an entry of this key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_ok()
    }

    /// The entry of a key, which is made where there is none.
    pub fn get_or_insert_with(&mut self, key: String, make: impl FnOnce() -> Entry) -> &mut Entry {
        let position = self.position(&key).unwrap_or_else(|position| {
            self.0.insert(position, (key, make()));
            position
        });
        &mut self.0[position].1
    }

    /// Puts an entry in the place of the one that the key has.
    pub fn insert(&mut self, key: String, entry: Entry) {
        match self.position(&key) {
            Ok(position) => self.0[position].1 = entry,
            Err(position) => self.0.insert(position, (key, entry)),
        }
    }

    /// Keeps the entries for which `keep` holds.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(key, _)| keep(key));
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Entry)> {
        self.0.iter().map(|(key, entry)| (key, entry))
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut Entry)> {
        self.0.iter_mut().map(|(key, entry)| (&*key, entry))
    }
}

impl FromIterator<(String, Entry)> for Table {
    /// Of two entries with one key the later one stays.
    fn from_iter<I: IntoIterator<Item = (String, Entry)>>(entries: I) -> Table {
        let mut entries: Vec<(String, Entry)> = entries.into_iter().collect();
        // The sort keeps the order of equal keys, and `dedup_by` gives the later of two neighbours first.
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        entries.shrink_to_fit();
        Table(entries)
    }
}

impl IntoIterator for Table {
    type Item = (String, Entry);
    type IntoIter = std::vec::IntoIter<(String, Entry)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
