//! Interned names.

use crate::ids::Symbol;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table of names: each string is stored once and spoken of by its [`Symbol`].
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Vec<Arc<str>>,
    symbols: BTreeMap<Arc<str>, Symbol>,
    /// By base: the number of its last fresh name.
    last_number: BTreeMap<Symbol, usize>,
}

impl Names {
    /// The symbol of `text`, which is added if it is new.
    pub fn intern(&mut self, text: &str) -> Symbol {
        if let Some(&symbol) = self.symbols.get(text) {
            return symbol;
        }
        let symbol = Symbol::new(self.texts.len());
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.symbols.insert(text, symbol);
        symbol
    }

    /// The symbol of `text`, if it was interned before.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.symbols.get(text).copied()
    }

    /// The text of a symbol; empty for a symbol of another table.
    pub fn text(&self, symbol: Symbol) -> &str {
        self.texts.get(symbol.index()).map_or("", |t| t)
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
