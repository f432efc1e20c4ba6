//! Classes of channels that have to have the same factor, and the classes whose factor has to be 1.

use std::collections::BTreeMap;

/// Sets of channels. All channels of a class have the same factor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes {
    parent: Vec<u32>,
    /// The classes whose factor is 1, each with the first reason, by their root.
    pinned: BTreeMap<u32, String>,
}

impl Classes {
    /// Makes `count` classes, each with one channel.
    pub(crate) fn fresh(&mut self, count: usize) -> Vec<u32> {
        let first = self.parent.len() as u32;
        self.parent.extend(first..first + count as u32);
        (first..first + count as u32).collect()
    }

    /// The class that stands for all classes that were united with this one.
    pub(crate) fn root(&self, class: u32) -> u32 {
        let mut class = class;
        while let Some(&parent) = self.parent.get(class as usize) {
            if parent == class {
                break;
            }
            class = parent;
        }
        class
    }

    /// Makes two classes one class.
    pub(crate) fn unite(&mut self, one: u32, other: u32) {
        let (one, other) = (self.root(one), self.root(other));
        let (first, last) = (one.min(other), one.max(other));
        if first == last {
            return;
        }
        // Paths stay short, since each class points to its root again when it is united.
        self.parent[last as usize] = first;
        if let Some(why) = self.pinned.remove(&last) {
            self.pinned.entry(first).or_insert(why);
        }
    }

    /// Gives a class the factor 1.
    pub(crate) fn pin(&mut self, class: u32, why: &str) {
        let root = self.root(class);
        self.pinned.entry(root).or_insert_with(|| why.to_owned());
    }

    /// Why the factor of a class is 1. `None` if it may have any factor.
    pub(crate) fn pinned(&self, class: u32) -> Option<&str> {
        self.pinned.get(&self.root(class)).map(String::as_str)
    }

    /// The number of classes that were made.
    pub(crate) fn count(&self) -> usize {
        self.parent.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_united_with_a_pinned_class_is_pinned() {
        let mut classes = Classes::default();
        let made = classes.fresh(4);
        classes.unite(made[3], made[1]);
        classes.pin(made[3], "first");
        classes.pin(made[1], "second");
        classes.unite(made[1], made[0]);
        assert_eq!(classes.pinned(made[0]), Some("first"));
        assert_eq!(classes.root(made[3]), made[0]);
        assert_eq!(classes.pinned(made[2]), None);
    }
}
