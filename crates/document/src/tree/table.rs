//! The entries of a table in a document.

use crate::Entry;

/// Entries by their keys, in the order of the keys.
///
/// The entries are stored in one slice. A document may have a hundred thousand tables, most of which have only a few
/// keys. A `BTreeMap` would take five times the memory, because each of its nodes has room for eleven entries.
#[derive(Clone, Debug, Default)]
pub struct Table(Vec<(String, Entry)>);

impl Table {
    fn position(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.as_str().cmp(key))
    }

    /// The entry with this key, if there is one.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.get(self.position(key).ok()?).map(|(_, entry)| entry)
    }

    /// The entry with this key, which can be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        let position = self.position(key).ok()?;
        self.0.get_mut(position).map(|(_, entry)| entry)
    }

    /// True if the table has an entry with this key.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_ok()
    }

    /// The entry with this key. If there is none, `make` makes one.
    pub fn get_or_insert_with(&mut self, key: String, make: impl FnOnce() -> Entry) -> &mut Entry {
        let position = self.position(&key).unwrap_or_else(|position| {
            self.0.insert(position, (key, make()));
            position
        });
        &mut self.0[position].1
    }

    /// Adds an entry. If the key already has an entry, it is replaced.
    pub fn insert(&mut self, key: String, entry: Entry) {
        match self.position(&key) {
            Ok(position) => self.0[position].1 = entry,
            Err(position) => self.0.insert(position, (key, entry)),
        }
    }

    /// Removes all entries except those for which `keep` returns true for the key.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        self.0.retain(|(key, _)| keep(key));
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if the table has no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All entries, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Entry)> {
        self.0.iter().map(|(key, entry)| (key, entry))
    }

    /// All entries, which can be changed, in the order of their keys.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&String, &mut Entry)> {
        self.0.iter_mut().map(|(key, entry)| (&*key, entry))
    }
}

impl FromIterator<(String, Entry)> for Table {
    /// Makes a table from entries. If several entries have the same key, the last of them is kept.
    fn from_iter<I: IntoIterator<Item = (String, Entry)>>(entries: I) -> Table {
        let mut entries: Vec<(String, Entry)> = entries.into_iter().collect();
        // The sort keeps the order of entries with equal keys. `dedup_by` passes the later of two neighbours as the
        // first argument.
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
