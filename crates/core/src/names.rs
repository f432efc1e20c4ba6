//! The table of names.

use crate::ids::Symbol;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

/// A table of names. Each string is stored once, and a [`Symbol`] stands for it.
///
/// All names are stored in a single string, so that a table with many names can be cloned and dropped quickly.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The names, concatenated.
    texts: String,
    /// The end of each name in `texts`. A name begins where the previous one ends.
    ends: Vec<usize>,
    /// The symbol of each name, by the hash of the name. If another name already has that hash, the next free number is
    /// used.
    // tidy: allow(hash): symbols are only looked up by a text; the order of symbols is that of their first use.
    symbols: HashMap<u64, Symbol>,
    /// The hash function. Its keys differ in each process, so nobody can write a file whose names collide on purpose.
    hasher: RandomState,
    /// For each base of generated names, the number that was used last.
    last_number: BTreeMap<Symbol, usize>,
    /// For each symbol, true if the name was generated here and does not come from a model.
    are_made: Vec<bool>,
}

impl Names {
    /// The symbol for `text`. If `text` is not in the table yet, it is added.
    pub fn intern(&mut self, text: &str) -> Symbol {
        self.place(text).unwrap_or_else(|free| self.add(free, text, false))
    }

    /// The symbol for `text`, if it is in the table.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.place(text).ok()
    }

    /// The symbol for `text` if `text` is in the table; otherwise the number under which `symbols` can store it.
    fn place(&self, text: &str) -> Result<Symbol, u64> {
        let mut number = self.hasher.hash_one(text);
        while let Some(&symbol) = self.symbols.get(&number) {
            if self.text(symbol) == text {
                return Ok(symbol);
            }
            number = number.wrapping_add(1);
        }
        Err(number)
    }

    /// Adds a text that is not in the table yet. `free` is a number that `symbols` does not use yet.
    fn add(&mut self, free: u64, text: &str, is_made: bool) -> Symbol {
        let symbol = Symbol::new(self.ends.len());
        self.texts.push_str(text);
        self.ends.push(self.texts.len());
        self.are_made.push(is_made);
        self.symbols.insert(free, symbol);
        symbol
    }

    /// The text of a symbol; empty if the symbol belongs to another table.
    pub fn text(&self, symbol: Symbol) -> &str {
        let index = symbol.index();
        let before = index.checked_sub(1).and_then(|before| self.ends.get(before));
        let text = self
            .ends
            .get(index)
            .and_then(|end| self.texts.get(*before.unwrap_or(&0)..*end));
        text.unwrap_or("")
    }

    /// All names, in the order of their symbols.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|index| self.text(Symbol::new(index)))
    }

    /// True for a name that was generated here ([`Names::make`], [`Names::fresh`]) and does not come from a model.
    pub fn is_made(&self, symbol: Symbol) -> bool {
        self.are_made.get(symbol.index()).copied().unwrap_or(false)
    }

    /// Adds a generated name; `None` if it is already in the table.
    pub fn make(&mut self, text: &str) -> Option<Symbol> {
        let free = self.place(text).err()?;
        Some(self.add(free, text, true))
    }

    /// A new generated name: `base` itself, or `base_1`, `base_2`, … For each base, the last number is remembered, so
    /// the hundred-thousandth name takes no longer to find than the first.
    pub fn fresh(&mut self, base: &str) -> Symbol {
        let base_symbol = match self.place(base) {
            Ok(symbol) => symbol,
            Err(free) => return self.add(free, base, true),
        };
        let mut number = self.last_number.get(&base_symbol).copied().unwrap_or(0);
        loop {
            number += 1;
            let candidate = format!("{base}_{number}");
            if let Err(free) = self.place(&candidate) {
                self.last_number.insert(base_symbol, number);
                return self.add(free, &candidate, true);
            }
        }
    }
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
    fn names_that_were_made_are_told_from_those_of_a_model() {
        let mut names = Names::default();
        let given = names.intern("x");
        let (fresh, first) = (names.fresh("x"), names.fresh("y"));
        let made = names.make("z").unwrap();
        assert_eq!(
            [given, fresh, first, made].map(|name| names.is_made(name)),
            [false, true, true, true]
        );
        assert_eq!((names.make("x"), names.make("z")), (None, None));
        assert_eq!(names.intern("z"), made);
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
