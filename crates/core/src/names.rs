//! Interned names.

use crate::ids::Symbol;
use hashbrown::HashTable;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

/// A table of names: each string is stored once and spoken of by its [`Symbol`].
///
/// All texts stand in one string, so that a table is cloned and dropped in a few steps, however many names it has.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The texts, one behind the other.
    texts: String,
    /// The end of each text; a text begins where the one before it ends.
    ends: Vec<usize>,
    // tidy: allow(hash): only looked up by a text; the order of symbols is that of their first use.
    symbols: HashTable<Symbol>,
    /// With keys of its own in each process, so that no file can be made to collide.
    hasher: RandomState,
    /// By base: the number of its last fresh name.
    last_number: BTreeMap<Symbol, usize>,
}

impl Names {
    /// The symbol of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.find(text) {
            return symbol;
        }
        let symbol = Symbol::new(self.ends.len());
        self.texts.push_str(text);
        self.ends.push(self.texts.len());
        let (texts, ends, hasher) = (&self.texts, &self.ends, &self.hasher);
        let hash = |symbol: &Symbol| hasher.hash_one(slice(texts, ends, *symbol));
        self.symbols.insert_unique(hash(&symbol), symbol, hash);
        symbol
    }

    /// The symbol of `text`, if it was interned before.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        let equal = |symbol: &Symbol| self.text(*symbol) == text;
        self.symbols.find(self.hasher.hash_one(text), equal).copied()
    }

    /// The text of a symbol; empty for a symbol of another table.
    pub fn text(&self, symbol: Symbol) -> &str {
        slice(&self.texts, &self.ends, symbol)
    }

    /// The texts, in the order of their symbols.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|index| self.text(Symbol::new(index)))
    }

    /// A name that is not yet in the table: `base` itself, or `base_1`, `base_2`, …. Each base remembers where it is, so
    /// that the hundred-thousandth name costs as much as the first.
    pub fn fresh(&mut self, base: &str) -> Symbol {
        if self.find(base).is_none() {
            return self.intern(base);
        }
        let base_symbol = self.intern(base);
        let mut number = self.last_number.get(&base_symbol).copied().unwrap_or(0);
        loop {
            number += 1;
            let candidate = format!("{base}_{number}");
            if self.find(&candidate).is_none() {
                self.last_number.insert(base_symbol, number);
                return self.intern(&candidate);
            }
        }
    }
}

fn slice<'a>(texts: &'a str, ends: &[usize], symbol: Symbol) -> &'a str {
    let index = symbol.index();
    let begin = index.checked_sub(1).and_then(|before| ends.get(before)).unwrap_or(&0);
    ends.get(index).and_then(|end| texts.get(*begin..*end)).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_names_count_up_and_step_over_what_is_there() {
        let mut names = Names::default();
        names.intern("x_2");
        let made: Vec<Symbol> = (0..4).map(|_| names.fresh("x")).collect();
        let texts: Vec<&str> = made.iter().map(|&s| names.text(s)).collect();
        assert_eq!(texts, ["x", "x_1", "x_3", "x_4"]);
    }

    #[test]
    fn each_text_has_one_symbol_whatever_its_neighbours_are() {
        let mut names = Names::default();
        let texts = ["", "ab", "a", "b", "é", "abé"];
        let symbols: Vec<Symbol> = texts.iter().map(|text| names.intern(text)).collect();
        let again: Vec<Symbol> = texts.iter().map(|text| names.intern(text)).collect();
        assert_eq!(symbols, again);
        assert_eq!(names.texts().collect::<Vec<_>>(), texts);
        assert_eq!(names.find("bé"), None);
        assert_eq!(names.text(Symbol::new(texts.len())), "");
    }

    #[test]
    fn many_fresh_names_of_one_base_cost_little_each() {
        let mut names = Names::default();
        let start = std::time::Instant::now();
        for _ in 0..100_000 {
            names.fresh("x");
        }
        // Counting from 1 each time would be five thousand million look-ups.
        assert!(start.elapsed().as_secs() < 10);
    }
}
